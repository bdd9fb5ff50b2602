// RUN: %opt %s --pass tlx-carry-foreign-ops | FileCheck %s
// RUN: %opt %s --pass "tlx-carry-foreign-ops,ttir.convert_to_ttgpuir{cuda:90 4 32 1},tlx-restore-foreign-ops" \
// RUN:   | FileCheck %s --check-prefix=THROUGH

#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// CHECK-LABEL: tt.func @memory
// THROUGH-LABEL: tt.func @memory
tt.func @memory(%p: tensor<64x!tt.ptr<f32>>, %x: tensor<64xf32>, %n: i32) -> tensor<64xf32> {
  // CHECK-NEXT: %[[B:.*]] = ttg.local_alloc
  %b = ttg.local_alloc : () -> !ttg.memdesc<64xf32, #shared, #smem, mutable>
  // CHECK: tt.call @{{.*}}, %[[B]]) {{.*}} tritonext.op = "ttg.local_store"
  // THROUGH: ttg.local_store %{{.*}} : tensor<64xf32, #blocked> -> !ttg.memdesc<64xf32
  ttg.local_store %x, %b : tensor<64xf32> -> !ttg.memdesc<64xf32, #shared, #smem, mutable>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: scf.for
  // THROUGH: scf.for {{.*}} -> (tensor<64xf32, #blocked>)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<64xf32>) : i32 {
    // CHECK: %[[L:.*]] = tt.call @{{.*}}(%[[B]]) {{.*}} tritonext.op = "ttg.local_load"
    // CHECK-NEXT: arith.addf %{{.*}}, %[[L]]
    // THROUGH: ttg.local_load %{{.*}} -> tensor<64xf32, #blocked>
    %l = ttg.local_load %b : !ttg.memdesc<64xf32, #shared, #smem, mutable> -> tensor<64xf32>
    %s = arith.addf %acc, %l : tensor<64xf32>
    scf.yield %s : tensor<64xf32>
  }
  tt.return %r : tensor<64xf32>
}
