// RUN: %opt %s --pass tlx-replace-named-barriers --verify-diagnostics

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func private @called() {
  %id = arith.constant 15 : i32
  %count = arith.constant 128 : i32
  // expected-error @below {{expected named barriers in functions that are inlined, because the concurrency sanitizer cannot follow this one; take noinline away}}
  llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %count) : (i32, i32) -> ()
  tt.return
}
}

// -----

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @unknown(%id: i32) {
  %count = arith.constant 128 : i32
  // expected-error @below {{expected a named barrier with a constant number and a constant number of threads, whole warps}}
  llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %count) : (i32, i32) -> ()
  tt.return
}
}
