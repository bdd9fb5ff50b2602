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

// -----

// No run may wait, and no thread is left over that does.
// CHECK-LABEL: @may_be_right
// CHECK-NOT: tlx.num_warps
// CHECK: tt.return
tt.func public @may_be_right(%p: i1) {
  ttg.warp_specialize(%p) attributes {tlx.target = "cuda:90"}
  default {
    scf.if %p {
      %id = arith.constant 8 : i32
      %threads = arith.constant 256 : i32
      llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %threads) {tlx.num_warps = 4 : i32} : (i32, i32) -> ()
    }
    ttg.warp_yield
  }
  partition0(%q: i1) num_warps(4) {
    %id0 = arith.constant 9 : i32
    %threads0 = arith.constant 256 : i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id0, %threads0) : (i32, i32) -> ()
    ttg.warp_return
  }
  partition1(%q: i1) num_warps(4) {
    %id1 = arith.constant 9 : i32
    %threads1 = arith.constant 256 : i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id1, %threads1) : (i32, i32) -> ()
    ttg.warp_return
  }
  partition2(%q: i1) num_warps(4) {
    %id2 = arith.constant 9 : i32
    %threads2 = arith.constant 256 : i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id2, %threads2) : (i32, i32) -> ()
    ttg.warp_return
  }
  partition3(%q: i1) num_warps(4) {
    %id3 = arith.constant 9 : i32
    %threads3 = arith.constant 256 : i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%id3, %threads3) : (i32, i32) -> ()
    ttg.warp_return
  } : (i1) -> ()
  tt.return
}
