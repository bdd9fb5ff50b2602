// RUN: %opt %s --pass tlx-lower-pair-dots --verify-diagnostics

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
tt.func @whole_columns(%a: !ttg.memdesc<128x64xf16, #rows, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #rows, #smem, mutable>, %d: !ttg.memdesc<128x64xf32, #acc, #tmem, mutable>, %c: i1) {
  // expected-error @below {{expected operands of 128 x K and K x N / 2 for an accumulator of 128 x N, or of 64 x K for one of 128 x N / 2, N a multiple of 32 up to 256, got }}
  tlx.pair_dot %a, %b, %d if %c, %c : !ttg.memdesc<128x64xf16, #rows, #smem, mutable> * !ttg.memdesc<64x64xf16, #rows, #smem, mutable> -> !ttg.memdesc<128x64xf32, #acc, #tmem, mutable>
  tt.return
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
tt.func @types(%a: !ttg.memdesc<128x64xbf16, #rows, #smem, mutable>, %b: !ttg.memdesc<64x64xi16, #rows, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, %c: i1) {
  // expected-error @below {{expected types that the tensor cores multiply, and whole steps of 256 bits along K, got }}
  tlx.pair_dot %a, %b, %d if %c, %c : !ttg.memdesc<128x64xbf16, #rows, #smem, mutable> * !ttg.memdesc<64x64xi16, #rows, #smem, mutable> -> !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>
  tt.return
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
tt.func @layouts(%a: !ttg.memdesc<128x64xf16, #rows, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #plain, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, %c: i1) {
  // expected-error @below {{expected operands in a swizzled layout of shared memory, and an accumulator in tensor memory, got }}
  tlx.pair_dot %a, %b, %d if %c, %c : !ttg.memdesc<128x64xf16, #rows, #smem, mutable> * !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @mixed(%bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %c: i1) {
  // expected-note @below {{two blocks work together here}}
  tlx.pair_commit %bar, %c : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected tensor core work of two blocks, as elsewhere in the kernel, got that of one}}
  // expected-note @below {{pass two_ctas=True to all products, copies and commits, or to none}}
  ttng.tc_gen5_commit %bar : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
tt.func @depth(%a: !ttg.memdesc<128x64xi8, #rows, #smem, mutable>, %b: !ttg.memdesc<128x64xi8, #columns, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, %sa: !ttg.memdesc<128x4xi8, #scales, #tmem, mutable>, %sb: !ttg.memdesc<128x4xi8, #scales, #tmem, mutable>, %c: i1) {
  // expected-error @below {{expected operands of 128 x K and K x N / 2 for an accumulator of 128 x N, N a multiple of 32 up to 256 and K one of 32, got }}
  tlx.pair_dot_scaled %a scale %sa, %b scale %sb, %d lhs = e4m3 rhs = e4m3 if %c, %c : !ttg.memdesc<128x64xi8, #rows, #smem, mutable>, !ttg.memdesc<128x4xi8, #scales, #tmem, mutable> * !ttg.memdesc<128x64xi8, #columns, #smem, mutable>, !ttg.memdesc<128x4xi8, #scales, #tmem, mutable> -> !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>
  tt.return
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
tt.func @scales(%a: !ttg.memdesc<128x128xi8, #rows, #smem, mutable>, %b: !ttg.memdesc<128x64xi8, #columns, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, %sa: !ttg.memdesc<128x4xi8, #scales, #tmem, mutable>, %sb: !ttg.memdesc<64x4xi8, #scales, #tmem, mutable>, %c: i1) {
  // expected-error @below {{expected scales in tensor memory, of 8 bits for each row of A, each column of the accumulator and each 32 elements along K, got }}
  tlx.pair_dot_scaled %a scale %sa, %b scale %sb, %d lhs = e4m3 rhs = e4m3 if %c, %c : !ttg.memdesc<128x128xi8, #rows, #smem, mutable>, !ttg.memdesc<128x4xi8, #scales, #tmem, mutable> * !ttg.memdesc<128x64xi8, #columns, #smem, mutable>, !ttg.memdesc<64x4xi8, #scales, #tmem, mutable> -> !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>
  tt.return
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
tt.func @format(%a: !ttg.memdesc<128x128xi8, #rows, #smem, mutable>, %b: !ttg.memdesc<128x64xi8, #columns, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, %sa: !ttg.memdesc<128x4xi8, #scales, #tmem, mutable>, %sb: !ttg.memdesc<128x4xi8, #scales, #tmem, mutable>, %c: i1) {
  // expected-error @below {{expected operands of e4m3, e5m2 or e2m1 in a swizzled layout of shared memory with K contiguous, those of 4 bits padded beside others, and an accumulator of f32 in tensor memory, got }}
  tlx.pair_dot_scaled %a scale %sa, %b scale %sb, %d lhs = e2m3 rhs = e4m3 if %c, %c : !ttg.memdesc<128x128xi8, #rows, #smem, mutable>, !ttg.memdesc<128x4xi8, #scales, #tmem, mutable> * !ttg.memdesc<128x64xi8, #columns, #smem, mutable>, !ttg.memdesc<128x4xi8, #scales, #tmem, mutable> -> !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>
  tt.return
}

// -----

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
tt.func @padding(%a: !ttg.memdesc<128x64xi8, #rows, #smem, mutable>, %b: !ttg.memdesc<128x64xi8, #columns, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, %sa: !ttg.memdesc<128x4xi8, #scales, #tmem, mutable>, %sb: !ttg.memdesc<128x4xi8, #scales, #tmem, mutable>, %c: i1) {
  // expected-error @below {{expected operands of e4m3, e5m2 or e2m1 in a swizzled layout of shared memory with K contiguous, those of 4 bits padded beside others, and an accumulator of f32 in tensor memory, got }}
  tlx.pair_dot_scaled %a scale %sa, %b scale %sb, %d lhs = e2m1 rhs = e4m3 if %c, %c : !ttg.memdesc<128x64xi8, #rows, #smem, mutable>, !ttg.memdesc<128x4xi8, #scales, #tmem, mutable> * !ttg.memdesc<128x64xi8, #columns, #smem, mutable>, !ttg.memdesc<128x4xi8, #scales, #tmem, mutable> -> !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>
  tt.return
}

// -----

#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#packed = #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
tt.func @rows_in_tensor_memory(%a: !ttg.memdesc<64x64xf16, #packed, #tmem, mutable>, %b: !ttg.memdesc<64x64xf16, #columns, #smem, mutable>, %d: !ttg.memdesc<128x64xf32, #acc, #tmem, mutable>, %c: i1) {
  // expected-error @below {{expected operands in a swizzled layout of shared memory, and an accumulator in tensor memory, got }}
  tlx.pair_dot %a, %b, %d if %c, %c : !ttg.memdesc<64x64xf16, #packed, #tmem, mutable> * !ttg.memdesc<64x64xf16, #columns, #smem, mutable> -> !ttg.memdesc<128x64xf32, #acc, #tmem, mutable>
  tt.return
}
