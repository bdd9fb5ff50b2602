// RUN: %opt %s --pass probe-carry-foreign-ops | FileCheck %s
// RUN: %opt %s --pass "probe-carry-foreign-ops,ttir.convert_to_ttgpuir{cuda:90 4 32 1},probe-restore-foreign-ops" \
// RUN:   | FileCheck %s --check-prefix=THROUGH
// RUN: not %opt %s --pass "ttir.convert_to_ttgpuir{cuda:90 4 32 1}" 2>&1 | FileCheck %s --check-prefix=WITHOUT

#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// What the passes are for; once stock Triton converts such ops itself, they can go.
// WITHOUT: failed to legalize

// CHECK-LABEL: tt.func @ops
// THROUGH-LABEL: tt.func @ops
tt.func @ops(%p: tensor<64x!tt.ptr<f32>>, %m: tensor<64xi1>, %o: tensor<64xf32>, %i: i32) -> tensor<64xf32> {
  // Ops without tensors, and ops the conversion knows, stay.
  // CHECK-NEXT: ttg.local_alloc
  %b = ttg.local_alloc : () -> !ttg.memdesc<2x64xf32, #shared, #smem, mutable>
  // CHECK-NEXT: %[[SLOT:.*]] = ttg.memdesc_index
  // THROUGH: %[[SLOT:.*]] = ttg.memdesc_index
  %s = ttg.memdesc_index %b[%i] : !ttg.memdesc<2x64xf32, #shared, #smem, mutable> -> !ttg.memdesc<64xf32, #shared, #smem, mutable>

  // Properties and other attributes come along.
  // CHECK-NEXT: %[[TOKEN:.*]] = tt.call @[[COPY:[a-z_.0-9]+]](%{{.*}}, %[[SLOT]], %{{.*}}, %{{.*}}) {
  // CHECK-SAME: tritonext.attributes = {keep.this = "1"}
  // CHECK-SAME: tritonext.op = "ttg.async_copy_global_to_local"
  // CHECK-SAME: tritonext.properties = {{{.*}}operandSegmentSizes = array<i32: 1, 1, 1, 1>}
  // CHECK-SAME: -> !ttg.async.token
  // THROUGH-NEXT: ttg.async_copy_global_to_local %{{.*}}, %[[SLOT]] mask %{{.*}} other %{{.*}} {keep.this = "1"} : tensor<64x!tt.ptr<f32>, #blocked>
  %t = ttg.async_copy_global_to_local %p, %s mask %m other %o {keep.this = "1"} : tensor<64x!tt.ptr<f32>> -> <64xf32, #shared, #smem, mutable>
  // CHECK-NEXT: ttg.async_commit_group tokens %[[TOKEN]]
  %c = ttg.async_commit_group tokens %t
  // CHECK-NEXT: ttg.async_wait
  %w = ttg.async_wait %c {num = 0 : i32}
  // CHECK-NEXT: %[[L:.*]] = tt.call {{.*}} tritonext.op = "ttg.local_load"
  // THROUGH: %[[L:.*]] = ttg.local_load {{.*}} -> tensor<64xf32, #blocked>
  %l = ttg.local_load %s token %w : !ttg.memdesc<64xf32, #shared, #smem, mutable> -> tensor<64xf32>
  // Two ops of one signature share a function.
  // CHECK-NEXT: %[[R0:.*]] = tt.call @[[TWICE:[a-z_.0-9]+]](%[[L]]) {{.*}} tritonext.op = "probe.twice"
  // CHECK-NEXT: %[[R1:.*]] = tt.call @[[TWICE]](%[[R0]]) {{.*}} tritonext.op = "probe.twice"
  // THROUGH-NEXT: %[[R0:.*]] = probe.twice %[[L]] : tensor<64xf32, #blocked>
  // THROUGH-NEXT: %[[R1:.*]] = probe.twice %[[R0]] : tensor<64xf32, #blocked>
  %r0 = probe.twice %l : tensor<64xf32>
  %r1 = probe.twice %r0 : tensor<64xf32>
  // CHECK-NEXT: tt.return %[[R1]]
  // THROUGH-NEXT: tt.return %[[R1]]
  tt.return %r1 : tensor<64xf32>
}

// CHECK: tt.func private @[[COPY]](
// CHECK-NEXT: ub.poison : !ttg.async.token
// CHECK: tt.func private @[[TWICE]](%{{.*}}: tensor<64xf32>) -> tensor<64xf32>
// THROUGH-NOT: tt.func private

// -----

// A name that a user's function has is left to it.
// CHECK: tt.func @tritonext.carried(
tt.func @tritonext.carried(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: tt.call @tritonext.carried_0(
  %0 = probe.twice %x : tensor<4xf32>
  tt.return %0 : tensor<4xf32>
}
