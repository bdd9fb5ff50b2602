// RUN: %opt %s --pass tlx-inspect-layouts --verify-diagnostics

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func @others(%x: tensor<64x64xf32, #rows>, %y: tensor<64x64xf32, #columns>) {
    // expected-error-re @below {{expected the layout #ttg.blocked<{sizePerThread = [4, 1]{{.*}}, got #ttg.blocked<{sizePerThread = [1, 4]{{.*}}}}
    tlx.inspect_layout %x, %y : tensor<64x64xf32, #rows>, tensor<64x64xf32, #columns>
    tt.return
  }
}
