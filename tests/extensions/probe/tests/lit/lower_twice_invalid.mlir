// RUN: %opt %s --pass probe-lower-twice --verify-diagnostics
// RUN: not %opt %s --pass "probe-lower-twice{count=0}" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not %opt %s --pass "probe-lower-twice{mode=square}" 2>&1 | FileCheck %s --check-prefix=MODE

// COUNT: lower_twice_invalid.mlir:[[#@LINE+2]]:1: error: expected a count of at least 1, got 0
// MODE: the pass probe_lower_twice does not accept its options
tt.func @pointer(%x: tensor<4x!tt.ptr<f32>>) {
  // expected-error @below {{expected elements that are integers or floats, got '!tt.ptr<f32>'}}
  %0 = probe.twice %x : tensor<4x!tt.ptr<f32>>
  tt.return
}
