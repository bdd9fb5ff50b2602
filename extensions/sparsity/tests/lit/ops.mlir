// RUN: %opt %s | %opt - | FileCheck %s

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// CHECK-LABEL: @shared
// CHECK: sparsity.warp_group_dot %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} if %{{.*}} {isAsync} : !ttg.memdesc<64x32xf16, {{.*}}>, tensor<64x8xi8, #linear> * !ttg.memdesc<64x32xf16, {{.*}}> -> tensor<64x32xf32, #mma>
tt.func @shared(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>, %use: i1) {
  %d = sparsity.warp_group_dot %v, %m, %b, %c if %use {isAsync} : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  %e = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<64x32xf32, #mma>
  tt.return
}

// CHECK-LABEL: @registers
// CHECK: sparsity.warp_group_dot {{.*}} {maxNumImpreciseAcc = 32 : i32} : tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
tt.func @registers(%v: tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) {
  %d = sparsity.warp_group_dot %v, %m, %b, %c {maxNumImpreciseAcc = 32 : i32} : tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}

}
