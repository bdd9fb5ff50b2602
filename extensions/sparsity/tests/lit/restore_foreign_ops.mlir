// RUN: %opt %s --pass sparsity-restore-foreign-ops | FileCheck %s

// CHECK-LABEL: tt.func @product
// CHECK-SAME: %[[V:[a-z0-9]+]]: {{.*}}, %[[M:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]: {{.*}}) ->
tt.func @product(%v: tensor<64x32xf16>, %m: tensor<64x8xi8>, %b: tensor<64x32xf16>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // CHECK-NEXT: %[[D:.*]] = sparsity.dot %[[V]], %[[M]], %[[B]], %[[C]] : tensor<64x32xf16>, tensor<64x8xi8> * tensor<64x32xf16> -> tensor<64x32xf32>
  // CHECK-NEXT: tt.return %[[D]]
  %d = tt.call @tritonext.carried(%v, %b, %c, %m) {tritonext.attributes = {}, tritonext.op = "sparsity.dot"} : (tensor<64x32xf16>, tensor<64x32xf16>, tensor<64x32xf32>, tensor<64x8xi8>) -> tensor<64x32xf32>
  tt.return %d : tensor<64x32xf32>
}
// CHECK-NOT: tt.func
tt.func private @tritonext.carried(%v: tensor<64x32xf16>, %b: tensor<64x32xf16>, %c: tensor<64x32xf32>, %m: tensor<64x8xi8>) -> tensor<64x32xf32> {
  tt.return %c : tensor<64x32xf32>
}
