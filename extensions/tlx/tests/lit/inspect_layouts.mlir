// RUN: %opt %s --pass tlx-inspect-layouts | FileCheck %s

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
#same = #ttg.linear<{register = [[0, 1], [0, 2], [8, 0], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp = [[2, 0], [4, 0]], block = []}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  // What is printed goes past the tool; test_layouts.py has it.
  // CHECK-LABEL: @printed
  // CHECK-NEXT: tt.return
  tt.func @printed(%x: tensor<64x64xf32, #rows>, %slot: !ttg.memdesc<64x64xf32, #plain, #smem, mutable>) {
    tlx.inspect_layout %x : tensor<64x64xf32, #rows>
    tlx.inspect_layout %slot : !ttg.memdesc<64x64xf32, #plain, #smem, mutable>
    tt.return
  }

  // What a value was before a conversion for its inspection.
  // CHECK-LABEL: @compared
  // CHECK-NOT: tlx.inspect_layout
  // CHECK: tt.return
  tt.func @compared(%x: tensor<64x64xf32, #rows>, %y: tensor<64x64xf32, #rows>) {
    %0 = ttg.convert_layout %y : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    tlx.inspect_layout %x, %0 : tensor<64x64xf32, #rows>, tensor<64x64xf32, #columns>
    tlx.inspect_layout %x {expected = #same} : tensor<64x64xf32, #rows>
    tt.return
  }
}
