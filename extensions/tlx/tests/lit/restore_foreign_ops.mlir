// RUN: %opt %s --pass tlx-restore-foreign-ops | FileCheck %s

#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// CHECK-LABEL: tt.func @load
// CHECK-SAME: %[[B:[a-z0-9]+]]:
tt.func @load(%b: !ttg.memdesc<64xf32, #shared, #smem, mutable>) -> tensor<64xf32> {
  // CHECK-NEXT: %[[R:.*]] = ttg.local_load %[[B]] {kept = 1 : i32} : {{.*}} -> tensor<64xf32>
  // CHECK-NEXT: tt.return %[[R]]
  %0 = tt.call @tritonext.carried(%b) {tritonext.attributes = {kept = 1 : i32}, tritonext.op = "ttg.local_load"} : (!ttg.memdesc<64xf32, #shared, #smem, mutable>) -> tensor<64xf32>
  tt.return %0 : tensor<64xf32>
}
// CHECK-NOT: tt.func
tt.func private @tritonext.carried(%b: !ttg.memdesc<64xf32, #shared, #smem, mutable>) -> tensor<64xf32> {
  %0 = ub.poison : tensor<64xf32>
  tt.return %0 : tensor<64xf32>
}
