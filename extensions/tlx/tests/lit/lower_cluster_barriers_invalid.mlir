// RUN: %opt %s --pass tlx-lower-cluster-barriers --verify-diagnostics

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.total-num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

tt.func public @in_a_task() {
  // expected-note @below {{it is in one of these tasks}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    // expected-error @below {{expected a cluster barrier outside of tasks, because all warps of the block have to meet there; use barriers of tlx.alloc_barriers between tasks}}
    tlx.cluster_barrier
    ttg.warp_return
  } : () -> ()
  tt.return
}

}
