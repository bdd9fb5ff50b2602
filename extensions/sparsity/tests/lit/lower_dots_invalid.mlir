// RUN: %opt %s --pass sparsity-lower-dots --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
tt.func @blocked(%v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<64x32xf32, #blocked>) {
  // expected-error @below {{expected the layouts of a product of warps, got 'tensor<64x32xf16, }}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
#meta = #ttg.linear<{register = [[8, 0], [0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
tt.func @metadata(%v: tensor<16x32xf16, #a>, %m: tensor<16x8xi8, #meta>, %b: tensor<64x8xf16, #b>, %c: tensor<16x8xf32, #mma>) {
  // expected-error @below {{expected the layouts of a product of warps, got }}
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x32xf16, #a>, tensor<16x8xi8, #meta> * tensor<64x8xf16, #b> -> tensor<16x8xf32, #mma>
  tt.return
}
}
