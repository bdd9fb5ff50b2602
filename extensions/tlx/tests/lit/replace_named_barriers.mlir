// RUN: %opt %s --pass tlx-replace-named-barriers | FileCheck %s

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// CHECK-LABEL: tt.func public @tasks
// A barrier for each number and number of threads, with an arrival for each warp.
// CHECK: %[[EIGHT:.*]] = ttg.local_alloc
// CHECK: ttng.init_barrier %[[EIGHT]], 6
// CHECK-NEXT: ttg.barrier local
// CHECK: %[[SIX:.*]] = ttg.local_alloc
// CHECK: ttng.init_barrier %[[SIX]], 8
// CHECK-NEXT: ttg.barrier local
// CHECK: ttg.warp_specialize(%{{.*}}, %[[SIX]], %[[EIGHT]])
// CHECK: default
// CHECK: %[[PHASE:.*]] = llvm.inline_asm {{.*}}mbarrier.test_wait.parity.shared::cta.b64 past, [$1], 0;
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: ttng.arrive_barrier %[[SIX]], 4
// CHECK-NEXT: ttng.wait_barrier %[[SIX]], %[[PHASE]]
// CHECK: partition0(%{{.*}}: i32, %[[FIRST:[a-z0-9]+]]: !ttg.memdesc<1xi64, {{[^>]*}}>, %[[OTHER:[a-z0-9]+]]: !ttg.memdesc<1xi64
// CHECK: cf.cond_br
// CHECK: ttg.barrier local
// CHECK-NEXT: ttng.arrive_barrier %[[FIRST]], 4
// CHECK-NEXT: ttng.wait_barrier %[[FIRST]],
// CHECK: ttng.arrive_barrier %[[OTHER]], 4
// CHECK-NOT: wait_barrier
// CHECK: partition1({{.*}}, %[[OTHER:[a-z0-9]+]]: !ttg.memdesc<1xi64, {{[^>]*}}>) num_warps(2)
// CHECK: ttng.arrive_barrier %[[OTHER]], 2
// CHECK-NEXT: ttng.wait_barrier %[[OTHER]],
// CHECK-NOT: llvm.nvvm.barrier
tt.func public @tasks(%x: i32) {
  ttg.warp_specialize(%x)
  default {
    %id = arith.constant 15 : i32
    %count = arith.constant 256 : i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %count) : (i32, i32) -> ()
    ttg.warp_yield
  }
  partition0(%y: i32) num_warps(4) {
    %id = arith.constant 15 : i32
    %count = arith.constant 256 : i32
    %fewer = arith.constant 192 : i32
    %zero = arith.constant 0 : i32
    %go = arith.cmpi sgt, %y, %zero : i32
    cf.cond_br %go, ^meet, ^end
  ^meet:
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %count) : (i32, i32) -> ()
    cf.br ^end
  ^end:
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%id, %fewer) : (i32, i32) -> ()
    ttg.warp_return
  }
  partition1(%z: i32) num_warps(2) {
    %id = arith.constant 15 : i32
    %fewer = arith.constant 192 : i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%id, %fewer) : (i32, i32) -> ()
    ttg.warp_return
  } : (i32) -> ()
  tt.return
}

// CHECK-LABEL: tt.func public @alone
// CHECK-NEXT: tt.return
tt.func public @alone() {
  tt.return
}
}
