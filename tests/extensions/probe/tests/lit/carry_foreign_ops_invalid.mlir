// RUN: %opt %s --pass probe-carry-foreign-ops --verify-diagnostics

tt.func @regions(%x: tensor<64xf32>) {
  // expected-error @below {{expected tensors only on ops without regions that end no block, got 'ttg.warp_specialize'}}
  %0 = ttg.warp_specialize()
  default {
    // expected-error @below {{expected tensors only on ops without regions that end no block, got 'ttg.warp_yield'}}
    ttg.warp_yield %x : tensor<64xf32>
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> tensor<64xf32>
  tt.return
}
