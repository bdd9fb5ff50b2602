// RUN: %opt %s --pass sparsity-hoist-transpositions | FileCheck %s

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// CHECK-LABEL: @carried
// CHECK: %[[START:.*]] = tt.trans %{{.*}} -> tensor<64x32xf32, #[[T:.*]]>
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[START]]) -> (tensor<64x32xf32, #[[T]]>)
// CHECK-NEXT: %[[D:.*]] = sparsity.dot %{{.*}}, %{{.*}}, %{{.*}}, %[[ACC]] :
// CHECK-NOT: ttg.convert_layout
// CHECK: scf.yield %[[D]]
// CHECK: %[[E:.*]] = tt.trans %[[R]]
// CHECK: tt.return %[[E]]
tt.func @carried(%v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<32x64xf32, #blocked>, %n: i32) -> tensor<32x64xf32, #blocked> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %c) -> (tensor<32x64xf32, #blocked>) : i32 {
    %x = ttg.convert_layout %acc : tensor<32x64xf32, #blocked> -> tensor<32x64xf32, #blocked>
    %t = tt.trans %x {order = array<i32: 1, 0>} : tensor<32x64xf32, #blocked> -> tensor<64x32xf32, #columns>
    %d = sparsity.dot %v, %m, %b, %t : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<64x32xf32, #columns>
    %u = tt.trans %d {order = array<i32: 1, 0>} : tensor<64x32xf32, #columns> -> tensor<32x64xf32, #blocked>
    scf.yield %u : tensor<32x64xf32, #blocked>
  }
  tt.return %r : tensor<32x64xf32, #blocked>
}

// A value that is read as it is stays.
// CHECK-LABEL: @read
// CHECK: scf.for {{.*}} -> (tensor<32x64xf32, #blocked>)
// CHECK: tt.trans
// CHECK: scf.yield
tt.func @read(%v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<32x64xf32, #blocked>, %n: i32) -> tensor<32x64xf32, #blocked> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %c) -> (tensor<32x64xf32, #blocked>) : i32 {
    %x = arith.mulf %acc, %acc : tensor<32x64xf32, #blocked>
    %t = tt.trans %acc {order = array<i32: 1, 0>} : tensor<32x64xf32, #blocked> -> tensor<64x32xf32, #columns>
    %d = sparsity.dot %v, %m, %b, %t : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<64x32xf32, #columns>
    %u = tt.trans %d {order = array<i32: 1, 0>} : tensor<64x32xf32, #columns> -> tensor<32x64xf32, #blocked>
    scf.yield %u : tensor<32x64xf32, #blocked>
  }
  tt.return %r : tensor<32x64xf32, #blocked>
}

}
