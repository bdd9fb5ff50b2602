// Conversions that keep their lowering.
// RUN: %opt %s --pass layout-force-shuffles -o %t.out
// RUN: %opt %s -o %t.in
// RUN: diff %t.in %t.out
// RUN: %opt %s --pass layout-force-shuffles --remarks -o %t 2>&1 | FileCheck %s

// CHECK-NOT: applied:
// CHECK: missed: {{[0-9]+}} shuffles take {{[0-9]+}} cycles, {{[0-9]+}} of them busy; shared memory takes {{[0-9]+}} cycles, {{[0-9]+}} of them busy [layout-force-shuffles]
// CHECK-NOT: missed:

#wide = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#tall = #ttg.linear<{register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [[32, 0], [64, 0]], block = []}>
#other = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [32, 0], [16, 0]], warp = [[8, 0], [64, 0]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
// Many registers change lanes.
tt.func public @large(%x: tensor<128x128xf32, #wide>) -> tensor<128x128xf32, #tall> {
  %y = ttg.convert_layout %x : tensor<128x128xf32, #wide> -> tensor<128x128xf32, #tall>
  tt.return %y : tensor<128x128xf32, #tall>
}
// Elements change their warp.
tt.func public @across_warps(%x: tensor<128x128xf32, #wide>) -> tensor<128x128xf32, #other> {
  %y = ttg.convert_layout %x : tensor<128x128xf32, #wide> -> tensor<128x128xf32, #other>
  tt.return %y : tensor<128x128xf32, #other>
}
}
