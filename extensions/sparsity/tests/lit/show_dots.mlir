// RUN: %opt %s --pass sparsity-show-dots | FileCheck %s
// RUN: %opt %s --pass sparsity-show-dots --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// CHECK-LABEL: @asynchronous
// CHECK-SAME: %[[V:[a-z0-9]+]]: {{[^%]*}}%[[M:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]: {{[^%]*}}%[[C:[a-z0-9]+]]:
// CHECK: %[[D:.*]] = sparsity.warp_group_dot %[[V]], %[[M]], %[[B]], %[[C]] {isAsync}
// CHECK: ttng.warp_group_dot_wait %[[D]]
// CHECK-NOT: sparsity.hold_metadata
tt.func @asynchronous(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>) -> tensor<64x32xf32, #mma> {
  %h = ttg.memdesc_subslice %b[0, 0] : !ttg.memdesc<64x32xf16, #rows, #smem> -> !ttg.memdesc<32x32xf16, #rows, #smem, 64x32>
  %f = sparsity.hold_metadata %m : tensor<64x8xi8, #meta>
  // REMARK: applied: the product goes on while operands of later ones are copied [sparsity-show-dots]
  %d = ttng.warp_group_dot %v, %h, %c, %f {isAsync = true} : !ttg.memdesc<64x32xf16, #rows, #smem> * !ttg.memdesc<32x32xf16, #rows, #smem, 64x32> -> tensor<64x32xf32, #mma>
  %e = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<64x32xf32, #mma>
  tt.return %e : tensor<64x32xf32, #mma>
}

// One product in flight would read its metadata while the next iteration loads another.
// CHECK-LABEL: @loop
// CHECK: scf.for
// CHECK-NEXT: %[[D:.*]] = sparsity.warp_group_dot {{.*}} {isAsync}
// CHECK-NEXT: ttg.async_wait
// CHECK-NEXT: %[[E:.*]]:2 = ttng.warp_group_dot_wait %[[D]], %{{.*}} {pendings = 0 : i32}
// CHECK-NEXT: scf.yield %[[E]]#0
tt.func @loop(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #mma>, %n: i32) -> tensor<64x32xf32, #mma> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %h = ttg.memdesc_subslice %b[0, 0] : !ttg.memdesc<64x32xf16, #rows, #smem> -> !ttg.memdesc<32x32xf16, #rows, #smem, 64x32>
  %f = sparsity.hold_metadata %m : tensor<64x8xi8, #meta>
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %c) -> (tensor<64x32xf32, #mma>) : i32 {
    %d = ttng.warp_group_dot %v, %h, %acc, %f {isAsync = true} : !ttg.memdesc<64x32xf16, #rows, #smem> * !ttg.memdesc<32x32xf16, #rows, #smem, 64x32> -> tensor<64x32xf32, #mma>
    %e:2 = ttng.warp_group_dot_wait %d, %v {pendings = 1 : i32} : tensor<64x32xf32, #mma>, !ttg.memdesc<64x32xf16, #rows, #smem>
    %t = ttg.async_wait {num = 0 : i32}
    scf.yield %e#0 : tensor<64x32xf32, #mma>
  }
  %e = ttng.warp_group_dot_wait %r {pendings = 0 : i32} : tensor<64x32xf32, #mma>
  tt.return %e : tensor<64x32xf32, #mma>
}

}
