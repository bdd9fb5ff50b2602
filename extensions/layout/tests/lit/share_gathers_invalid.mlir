// Without layouts there is nothing to choose.
// RUN: %opt %s --pass layout-share-gathers -o %t.out
// RUN: %opt %s -o %t.in
// RUN: diff %t.in %t.out
// RUN: not %opt %s --pass "layout-share-gathers{bits=8}" 2>&1 | FileCheck %s

// CHECK: the pass layout_share_gathers does not accept its options

tt.func public @narrow(%x: tensor<256x16xf32>, %i: tensor<64x16xi32>, %h: tensor<64x16xi16>) -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %y = tt.gather %x[%i] {axis = 0 : i32} : (tensor<256x16xf32>, tensor<64x16xi32>) -> tensor<64x16xf32>
  %z = tt.gather %x[%h] {axis = 0 : i32} : (tensor<256x16xf32>, tensor<64x16xi16>) -> tensor<64x16xf32>
  tt.return %y, %z : tensor<64x16xf32>, tensor<64x16xf32>
}
