// Accesses that the pass leaves as they are, and why.
// RUN: %opt %s --pass "layout-localize-stores{min-barriers=1}" -o %t.out
// RUN: %opt %s -o %t.in
// RUN: diff %t.in %t.out
// RUN: %opt %s --pass "layout-localize-stores{min-barriers=1}" --remarks -o %t 2>&1 | FileCheck %s
// RUN: not %opt %s --pass "layout-localize-stores{min-vector-bits=wide}" 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: the pass layout_localize_stores does not accept its options

// CHECK-NOT: applied:

// A column of the accumulator lies in several warps.
// CHECK: missed: a CTA would touch 1024 memory lines in 1024 sectors, now it touches 256 in 1024 [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @column_major(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<1x128xi32, #blocked>
  %o = arith.muli %c2, %s : tensor<1x128xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<1x128x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<1x128x!tt.ptr<f16>, #blocked>, tensor<1x128xi32, #blocked>
  %qb = tt.broadcast %q : tensor<1x128x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %r2 : tensor<128x1xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// The registers of a thread lie across memory, its lanes along it.
// CHECK: missed: a CTA would touch 1024 memory lines in 1024 sectors, now it touches 512 in 1024 [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @unaligned_columns(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32, %x: tensor<128x128xf16, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<1x128xi32, #blocked>
  %o = arith.muli %c2, %s : tensor<1x128xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<1x128x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<1x128x!tt.ptr<f16>, #blocked>, tensor<1x128xi32, #blocked>
  %qb = tt.broadcast %q : tensor<1x128x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %r2 : tensor<128x1xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// CHECK: missed: a thread would move 16 bits at once, now it moves 128 [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [32, 0], [64, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[0, 1], [0, 2]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @interleaved_columns(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #linear>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<128x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<128x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<128x1x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<128x1x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128x128xf16, #linear> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// CHECK: missed: the data is swizzled over warps, which no linear layout keeps [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#generic = #ttg.generic_linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 1], [64, 2]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @swizzled(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #generic>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<128x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<128x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<128x1x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<128x1x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128x128xf16, #generic> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// CHECK: missed: address: cannot recompute a block argument [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @carried_pointer(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %tiles: i32, %x: tensor<128x128xf16, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<128x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<128x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<128x1x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<128x1x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %k = tt.splat %stride : i32 -> tensor<128x128xi32, #blocked>
  %last = scf.for %i = %c0 to %tiles step %c1 iter_args(%at = %ptr) -> (tensor<128x128x!tt.ptr<f16>, #blocked>) : i32 {
    %d = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
    tt.store %at, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
    %next = tt.addptr %at, %k : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
    scf.yield %next : tensor<128x128x!tt.ptr<f16>, #blocked>
  }
  tt.return
}
}

// -----

// CHECK: missed: data: cannot recompute a block argument [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @sum_with_argument(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>, %y: tensor<128x128xf16, #blocked>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<128x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<128x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<128x1x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<128x1x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %w = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  %d = arith.addf %w, %y : tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// CHECK: missed: 'ttg.convert_layout' would be repeated for its other users [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @converted_value_is_used(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<128x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<128x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<128x1x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<128x1x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  %sum = "tt.reduce"(%d) <{axis = 1 : i32}> ({
  ^bb0(%a: f16, %b: f16):
    %z = arith.addf %a, %b : f16
    tt.reduce.return %z : f16
  }) : (tensor<128x128xf16, #blocked>) -> tensor<128xf16, #ttg.slice<{dim = 1, parent = #blocked}>>
  %sp = tt.splat %base : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #ttg.slice<{dim = 1, parent = #blocked}>>
  tt.store %sp, %sum : tensor<128x!tt.ptr<f16>, #ttg.slice<{dim = 1, parent = #blocked}>>
  tt.return
}
}

// -----

