{% set flag = cookiecutter.__flag ~ "-" ~ cookiecutter.__pass_snake.replace("_", "-") %}
// RUN: %opt %s --pass {{flag}} | FileCheck %s
// RUN: %opt %s --pass {{flag}} --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass "{{flag}}{min-bytes=1024}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=LARGE

// CHECK-LABEL: @blocks
// CHECK: tt.store %{{ "{{.+}}" }}, %{{ "{{.+}}" }} {cachePolicy = #tt.cache_policy<cache_modifier = cs, eviction_policy = evict_normal>} : tensor<128x!tt.ptr<f32>>
// REMARK: applied: the store streams through the caches [{{flag}}]
// LARGE: missed: 512 bytes are fewer than min-bytes = 1024 [{{flag}}]
tt.func public @blocks(%to: tensor<128x!tt.ptr<f32>>, %x: tensor<128xf32>) {
  tt.store %to, %x : tensor<128x!tt.ptr<f32>>
  tt.return
}

// -----

// CHECK-LABEL: @scalars
// CHECK: tt.store %{{ "{{.+}}" }}, %{{ "{{.+}}" }} {cachePolicy = #tt.cache_policy<cache_modifier = cs, eviction_policy = evict_normal>} : !tt.ptr<i64>
// REMARK: applied:
// LARGE: missed: 8 bytes are fewer
tt.func public @scalars(%to: !tt.ptr<i64>, %x: i64) {
  tt.store %to, %x : !tt.ptr<i64>
  tt.return
}
