// RUN: %opt %s --pass tlx-lower-pair-dots | FileCheck %s
// RUN: %opt %s --pass tlx-lower-pair-dots --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#short = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#packed = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
#wide_acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 256, colStride = 1>
#copied = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
#eight = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#eight_columns = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#four = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#four_columns = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8}>
#words = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
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

// 64 rows in each block are 128 in the descriptor, and their sums of 128 columns 64 columns of all lanes.
// CHECK-LABEL: @folded
// CHECK: @p tcgen05.mma.cta_group::2.kind::f16 [$1], $3, $4, 136380432, q;
tt.func public @folded(%a: !ttg.memdesc<64x16xf16, #short, #smem, mutable>, %b: !ttg.memdesc<16x64xf16, #wide, #smem, mutable>, %d: !ttg.memdesc<128x64xf32, #copied, #tmem, mutable>, %use: i1, %pred: i1) {
  tlx.pair_dot %a, %b, %d if %use, %pred : !ttg.memdesc<64x16xf16, #short, #smem, mutable> * !ttg.memdesc<16x64xf16, #wide, #smem, mutable> -> !ttg.memdesc<128x64xf32, #copied, #tmem, mutable>
  tt.return
}

// Scales of a step of 32 lie in one byte of a column of 32 bits, those of 256 columns in eight of those for four steps;
// the descriptor says which byte.
// CHECK-LABEL: @scaled
// CHECK: @p tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.block32 [$1], $5, $6, 281018496, [$3 + 0], [$4 + 0], q; setp.eq.u32 q, 0, 0;
// CHECK-SAME: [$1], $7, $8, 817889424, [$3 + 0], [$4 + 0], q;
// CHECK-SAME: [$1], $9, $10, 1354760352, [$3 + 0], [$4 + 0], q;
// CHECK-SAME: [$1], $11, $12, 1891631280, [$3 + 0], [$4 + 0], q;
// CHECK-SAME: [$1], $13, $14, 281018496, [$3 + 4], [$4 + 8], q;
// CHECK-SAME: [$1], $19, $20, 1891631280, [$3 + 4], [$4 + 8], q; }"
// CHECK: tcgen05.commit.cta_group::2
// CHECK-NOT: tlx.
tt.func public @scaled(%a: !ttg.memdesc<128x256xf8E5M2, #eight, #smem, mutable>, %b: !ttg.memdesc<256x128xf8E4M3FN, #eight_columns, #smem, mutable>, %d: !ttg.memdesc<128x256xf32, #wide_acc, #tmem, mutable>, %sa: !ttg.memdesc<128x8xi8, #scales, #tmem, mutable>, %sb: !ttg.memdesc<256x8xi8, #scales, #tmem, mutable>, %bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %use: i1, %pred: i1) {
  tlx.pair_dot_scaled %a scale %sa, %b scale %sb, %d lhs = e5m2 rhs = e4m3 if %use, %pred signals %bar : !ttg.memdesc<128x256xf8E5M2, #eight, #smem, mutable>, !ttg.memdesc<128x8xi8, #scales, #tmem, mutable> * !ttg.memdesc<256x128xf8E4M3FN, #eight_columns, #smem, mutable>, !ttg.memdesc<256x8xi8, #scales, #tmem, mutable> -> !ttg.memdesc<128x256xf32, #wide_acc, #tmem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// Two operands of 4 bits have steps of 64 elements.
// CHECK-LABEL: @packed_scaled
// CHECK: @p tcgen05.mma.cta_group::2.kind::mxf4.block_scale.block32 [$1], $5, $6, 281019520, [$3 + 0], [$4 + 0], q; setp.eq.u32 q, 0, 0;
// CHECK-SAME: [$1], $7, $8, 1354761376, [$3 + 0], [$4 + 0], q; }"
tt.func public @packed_scaled(%a: !ttg.memdesc<128x64xi8, #four, #smem, mutable>, %b: !ttg.memdesc<64x128xi8, #four_columns, #smem, mutable>, %d: !ttg.memdesc<128x256xf32, #wide_acc, #tmem, mutable>, %sa: !ttg.memdesc<128x4xi8, #scales, #tmem, mutable>, %sb: !ttg.memdesc<256x4xi8, #scales, #tmem, mutable>, %use: i1, %pred: i1) {
  tlx.pair_dot_scaled %a scale %sa, %b scale %sb, %d lhs = e2m1 rhs = e2m1 if %use, %pred : !ttg.memdesc<128x64xi8, #four, #smem, mutable>, !ttg.memdesc<128x4xi8, #scales, #tmem, mutable> * !ttg.memdesc<64x128xi8, #four_columns, #smem, mutable>, !ttg.memdesc<256x4xi8, #scales, #tmem, mutable> -> !ttg.memdesc<128x256xf32, #wide_acc, #tmem, mutable>
  tt.return
}

// A copy is that of stock, which is one of two blocks in a module that is marked.
// CHECK-LABEL: @copy
// CHECK: ttg.barrier local
// CHECK-NEXT: ttng.tmem_copy
tt.func public @copy(%a: !ttg.memdesc<128x64xf32, #words, #smem, mutable>, %d: !ttg.memdesc<128x64xf32, #copied, #tmem, mutable>) {
  tlx.pair_copy %a, %d : !ttg.memdesc<128x64xf32, #words, #smem, mutable> -> !ttg.memdesc<128x64xf32, #copied, #tmem, mutable>
  tt.return
}

}
