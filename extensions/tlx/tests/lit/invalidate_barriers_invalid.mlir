// RUN: %opt %s --pass tlx-invalidate-barriers --verify-diagnostics | FileCheck %s

// The pass refuses nothing. A view that reaches the initialization through a branch names no allocation, and stays.

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// CHECK-LABEL: @chosen
// CHECK-NOT: ttng.inval_barrier
tt.func @chosen(%p: i1) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %one = arith.select %p, %a, %b : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}
