// RUN: %opt %s --pass tlx-lower-cluster-barriers | FileCheck %s

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.total-num-warps" = 12 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// Warps that wait for tasks meet the cluster too.
// CHECK-LABEL: @with_tasks
// CHECK-NOT: tlx.cluster_barrier
// CHECK: ttg.warp_specialize() attributes {warpGroupStartIds = array<i32: 4>}
// CHECK: default {
// CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.arrive.aligned"
// CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.wait.aligned"
// CHECK: partition0() num_warps(8) {
// CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.arrive.aligned"
// CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.wait.aligned"
// CHECK-NEXT: ttg.warp_return
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned"
// CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.wait.aligned"
// CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned"
tt.func public @with_tasks() {
  tlx.cluster_barrier
  tlx.cluster_barrier {relaxed}
  tt.return
}

}
