// RUN: %opt %s --pass sparsity-lower-dots | FileCheck %s

#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
#bytes = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>
#bbytes = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>
#narrow = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[8, 0], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {

// Two steps along K, of one register of metadata, with selector 0 and then 1; the second adds to the first.
// CHECK-LABEL: @half
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<16x32xf16, {{[^%]*}}%[[M:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]: {{[^%]*}}%[[C:[a-z0-9]+]]:
// CHECK-DAG: %[[RV:.*]] = builtin.unrealized_conversion_cast %[[V]] : {{.*}} to !llvm.struct<(f16, {{.*}})>
// CHECK-DAG: %[[RM:.*]] = builtin.unrealized_conversion_cast %[[M]] : {{.*}} to !llvm.struct<(i8, i8, i8, i8)>
// CHECK: llvm.extractvalue %[[RM]][0]
// CHECK: llvm.extractvalue %[[RM]][1]
// CHECK: llvm.extractvalue %[[RM]][2]
// CHECK: llvm.extractvalue %[[RM]][3]
// CHECK: %[[W:.*]] = llvm.bitcast %{{.*}} : vector<4xi8> to i32
// CHECK: %[[ONE:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$8, $9, $10, $11}, {$12, $13, $14, $15}, {$0, $1, $2, $3}, $16, 0;", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r,r,r,r" {{.*}}, %[[W]] :
// CHECK: %[[SUM:.*]] = llvm.extractvalue %[[ONE]][0]
// CHECK: llvm.inline_asm {{.*}}, $16, 1;", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r,r,r,r" %[[SUM]], {{.*}} :
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<(f32, f32, f32, f32)> to tensor<16x8xf32, #mma>
// CHECK-NOT: sparsity.
tt.func @half(%v: tensor<16x32xf16, #a>, %m: tensor<16x8xi8, #meta>, %b: tensor<64x8xf16, #b>, %c: tensor<16x8xf32, #mma>) -> tensor<16x8xf32, #mma> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x32xf16, #a>, tensor<16x8xi8, #meta> * tensor<64x8xf16, #b> -> tensor<16x8xf32, #mma>
  tt.return %d : tensor<16x8xf32, #mma>
}

// A short matrix uses one of the halves, and pairs of the accumulator share a register.
// CHECK-LABEL: @half_sums
// CHECK: llvm.inline_asm {{.*}} "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {$0, $1}, {$4, $5, $6, $7}, {$8, $9, $10, $11}, {$0, $1}, $12, 0;", "=r,=r,0,1,r,r,r,r,r,r,r,r,r"
// CHECK-NOT: llvm.inline_asm
tt.func @half_sums(%v: tensor<16x16xf16, #a>, %m: tensor<16x4xi8, #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>, %b: tensor<32x8xf16, #b>, %c: tensor<16x8xf16, #mma>) -> tensor<16x8xf16, #mma> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x16xf16, #a>, tensor<16x4xi8, #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>> * tensor<32x8xf16, #b> -> tensor<16x8xf16, #mma>
  tt.return %d : tensor<16x8xf16, #mma>
}

// CHECK-LABEL: @bytes
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : tensor<16x32xf8E4M3FN, {{.*}}> to !llvm.struct<(i8, {{.*}})>
// CHECK: llvm.inline_asm {{.*}} "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32 {{.*}}, $16, 0;"
// CHECK-NOT: llvm.inline_asm
tt.func @bytes(%v: tensor<16x32xf8E4M3FN, #bytes>, %m: tensor<16x8xi8, #narrow>, %b: tensor<64x8xf8E5M2, #bbytes>, %c: tensor<16x8xf32, #mma>) -> tensor<16x8xf32, #mma> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x32xf8E4M3FN, #bytes>, tensor<16x8xi8, #narrow> * tensor<64x8xf8E5M2, #bbytes> -> tensor<16x8xf32, #mma>
  tt.return %d : tensor<16x8xf32, #mma>
}

}
