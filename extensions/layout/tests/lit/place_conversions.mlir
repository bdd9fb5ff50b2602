// RUN: %opt %s --pass layout-place-conversions | FileCheck %s
// RUN: %opt %s --pass layout-place-conversions --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass "layout-place-conversions{work-limit=1}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=LIMIT

// LIMIT-NOT: applied:
// LIMIT: missed: the search stopped at work-limit = 1 [layout-place-conversions]

// The sum moves to the layout of memory: one exchange instead of two.
// CHECK-LABEL: @residual
// CHECK: %[[LOADED:.+]] = tt.load %{{.+}} : tensor<64x64x!tt.ptr<f32>, #[[B:blocked[0-9]*]]>
// CHECK: %[[MOVED:.+]] = ttg.convert_layout %{{.+}} : tensor<64x64xf32, #mma{{[0-9]*}}> -> tensor<64x64xf32, #[[B]]>
// CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[MOVED]], %[[LOADED]] : tensor<64x64xf32, #[[B]]>
// CHECK-NEXT: tt.store %{{.+}}, %[[SUM]]
// CHECK-NOT: convert_layout
// REMARK: applied: conversions 2 -> 1, in loops 0 -> 0, barriers 2 -> 1, cycles {{[0-9]+}} -> {{[0-9]+}} [layout-place-conversions]

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @residual(%from: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %to: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: tensor<64x64xf32, #mma>) {
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<64x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x64xi32, #blocked>
  %s = arith.constant dense<64> : tensor<64x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<64x1xi32, #blocked>
  %rb = tt.broadcast %o : tensor<64x1xi32, #blocked> -> tensor<64x64xi32, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x64xi32, #blocked> -> tensor<64x64xi32, #blocked>
  %at = arith.addi %rb, %cb : tensor<64x64xi32, #blocked>
  %p = tt.splat %from : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #blocked>
  %fp = tt.addptr %p, %at : tensor<64x64x!tt.ptr<f32>, #blocked>, tensor<64x64xi32, #blocked>
  %q = tt.splat %to : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #blocked>
  %tp = tt.addptr %q, %at : tensor<64x64x!tt.ptr<f32>, #blocked>, tensor<64x64xi32, #blocked>
  %l = tt.load %fp : tensor<64x64x!tt.ptr<f32>, #blocked>
  %lm = ttg.convert_layout %l : tensor<64x64xf32, #blocked> -> tensor<64x64xf32, #mma>
  %sum = arith.addf %x, %lm : tensor<64x64xf32, #mma>
  %y = ttg.convert_layout %sum : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #blocked>
  tt.store %tp, %y : tensor<64x64x!tt.ptr<f32>, #blocked>
  tt.return
}
}

// -----

// A vector that a loop needs each time is loaded in the layout it is needed in.
// CHECK-LABEL: @scale_in_loop
// CHECK: scf.for
// CHECK-NOT: convert_layout
// CHECK: tt.load %{{.+}} : tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 0, parent = #mma{{[0-9]*}}}>>
// CHECK-NOT: convert_layout
// CHECK: scf.yield
// REMARK: applied: conversions 1 -> 0, in loops 1 -> 0, barriers 10 -> 0,

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @scale_in_loop(%scales: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #blocked>
  %base = tt.splat %scales : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #blocked>
  %first = tt.addptr %base, %r : tensor<64x!tt.ptr<f32>, #blocked>, tensor<64xi32, #blocked>
  %step = arith.constant dense<64> : tensor<64xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x, %at = %first) -> (tensor<64x64xf32, #mma>, tensor<64x!tt.ptr<f32>, #blocked>) : i32 {
    %s = tt.load %at : tensor<64x!tt.ptr<f32>, #blocked>
    %sm = ttg.convert_layout %s : tensor<64xf32, #blocked> -> tensor<64xf32, #ttg.slice<{dim = 0, parent = #mma}>>
    %s2 = tt.expand_dims %sm {axis = 0 : i32} : tensor<64xf32, #ttg.slice<{dim = 0, parent = #mma}>> -> tensor<1x64xf32, #mma>
    %sb = tt.broadcast %s2 : tensor<1x64xf32, #mma> -> tensor<64x64xf32, #mma>
    %y = arith.mulf %acc, %sb : tensor<64x64xf32, #mma>
    %next = tt.addptr %at, %step : tensor<64x!tt.ptr<f32>, #blocked>, tensor<64xi32, #blocked>
    scf.yield %y, %next : tensor<64x64xf32, #mma>, tensor<64x!tt.ptr<f32>, #blocked>
  }
  tt.return %out#0 : tensor<64x64xf32, #mma>
}
}

