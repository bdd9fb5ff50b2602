// RUN: %opt %s --pass tlx-convert-partitions --verify-diagnostics

tt.func @attributes() {
  // expected-error @below {{expected the attributes tlx.target, tlx.num_warps, tlx.threads_per_warp and tlx.num_ctas together}}
  ttg.warp_specialize() attributes {tlx.target = "cuda:90", tlx.num_warps = 4 : i32}
  default {
    ttg.warp_yield
  } : () -> ()
  tt.return
}

// -----

tt.func private @helper(%x: !tt.ptr<f32>) attributes {noinline = true} {
  tt.return
}

tt.func @call(%x: !tt.ptr<f32>) {
  ttg.warp_specialize(%x) attributes {tlx.target = "cuda:90", tlx.num_warps = 4 : i32, tlx.threads_per_warp = 32 : i32, tlx.num_ctas = 1 : i32}
  default {
    ttg.warp_yield
  }
  partition0(%a: !tt.ptr<f32>) num_warps(4) {
    // expected-error @below {{expected a function that is inlined into the task, got a call of 'helper'}}
    tt.call @helper(%a) : (!tt.ptr<f32>) -> ()
    ttg.warp_return
  } : (!tt.ptr<f32>) -> ()
  tt.return
}

// -----

tt.func @exclusive() {
  // expected-error @below {{expected no other block of tasks beside an exclusive one, got 1}}
  ttg.warp_specialize() attributes {tlx.exclusive = 1 : i32, tlx.target = "cuda:90", tlx.num_warps = 4 : i32, tlx.threads_per_warp = 32 : i32, tlx.num_ctas = 1 : i32}
  default {
    ttg.warp_yield
  } : () -> ()
  // expected-note @below {{another one is here}}
  ttg.warp_specialize() attributes {tlx.target = "cuda:90", tlx.num_warps = 4 : i32, tlx.threads_per_warp = 32 : i32, tlx.num_ctas = 1 : i32}
  default {
    ttg.warp_yield
  } : () -> ()
  tt.return
}
