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

// -----

tt.func @of_another_pointer(%slot: !tt.ptr<i8>) {
  // expected-error @below {{expected a descriptor of tlx.allocate_tensor_descriptor, as it is or indexed, got a pointer that went through a loop or a branch}}
  %desc = tlx.load_descriptor %slot : !tt.ptr<i8> -> !tt.tensordesc<64x64xf16>
  tt.return
}

// -----

tt.func @without_a_copy() {
  %memory = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>
  // expected-error @below {{expected an asynchronous copy by the descriptor, which tells its layout, got none}}
  %desc = tlx.load_descriptor %memory : !tt.ptr<i8> -> !tt.tensordesc<64x64xf16>
  tt.return
}

// -----

tt.func @of_the_host(%desc: !tt.tensordesc<64x64xf16>) {
  %memory = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>
  // expected-error @below {{expected a descriptor that is made here, got another one}}
  tlx.store_descriptor %desc in %memory : !tt.tensordesc<64x64xf16>, !tt.ptr<i8>
  tt.return
}
