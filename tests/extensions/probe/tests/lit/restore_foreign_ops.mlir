// RUN: %opt %s --pass probe-restore-foreign-ops | FileCheck %s
// RUN: %opt %s --pass "probe-carry-foreign-ops,probe-restore-foreign-ops" | FileCheck %s

// CHECK-LABEL: tt.func @call
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64xf32>
tt.func @call(%x: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK-NEXT: %[[R:.*]] = probe.twice %[[X]] {kept = 1 : i32} : tensor<64xf32>
  %0 = tt.call @tritonext.carried(%x) {tritonext.attributes = {kept = 1 : i32}, tritonext.op = "probe.twice"} : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK-NEXT: tt.call @helper(%[[R]])
  %1 = tt.call @helper(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tt.return %1 : tensor<64xf32>
}
// CHECK: tt.func private @helper
tt.func private @helper(%x: tensor<64xf32>) -> tensor<64xf32> {
  tt.return %x : tensor<64xf32>
}
// CHECK-NOT: tt.func
tt.func private @tritonext.carried(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = ub.poison : tensor<64xf32>
  tt.return %0 : tensor<64xf32>
}
