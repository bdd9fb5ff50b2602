// RUN: %opt %s --pass sparsity-lower-warp-group-dots | FileCheck %s
// RUN: %opt %s --pass sparsity-lower-warp-group-dots --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 16]}>
#bytes = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 32]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#tall = #ttg.linear<{register = [[0, 1], [8, 0], [64, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#narrow = #ttg.linear<{register = [[0, 1], [0, 2], [0, 8]], lane = [[8, 0], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#s64 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#s32t = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#s128t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#s128a = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#b64 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#b128t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// Two steps along K of one word of metadata, with selector 0 and then 1; values step by 32 bytes, b by 64. 8-row groups
// are 512 bytes apart in a swizzle of 64, whose mode is 2, and 1024 in one of 128, whose mode is 1.
// CHECK-LABEL: @shared
// CHECK-DAG: arith.constant -9223371899415756800 : i64
// CHECK-DAG: arith.constant 4611686293305360384 : i64
// CHECK: wgmma.fence.sync.aligned;
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, $16, $17, $18, 0, p, 1, 1, 0, 0; wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16 {$0, $1, $2, $3, $4, $5, $6, $7}, $19, $20, $21, 1, p, 1, 1, 0, 0; }", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,l,l,r,l,l,r"
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: ttng.warp_group_dot_wait %{{.*}} {pendings = 0 : i32}
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "// the registers are read until here", "r"
// CHECK-NOT: sparsity.
tt.func @shared(%v: !ttg.memdesc<64x32xbf16, #s64, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x16xbf16, #s128t, #smem>, %c: tensor<64x16xf32, #mma>) -> tensor<64x16xf32, #mma> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xbf16, #s64, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x16xbf16, #s128t, #smem> -> tensor<64x16xf32, #mma>
  tt.return %d : tensor<64x16xf32, #mma>
}

// Whether the accumulator counts is asked of the first step alone. Values in registers have four of them a step. An
// operand with the other dimension contiguous is transposed.
// CHECK-LABEL: @registers
// CHECK: "{ .reg .pred p; setp.ne.u32 p, $16, 0; wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16 {$0, {{.*}}}, {$17, $18, $19, $20}, $21, $22, 0, p, 1, 1, 1; setp.eq.u32 p, 0, 0; wgmma.mma_async.sp.{{.*}}, {$23, $24, $25, $26}, $27, $28, 1, p, 1, 1, 1; }"
// CHECK: "// the registers are read until here", "r,r,r,r,r,r,r,r,r"
tt.func @registers(%v: tensor<64x32xbf16, #a>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x16xbf16, #s32t, #smem>, %c: tensor<64x16xf32, #mma>, %u: i1) -> tensor<64x16xf32, #mma> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c if %u : tensor<64x32xbf16, #a>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x16xbf16, #s32t, #smem> -> tensor<64x16xf32, #mma>
  tt.return %d : tensor<64x16xf32, #mma>
}

// Rows beyond 64 are other instructions, with metadata of their own. The wait that covers the first product is the second
// one, because the first leaves one going.
// CHECK-LABEL: @tall
// CHECK-COUNT-2: wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.bf16.bf16 {{.*}}, 0, p, 1, 1, 1, 0; wgmma
// CHECK: wgmma.commit_group
// CHECK: ttng.warp_group_dot_wait {{.*}} {pendings = 1 : i32}
// CHECK-NOT: read until here
// CHECK: wgmma.commit_group
// CHECK: ttng.warp_group_dot_wait {{.*}} {pendings = 1 : i32}
// CHECK: "// the registers are read until here", "r,r"
// CHECK: ttng.warp_group_dot_wait {{.*}} {pendings = 0 : i32}
// CHECK: "// the registers are read until here", "r,r"
tt.func @tall(%v: !ttg.memdesc<128x32xbf16, #s128a, #smem>, %m: tensor<128x8xi8, #tall>, %b: !ttg.memdesc<64x16xbf16, #s128t, #smem>, %c: tensor<128x16xf32, #mma>) -> tensor<128x16xf32, #mma> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c {isAsync} : !ttg.memdesc<128x32xbf16, #s128a, #smem>, tensor<128x8xi8, #tall> * !ttg.memdesc<64x16xbf16, #s128t, #smem> -> tensor<128x16xf32, #mma>
  %e = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : tensor<128x16xf32, #mma>
  %f = sparsity.warp_group_dot %v, %m, %b, %e {isAsync} : !ttg.memdesc<128x32xbf16, #s128a, #smem>, tensor<128x8xi8, #tall> * !ttg.memdesc<64x16xbf16, #s128t, #smem> -> tensor<128x16xf32, #mma>
  %g = ttng.warp_group_dot_wait %f {pendings = 1 : i32} : tensor<128x16xf32, #mma>
  %h = ttng.warp_group_dot_wait %g {pendings = 0 : i32} : tensor<128x16xf32, #mma>
  tt.return %h : tensor<128x16xf32, #mma>
}

