// RUN: %opt %s --pass tlx-limit-loops --verify-diagnostics

tt.func @both(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-error @below {{expected at most one stage of a loop that is pipelined by hand, got 3}}
  scf.for %i = %c0 to %n step %c1 : i32 {
    // expected-note @below {{this op is scheduled by hand}}
    %w = ttg.async_wait {num = 0 : i32}
  } {tt.num_stages = 3 : i32}
  tt.return
}
