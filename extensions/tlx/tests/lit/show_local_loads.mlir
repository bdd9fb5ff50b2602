// RUN: %opt %s --pass tlx-show-local-loads | FileCheck %s
// RUN: %opt %s --pass "tlx-show-local-loads,tlx-hide-async-ops,ttgpuir.reorder_instructions,tlx-show-local-loads" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,KEPT
// RUN: %opt %s --pass "tlx-show-local-loads,ttgpuir.reorder_instructions" | FileCheck %s --check-prefix=MOVED

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
// CHECK-LABEL: tt.func @store_in_loop
// MOVED-LABEL: tt.func @store_in_loop
tt.func @store_in_loop(%b: !ttg.memdesc<64xf32, #shared, #smem, mutable>, %x: tensor<64xf32, #blocked>, %n: i32) -> tensor<64xf32, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: %[[L:.*]] = ttg.local_load %{{.*}} {kept = 1 : i32} : {{.*}} -> tensor<64xf32, #blocked>
  // CHECK: scf.for
  // What hiding is for: the load sees what the loop stored.
  // MOVED: scf.for
  // MOVED: ttg.local_load
  // MOVED: ttg.local_store
  %l = tlx.local_load %b {kept = 1 : i32} : !ttg.memdesc<64xf32, #shared, #smem, mutable> -> tensor<64xf32, #blocked>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<64xf32, #blocked>) : i32 {
    // KEPT: arith.addf %{{.*}}, %[[L]]
    %s = arith.addf %acc, %l : tensor<64xf32, #blocked>
    ttg.local_store %s, %b : tensor<64xf32, #blocked> -> !ttg.memdesc<64xf32, #shared, #smem, mutable>
    scf.yield %s : tensor<64xf32, #blocked>
  }
  tt.return %r : tensor<64xf32, #blocked>
}
}