// Of 8-bit types a word of metadata serves one step. Partial sums of 64 begin at zero and are added behind a wait, so that
// the product is over early although nobody waits for it here.
// CHECK-LABEL: @partial
// CHECK: "{ .reg .pred p; setp.ne.u32 p, $16, 0; wgmma.mma_async.sp.sync.aligned.m64n16k64.f32.e4m3.e5m2 {{.*}}, 0, p, 1, 1; setp.eq.u32 p, 0, 0; }"
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-8: arith.addf
// CHECK: wgmma.mma_async.sp.sync.aligned.m64n16k64.f32.e4m3.e5m2
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK-COUNT-8: arith.addf
// CHECK: ttng.warp_group_dot_wait
tt.func @partial(%v: !ttg.memdesc<64x64xf8E4M3FN, #b64, #smem>, %m: tensor<64x16xi8, #narrow>, %b: !ttg.memdesc<128x16xf8E5M2, #b128t, #smem>, %c: tensor<64x16xf32, #bytes>) -> tensor<64x16xf32, #bytes> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c {isAsync, maxNumImpreciseAcc = 64 : i32} : !ttg.memdesc<64x64xf8E4M3FN, #b64, #smem>, tensor<64x16xi8, #narrow> * !ttg.memdesc<128x16xf8E5M2, #b128t, #smem> -> tensor<64x16xf32, #bytes>
  tt.return %d : tensor<64x16xf32, #bytes>
}

// CHECK-LABEL: @integers
// CHECK: wgmma.mma_async.sp.sync.aligned.m64n16k64.s32.s8.s8 {{.*}}, $18, 0, p; wgmma.mma_async.sp.sync.aligned.m64n16k64.s32.s8.s8 {{.*}}, $21, 0, p; }", "=r,=r
tt.func @integers(%v: !ttg.memdesc<64x64xi8, #b64, #smem>, %m: tensor<64x16xi8, #narrow>, %b: !ttg.memdesc<128x16xi8, #b128t, #smem>, %c: tensor<64x16xi32, #bytes>) -> tensor<64x16xi32, #bytes> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x64xi8, #b64, #smem>, tensor<64x16xi8, #narrow> * !ttg.memdesc<128x16xi8, #b128t, #smem> -> tensor<64x16xi32, #bytes>
  tt.return %d : tensor<64x16xi32, #bytes>
}

// CHECK-LABEL: @unsigned
// CHECK: wgmma.mma_async.sp.sync.aligned.m64n16k64.s32.u8.s8
// CHECK: wgmma.mma_async.sp.sync.aligned.m64n16k64.s32.s8.u8
tt.func @unsigned(%v: !ttg.memdesc<64x64xi8, #b64, #smem>, %m: tensor<64x16xi8, #narrow>, %b: !ttg.memdesc<128x16xi8, #b128t, #smem>, %c: tensor<64x16xi32, #bytes>) -> tensor<64x16xi32, #bytes> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c {unsignedValues} : !ttg.memdesc<64x64xi8, #b64, #smem>, tensor<64x16xi8, #narrow> * !ttg.memdesc<128x16xi8, #b128t, #smem> -> tensor<64x16xi32, #bytes>
  %e = sparsity.warp_group_dot %v, %m, %b, %d {unsignedB} : !ttg.memdesc<64x64xi8, #b64, #smem>, tensor<64x16xi8, #narrow> * !ttg.memdesc<128x16xi8, #b128t, #smem> -> tensor<64x16xi32, #bytes>
  tt.return %e : tensor<64x16xi32, #bytes>
}

// A product that would go on beyond the block ends with it, because the registers of its metadata do.
// CHECK-LABEL: @beyond
// CHECK: wgmma.commit_group
// CHECK: ttng.warp_group_dot_wait {{.*}} {pendings = 1 : i32}
// CHECK: %[[D:.*]] = ttng.warp_group_dot_wait {{.*}} {pendings = 0 : i32}
// CHECK-NEXT: "// the registers are read until here", "r"
// CHECK-NEXT: cf.br ^bb1(%[[D]] :
tt.func @beyond(%v: !ttg.memdesc<64x32xbf16, #s64, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x16xbf16, #s128t, #smem>, %c: tensor<64x16xf32, #mma>) -> tensor<64x16xf32, #mma> {
  // REMARK: applied: ended the product with its block: its metadata stays in registers until then [sparsity-lower-warp-group-dots]
  // REMARK: applied: lowered to sparse warp-group MMA [sparsity-lower-warp-group-dots]
  %d = sparsity.warp_group_dot %v, %m, %b, %c {isAsync} : !ttg.memdesc<64x32xbf16, #s64, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x16xbf16, #s128t, #smem> -> tensor<64x16xf32, #mma>
  %e = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : tensor<64x16xf32, #mma>
  cf.br ^next(%e : tensor<64x16xf32, #mma>)
^next(%f: tensor<64x16xf32, #mma>):
  %g = ttng.warp_group_dot_wait %f {pendings = 0 : i32} : tensor<64x16xf32, #mma>
  tt.return %g : tensor<64x16xf32, #mma>
}

}
