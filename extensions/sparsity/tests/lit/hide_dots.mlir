// RUN: %opt %s --pass sparsity-hide-dots | FileCheck %s
// RUN: %opt %s --pass "sparsity-hide-dots,sparsity-show-dots" | FileCheck %s --check-prefix=AGAIN

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#values = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#bytes = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 8}>
#columns = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8}>
#integers = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 32]}>
#narrow = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[8, 0], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#operand = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// CHECK-LABEL: @shared
// CHECK-SAME: %[[V:[a-z0-9]+]]: {{[^%]*}}%[[M:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]: {{[^%]*}}%[[C:[a-z0-9]+]]: {{[^%]*}}%[[U:[a-z0-9]+]]:
// CHECK: %[[H:.*]] = ttg.memdesc_subslice %[[B]][0, 0] : !ttg.memdesc<64x32xf16, {{.*}}> -> !ttg.memdesc<32x32xf16, {{.*}}, 64x32>
// CHECK: %[[F:.*]] = sparsity.hold_metadata %[[M]] if %[[U]] : tensor<64x8xi8, #linear>
// CHECK: ttng.warp_group_dot %[[V]], %[[H]], %[[C]], %[[F]] {maxNumImpreciseAcc = 1073741824 : i32}
// AGAIN-LABEL: @shared
// AGAIN: sparsity.warp_group_dot %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} if %{{.*}} : !ttg.memdesc<64x32xf16, {{.*}}>, tensor<64x8xi8, #linear> * !ttg.memdesc<64x32xf16, {{.*}}> -> tensor<64x32xf32, #mma>
// AGAIN-NOT: ttng.warp_group_dot
tt.func @shared(%v: !ttg.memdesc<64x32xf16, #values, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>, %use: i1) -> tensor<64x32xf32, #mma> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c if %use : !ttg.memdesc<64x32xf16, #values, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return %d : tensor<64x32xf32, #mma>
}

// CHECK-LABEL: @unsigned
// CHECK: sparsity.hold_metadata %{{.*}} {maxNumImpreciseAcc = 32 : i32, unsignedB, unsignedValues}
// AGAIN-LABEL: @unsigned
// AGAIN: sparsity.warp_group_dot {{.*}} {maxNumImpreciseAcc = 32 : i32, unsignedB, unsignedValues}
tt.func @unsigned(%v: !ttg.memdesc<64x32xi8, #bytes, #smem>, %m: tensor<64x8xi8, #narrow>, %b: !ttg.memdesc<64x32xi8, #columns, #smem>, %c: tensor<64x32xi32, #integers>) -> tensor<64x32xi32, #integers> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c {maxNumImpreciseAcc = 32 : i32, unsignedValues, unsignedB} : !ttg.memdesc<64x32xi8, #bytes, #smem>, tensor<64x8xi8, #narrow> * !ttg.memdesc<64x32xi8, #columns, #smem> -> tensor<64x32xi32, #integers>
  tt.return %d : tensor<64x32xi32, #integers>
}

// What is asynchronous already, and values in registers, stay.
// CHECK-LABEL: @kept
// CHECK-COUNT-2: sparsity.warp_group_dot
tt.func @kept(%v: !ttg.memdesc<64x32xf16, #values, #smem>, %r: tensor<64x32xf16, #operand>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) -> tensor<64x32xf32, #mma> {
  %d = sparsity.warp_group_dot %v, %m, %b, %c {isAsync} : !ttg.memdesc<64x32xf16, #values, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  %e = sparsity.warp_group_dot %r, %m, %b, %d : tensor<64x32xf16, #operand>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #mma>
  tt.return %e : tensor<64x32xf32, #mma>
}

}
