{% set flag = cookiecutter.__flag ~ "-" ~ cookiecutter.__pass_snake.replace("_", "-") %}
// RUN: not %opt %s --pass "{{flag}}{min-bytes=-1}" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: %opt %s --pass {{flag}} --remarks 2>&1 | FileCheck %s

// NEGATIVE: expected min-bytes of at least 0, got -1

// A store that says itself how caches treat it is left alone.
// CHECK: missed: the store says itself how caches treat it [{{flag}}]
// CHECK: missed: the store says itself how caches treat it [{{flag}}]
// CHECK: tt.store %{{ "{{.+}}" }}, %{{ "{{.+}}" }} {cachePolicy = #tt.cache_policy<cache_modifier = wt
// CHECK: tt.store %{{ "{{.+}}" }}, %{{ "{{.+}}" }} {cachePolicy = #tt.cache_policy<cache_modifier = none
tt.func public @chosen(%to: tensor<128x!tt.ptr<f32>>, %x: tensor<128xf32>) {
  tt.store %to, %x {cachePolicy = #tt.cache_policy<cache_modifier = wt, eviction_policy = evict_normal>} : tensor<128x!tt.ptr<f32>>
  tt.store %to, %x {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>} : tensor<128x!tt.ptr<f32>>
  tt.return
}
