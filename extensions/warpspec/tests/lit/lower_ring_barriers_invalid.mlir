// RUN: %opt %s --pass warpspec-lower-ring-barriers --verify-diagnostics

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @count(%bar: !ttg.memdesc<1xi64, #bars, #smem, mutable>) {
  // expected-error @below {{expected one arrival for each of the 4 warps of the task, got 1}}
  ttng.arrive_barrier %bar, 1 {warpspec.per_warp} : !ttg.memdesc<1xi64, #bars, #smem, mutable>
  tt.return
}
}

// -----

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @kind(%bar: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %phase: i32, %condition: i1) {
  // expected-error @below {{expected a wait without a condition or an arrival to be lowered for each warp, got another op}}
  ttng.wait_barrier %bar, %phase, %condition {warpspec.per_warp} : !ttg.memdesc<1xi64, #bars, #smem, mutable>
  tt.return
}
}
