// RUN: %opt %s --pass sparsity-restore-foreign-ops --verify-diagnostics

tt.func @name(%x: tensor<64xf32>) {
  // expected-error @below {{expected the name of a registered op, got "sparsity.no_such_op"}}
  %0 = tt.call @f(%x) {tritonext.attributes = {}, tritonext.op = "sparsity.no_such_op"} : (tensor<64xf32>) -> tensor<64xf32>
  tt.return
}
tt.func private @f(%x: tensor<64xf32>) -> tensor<64xf32> {
  tt.return %x : tensor<64xf32>
}
