// RUN: %opt %s --pass sparsity-carry-foreign-ops --verify-diagnostics

tt.func @captured(%x: tensor<64xf32>) {
  ttg.warp_specialize(%x)
  default {
    ttg.warp_yield
  }
  // expected-error @below {{expected tensors only on ops without regions that end no block, got 'ttg.warp_specialize.partitions'}}
  partition0(%y: tensor<64xf32>) num_warps(4) {
    ttg.warp_return
  } : (tensor<64xf32>) -> ()
  tt.return
}
