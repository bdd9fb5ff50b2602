// RUN: %opt %s --pass tlx-lower-required-layouts | FileCheck %s

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // CHECK: [[$COLUMNS:#blocked[0-9]*]] = #ttg.blocked<{sizePerThread = {{.}}4, 1]
  // CHECK-LABEL: @tensor
  // CHECK: %[[IN:.*]] = ttg.convert_layout %arg0 : {{.*}} -> tensor<64x64xf32, [[$COLUMNS]]>
  // CHECK: %[[KEPT:.*]] = tlx.require_layout %[[IN]] {{.*}} : tensor<64x64xf32, [[$COLUMNS]]>
  // CHECK: %[[OUT:.*]] = ttg.convert_layout %[[KEPT]] : tensor<64x64xf32, [[$COLUMNS]]> ->
  // CHECK: arith.addf %[[OUT]], %arg0
  tt.func @tensor(%x: tensor<64x64xf32, #rows>) -> tensor<64x64xf32, #rows> {
    %0 = tlx.require_layout %x {layout = #columns} : tensor<64x64xf32, #rows>
    %1 = arith.addf %0, %x : tensor<64x64xf32, #rows>
    tt.return %1 : tensor<64x64xf32, #rows>
  }

  // CHECK-LABEL: @load
  // CHECK: %[[VALUE:.*]] = ttg.local_load {{.*}} -> tensor<64x64xf32, [[$COLUMNS]]>
  // CHECK-NEXT: tlx.require_layout %[[VALUE]]
  // CHECK-NEXT: ttg.convert_layout
  tt.func @load(%slot: !ttg.memdesc<64x64xf32, #plain, #smem, mutable>) -> tensor<64x64xf32, #rows> {
    %0 = ttg.local_load %slot : !ttg.memdesc<64x64xf32, #plain, #smem, mutable> -> tensor<64x64xf32, #rows>
    %1 = tlx.require_layout %0 {layout = #columns} : tensor<64x64xf32, #rows>
    tt.return %1 : tensor<64x64xf32, #rows>
  }

  // CHECK-LABEL: @there_already
  // CHECK-NOT: ttg.convert_layout
  // CHECK: tt.return
  tt.func @there_already(%x: tensor<64x64xf32, #rows>) -> tensor<64x64xf32, #rows> {
    %0 = tlx.require_layout %x {layout = #rows} : tensor<64x64xf32, #rows>
    tt.return %0 : tensor<64x64xf32, #rows>
  }
}
