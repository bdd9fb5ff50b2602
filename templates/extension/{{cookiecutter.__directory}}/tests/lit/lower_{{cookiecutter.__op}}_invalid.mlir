{% set flag = cookiecutter.__flag ~ "-lower-" ~ cookiecutter.__op.replace("_", "-") %}
// RUN: %opt %s --pass {{flag}} --verify-diagnostics

tt.func @integers(%x: tensor<128xi32>) -> tensor<128xi32> {
  // expected-error@+1 {{ "{{expected elements that are floats, got 'i32'}}" }}
  %result = {{cookiecutter.id}}.{{cookiecutter.__op}} %x : tensor<128xi32>
  tt.return %result : tensor<128xi32>
}
