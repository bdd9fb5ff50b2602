// RUN: %opt %s --pass sparsity-carry-foreign-ops | FileCheck %s
// RUN: %opt %s --pass "sparsity-carry-foreign-ops,ttir.convert_to_ttgpuir{cuda:90 4 32 1},sparsity-restore-foreign-ops" \
// RUN:   | FileCheck %s --check-prefix=THROUGH

// CHECK-LABEL: tt.func @product
// THROUGH-LABEL: tt.func @product
tt.func @product(%v: tensor<64x32xf16>, %m: tensor<64x8xi8>, %b: tensor<64x32xf16>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // CHECK: %[[D:.*]] = tt.call @{{.*}} tritonext.op = "sparsity.dot"
  // CHECK-NEXT: tt.return %[[D]]
  // THROUGH: sparsity.dot %{{.*}} : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked{{.*}}> * tensor<64x32xf16, #blocked> -> tensor<64x32xf32, #blocked>
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16>, tensor<64x8xi8> * tensor<64x32xf16> -> tensor<64x32xf32>
  tt.return %d : tensor<64x32xf32>
}
