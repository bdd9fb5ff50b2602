// RUN: %opt %s --pass sparsity-lower-async-dots | FileCheck %s
// RUN: %opt %s --pass sparsity-lower-async-dots --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-COUNT-4: chose an asynchronous product of warp groups

#rows = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// Two products add up, one wait ends both, and the loop carries the sum in the layout it had.
// CHECK-LABEL: @loop
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<64x32xf32, #blocked>)
// CHECK-DAG: %[[ACC:.*]] = ttg.convert_layout %[[SUM]] : tensor<64x32xf32, #blocked> -> tensor<64x32xf32, #mma>
// CHECK-DAG: %[[META:.*]] = ttg.convert_layout %{{.*}} : tensor<64x8xi8, #blocked> -> tensor<64x8xi8, #linear>
// CHECK: %[[FIRST:.*]] = sparsity.warp_group_dot %{{.*}}, %[[META]], %{{.*}}, %[[ACC]] if %{{.*}} {isAsync, maxNumImpreciseAcc = 64 : i32}
// CHECK: %[[LEFT:.*]] = ttg.convert_layout %{{.*}} -> tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
// CHECK: %[[SECOND:.*]] = sparsity.warp_group_dot %[[LEFT]], %{{.*}}, %{{.*}}, %[[FIRST]] {isAsync}
// CHECK: %[[OVER:.*]] = ttng.warp_group_dot_wait %[[SECOND]] {pendings = 0 : i32} : tensor<64x32xf32, #mma>
// CHECK: %[[NEXT:.*]] = ttg.convert_layout %[[OVER]] : tensor<64x32xf32, #mma> -> tensor<64x32xf32, #blocked>
// CHECK: scf.yield %[[NEXT]]
tt.func @loop(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %r: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>, %use: i1, %n: i32) -> tensor<64x32xf32, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %c) -> (tensor<64x32xf32, #blocked>) : i32 {
    %d = sparsity.async_dot %v, %m, %b, %acc if %use {maxNumImpreciseAcc = 64 : i32} : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
    %e = sparsity.async_dot %r, %m, %b, %d : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
    %f = ttng.warp_group_dot_wait %e {pendings = 0 : i32} : tensor<64x32xf32, #blocked>
    scf.yield %f : tensor<64x32xf32, #blocked>
  }
  tt.return %sum : tensor<64x32xf32, #blocked>
}

// A wait for all but the newest covers the one before.
// CHECK-LABEL: @two
// CHECK-COUNT-2: sparsity.warp_group_dot
// CHECK: ttng.warp_group_dot_wait %{{.*}} {pendings = 1 : i32}
// CHECK: ttng.warp_group_dot_wait %{{.*}} {pendings = 0 : i32}
tt.func @two(%v: !ttg.memdesc<64x32xf16, #rows, #smem>, %m: tensor<64x8xi8, #blocked>, %b: !ttg.memdesc<64x32xf16, #rows, #smem>, %c: tensor<64x32xf32, #blocked>) {
  %d = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  %e = sparsity.async_dot %v, %m, %b, %c : !ttg.memdesc<64x32xf16, #rows, #smem>, tensor<64x8xi8, #blocked> * !ttg.memdesc<64x32xf16, #rows, #smem> -> tensor<64x32xf32, #blocked>
  %f = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : tensor<64x32xf32, #blocked>
  %g = ttng.warp_group_dot_wait %e {pendings = 0 : i32} : tensor<64x32xf32, #blocked>
  tt.return
}

}
