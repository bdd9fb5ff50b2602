// RUN: %opt %s --pass "tlx-limit-waits{limit=2000000}" | FileCheck %s

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// One message for each wait, with what is known of its barrier.
// CHECK-DAG: llvm.mlir.global internal constant @[[$DEFAULT:tlx_wait_[0-9]+]]("tlx: the default task waits at kernel.py:8 for ready[%d] to complete a phase of parity %d; the barrier is in a phase of parity %d, of 3 arrivals (kernel tasks, block %d %d %d, warp %d)\0A\00")
// CHECK-DAG: llvm.mlir.global internal constant @[[$TASK:tlx_wait_[0-9]+]]("tlx: task 1 waits at helper.py:3, called at kernel.py:9 for ready[%d] to {{.*}} (kernel tasks,
// CHECK-DAG: llvm.mlir.global internal constant @[[$OUTSIDE:tlx_wait_[0-9]+]]("tlx: task 2 waits at kernel.py:10 for ready[%d] to
// CHECK-DAG: llvm.mlir.global internal constant @[[$UNKNOWN:tlx_wait_[0-9]+]]("tlx: task 2 waits at kernel.py:11 for one of ready to
// A percent sign in a name is no value of the message.
// CHECK-DAG: "tlx: the kernel waits at 100%%.py:5 for an unnamed barrier to complete a phase of parity %d; the barrier is in a phase of parity %d (kernel alone,

// CHECK: llvm.func internal @tlx_report_wait(%[[FORMAT:[a-z0-9]+]]: !llvm.ptr, %[[HAS:[a-z0-9]+]]: i1, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %[[BARRIER:[a-z0-9]+]]: !llvm.ptr<3>, %[[REPORTS:[a-z0-9]+]]: i1)
// CHECK-SAME: passthrough = ["noinline", "cold"], ws_num_warps = 4
// CHECK: llvm.cond_br %[[REPORTS]], ^[[PRINT:bb[0-9]+]], ^[[END:bb[0-9]+]]
// CHECK: ^[[PRINT]]:
// CHECK: llvm.inline_asm {{.*}}mbarrier.test_wait.parity.shared::cta.b64 past, [$1], $2; {{.*}} %[[BARRIER]],
// CHECK: %[[VALUES:.*]] = llvm.select %[[HAS]],
// CHECK: llvm.call @vprintf(%[[FORMAT]], %[[VALUES]])
// CHECK: ^[[END]]:
// CHECK: llvm.inline_asm {{.*}}add.u64 end, end, 2000000; {{.*}}trap; }
// CHECK: llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32

// CHECK-LABEL: tt.func public @tasks
// CHECK-NOT: ttng.wait_barrier
// CHECK: default {
// CHECK: llvm.inline_asm {{.*}}mbarrier.try_wait.parity.shared::cta.b64 done, [$1], $2; {{.*}}add.u64 end, end, 2000000;
// CHECK: cf.cond_br %{{.*}}, ^[[LATE:bb[0-9]+]], ^[[BEHIND:bb[0-9]+]]
// CHECK: ^[[LATE]]:
// CHECK: llvm.mlir.addressof @[[$DEFAULT]]
// CHECK: llvm.call @tlx_report_wait(
// CHECK: cf.br ^[[BEHIND]]
// CHECK: ^[[BEHIND]]:
// CHECK: ttg.warp_yield
// CHECK: partition0
// A wait with a condition skips the rest.
// CHECK: llvm.inline_asm {{.*}}@!$3 bra over;
// CHECK: llvm.mlir.addressof @[[$TASK]]
// CHECK: partition1
// CHECK: llvm.mlir.addressof @[[$OUTSIDE]]
// CHECK: llvm.mlir.addressof @[[$UNKNOWN]]
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @tasks(%i: i32, %go: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ready = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable> loc("ready"("/src/kernel.py":4:0))
  %first = ttg.memdesc_index %ready[%c0] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %first, 3 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %other = ttg.memdesc_index %ready[%i] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttg.warp_specialize(%ready, %first, %other, %i, %go)
  default {
    ttng.wait_barrier %first, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable> loc("/src/kernel.py":8:4)
    ttg.warp_yield
  }
  partition0(%all: !ttg.memdesc<2x1xi64, #bar, #smem, mutable>, %one: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %some: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %at: i32, %is: i1) num_warps(1) {
    %d0 = arith.constant 0 : i32
    %bar = ttg.memdesc_index %all[%at] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.wait_barrier %bar, %d0, %is : !ttg.memdesc<1xi64, #bar, #smem, mutable> loc(callsite("/src/helper.py":3:4 at "/src/kernel.py":9:4))
    ttg.warp_return
  }
  partition1(%all: !ttg.memdesc<2x1xi64, #bar, #smem, mutable>, %one: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %some: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %at: i32, %is: i1) num_warps(1) {
    %d1 = arith.constant 1 : i32
    ttng.wait_barrier %one, %d1 : !ttg.memdesc<1xi64, #bar, #smem, mutable> loc("/src/kernel.py":10:4)
    ttng.wait_barrier %some, %d1 : !ttg.memdesc<1xi64, #bar, #smem, mutable> loc("/src/kernel.py":11:4)
    ttg.warp_return
  } : (!ttg.memdesc<2x1xi64, #bar, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>, i32, i1) -> ()
  tt.return
}

// CHECK-LABEL: tt.func public @alone
tt.func public @alone() {
  %c0 = arith.constant 0 : i32
  %bar = ttg.local_alloc {allocation.offset = 16 : i32} : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %bar, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable> loc("/src/100%.py":5:4)
  tt.return
}
}

// -----

// Without a wait nothing is added.
// CHECK-LABEL: @nothing
// CHECK-NOT: llvm.func
tt.func public @nothing() {
  tt.return
}