// -----

// What does not change in a loop is converted once.
// CHECK-LABEL: @invariant
// CHECK: ttg.convert_layout
// CHECK-NEXT: scf.for
// CHECK-NOT: convert_layout
// CHECK: scf.yield
// REMARK: applied: converted once, before the loop [layout-place-conversions]

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @invariant(%s: tensor<64xf32, #blocked>, %n: i32, %x: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<64x64xf32, #mma>) : i32 {
    %sm = ttg.convert_layout %s : tensor<64xf32, #blocked> -> tensor<64xf32, #ttg.slice<{dim = 0, parent = #mma}>>
    %s2 = tt.expand_dims %sm {axis = 0 : i32} : tensor<64xf32, #ttg.slice<{dim = 0, parent = #mma}>> -> tensor<1x64xf32, #mma>
    %sb = tt.broadcast %s2 : tensor<1x64xf32, #mma> -> tensor<64x64xf32, #mma>
    %y = arith.mulf %acc, %sb : tensor<64x64xf32, #mma>
    scf.yield %y : tensor<64x64xf32, #mma>
  }
  tt.return %out : tensor<64x64xf32, #mma>
}
}

// -----

// The exchange is narrowest before the casts.
// CHECK-LABEL: @casts
// CHECK: %[[H:.+]] = ttg.convert_layout %arg0 : tensor<64x64xf16, #mma{{[0-9]*}}> -> tensor<64x64xf16, #[[B:blocked[0-9]*]]>
// CHECK-NEXT: %[[F:.+]] = arith.extf %[[H]] : tensor<64x64xf16, #[[B]]> to tensor<64x64xf32, #[[B]]>
// CHECK-NEXT: %[[T:.+]] = arith.addf %[[F]], %[[F]]
// CHECK-NEXT: arith.extf %[[T]]
// CHECK-NEXT: tt.return
// REMARK: applied: conversions 1 -> 1,

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @casts(%x: tensor<64x64xf16, #mma>) -> tensor<64x64xf64, #blocked> {
  %f = arith.extf %x : tensor<64x64xf16, #mma> to tensor<64x64xf32, #mma>
  %t = arith.addf %f, %f : tensor<64x64xf32, #mma>
  %d = arith.extf %t : tensor<64x64xf32, #mma> to tensor<64x64xf64, #mma>
  %y = ttg.convert_layout %d : tensor<64x64xf64, #mma> -> tensor<64x64xf64, #blocked>
  tt.return %y : tensor<64x64xf64, #blocked>
}
}

// -----

// Both layouts of an index are cheaper to compute than an exchange; what `scf.if` yields follows.
// CHECK-LABEL: @repeated
// CHECK-DAG: tt.make_range {{.*}} : tensor<64xi32, #blocked{{[0-9]*}}>
// CHECK-DAG: tt.make_range {{.*}} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma{{[0-9]*}}}>>
// CHECK-NOT: convert_layout
// CHECK: scf.if %{{.+}} -> (tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma{{[0-9]*}}}>>)
// CHECK-NOT: convert_layout
// CHECK: tt.return

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @repeated(%n: i32, %go: i1) -> (tensor<64xi32, #blocked>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>) {
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #blocked>
  %s = tt.splat %n : i32 -> tensor<64xi32, #blocked>
  %at = arith.addi %r, %s : tensor<64xi32, #blocked>
  %c = scf.if %go -> (tensor<64xi32, #blocked>) {
    %twice = arith.addi %at, %s : tensor<64xi32, #blocked>
    scf.yield %twice : tensor<64xi32, #blocked>
  } else {
    scf.yield %at : tensor<64xi32, #blocked>
  }
  %m = ttg.convert_layout %c : tensor<64xi32, #blocked> -> tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
  tt.return %at, %m : tensor<64xi32, #blocked>, tensor<64xi32, #ttg.slice<{dim = 0, parent = #mma}>>
}
}

// -----

