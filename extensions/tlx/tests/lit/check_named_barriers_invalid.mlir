// RUN: %opt %s --pass tlx-check-named-barriers --verify-diagnostics

tt.func @plain() {
  %id = arith.constant 0 : i32
  %threads = arith.constant 128 : i32
  // expected-error @below {{expected a named barrier from 1 to 15, got 0, which the compiler uses itself}}
  llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) : (i32, i32) -> ()
  tt.return
}

// -----

tt.func @tasks() {
  // expected-note @below {{one for each of these tasks}}
  ttg.warp_specialize()
  default {
    %id = arith.constant 3 : i32
    %threads = arith.constant 128 : i32
    // expected-error @below {{expected a named barrier from 4 to 15, got 3, which the compiler uses itself}}
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%id, %threads) : (i32, i32) -> ()
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  }
  partition1() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}
