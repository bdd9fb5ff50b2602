// RUN: %opt %s --pass layout-narrow-indices | FileCheck %s
// RUN: %opt %s --pass layout-narrow-indices --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: @wide
// CHECK: %[[I:.+]] = arith.trunci %arg1 : tensor<64x16xi64> to tensor<64x16xi16>
// CHECK-NEXT: tt.gather %arg0[%[[I]]] {axis = 0 : i32}
// REMARK: applied: indices into 256 elements take 16 bits instead of 64 [layout-narrow-indices]
tt.func public @wide(%x: tensor<256x16xf32>, %i: tensor<64x16xi64>) -> tensor<64x16xf32> {
  %y = tt.gather %x[%i] {axis = 0 : i32} : (tensor<256x16xf32>, tensor<64x16xi64>) -> tensor<64x16xf32>
  tt.return %y : tensor<64x16xf32>
}

// -----

// CHECK-LABEL: @extended
// CHECK: tt.gather %arg0[%arg1] {axis = 0 : i32}
tt.func public @extended(%x: tensor<65536x16xf32>, %i: tensor<64x16xi32>) -> tensor<64x16xf32> {
  %w = arith.extsi %i : tensor<64x16xi32> to tensor<64x16xi64>
  %y = tt.gather %x[%w] {axis = 0 : i32} : (tensor<65536x16xf32>, tensor<64x16xi64>) -> tensor<64x16xf32>
  tt.return %y : tensor<64x16xf32>
}