// The lanes of an accumulator reach eight lines at once, each of which is a request to the cache: the exchange stays.
// CHECK-LABEL: @atomic
// CHECK: %[[ROWS:.+]] = ttg.convert_layout %arg1
// CHECK: tt.atomic_rmw fadd, relaxed, gpu, %{{.+}}, %[[ROWS]], %{{.+}} : (tensor<64x64x!tt.ptr<f32>, #blocked{{[0-9]*}}>

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @atomic(%to: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: tensor<64x64xf32, #mma>) {
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<64x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x64xi32, #blocked>
  %s = arith.constant dense<64> : tensor<64x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<64x1xi32, #blocked>
  %rb = tt.broadcast %o : tensor<64x1xi32, #blocked> -> tensor<64x64xi32, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x64xi32, #blocked> -> tensor<64x64xi32, #blocked>
  %at = arith.addi %rb, %cb : tensor<64x64xi32, #blocked>
  %q = tt.splat %to : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #blocked>
  %tp = tt.addptr %q, %at : tensor<64x64x!tt.ptr<f32>, #blocked>, tensor<64x64xi32, #blocked>
  %all = arith.constant dense<true> : tensor<64x64xi1, #blocked>
  %y = ttg.convert_layout %x : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #blocked>
  %old = tt.atomic_rmw fadd, relaxed, gpu, %tp, %y, %all : (tensor<64x64x!tt.ptr<f32>, #blocked>, tensor<64x64xf32, #blocked>, tensor<64x64xi1, #blocked>) -> tensor<64x64xf32, #blocked>
  tt.return
}
}

// -----

// A maximum is the same in any order.
// CHECK-LABEL: @maximum
// CHECK-NOT: convert_layout
// CHECK: tt.reduce
// CHECK: -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma{{[0-9]*}}}>>

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @maximum(%x: tensor<64x64xf32, #mma>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>> {
  %y = ttg.convert_layout %x : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #blocked>
  %m = "tt.reduce"(%y) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %max = arith.maxnumf %a, %b : f32
    tt.reduce.return %max : f32
  }) : (tensor<64x64xf32, #blocked>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %z = ttg.convert_layout %m : tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
  tt.return %z : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
}
}

// -----

// What is stored depends on what was read there, so that nothing needs the barrier.
// CHECK-LABEL: @state_in_place
// CHECK-NOT: convert_layout
// CHECK: tt.return

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#pairs = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @state_in_place(%base: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #blocked>
  %at = tt.addptr %p, %r : tensor<256x!tt.ptr<f32>, #blocked>, tensor<256xi32, #blocked>
  %start = tt.load %at : tensor<256x!tt.ptr<f32>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%state = %start) -> (tensor<256xf32, #blocked>) : i32 {
    %x = ttg.convert_layout %state : tensor<256xf32, #blocked> -> tensor<256xf32, #pairs>
    %y = arith.mulf %x, %x : tensor<256xf32, #pairs>
    %z = ttg.convert_layout %y : tensor<256xf32, #pairs> -> tensor<256xf32, #blocked>
    scf.yield %z : tensor<256xf32, #blocked>
  }
  tt.store %at, %out : tensor<256x!tt.ptr<f32>, #blocked>
  tt.return
}
}

// -----

// Two conversions of narrow elements take less time than one of wide elements, but save no barrier, and so stay one.
// CHECK-LABEL: @narrow_twice
// CHECK: ttg.convert_layout %{{.+}} : tensor<64x64xf64, #blocked{{[0-9]*}}> -> tensor<64x64xf64, #blocked{{[0-9]*}}>
// CHECK-NOT: convert_layout
// CHECK-LABEL: @narrow_once
// CHECK: arith.truncf
// CHECK-NEXT: ttg.convert_layout %{{.+}} : tensor<64x64xf16, #blocked{{[0-9]*}}> -> tensor<64x64xf16, #blocked{{[0-9]*}}>
// REMARK-NOT: conversions 1 -> 2

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#turned = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @narrow_twice(%x: tensor<64x64xf64, #blocked>, %p: tensor<64x64x!tt.ptr<f16>, #turned>, %q: tensor<64x64x!tt.ptr<f16>, #turned>) {
  %0 = ttg.convert_layout %x : tensor<64x64xf64, #blocked> -> tensor<64x64xf64, #turned>
  %1 = arith.truncf %0 : tensor<64x64xf64, #turned> to tensor<64x64xf16, #turned>
  %2 = arith.truncf %0 : tensor<64x64xf64, #turned> to tensor<64x64xf16, #turned>
  tt.store %p, %1 : tensor<64x64x!tt.ptr<f16>, #turned>
  tt.store %q, %2 : tensor<64x64x!tt.ptr<f16>, #turned>
  tt.return
}
tt.func public @narrow_once(%x: tensor<64x64xf64, #blocked>, %p: tensor<64x64x!tt.ptr<f16>, #turned>) {
  %0 = ttg.convert_layout %x : tensor<64x64xf64, #blocked> -> tensor<64x64xf64, #turned>
  %1 = arith.truncf %0 : tensor<64x64xf64, #turned> to tensor<64x64xf16, #turned>
  tt.store %p, %1 : tensor<64x64x!tt.ptr<f16>, #turned>
  tt.return
}
}
