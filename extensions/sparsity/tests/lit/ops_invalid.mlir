// RUN: %opt %s --verify-diagnostics

tt.func @rank(%v: tensor<1x64x32xf16>, %m: tensor<1x64x8xi8>, %b: tensor<1x64x32xf16>, %c: tensor<1x64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected matrices, got }}
  %d = sparsity.dot %v, %m, %b, %c : tensor<1x64x32xf16>, tensor<1x64x8xi8> * tensor<1x64x32xf16> -> tensor<1x64x32xf32>
  tt.return
}

tt.func @types(%v: tensor<64x32xf16>, %m: tensor<64x8xi8>, %b: tensor<64x32xbf16>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected values and b of f16, bf16, f32 or i8, or both of 8-bit floats of one kind, got 'f16' and 'bf16'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16>, tensor<64x8xi8> * tensor<64x32xbf16> -> tensor<64x32xf32>
  tt.return
}

tt.func @wide(%v: tensor<64x32xf64>, %m: tensor<64x8xi8>, %b: tensor<64x32xf64>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected values and b of f16, bf16, f32 or i8, or both of 8-bit floats of one kind, got 'f64' and 'f64'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf64>, tensor<64x8xi8> * tensor<64x32xf64> -> tensor<64x32xf32>
  tt.return
}

tt.func @fp8(%v: tensor<64x32xf16>, %m: tensor<64x8xi8>, %b: tensor<64x32xf8E5M2>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected values and b of f16, bf16, f32 or i8, or both of 8-bit floats of one kind, got 'f16' and 'f8E5M2'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16>, tensor<64x8xi8> * tensor<64x32xf8E5M2> -> tensor<64x32xf32>
  tt.return
}

tt.func @fp8_kinds(%v: tensor<64x32xf8E5M2FNUZ>, %m: tensor<64x8xi8>, %b: tensor<64x32xf8E5M2>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected values and b of f16, bf16, f32 or i8, or both of 8-bit floats of one kind, got 'f8E5M2FNUZ' and 'f8E5M2'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf8E5M2FNUZ>, tensor<64x8xi8> * tensor<64x32xf8E5M2> -> tensor<64x32xf32>
  tt.return
}

tt.func @accumulator(%v: tensor<64x32xbf16>, %m: tensor<64x8xi8>, %b: tensor<64x32xbf16>, %c: tensor<64x32xf16>) {
  // expected-error @below {{'sparsity.dot' op expected an accumulator of f32, of f16 for f16 and 8-bit floats, or of i32 for i8, got 'f16' for 'bf16'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xbf16>, tensor<64x8xi8> * tensor<64x32xbf16> -> tensor<64x32xf16>
  tt.return
}

tt.func @integers(%v: tensor<64x32xi8>, %m: tensor<64x8xi8>, %b: tensor<64x32xi8>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected an accumulator of f32, of f16 for f16 and 8-bit floats, or of i32 for i8, got 'f32' for 'i8'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xi8>, tensor<64x8xi8> * tensor<64x32xi8> -> tensor<64x32xf32>
  tt.return
}

tt.func @metadata_type(%v: tensor<64x32xf16>, %m: tensor<64x8xi16>, %b: tensor<64x32xf16>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected metadata of i8, got 'i16'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16>, tensor<64x8xi16> * tensor<64x32xf16> -> tensor<64x32xf32>
  tt.return
}

tt.func @dense(%v: tensor<64x32xf16>, %m: tensor<64x8xi8>, %b: tensor<32x32xf16>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected b with 64 rows, two for each column of the values, got 'tensor<32x32xf16>'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16>, tensor<64x8xi8> * tensor<32x32xf16> -> tensor<64x32xf32>
  tt.return
}

tt.func @metadata(%v: tensor<64x32xf16>, %m: tensor<64x16xi8>, %b: tensor<64x32xf16>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected metadata of 64 x 8 bytes for values 'tensor<64x32xf16>', got 'tensor<64x16xi8>'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16>, tensor<64x16xi8> * tensor<64x32xf16> -> tensor<64x32xf32>
  tt.return
}

tt.func @metadata_of_f32(%v: tensor<64x32xf32>, %m: tensor<64x8xi8>, %b: tensor<64x32xf32>, %c: tensor<64x32xf32>) {
  // expected-error @below {{'sparsity.dot' op expected metadata of 64 x 16 bytes for values 'tensor<64x32xf32>', got 'tensor<64x8xi8>'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf32>, tensor<64x8xi8> * tensor<64x32xf32> -> tensor<64x32xf32>
  tt.return
}

tt.func @accumulator_shape(%v: tensor<64x32xf16>, %m: tensor<64x8xi8>, %b: tensor<64x32xf16>, %c: tensor<64x16xf32>) {
  // expected-error @below {{'sparsity.dot' op expected an accumulator of 64 x 32, got 'tensor<64x16xf32>'}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16>, tensor<64x8xi8> * tensor<64x32xf16> -> tensor<64x16xf32>
  tt.return
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @wrong_k(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<32x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @below {{'sparsity.warp_group_dot' op expected b with 64 rows, two for each column of the values, got }}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<32x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @old_mma(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @below {{'sparsity.warp_group_dot' op expected an accumulator in a layout of MMA version 3, got }}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @warps(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @below {{'sparsity.warp_group_dot' op expected whole warp groups of 4 warps, got 2 warps}}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [0, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @few_rows(%v: !ttg.memdesc<32x32xf16, #rows, #smem>, %m: tensor<32x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<32x32xf32, #mma>) {
  // expected-error @below {{'sparsity.warp_group_dot' op expected M a multiple of 64, N of 8 and K of 32, got 32, 32 and 64}}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<32x32xf16, #rows, #smem>, tensor<32x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<32x32xf32, #mma>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @plain_values(%v: !ttg.memdesc<64x32xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @below {{'sparsity.warp_group_dot' op expected values in an NVMMA layout of shared memory, got }}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @plain_b(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #smem>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @below {{'sparsity.warp_group_dot' op expected b in an NVMMA layout of shared memory, got }}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @registers(%v: tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @below {{'sparsity.warp_group_dot' op expected values in the layout of the first operand of the accumulator, kWidth 2, got }}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[8, 0], [0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @metadata_layout(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @below {{'sparsity.warp_group_dot' op expected metadata in the layout #ttg.linear<{register = [[0, 1], [8, 0]], lane = }}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
tt.func @unsigned_floats(%v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<64x32xf32, #blocked>) {
  // expected-error @below {{'sparsity.dot' op expected unsigned operands to be of i8, got 'f16'}}
  %d = sparsity.dot %v, %m, %b, %c {unsignedB} : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<64x32xf32, #blocked>
  tt.return
}
}
