// RUN: %opt %s --pass tlx-lower-async-dots --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @no_wait(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #blocked>, %n: i32) -> tensor<64x64xf32, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<64x64xf32, #blocked>) : i32 {
    // expected-note @below {{the dot starts here}}
    %d = tlx.async_dot %a, %a, %acc : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #blocked>
    scf.yield %d : tensor<64x64xf32, #blocked>
  }
  // expected-error @below {{expected a wait before the result of an asynchronous dot is used, got none}}
  %s = arith.addf %r, %x : tensor<64x64xf32, #blocked>
  tt.return %s : tensor<64x64xf32, #blocked>
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @warps(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #blocked>) {
  // expected-error @below {{expected whole warp groups of 4 warps, got 2 warps}}
  %d = tlx.async_dot %a, %a, %x : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @sizes(%a: !ttg.memdesc<32x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<32x64xf32, #blocked>) {
  // expected-error @below {{expected an accumulator of multiples of 64 by 8, got 'tensor<32x64xf32}}
  %d = tlx.async_dot %a, %b, %x : !ttg.memdesc<32x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<32x64xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @memory(%a: !ttg.memdesc<64x64xf16, #plain, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #blocked>) {
  // expected-error @below {{expected operands in a layout of shared memory that MMA reads, got}}
  %d = tlx.async_dot %a, %b, %x : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared8 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#shared8t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @mixed(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %e: !ttg.memdesc<64x128xf8E5M2, #shared8, #smem, mutable>, %f: !ttg.memdesc<128x64xf8E5M2, #shared8t, #smem, mutable>, %x: tensor<64x64xf32, #blocked>) {
  // expected-note @below {{another dot is here}}
  %d = tlx.async_dot %a, %a, %x : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #blocked>
  // expected-error @below {{expected operands like those of the other dots on this accumulator, got}}
  %g = tlx.async_dot %e, %f, %d : !ttg.memdesc<64x128xf8E5M2, #shared8, #smem, mutable> * !ttg.memdesc<128x64xf8E5M2, #shared8t, #smem, mutable> -> tensor<64x64xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @precision(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #blocked>) {
  // expected-error @below {{expected a precision such as tf32, got "exact"}}
  %d = tlx.async_dot %a, %a, %x {inputPrecision = "exact"} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #blocked>
  tt.return
}
}
