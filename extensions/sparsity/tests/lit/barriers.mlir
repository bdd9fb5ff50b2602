// RUN: %opt %s --pass "triton-nvidia-gpu-fence-insertion{90}" --pass "allocate-shared-memory-nv{90 86}" --pass "triton-nvidia-gpu-proxy-fence-insertion{90}" --pass "triton-nvidia-gpu-membar{90 86}" | FileCheck %s

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#s64 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#s128t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
// Stock passes see what a product of warp groups reads: it waits for the stores of all warps, and these for it.
// CHECK-LABEL: @product
// CHECK: ttg.local_alloc
// CHECK: ttg.local_alloc
// CHECK: ttng.fence_async_shared
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: sparsity.warp_group_dot
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: ttg.local_store
tt.func public @product(%x: tensor<64x32xbf16, #blocked>, %y: tensor<64x16xbf16, #blocked>, %m: tensor<64x8xi8, #meta>, %c: tensor<64x16xf32, #mma>) -> tensor<64x16xf32, #mma> {
  %v = ttg.local_alloc %x : (tensor<64x32xbf16, #blocked>) -> !ttg.memdesc<64x32xbf16, #s64, #smem, mutable>
  %b = ttg.local_alloc %y : (tensor<64x16xbf16, #blocked>) -> !ttg.memdesc<64x16xbf16, #s128t, #smem>
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xbf16, #s64, #smem, mutable>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x16xbf16, #s128t, #smem> -> tensor<64x16xf32, #mma>
  ttg.local_store %x, %v : tensor<64x32xbf16, #blocked> -> !ttg.memdesc<64x32xbf16, #s64, #smem, mutable>
  tt.return %d : tensor<64x16xf32, #mma>
}
}
