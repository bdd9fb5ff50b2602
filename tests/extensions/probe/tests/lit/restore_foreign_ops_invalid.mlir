// RUN: %opt %s --pass probe-restore-foreign-ops --verify-diagnostics

tt.func @attributes(%x: tensor<64xf32>) {
  // expected-error @below {{expected a call that describes an op, got attributes of other types}}
  %0 = tt.call @f(%x) {tritonext.op = "probe.twice"} : (tensor<64xf32>) -> tensor<64xf32>
  tt.return
}
tt.func private @f(%x: tensor<64xf32>) -> tensor<64xf32> {
  tt.return %x : tensor<64xf32>
}

// -----

tt.func @name(%x: tensor<64xf32>) {
  // expected-error @below {{expected the name of a registered op, got "probe.thrice"}}
  %0 = tt.call @f(%x) {tritonext.attributes = {}, tritonext.op = "probe.thrice"} : (tensor<64xf32>) -> tensor<64xf32>
  tt.return
}
tt.func private @f(%x: tensor<64xf32>) -> tensor<64xf32> {
  tt.return %x : tensor<64xf32>
}

// -----

tt.func @properties(%x: tensor<64xf32>) {
  // expected-error @below {{Invalid attribute}}
  %0 = tt.call @f(%x) {tritonext.attributes = {}, tritonext.op = "tt.reduce", tritonext.properties = {axis = "one"}} : (tensor<64xf32>) -> tensor<64xf32>
  tt.return
}
tt.func private @f(%x: tensor<64xf32>) -> tensor<64xf32> {
  tt.return %x : tensor<64xf32>
}

// -----

tt.func @types(%x: tensor<64xf32>) {
  // expected-error @below {{'probe.twice' op requires the same type for all operands and results}}
  %0 = tt.call @f(%x) {tritonext.attributes = {}, tritonext.op = "probe.twice"} : (tensor<64xf32>) -> tensor<64xi32>
  tt.return
}
tt.func private @f(%x: tensor<64xf32>) -> tensor<64xi32> {
  %0 = ub.poison : tensor<64xi32>
  tt.return %0 : tensor<64xi32>
}
