// RUN: %opt %s --pass sparsity-fuse-expansions --verify-diagnostics

tt.func @types(%x: tensor<64x64xf16>, %v: tensor<64x32xbf16>, %m: tensor<64x8xi8>) {
  // expected-error @below {{'sparsity.expand' op expected values of the matrix and metadata of i8, got 'tensor<64x32xbf16>' and 'tensor<64x8xi8>' for 'tensor<64x64xf16>'}}
  %e = sparsity.expand %x of %v, %m : tensor<64x64xf16> of tensor<64x32xbf16>, tensor<64x8xi8>
  tt.return
}

// -----

tt.func @sizes(%x: tensor<64x64xf16>, %v: tensor<64x32xf16>, %m: tensor<64x16xi8>) {
  // expected-error @below {{'sparsity.expand' op expected values of 64 x 32 and metadata of 64 x 8, got 'tensor<64x32xf16>' and 'tensor<64x16xi8>'}}
  %e = sparsity.expand %x of %v, %m : tensor<64x64xf16> of tensor<64x32xf16>, tensor<64x16xi8>
  tt.return
}
