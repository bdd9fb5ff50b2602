// RUN: %opt %s --pass "layout-localize-stores{min-barriers=1}" | FileCheck %s
// RUN: %opt %s --pass "layout-localize-stores{min-barriers=1}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass "layout-localize-stores{loads=false min-barriers=1}" | FileCheck %s --check-prefix=STORES

// A warp keeps its 64 rows of 128 columns: lanes walk along a row, 8 elements each.
// CHECK-DAG: #[[$LINEAR:.+]] = #ttg.linear<{register = {{\[\[}}0, 1], [0, 2], [0, 4], [2, 0], [4, 0], [8, 0], [64, 0]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [0, 64], [1, 0]], warp = {{\[\[}}16, 0], [32, 0]], block = []}>
// CHECK-DAG: #[[$MMA:.+]] = #ttg.nvidia_mma
// CHECK-NOT: #ttg.blocked
// CHECK-LABEL: @row_major
// CHECK: %[[VALUE:.+]] = ttg.convert_layout %{{.+}} : tensor<128x128xf16, #[[$MMA]]> -> tensor<128x128xf16, #[[$LINEAR]]>
// CHECK-DAG: tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #[[$LINEAR]]}>>
// CHECK-DAG: tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #[[$LINEAR]]}>>
// CHECK: tt.store %{{.+}}, %[[VALUE]] : tensor<128x128x!tt.ptr<f16>, #[[$LINEAR]]>
// CHECK-NEXT: tt.return
// REMARK: applied: each warp keeps its elements: barriers 7 -> 0, scratch bytes 8192 -> 8192, vector bits 128 -> 128, memory lines 256 -> 256 [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @row_major(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
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
  tt.return
}
}

// -----

// A round of the exchange delivers rows r and r + 8 together, so their stores come first.
// CHECK: #ttg.linear<{register = {{\[\[}}0, 1], [0, 2], [8, 0], [1, 0], [2, 0], [4, 0], [64, 0]], lane = {{\[\[}}0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = {{\[\[}}16, 0], [32, 0]], block = []}>
// CHECK-LABEL: @float32
// REMARK: applied: {{.*}} barriers 3 -> 0, scratch bytes 32768 -> 32768,

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @float32(%base: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf32, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<128x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<128x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f32> -> tensor<128x1x!tt.ptr<f32>, #blocked>
  %q = tt.addptr %p, %o : tensor<128x1x!tt.ptr<f32>, #blocked>, tensor<128x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<128x1x!tt.ptr<f32>, #blocked> -> tensor<128x128x!tt.ptr<f32>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<128x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<128x128x!tt.ptr<f32>, #blocked>, tensor<128x128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128x128xf32, #mma> -> tensor<128x128xf32, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f32>, #blocked>
  tt.return
}
}

// -----

// CHECK-LABEL: @masked
// CHECK: %[[MASK:.+]] = tt.broadcast %{{.+}} : tensor<1x128xi1, #linear{{[0-9]*}}> -> tensor<128x128xi1, #linear{{[0-9]*}}>
// CHECK: tt.store %{{.+}}, %{{.+}}, %[[MASK]] : tensor<128x128x!tt.ptr<f16>, #linear{{[0-9]*}}>
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @masked(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %limit: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
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
  %n = tt.splat %limit : i32 -> tensor<1x128xi32, #blocked>
  %m1 = arith.cmpi slt, %c2, %n : tensor<1x128xi32, #blocked>
  %m = tt.broadcast %m1 : tensor<1x128xi1, #blocked> -> tensor<128x128xi1, #blocked>
  %d = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d, %m : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// Arithmetic between the exchange and the store moves to the new layout.
// CHECK-LABEL: @work_after_the_exchange
// CHECK: %[[WIDE:.+]] = ttg.convert_layout %{{.+}} : tensor<128x128xf32, #mma{{[0-9]*}}> -> tensor<128x128xf32, #[[L:linear[0-9]*]]>
// CHECK: %[[NARROW:.+]] = arith.truncf %[[WIDE]] : tensor<128x128xf32, #[[L]]> to tensor<128x128xf16, #[[L]]>
// CHECK-NEXT: tt.store %{{.+}}, %[[NARROW]]
// REMARK: applied: {{.*}} barriers 15 -> 0

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @work_after_the_exchange(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf32, #mma>) {
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
  %w = ttg.convert_layout %x : tensor<128x128xf32, #mma> -> tensor<128x128xf32, #blocked>
  %d = arith.truncf %w : tensor<128x128xf32, #blocked> to tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// Two stores of one value share its exchange.
// CHECK-LABEL: @two_stores
// CHECK: %[[VALUE:.+]] = ttg.convert_layout
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.store %[[FIRST:.+]], %[[VALUE]]
// CHECK-NOT: tt.make_range
// CHECK: %[[SECOND:.+]] = tt.addptr %[[FIRST]]
// CHECK: tt.store %[[SECOND]], %[[VALUE]]
// REMARK-COUNT-2: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @two_stores(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %other: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
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
  %k = tt.splat %other : i32 -> tensor<128x128xi32, #blocked>
  %ptr2 = tt.addptr %ptr, %k : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.store %ptr2, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// Addresses are computed behind the loop that makes the data, where they take no registers from it, and in front of a
// loop that only uses them.
// CHECK-LABEL: @around_loops
// CHECK-NOT: parent = #linear
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: tt.make_range {{.*}} parent = #linear
// CHECK: %[[AT:.+]] = tt.addptr {{.*}} tensor<128x128x!tt.ptr<f16>, #linear{{[0-9]*}}>
// CHECK-NEXT: scf.for
// CHECK-NEXT: %[[VALUE:.+]] = ttg.convert_layout
// CHECK-NEXT: tt.store %[[AT]], %[[VALUE]]
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @around_loops(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128x128xf16, #mma>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
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
  %sum = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> tensor<128x128xf16, #mma> : i32 {
    %b = arith.addf %a, %a : tensor<128x128xf16, #mma>
    scf.yield %b : tensor<128x128xf16, #mma>
  }
  scf.for %i = %zero to %n step %one : i32 {
    %d = ttg.convert_layout %sum : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
    tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  }
  tt.return
}
}

