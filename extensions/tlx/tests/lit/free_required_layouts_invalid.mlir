// RUN: %opt %s --pass tlx-free-required-layouts --verify-diagnostics

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func @lost(%x: tensor<64x64xf32, #rows>) -> tensor<64x64xf32, #rows> {
    // expected-error-re @below {{expected a tensor in the required layout #ttg.blocked{{.*}}, got one in #ttg.blocked{{.*}}}}
    %0 = tlx.require_layout %x {layout = #columns} : tensor<64x64xf32, #rows>
    tt.return %0 : tensor<64x64xf32, #rows>
  }
}
