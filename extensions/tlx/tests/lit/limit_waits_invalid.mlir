// RUN: %opt %s --pass tlx-limit-waits --verify-diagnostics
// RUN: not %opt %s --pass "tlx-limit-waits{limit=999999}" 2>&1 | FileCheck %s

// CHECK: error: expected a limit of at least 1000000 nanoseconds, got 999999

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = [[0]]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @blocks(%bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  // expected-error @below {{expected a kernel with num_ctas of 1 to limit waits, got 2}}
  ttng.wait_barrier %bar, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @loops(%bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %go: i1) {
  %c0 = arith.constant 0 : i32
  scf.if %go {
    // expected-error @below {{expected branches in place of structured control flow to limit waits}}
    ttng.wait_barrier %bar, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  tt.return
}
}
