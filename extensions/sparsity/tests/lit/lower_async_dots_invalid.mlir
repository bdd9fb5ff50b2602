// RUN: %opt %s --pass sparsity-lower-async-dots --verify-diagnostics

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [2, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @warps(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>) {
  // expected-error @below {{expected whole warp groups of 4 warps, got 2 warps}}
  %d = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @rows(%v: !ttg.memdesc<32x32xf16, #rows, #smem>, %m: tensor<32x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<32x32xf32, #blocked>) {
  // expected-error @below {{expected M a multiple of 64, N of 8 and K of 32, got 32, 32 and 64}}
  %d = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<32x32xf16, #rows, #smem>, tensor<32x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<32x32xf32, #blocked>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @memory(%v: !ttg.memdesc<64x32xf16, #plain, #smem>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>) {
  // expected-error @below {{expected operands in a layout of shared memory that MMA reads, got '!ttg.memdesc<64x32xf16, }}
  %d = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #plain, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @no_wait(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>) {
  // expected-note @below {{the product starts here}}
  %d = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  // expected-error @below {{expected a wait in the block of an asynchronous product, before its result is used or the block ends, got none}}
  %e = arith.addf %d, %c : tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @next_round(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %c) -> (tensor<64x32xf32, #blocked>) : i32 {
  // expected-note @below {{the product starts here}}
  %d = sparsity.async_dot %v, %m, %b, %acc : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  // expected-error @below {{expected a wait in the block of an asynchronous product, before its result is used or the block ends, got none}}
  scf.yield %d : tensor<64x32xf32, #blocked>
  }
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @two_readers(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>) {
  // expected-error @below {{expected one reader of the result, a wait or a product that adds to it, got 2}}
  // expected-note @below {{the product starts here}}
  %d = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  %e = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<64x32xf32, #blocked>
  %f = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @goes_on(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>) {
  // expected-note @below {{the product starts here}}
  %d = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  // expected-error @below {{expected a wait that covers the product, with at most 0 pending behind it, got 1}}
  %e = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#bytes = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 8}>
#bytest = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8}>
#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @types(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>, %v8: !ttg.memdesc<64x32xf8E4M3FN, #bytes, #smem>, %b8: !ttg.memdesc<64x32xf8E4M3FN, #bytest, #smem>) {
  // expected-note @below {{that product is here}}
  %d = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  // expected-error @below {{expected operands like those of the product that it adds to, got 'f8E4M3FN'}}
  %e = sparsity.async_dot %v8, %m, %b8, %d : !ttg.memdesc<64x32xf8E4M3FN, #bytes, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf8E4M3FN, #bytest, #smem> -> tensor<64x32xf32, #blocked>
  tt.return
}
}
