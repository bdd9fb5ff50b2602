// RUN: %opt %s --pass tlx-lower-descriptor-copies --verify-diagnostics

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
tt.func @plain(%desc: !tt.tensordesc<64x64xf16>, %buffer: !ttg.memdesc<64x64xf16, #plain, #smem, mutable>, %at: i32) {
  // expected-error @below {{expected a buffer with an NVMMA layout that is not transposed, got #ttg.swizzled_shared}}
  tlx.async_descriptor_store %desc[%at, %at] %buffer : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #plain, #smem, mutable>
  tt.return
}

// -----

#transposed = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @transposed(%desc: !tt.tensordesc<64x64xf16>, %buffer: !ttg.memdesc<64x64xf16, #transposed, #smem, mutable>, %at: i32) {
  // expected-error @below {{expected a buffer with an NVMMA layout that is not transposed, got #ttg.nvmma_shared}}
  tlx.async_descriptor_store %desc[%at, %at] %buffer : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #transposed, #smem, mutable>
  tt.return
}

// -----

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @shape(%desc: !tt.tensordesc<32x64xf16>, %buffer: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %at: i32) {
  // expected-error @below {{expected a buffer like the descriptor's block, got '!ttg.memdesc<64x64xf16}}
  tlx.async_descriptor_store %desc[%at, %at] %buffer : !tt.tensordesc<32x64xf16>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  tt.return
}

// -----

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @conflict(%desc: !tt.tensordesc<64x64xf16>, %one: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %two: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, %at: i32) {
  // expected-note @below {{used with #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}> here}}
  tlx.async_descriptor_store %desc[%at, %at] %one : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  // expected-error @below {{expected buffers of one layout for a descriptor, got #ttg.nvmma_shared<{swizzlingByteWidth = 32}}
  tlx.async_descriptor_store %desc[%at, %at] %two : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>
  tt.return
}
