// RUN: %opt %s --pass sparsity-lower-wave-dots | FileCheck %s

#mfma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [16, 16, 32], isTransposed = false}>
#a = #ttg.dot_op<{opIdx = 0, parent = #mfma, kWidth = 4}>
#b = #ttg.dot_op<{opIdx = 1, parent = #mfma, kWidth = 8}>
#meta = #ttg.linear<{register = [[0, 4]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [], block = []}>
#mfma8 = #ttg.amd_mfma<{version = 4, warpsPerCTA = [1, 1], instrShape = [16, 16, 128], isTransposed = false}>
#a8 = #ttg.dot_op<{opIdx = 0, parent = #mfma8, kWidth = 16}>
#b8 = #ttg.dot_op<{opIdx = 1, parent = #mfma8, kWidth = 16}>
#meta8 = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 4], [0, 8]], warp = [], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {

// Two steps share an index register, whose bytes ABID names; the second adds to the first.
// CHECK-LABEL: @half
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<16x32xf16, {{[^%]*}}%[[M:[a-z0-9]+]]:
// CHECK-DAG: builtin.unrealized_conversion_cast %[[V]] : {{.*}} to !llvm.struct<(f16, f16, f16, f16, f16, f16, f16, f16)>
// CHECK-DAG: %[[RM:.*]] = builtin.unrealized_conversion_cast %[[M]] : {{.*}} to !llvm.struct<(i8, i8)>
// CHECK-DAG: %[[M0:.*]] = llvm.extractvalue %[[RM]][0]
// CHECK-DAG: %[[M1:.*]] = llvm.extractvalue %[[RM]][1]
// CHECK: llvm.insertelement %[[M0]], %{{.*}} : vector<4xi8>
// CHECK: llvm.insertelement %[[M1]], %{{.*}} : vector<4xi8>
// CHECK: %[[I:.*]] = llvm.bitcast %{{.*}} : vector<4xi8> to i32
// CHECK: %[[ONE:.*]] = llvm.call_intrinsic "llvm.amdgcn.smfmac.f32.16x16x32.f16"(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %[[I]], %{{[0-9]+}}, %{{[0-9]+}}) : (vector<4xf16>, vector<8xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
// CHECK: llvm.extractelement %[[ONE]]
// CHECK: llvm.call_intrinsic "llvm.amdgcn.smfmac.f32.16x16x32.f16"({{.*}}, %{{[0-9]+}})
// CHECK: %[[D:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<(f32, f32, f32, f32)> to tensor<16x16xf32, #{{.*}}>
// CHECK: %[[BITS:.*]] = tt.bitcast %[[D]] : {{.*}} -> tensor<16x16xi32, #{{.*}}>
// CHECK: tt.bitcast %[[BITS]] : {{.*}} -> tensor<16x16xf32, #{{.*}}>
// CHECK-NOT: sparsity.
tt.func @half(%v: tensor<16x32xf16, #a>, %m: tensor<16x8xi8, #meta>, %b: tensor<64x16xf16, #b>, %c: tensor<16x16xf32, #mfma>) -> tensor<16x16xf32, #mfma> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x32xf16, #a>, tensor<16x8xi8, #meta> * tensor<64x16xf16, #b> -> tensor<16x16xf32, #mfma>
  tt.return %d : tensor<16x16xf32, #mfma>
}

// An instruction of as old a shape takes bf16 as integers.
// CHECK-LABEL: @bfloat
// CHECK: llvm.call_intrinsic "llvm.amdgcn.smfmac.f32.16x16x32.bf16"({{.*}}) : (vector<4xi16>, vector<8xi16>, vector<4xf32>, i32, i32, i32)
tt.func @bfloat(%v: tensor<16x32xbf16, #a>, %m: tensor<16x8xi8, #meta>, %b: tensor<64x16xbf16, #b>, %c: tensor<16x16xf32, #mfma>) -> tensor<16x16xf32, #mfma> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x32xbf16, #a>, tensor<16x8xi8, #meta> * tensor<64x16xbf16, #b> -> tensor<16x16xf32, #mfma>
  tt.return %d : tensor<16x16xf32, #mfma>
}

// Of the doubled shape of bytes an index register serves one instruction, whose operands are words.
// CHECK-LABEL: @bytes
// CHECK: llvm.call_intrinsic "llvm.amdgcn.smfmac.f32.16x16x128.fp8.bf8"({{.*}}) : (vector<4xi32>, vector<8xi32>, vector<4xf32>, i32, i32, i32)
// CHECK-NOT: llvm.call_intrinsic
tt.func @bytes(%v: tensor<16x64xf8E4M3FN, #a8>, %m: tensor<16x16xi8, #meta8>, %b: tensor<128x16xf8E5M2, #b8>, %c: tensor<16x16xf32, #mfma8>) -> tensor<16x16xf32, #mfma8> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x64xf8E4M3FN, #a8>, tensor<16x16xi8, #meta8> * tensor<128x16xf8E5M2, #b8> -> tensor<16x16xf32, #mfma8>
  tt.return %d : tensor<16x16xf32, #mfma8>
}

// CHECK-LABEL: @integers
// CHECK: llvm.call_intrinsic "llvm.amdgcn.smfmac.i32.16x16x128.i8"({{.*}}) : (vector<4xi32>, vector<8xi32>, vector<4xi32>, i32, i32, i32)
tt.func @integers(%v: tensor<16x64xi8, #a8>, %m: tensor<16x16xi8, #meta8>, %b: tensor<128x16xi8, #b8>, %c: tensor<16x16xi32, #mfma8>) -> tensor<16x16xi32, #mfma8> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x64xi8, #a8>, tensor<16x16xi8, #meta8> * tensor<128x16xi8, #b8> -> tensor<16x16xi32, #mfma8>
  tt.return %d : tensor<16x16xi32, #mfma8>
}

}
