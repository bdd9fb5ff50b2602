// RUN: %opt %s --pass tlx-synchronize-clusters | FileCheck %s

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#words = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#columns = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// Blocks meet once barriers are initialized, and outside of loops. Arrivals tell of no memory, but exits do.
// CHECK-LABEL: @loop
// CHECK: ttng.init_barrier
// CHECK-NEXT: llvm.inline_asm {{.*}}"fence.mbarrier_init.release.cluster;"
// CHECK-NEXT: tlx.cluster_barrier {relaxed}
// CHECK-NEXT: scf.for
// CHECK-NEXT: tlx.remote_arrive
// CHECK: tlx.cluster_barrier{{$}}
// CHECK-NEXT: tt.return
tt.func public @loop(%n: i32, %pred: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.for %i = %c0 to %n step %c1 : i32 {
    tlx.remote_arrive %bar of %n, %pred : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  tt.return
}

// Work of two blocks is an access to the other one.
// CHECK-LABEL: @pair
// CHECK: fence.mbarrier_init
// CHECK-NEXT: tlx.cluster_barrier
// CHECK-NEXT: tlx.pair_commit
// CHECK-NEXT: tlx.cluster_barrier
tt.func public @pair(%pred: i1) {
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.pair_commit %bar, %pred : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// CHECK-LABEL: @pair_copy
// CHECK: tlx.cluster_barrier
// CHECK-NEXT: tlx.pair_copy
// CHECK-NEXT: tlx.cluster_barrier
tt.func public @pair_copy(%src: !ttg.memdesc<128x64xf32, #words, #smem, mutable>, %dst: !ttg.memdesc<128x64xf32, #columns, #ttng.tensor_memory, mutable>) {
  tlx.pair_copy %src, %dst : !ttg.memdesc<128x64xf32, #words, #smem, mutable> -> !ttg.memdesc<128x64xf32, #columns, #ttng.tensor_memory, mutable>
  tt.return
}

// What the kernel has already is enough.
// CHECK-LABEL: @met
// CHECK-NOT: llvm.inline_asm
// CHECK: tlx.cluster_barrier
// CHECK-NEXT: tlx.remote_arrive
// CHECK-NEXT: tlx.cluster_barrier
// CHECK-NEXT: tt.return
tt.func public @met(%n: i32, %pred: i1) {
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.cluster_barrier
  tlx.remote_arrive %bar of %n, %pred : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.cluster_barrier
  tt.return
}

// A barrier that is initialized later is not met before.
// CHECK-LABEL: @too_early
// CHECK: tlx.cluster_barrier
// CHECK: ttng.init_barrier
// CHECK: tlx.cluster_barrier
// CHECK-NEXT: tlx.remote_arrive
tt.func public @too_early(%n: i32, %pred: i1) {
  tlx.cluster_barrier
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.remote_arrive %bar of %n, %pred : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// Each return is an end.
// CHECK-LABEL: @returns
// CHECK-COUNT-3: tlx.cluster_barrier
// CHECK-NOT: tlx.cluster_barrier
tt.func public @returns(%n: i32, %pred: i1, %bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>) {
  cf.cond_br %pred, ^out, ^go
^out:
  tt.return
^go:
  tlx.remote_arrive %bar of %n, %pred : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// CHECK-LABEL: @alone
// CHECK-NOT: tlx.cluster_barrier
// CHECK: tt.return
tt.func public @alone(%bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>) {
  ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// A load of another block sees what that one stored before they met.
// CHECK-LABEL: @load
// CHECK: "fence.mbarrier_init.release.cluster;"
// CHECK-NEXT: tlx.cluster_barrier{{$}}
// CHECK-NEXT: tlx.remote_load
tt.func public @load(%n: i32, %src: !ttg.memdesc<64xf16, #bar, #smem, mutable>) {
  %value = tlx.remote_load %src of %n : !ttg.memdesc<64xf16, #bar, #smem, mutable> -> tensor<64xf16, #blocked>
  tt.return
}

}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {

// A response comes to all blocks, so their barriers are there when one asks.
// CHECK-LABEL: @request
// CHECK: ttng.init_barrier
// CHECK: tlx.cluster_barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: ttng.clc_try_cancel
// CHECK: tlx.remote_arrive
// CHECK-NEXT: tlx.cluster_barrier
tt.func public @request(%n: i32, %leads: i1, %empty: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %response: !ttg.memdesc<2xi64, #bar, #smem, mutable>) {
  %full = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %full, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.if %leads {
    ttng.clc_try_cancel %response, %full : !ttg.memdesc<2xi64, #bar, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  ttng.wait_barrier %full, %n : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.remote_arrive %empty of %n, %leads : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {

// A block without a cluster asks for itself.
// CHECK-LABEL: @request_alone
// CHECK-NOT: tlx.cluster_barrier
// CHECK: tt.return
tt.func public @request_alone(%full: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %response: !ttg.memdesc<2xi64, #bar, #smem, mutable>) {
  ttng.clc_try_cancel %response, %full : !ttg.memdesc<2xi64, #bar, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

}
