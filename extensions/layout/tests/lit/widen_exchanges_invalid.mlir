// Exchanges that keep their rounds, or have only one.
// RUN: %opt %s --pass layout-widen-exchanges -o %t.out
// RUN: %opt %s -o %t.in
// RUN: diff %t.in %t.out
// RUN: %opt %s --pass layout-widen-exchanges --remarks -o %t 2>&1 | FileCheck %s

// CHECK-NOT: applied:
// CHECK: missed: one round instead of {{[0-9]+}} would need {{[0-9]+}} bytes of shared memory, now the kernel needs {{[0-9]+}} [layout-widen-exchanges]
// CHECK-NOT: missed:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#vectors = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#elements = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @in_use(%x: tensor<128x128xf16, #mma>) -> tensor<128x128xf16, #blocked> {
  %ring = ttg.local_alloc : () -> !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
  %y = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  ttg.local_dealloc %ring : !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
  tt.return %y : tensor<128x128xf16, #blocked>
}
tt.func public @single(%x: tensor<512xf32, #vectors>) -> tensor<512xf32, #elements> {
  %y = ttg.convert_layout %x : tensor<512xf32, #vectors> -> tensor<512xf32, #elements>
  tt.return %y : tensor<512xf32, #elements>
}
}

// -----

// Each CTA of a cluster has a part of the tensor.
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], CGALayout = [[1, 0]], instrShape = [16, 128, 16]}>
module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @cluster(%x: tensor<256x128xf16, #mma>) -> tensor<256x128xf16, #blocked> {
  %y = ttg.convert_layout %x : tensor<256x128xf16, #mma> -> tensor<256x128xf16, #blocked>
  tt.return %y : tensor<256x128xf16, #blocked>
}
}
