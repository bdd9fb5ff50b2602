// RUN: %opt %s --pass tlx-check-named-barriers | FileCheck %s

// CHECK-LABEL: @plain
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"
tt.func @plain() {
  %id = arith.constant 1 : i32
  %threads = arith.constant 128 : i32
  llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) : (i32, i32) -> ()
  tt.return
}

// -----

// CHECK-LABEL: @tasks
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"
tt.func @tasks(%other: i32) {
  ttg.warp_specialize()
  default {
    %id = arith.constant 4 : i32
    %threads = arith.constant 128 : i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) : (i32, i32) -> ()
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  }
  partition1() num_warps(4) {
    %id = arith.constant 15 : i32
    %threads = arith.constant 128 : i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%id, %threads) : (i32, i32) -> ()
    ttg.warp_return
  } : () -> ()
  // Other intrinsics take such numbers for something else.
  %zero = arith.constant 0 : i32
  %register = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  // What is no constant cannot be told.
  llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%other, %register) : (i32, i32) -> ()
  tt.return
}