// Every warp holds all columns, so one would store them all.
// CHECK: missed: a warp would issue 4 instructions, now it issues 1 [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @replicated(%base: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: tensor<512xf32, #ttg.slice<{dim = 0, parent = #mma}>>) {
  %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
  %ptr = tt.addptr %p, %r : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<512xf32, #ttg.slice<{dim = 0, parent = #mma}>> -> tensor<512xf32, #blocked>
  tt.store %ptr, %d : tensor<512x!tt.ptr<f32>, #blocked>
  tt.return
}
}

// -----

// Every warp holds all columns: which one an element comes from is for the exchange to settle.
// CHECK: missed: the exchange would need 1 barriers, now it needs 1 [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @replicated(%base: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: tensor<128xf32, #ttg.slice<{dim = 0, parent = #mma}>>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #blocked>
  %ptr = tt.addptr %p, %r : tensor<128x!tt.ptr<f32>, #blocked>, tensor<128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128xf32, #ttg.slice<{dim = 0, parent = #mma}>> -> tensor<128xf32, #blocked>
  tt.store %ptr, %d : tensor<128x!tt.ptr<f32>, #blocked>
  tt.return
}
}

// -----

// CHECK: missed: the exchange would need 32768 bytes of shared memory, now it needs 16384 [layout-localize-stores]

#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 2], instrShape = [16, 8]}>
#blocked = #ttg.blocked<{sizePerThread = [2, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 8], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @more_shared_memory(%base: !tt.ptr<f64> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x64xf64, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x64xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<1x64xi32, #blocked>
  %o = arith.muli %c2, %s : tensor<1x64xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f64> -> tensor<1x64x!tt.ptr<f64>, #blocked>
  %q = tt.addptr %p, %o : tensor<1x64x!tt.ptr<f64>, #blocked>, tensor<1x64xi32, #blocked>
  %qb = tt.broadcast %q : tensor<1x64x!tt.ptr<f64>, #blocked> -> tensor<128x64x!tt.ptr<f64>, #blocked>
  %cb = tt.broadcast %r2 : tensor<128x1xi32, #blocked> -> tensor<128x64xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x64x!tt.ptr<f64>, #blocked>, tensor<128x64xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128x64xf64, #mma> -> tensor<128x64xf64, #blocked>
  tt.store %ptr, %d : tensor<128x64x!tt.ptr<f64>, #blocked>
  tt.return
}
}

// -----

// Each row takes in the one below, which another warp overwrites: only the barrier lets it be read before.
// CHECK: missed: the barrier may keep this access in order with 'tt.store' to the same memory [layout-localize-stores]
// CHECK: missed: the barrier may keep this access in order with 'tt.load' to the same memory [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @shifted_in_place(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<128x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<128x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<128x1x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<128x1x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %row = tt.splat %stride : i32 -> tensor<128x128xi32, #blocked>
  %below = tt.addptr %ptr, %row : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %old = tt.load %below : tensor<128x128x!tt.ptr<f16>, #blocked>
  %m = ttg.convert_layout %old : tensor<128x128xf16, #blocked> -> tensor<128x128xf16, #mma>
  %sum = arith.addf %x, %m : tensor<128x128xf16, #mma>
  %d = ttg.convert_layout %sum : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// The addresses are the same, but what an element takes in was read at another.
// CHECK: missed: the barrier may keep this access in order with 'tt.load' to the same memory [layout-localize-stores]

#transposed = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @transposed_in_place(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<128x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<128x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<128x1x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<128x1x!tt.ptr<f16>, #blocked> -> tensor<128x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %read = tt.load %ptr : tensor<128x128x!tt.ptr<f16>, #blocked>
  %t = tt.trans %read {order = array<i32: 1, 0>} : tensor<128x128xf16, #blocked> -> tensor<128x128xf16, #transposed>
  %old = ttg.convert_layout %t : tensor<128x128xf16, #transposed> -> tensor<128x128xf16, #blocked>
  %m = ttg.convert_layout %old : tensor<128x128xf16, #blocked> -> tensor<128x128xf16, #mma>
  %sum = arith.addf %x, %m : tensor<128x128xf16, #mma>
  %d = ttg.convert_layout %sum : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}