// -----

// A load that only feeds the accumulator's layout is localized too.
// CHECK-LABEL: @residual
// CHECK: %[[R:.+]] = tt.load %{{.+}} : tensor<128x128x!tt.ptr<f16>, #[[L:linear[0-9]*]]>
// CHECK: ttg.convert_layout %[[R]] : tensor<128x128xf16, #[[L]]> -> tensor<128x128xf16, #mma{{[0-9]*}}>
// CHECK: tt.store %{{.+}}, %{{.+}} : tensor<128x128x!tt.ptr<f16>, #[[L]]>
// STORES-LABEL: @residual
// STORES: tt.load %{{.+}} : tensor<128x128x!tt.ptr<f16>, #blocked{{[0-9]*}}>
// STORES: tt.store %{{.+}}, %{{.+}} : tensor<128x128x!tt.ptr<f16>, #linear{{[0-9]*}}>
// REMARK-COUNT-2: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @residual(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
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
  %l = tt.load %ptr : tensor<128x128x!tt.ptr<f16>, #blocked>
  %lm = ttg.convert_layout %l : tensor<128x128xf16, #blocked> -> tensor<128x128xf16, #mma>
  %sum = arith.addf %x, %lm : tensor<128x128xf16, #mma>
  %d = ttg.convert_layout %sum : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// What a loop does not change is recomputed outside of it.
// CHECK-LABEL: @persistent
// CHECK: tt.make_range {{.*}}#linear
// CHECK: scf.for
// CHECK-NOT: tt.make_range
// CHECK: tt.store %{{.+}}, %{{.+}} : tensor<128x128x!tt.ptr<f16>, #linear{{[0-9]*}}>
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @persistent(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %tiles: i32, %x: tensor<128x128xf16, #mma>) {
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
  scf.for %i = %c0 to %tiles step %c1 : i32 {
    %skip = arith.muli %i, %stride : i32
    %k = tt.splat %skip : i32 -> tensor<128x128xi32, #blocked>
    %at = tt.addptr %ptr, %k : tensor<128x128x!tt.ptr<f16>, #blocked>, tensor<128x128xi32, #blocked>
    %d = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
    tt.store %at, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  }
  tt.return
}
}

// -----

