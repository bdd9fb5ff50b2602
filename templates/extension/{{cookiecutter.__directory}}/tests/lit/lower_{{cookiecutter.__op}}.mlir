{% set flag = cookiecutter.__flag ~ "-lower-" ~ cookiecutter.__op.replace("_", "-") %}
// RUN: %opt %s --pass {{flag}} | FileCheck %s

// CHECK-LABEL: @floats
// CHECK: %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<128xf16>
// CHECK: %[[RESULT:.+]] = arith.maxnumf %{{ "{{.+}}" }}, %[[ZERO]] : tensor<128xf16>
// CHECK-NEXT: tt.return %[[RESULT]]
tt.func @floats(%x: tensor<128xf16>) -> tensor<128xf16> {
  %result = {{cookiecutter.id}}.{{cookiecutter.__op}} %x : tensor<128xf16>
  tt.return %result : tensor<128xf16>
}
