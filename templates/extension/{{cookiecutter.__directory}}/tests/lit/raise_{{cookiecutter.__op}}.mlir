{% set flag = cookiecutter.__flag ~ "-raise-" ~ cookiecutter.__op.replace("_", "-") %}
// RUN: %opt %s --pass {{flag}} | FileCheck %s
// RUN: %opt %s --pass {{flag}} --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-LABEL: @selection
// CHECK-NOT: arith.cmpf
// CHECK: %[[RESULT:.+]] = {{cookiecutter.id}}.{{cookiecutter.__op}} %{{ "{{.+}}" }} : tensor<128xf32>
// CHECK-NEXT: tt.return %[[RESULT]]
// REMARK: applied: the selection is {{cookiecutter.id}}.{{cookiecutter.__op}} [{{flag}}]
tt.func @selection(%x: tensor<128xf32>) -> tensor<128xf32> {
  %zero = arith.constant dense<0.0> : tensor<128xf32>
  %positive = arith.cmpf ogt, %x, %zero : tensor<128xf32>
  %result = arith.select %positive, %x, %zero : tensor<128xi1>, tensor<128xf32>
  tt.return %result : tensor<128xf32>
}
