// RUN: %opt %s --pass tlx-lower-tensor-memory --split-input-file --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 1], order = [1, 0]}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
tt.func @few_warps(%t: !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>) -> tensor<128x64xf32, #blocked> {
  // expected-error @+1 {{expected whole warp groups of 4 warps, got 2 warps}}
  %r = tlx.tmem_load %t : !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable> -> tensor<128x64xf32, #blocked>
  tt.return %r : tensor<128x64xf32, #blocked>
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
tt.func @shared_memory(%x: tensor<128x64xf32, #blocked>, %t: !ttg.memdesc<128x64xf32, #shared, #smem, mutable>) {
  // expected-error @+1 {{expected a buffer in tensor memory, got}}
  tlx.tmem_store %x, %t : tensor<128x64xf32, #blocked> -> !ttg.memdesc<128x64xf32, #shared, #smem, mutable>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
tt.func @rows(%a: !ttg.memdesc<32x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %c: tensor<32x64xf32, #blocked>) -> tensor<32x64xf32, #blocked> {
  // expected-error @+1 {{expected an accumulator of multiples of 64 by 16, got 'tensor<32x64xf32}}
  %d = tlx.async_dot %a, %b, %c : !ttg.memdesc<32x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<32x64xf32, #blocked>
  tt.return %d : tensor<32x64xf32, #blocked>
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
tt.func @layout(%a: !ttg.memdesc<64x64xf16, #plain, #smem, mutable>, %c: tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked> {
  // expected-error @+1 {{expected operands in a layout of shared memory that MMA reads, got}}
  %d = tlx.async_dot %a, %a, %c : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> * !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> tensor<64x64xf32, #blocked>
  tt.return %d : tensor<64x64xf32, #blocked>
}
}
