// RUN: %opt %s --pass tlx-show-async-ops --verify-diagnostics

#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @layout(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{expected an asynchronous dot that was lowered before, got 'tensor<64x64xf32>'}}
  %d = tlx.async_dot %a, %a, %x : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32>
  tt.return %d : tensor<64x64xf32>
}
