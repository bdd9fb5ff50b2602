// RUN: not %opt %s --pass sparsity-hoist-transpositions 2>&1 | FileCheck %s

// The pass finds no mistakes of its own; what is no product is refused before.
// CHECK: 'sparsity.dot' op expected metadata of i8, got 'i16'
tt.func @metadata(%v: tensor<64x32xf16>, %m: tensor<64x8xi16>, %b: tensor<64x32xf16>, %c: tensor<64x32xf32>) {
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16>, tensor<64x8xi16> * tensor<64x32xf16> -> tensor<64x32xf32>
  tt.return
}
