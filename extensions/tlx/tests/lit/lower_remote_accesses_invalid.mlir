// RUN: %opt %s --pass tlx-lower-remote-accesses --verify-diagnostics

#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

tt.func public @narrow(%src: tensor<1xf16, #line>, %dst: !ttg.memdesc<1xf16, #bar, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %n: i32) {
  // expected-error @below {{expected 4 bytes next to each other in a row of the buffer, which an asynchronous store needs, got 2}}
  tlx.remote_store %src, %dst of %n signals %bar : tensor<1xf16, #line>, !ttg.memdesc<1xf16, #bar, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

}
