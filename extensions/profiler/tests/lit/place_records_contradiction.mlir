// A block behind branches that contradict each other is in no scope, and what it enters or leaves counts for nothing.
// RUN: %opt %s --pass "profiler-place-records{mode=all}" | FileCheck %s
// RUN: %python %S/../conditions.py 6 3 | %opt - --pass "profiler-place-records{mode=scopes}" | FileCheck %s --check-prefix=MANY

// Six conditions on which scopes depend are followed, whatever others there are.
// MANY: enters = true{{.*}}name = "s0/s1/s2/s3/s4/s5"

// CHECK-LABEL: @kernel
// CHECK: ^bb2
// CHECK: tt.store
// CHECK: ^bb3
// CHECK-NOT: profiler.exit
// CHECK: tt.return

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttg.total-num-warps" = 4 : i32} {
tt.func public @kernel(%empty: i1, %to: tensor<128x!tt.ptr<f32>, #blocked>, %x: tensor<128xf32, #blocked>) {
  cf.cond_br %empty, ^bb4, ^bb1
^bb1:
  cf.cond_br %empty, ^bb2, ^bb3
^bb2:
  tt.store %to, %x : tensor<128x!tt.ptr<f32>, #blocked>
  profiler.exit "never"
  cf.br ^bb3
^bb3:
  tt.store %to, %x : tensor<128x!tt.ptr<f32>, #blocked>
  cf.br ^bb4
^bb4:
  tt.return
}
}
