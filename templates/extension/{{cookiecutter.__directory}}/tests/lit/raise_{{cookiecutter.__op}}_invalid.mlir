{% set flag = cookiecutter.__flag ~ "-raise-" ~ cookiecutter.__op.replace("_", "-") %}
// RUN: not %opt %s --pass "{{flag}}{no-such-option=1}" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: %opt %s --pass {{flag}} --remarks 2>&1 | FileCheck %s

// OPTION: does not accept its options

// NaN is not greater than zero, but `ugt` takes it for greater.
// CHECK: missed: the comparison treats NaN or zero differently [{{flag}}]
// CHECK-LABEL: @keeps_nan
// CHECK: arith.select
tt.func @keeps_nan(%x: tensor<128xf32>) -> tensor<128xf32> {
  %zero = arith.constant dense<0.0> : tensor<128xf32>
  %positive = arith.cmpf ugt, %x, %zero : tensor<128xf32>
  %result = arith.select %positive, %x, %zero : tensor<128xi1>, tensor<128xf32>
  tt.return %result : tensor<128xf32>
}

// -----

// CHECK-LABEL: @other_constant
// CHECK: arith.select
tt.func @other_constant(%x: tensor<128xf32>) -> tensor<128xf32> {
  %zero = arith.constant dense<0.0> : tensor<128xf32>
  %one = arith.constant dense<1.0> : tensor<128xf32>
  %positive = arith.cmpf ogt, %x, %zero : tensor<128xf32>
  %result = arith.select %positive, %x, %one : tensor<128xi1>, tensor<128xf32>
  tt.return %result : tensor<128xf32>
}
