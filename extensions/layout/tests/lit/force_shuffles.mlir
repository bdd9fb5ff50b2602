// RUN: %opt %s --pass layout-force-shuffles | FileCheck %s
// RUN: %opt %s --pass layout-force-shuffles --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A transpose of 4 elements per thread within each warp.
// CHECK-LABEL: @small_transpose
// CHECK: ttg.convert_layout %arg0 {force_warp_shuffle}
// REMARK: applied: {{[0-9]+}} shuffles take {{[0-9]+}} cycles, {{[0-9]+}} of them busy; shared memory takes {{[0-9]+}} cycles, {{[0-9]+}} of them busy [layout-force-shuffles]

#row = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [[16, 0], [32, 0]], block = []}>
#column = #ttg.linear<{register = [[1, 0], [2, 0]], lane = [[4, 0], [8, 0], [0, 1], [0, 2], [0, 4], [0, 8]], warp = [[16, 0], [32, 0]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
tt.func public @small_transpose(%x: tensor<64x16xf32, #row>) -> tensor<64x16xf32, #column> {
  %y = ttg.convert_layout %x : tensor<64x16xf32, #row> -> tensor<64x16xf32, #column>
  tt.return %y : tensor<64x16xf32, #column>
}
}

// -----

// The same takes an H200 longer than shared memory does.
// CHECK-LABEL: @small_transpose_of_hopper
// CHECK-NOT: force_warp_shuffle

#row = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0]], block = []}>
#column = #ttg.linear<{register = [[1, 0], [2, 0]], lane = [[4, 0], [0, 1], [0, 2], [0, 4], [0, 8]], warp = [[8, 0], [16, 0]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @small_transpose_of_hopper(%x: tensor<32x16xf32, #row>) -> tensor<32x16xf32, #column> {
  %y = ttg.convert_layout %x : tensor<32x16xf32, #row> -> tensor<32x16xf32, #column>
  tt.return %y : tensor<32x16xf32, #column>
}
}