// Each CTA of a cluster keeps its elements as well.
// CHECK: #ttg.linear<{{.*}} warp = {{\[\[}}16, 0], [32, 0]], block = {{\[\[}}128, 0]]}>
// CHECK-LABEL: @cluster
// CHECK: tt.store %{{.+}}, %{{.+}} : tensor<256x128x!tt.ptr<f16>, #linear{{[0-9]*}}>
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], CGALayout = [[1, 0]], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @cluster(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<256x128xf16, #mma>) {
  %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %r2 = tt.expand_dims %r {axis = 1 : i32} : tensor<256xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<256x1xi32, #blocked>
  %c2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x128xi32, #blocked>
  %s = tt.splat %stride : i32 -> tensor<256x1xi32, #blocked>
  %o = arith.muli %r2, %s : tensor<256x1xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<256x1x!tt.ptr<f16>, #blocked>
  %q = tt.addptr %p, %o : tensor<256x1x!tt.ptr<f16>, #blocked>, tensor<256x1xi32, #blocked>
  %qb = tt.broadcast %q : tensor<256x1x!tt.ptr<f16>, #blocked> -> tensor<256x128x!tt.ptr<f16>, #blocked>
  %cb = tt.broadcast %c2 : tensor<1x128xi32, #blocked> -> tensor<256x128xi32, #blocked>
  %ptr = tt.addptr %qb, %cb : tensor<256x128x!tt.ptr<f16>, #blocked>, tensor<256x128xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<256x128xf16, #mma> -> tensor<256x128xf16, #blocked>
  tt.store %ptr, %d : tensor<256x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// CHECK-LABEL: @three_dimensions
// CHECK: ttg.convert_layout %{{.+}} : tensor<4x32x64xf16, #linear{{[0-9]*}}> -> tensor<4x32x64xf16, #[[L:linear[0-9]*]]>
// CHECK: tt.store %{{.+}}, %{{.+}} : tensor<4x32x64x!tt.ptr<f16>, #[[L]]>
// REMARK: applied: {{.*}} barriers 7 -> 0

#blocked = #ttg.blocked<{sizePerThread = [1, 1, 8], threadsPerWarp = [1, 4, 8], warpsPerCTA = [1, 4, 1], order = [2, 1, 0]}>
#linear = #ttg.linear<{register = [[0, 0, 1], [0, 0, 2], [0, 0, 4], [0, 0, 8], [0, 0, 16], [0, 0, 32]], lane = [[0, 1, 0], [0, 2, 0], [0, 4, 0], [0, 8, 0], [0, 16, 0]], warp = [[1, 0, 0], [2, 0, 0]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @three_dimensions(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %x: tensor<4x32x64xf16, #linear>) {
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #ttg.slice<{dim = 1, parent = #blocked}>}>>
  %r1 = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #ttg.slice<{dim = 1, parent = #blocked}>}>> -> tensor<1x64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %r2 = tt.expand_dims %r1 {axis = 1 : i32} : tensor<1x64xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<1x1x64xi32, #blocked>
  %rb = tt.broadcast %r2 : tensor<1x1x64xi32, #blocked> -> tensor<4x32x64xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<4x32x64x!tt.ptr<f16>, #blocked>
  %ptr = tt.addptr %p, %rb : tensor<4x32x64x!tt.ptr<f16>, #blocked>, tensor<4x32x64xi32, #blocked>
  %d = ttg.convert_layout %x : tensor<4x32x64xf16, #linear> -> tensor<4x32x64xf16, #blocked>
  tt.store %ptr, %d : tensor<4x32x64x!tt.ptr<f16>, #blocked>
  tt.return
}
}

// -----

// AMD wavefronts have 64 lanes.
// CHECK: #ttg.linear<{register = {{\[\[}}0, 1], [0, 2], [0, 4], [4, 0], [8, 0], [16, 0]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [0, 64], [1, 0], [2, 0]], warp = {{\[\[}}32, 0], [64, 0]], block = []}>
// CHECK-LABEL: @mfma
// REMARK: applied: {{.*}} barriers 1 -> 0

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [32, 32, 8], isTransposed = true}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
tt.func public @mfma(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
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
  tt.return
}
}

// -----

// A load of row numbers that nothing else uses is repeated in the new layout, and the old one goes away.
// CHECK-LABEL: @scatter
// CHECK-COUNT-1: tt.load %{{.+}} : tensor<128x!tt.ptr<i32>, #ttg.slice<{dim = 1, parent = #linear{{[0-9]*}}}>>
// CHECK-NOT: tt.load
// CHECK: tt.store
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @scatter(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %rows: !tt.ptr<i32>, %x: tensor<128x128xf16, #mma>) {
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
  %rp = tt.splat %rows : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #ttg.slice<{dim = 1, parent = #blocked}>>
  %ra = tt.addptr %rp, %r : tensor<128x!tt.ptr<i32>, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
  %row = tt.load %ra : tensor<128x!tt.ptr<i32>, #ttg.slice<{dim = 1, parent = #blocked}>>
  %r2 = tt.expand_dims %row {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
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
  tt.return
}
}

// -----

// In place, but an element depends on what was read at its own address, so no barrier is needed to read it first.
// CHECK-LABEL: @in_place
// CHECK: tt.load %{{.+}} : tensor<128x128x!tt.ptr<f16>, #linear{{[0-9]*}}>
// CHECK: tt.store %{{.+}}, %{{.+}} : tensor<128x128x!tt.ptr<f16>, #linear{{[0-9]*}}>
// REMARK-COUNT-2: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @in_place(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}, %x: tensor<128x128xf16, #mma>) {
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
  %old = tt.load %ptr : tensor<128x128x!tt.ptr<f16>, #blocked>
  %m = ttg.convert_layout %old : tensor<128x128xf16, #blocked> -> tensor<128x128xf16, #mma>
  %sum = arith.addf %x, %m : tensor<128x128xf16, #mma>
  %d = ttg.convert_layout %sum : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.store %ptr, %d : tensor<128x128x!tt.ptr<f16>, #blocked>
  tt.return
}
}
