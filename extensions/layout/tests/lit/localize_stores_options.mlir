// RUN: %opt %s --pass "layout-localize-stores{min-vector-bits=128 min-barriers=1}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: %opt %s --pass "layout-localize-stores{min-vector-bits=64 min-barriers=1}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=ANY
// RUN: %opt %s --pass "layout-localize-stores{min-barriers=8}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=FEW

// The row stride is a multiple of 4 elements only.
// WIDE: missed: a thread would move 64 bits at once, fewer than min-vector-bits = 128 [layout-localize-stores]
// ANY: applied: each warp keeps its elements: {{.*}} vector bits 64 -> 64
// FEW: missed: it would save {{[1-7]}} barriers, fewer than min-barriers = 8 [layout-localize-stores]

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @narrow_stride(%base: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 4 : i32}, %x: tensor<128x128xf16, #mma>) {
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
