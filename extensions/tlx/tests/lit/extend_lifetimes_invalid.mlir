// RUN: %opt %s --pass tlx-extend-lifetimes --verify-diagnostics

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func private @helper(%desc: !tt.tensordesc<64x64xf16, #wide>, %n: i32) attributes {noinline = true} {
    // expected-note @below {{the buffer is allocated here, and its memory is the caller's again behind the call}}
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    // expected-error @below {{expected a wait before the function that allocates the buffer returns, got none}}
    // expected-note @below {{call tlx.async_descriptor_store_wait(0) in the function, or leave noinline out}}
    ttng.async_tma_copy_local_to_global %desc[%n, %n] %a : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    tt.return
  }
  tt.func public @kernel(%desc: !tt.tensordesc<64x64xf16, #wide>, %n: i32) {
    tt.call @helper(%desc, %n) : (!tt.tensordesc<64x64xf16, #wide>, i32) -> ()
    tt.return
  }
}
