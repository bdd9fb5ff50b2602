// RUN: %opt %s --pass tlx-free-required-layouts | FileCheck %s

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: @kept
  // CHECK-NEXT: tt.return %arg0
  tt.func @kept(%x: tensor<64x64xf32, #rows>) -> tensor<64x64xf32, #rows> {
    %0 = tlx.require_layout %x {layout = #rows} : tensor<64x64xf32, #rows>
    tt.return %0 : tensor<64x64xf32, #rows>
  }
}
