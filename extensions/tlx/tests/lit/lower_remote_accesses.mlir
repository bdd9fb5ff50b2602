// RUN: %opt %s --pass tlx-lower-remote-accesses | FileCheck %s

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// One thread arrives behind all others of its task.
// CHECK-LABEL: @arrive
// CHECK: ttg.barrier local
// CHECK: mapa.shared::cluster.u32
// CHECK: elect.sync _|p, -1; and.pred p, p, $1; @p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0], 3;
// CHECK: ttg.barrier local
// CHECK: @p mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [$0], 512;
// CHECK-NOT: ttg.barrier local
// CHECK: and.pred p, $1, $1; @p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];
tt.func public @arrive(%bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %n: i32, %pred: i1) {
  tlx.remote_arrive %bar of %n, %pred {count = 3 : i32} : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.remote_arrive %bar of %n, %pred {bytes = 512 : i32} : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.remote_arrive %bar of %n, %pred {perThread} : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// Each thread gets 16 bytes that lie next to each other, lanes the ones behind, and a swizzle moves them as a whole.
// CHECK-LABEL: @swizzled
// CHECK: ttg.convert_layout {{.*}} -> tensor<64x64xf16, #[[$L:[a-z0-9]+]]>
// CHECK-COUNT-4: "@$0 st.shared::cluster.v4.b32 [$1], {$2, $3, $4, $5};"
// CHECK-NOT: st.shared::cluster
// CHECK: ttng.fence_async_shared {bCluster = true}
// CHECK: ttng.wait_barrier
// CHECK-NEXT: llvm.fence syncscope("cluster") acq_rel
tt.func public @swizzled(%src: tensor<64x64xf16, #blocked>, %dst: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %n: i32) {
  tlx.remote_store %src, %dst of %n : tensor<64x64xf16, #blocked>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.fence_async_shared {bCluster = true}
  ttng.wait_barrier %bar, %n : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// Of threads with the same elements one signals their bytes.
// CHECK-LABEL: @repeated
// CHECK: arith.cmpi eq
// CHECK: arith.cmpi eq
// CHECK: "@$0 st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [$1], {$2, $3, $4, $5}, [$6];"
tt.func public @repeated(%src: tensor<64xf16, #line>, %dst: !ttg.memdesc<64xf16, #bar, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %n: i32) {
  tlx.remote_store %src, %dst of %n signals %bar : tensor<64xf16, #line>, !ttg.memdesc<64xf16, #bar, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// CHECK-LABEL: @load
// CHECK-COUNT-4: "ld.shared::cluster.v4.b32 {$0, $1, $2, $3}, [$4];"
// CHECK: %[[VALUE:.*]] = ttg.convert_layout {{.*}} -> tensor<64x64xf16, #blocked>
// CHECK: tt.return %[[VALUE]]
tt.func private @load(%src: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n: i32) -> tensor<64x64xf16, #blocked> {
  %value = tlx.remote_load %src of %n : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf16, #blocked>
  tt.return %value : tensor<64x64xf16, #blocked>
}

}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// Without plain accesses to other blocks there is nothing to release to them.
// CHECK-LABEL: @arrive_alone
// CHECK: @p mbarrier.arrive.shared::cluster.b64 _, [$0], 3;
// CHECK: @p mbarrier.arrive.expect_tx.shared::cluster.b64 _, [$0], 512;
// CHECK: ttng.fence_async_shared {bCluster = false}
// CHECK-NOT: llvm.fence
tt.func public @arrive_alone(%bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %n: i32, %pred: i1) {
  tlx.remote_arrive %bar of %n, %pred {count = 3 : i32} : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.remote_arrive %bar of %n, %pred {bytes = 512 : i32} : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.fence_async_shared {bCluster = true}
  ttng.wait_barrier %bar, %n : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

}
