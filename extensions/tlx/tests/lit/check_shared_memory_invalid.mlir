// RUN: not %opt %s --pass tlx-check-shared-memory 2>&1 | FileCheck %s

// CHECK: check_shared_memory_invalid.mlir:[[# @LINE + 10]]:{{.*}}: error: expected at most 232448 bytes of shared memory, got 233000
// CHECK-NEXT: 196608 bytes at 0: unnamed, 3x256x128 of f16, line [[# @LINE + 9]]
// CHECK-NEXT: 8192 bytes at 196608: unnamed, 64x64 of f16
// CHECK-NEXT: the rest is for conversions of layouts, reductions and alignment
// CHECK: note: use smaller tiles or fewer slots
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = 233000 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @kernel() {
  %small = ttg.local_alloc {allocation.offset = 196608 : i32} : () -> !ttg.memdesc<64x64xf16, #plain, #smem, mutable>
  %large = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<3x256x128xf16, #plain, #smem, mutable>
  tt.return
}
}
