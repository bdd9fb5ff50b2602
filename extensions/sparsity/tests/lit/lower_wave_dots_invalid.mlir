// RUN: %opt %s --pass sparsity-lower-wave-dots --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
tt.func @blocked(%v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<64x32xf32, #blocked>) {
  // expected-error @below {{expected the layouts of a product of waves, got 'tensor<64x32xf16, }}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#mfma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [16, 16, 32], isTransposed = true}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mfma, kWidth = 4}>
#b = #ttg.dot_op<{opIdx = 1, parent = #mfma, kWidth = 8}>
#meta = #ttg.linear<{register = [[0, 4]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
tt.func @transposed(%v: tensor<16x32xf16, #a>, %m: tensor<16x8xi8, #meta>, %b: tensor<64x16xf16, #b>, %c: tensor<16x16xf32, #mfma>) {
  // expected-error @below {{expected the layouts of a product of waves, got }}
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x32xf16, #a>, tensor<16x8xi8, #meta> * tensor<64x16xf16, #b> -> tensor<16x16xf32, #mfma>
  tt.return
}
}
