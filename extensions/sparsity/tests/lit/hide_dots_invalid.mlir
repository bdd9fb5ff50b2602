// RUN: not %opt %s --pass sparsity-hide-dots 2>&1 | FileCheck %s

// The pass finds no mistakes of its own; what is no product is refused before.
// CHECK: 'sparsity.hold_metadata' op operand #0 must be {{.*}}, but got 'tensor<64x8xf32>'
tt.func @metadata(%m: tensor<64x8xf32>) {
  %f = sparsity.hold_metadata %m : tensor<64x8xf32>
  tt.return
}
