// RUN: %opt %s --pass sparsity-show-dots --verify-diagnostics

tt.func @elsewhere(%m: tensor<64x8xi8>, %x: i1) -> i1 {
  // expected-error @below {{expected held metadata to be used by products of warp groups alone, got arith.andi}}
  %f = sparsity.hold_metadata %m : tensor<64x8xi8>
  %y = arith.andi %f, %x : i1
  tt.return %y : i1
}
