// RUN: %opt %s --pass tlx-check-named-barriers --verify-diagnostics

tt.func public @plain() {
  %id = arith.constant 0 : i32
  %threads = arith.constant 128 : i32
  // expected-error @below {{expected a named barrier from 1 to 15, got 0, which the compiler uses itself}}
  llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) : (i32, i32) -> ()
  tt.return
}

// -----

tt.func public @tasks() {
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

// -----

tt.func public @too_few_threads() {
  ttg.warp_specialize() attributes {tlx.num_warps = 4 : i32}
  default {
    %id = arith.constant 9 : i32
    %threads = arith.constant 256 : i32
    // expected-error @below {{expected 256 threads to come to named barrier 9, got 192 in all tasks that use it with that number}}
    // expected-note @below {{pass the threads of all tasks that wait or arrive, 32 for each warp}}
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) : (i32, i32) -> ()
    ttg.warp_yield
  }
  partition0() num_warps(2) {
    %id = arith.constant 9 : i32
    %threads = arith.constant 256 : i32
    // expected-note @below {{used here too}}
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%id, %threads) : (i32, i32) -> ()
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

// Two of the four warps would meet without the others.
tt.func public @fewer_than_the_kernel() {
  %id = arith.constant 9 : i32
  %threads = arith.constant 64 : i32
  // expected-error @below {{expected a named barrier for at least 128 threads, those of the task, got 64}}
  // expected-note @below {{pass the threads of all tasks that wait or arrive, 32 for each warp}}
  llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) {tlx.num_warps = 4 : i32} : (i32, i32) -> ()
  tt.return
}

// -----

// A kernel without tasks has no others to wait for.
tt.func public @more_than_the_kernel() {
  %id = arith.constant 9 : i32
  %threads = arith.constant 256 : i32
  // expected-error @below {{expected 256 threads to come to named barrier 9, got 128 in all tasks that use it with that number}}
  // expected-note @below {{pass the threads of all tasks that wait or arrive, 32 for each warp}}
  llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) {tlx.num_warps = 4 : i32} : (i32, i32) -> ()
  tt.return
}

// -----

tt.func public @left_over() {
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    %id = arith.constant 9 : i32
    %threads = arith.constant 128 : i32
    // expected-error @below {{expected 128 threads to come to named barrier 9, got 192 in all tasks that use it with that number}}
    // expected-note @below {{pass the threads of all tasks that wait or arrive, 32 for each warp}}
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) : (i32, i32) -> ()
    ttg.warp_return
  }
  partition1() num_warps(2) {
    %id = arith.constant 9 : i32
    %threads = arith.constant 128 : i32
    // expected-note @below {{used here too}}
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%id, %threads) : (i32, i32) -> ()
    ttg.warp_return
  } : () -> ()
  tt.return
}
