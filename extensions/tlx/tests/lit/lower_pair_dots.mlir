// RUN: %opt %s --pass tlx-lower-pair-dots | FileCheck %s
// RUN: %opt %s --pass tlx-lower-pair-dots --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#packed = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory
// CHECK: module attributes {{.*}}"ttng.two-ctas" = true
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {

// The block of even rank starts a step of 16 along K for both, and adds from the second one on.
// CHECK-LABEL: @product
// CHECK: ttg.barrier local
// CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.cluster.ctarank"
// CHECK: "{ .reg .pred p, q; elect.sync _|p, -1; and.pred p, p, $0; and.pred q, $2, $2;
// CHECK-SAME: @p tcgen05.mma.cta_group::2.kind::f16 [$1], $3, $4, 270532624, q; setp.eq.u32 q, 0, 0;
// CHECK-SAME: @p tcgen05.mma.cta_group::2.kind::f16 [$1], $5, $6, 270532624, q; }", "b,r,b,l,l,l,l,~{memory}"
// CHECK: "{ .reg .pred p; elect.sync _|p, -1; and.pred p, p, $0; @p tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [$1], $2; }"
// CHECK-NOT: tlx.
tt.func public @product(%a: !ttg.memdesc<128x32xf16, #rows, #smem, mutable>, %b: !ttg.memdesc<32x64xf16, #columns, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, %bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %use: i1, %pred: i1) {
  // REMARK: applied: lowered to an MMA of two blocks [tlx-lower-pair-dots]
  tlx.pair_dot %a, %b, %d if %use, %pred signals %bar : !ttg.memdesc<128x32xf16, #rows, #smem, mutable> * !ttg.memdesc<32x64xf16, #columns, #smem, mutable> -> !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// An operand in tensor memory has 8 columns in a step.
// CHECK-LABEL: @packed
// CHECK: @p tcgen05.mma.cta_group::2.kind::f16 [$1], [$3 + 0], $4, 270598160, q;
// CHECK-SAME: @p tcgen05.mma.cta_group::2.kind::f16 [$1], [$3 + 8], $5, 270598160, q;
// CHECK-NOT: tcgen05.commit
tt.func public @packed(%a: !ttg.memdesc<128x32xf16, #packed, #tmem, mutable>, %b: !ttg.memdesc<32x64xf16, #wide, #smem, mutable>, %d: !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>, %use: i1, %pred: i1) {
  tlx.pair_dot %a, %b, %d if %use, %pred : !ttg.memdesc<128x32xf16, #packed, #tmem, mutable> * !ttg.memdesc<32x64xf16, #wide, #smem, mutable> -> !ttg.memdesc<128x128xf32, #acc, #tmem, mutable>
  tt.return
}

// CHECK-LABEL: @commit
// CHECK: tcgen05.commit.cta_group::2
tt.func public @commit(%bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %pred: i1) {
  tlx.pair_commit %bar, %pred : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

}
