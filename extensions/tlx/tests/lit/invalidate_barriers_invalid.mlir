// RUN: %opt %s --pass tlx-invalidate-barriers --verify-diagnostics

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @chosen(%p: i1) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %one = arith.select %p, %a, %b : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected a barrier at a constant place of one allocation, whose end is known}}
  ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @inside(%p: i1, %at: i32) {
  %all = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable>
  scf.if %p {
    %one = ttg.memdesc_index %all[%at] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    // expected-error @below {{expected a barrier at a constant place of one allocation, whose end is known}}
    ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  tt.return
}
