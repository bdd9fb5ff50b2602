// RUN: %opt %s --pass warpspec-separate-warps --verify-diagnostics

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @one_arrival() {
  %empty = ttg.local_alloc : () -> !bar
  // expected-error @below {{expected an unconditional wait, or as many arrivals as the task has warps, to be separate by warps}}
  ttng.arrive_barrier %empty, 1 {warpspec.separate_warps} : !bar
  tt.return
}
}

// -----

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @conditional(%phase: i32, %flag: i1) {
  %full = ttg.local_alloc : () -> !bar
  // expected-error @below {{expected an unconditional wait, or as many arrivals as the task has warps, to be separate by warps}}
  ttng.wait_barrier %full, %phase, %flag {warpspec.separate_warps} : !bar
  tt.return
}
}
