// RUN: %opt %s --pass sparsity-fuse-expansions | FileCheck %s
// RUN: %opt %s --pass sparsity-fuse-expansions --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #blocked}>
#b = #ttg.dot_op<{opIdx = 1, parent = #blocked}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {

// CHECK-LABEL: @left
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{[^%]*}}%[[V:[a-z0-9]+]]: {{[^%]*}}%[[M:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]: {{[^%]*}}%[[C:[a-z0-9]+]]:
// CHECK: %[[D:.*]] = sparsity.dot %[[V]], %[[M]], %[[B]], %[[C]] : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x32xf16, {{.*}}> -> tensor<64x32xf32, #blocked>
// CHECK: tt.return %[[D]]
tt.func @left(%x: tensor<64x64xf16, #blocked>, %v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf16, #b>, %c: tensor<64x32xf32, #blocked>) -> tensor<64x32xf32, #blocked> {
  %e = sparsity.expand %x of %v, %m : tensor<64x64xf16, #blocked> of tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked>
  %o = ttg.convert_layout %e : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #a>
  // REMARK: applied: multiplies the sparse matrix itself [sparsity-fuse-expansions]
  %d = tt.dot %o, %b, %c : tensor<64x64xf16, #a> * tensor<64x32xf16, #b> -> tensor<64x32xf32, #blocked>
  tt.return %d : tensor<64x32xf32, #blocked>
}

// The transposed product, of the transposed operand and sum.
// CHECK-LABEL: @right
// CHECK-SAME: %[[X:[a-z0-9]+]]: {{[^%]*}}%[[V:[a-z0-9]+]]: {{[^%]*}}%[[M:[a-z0-9]+]]: {{[^%]*}}%[[A:[a-z0-9]+]]: {{[^%]*}}%[[C:[a-z0-9]+]]:
// CHECK-DAG: %[[AT:.*]] = tt.trans %[[A]]
// CHECK-DAG: %[[CT:.*]] = tt.trans %[[C]]
// CHECK: %[[D:.*]] = sparsity.dot %[[V]], %[[M]], %[[AT]], %[[CT]] : {{.*}} -> tensor<64x32xf32
// CHECK: tt.trans %[[D]] {{.*}} -> tensor<32x64xf32, #blocked>
tt.func @right(%x: tensor<64x64xf16, #blocked>, %v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %l: tensor<32x64xf16, #a>, %c: tensor<32x64xf32, #blocked>) -> tensor<32x64xf32, #blocked> {
  %e = sparsity.expand %x of %v, %m : tensor<64x64xf16, #blocked> of tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked>
  %t = tt.trans %e {order = array<i32: 1, 0>} : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #columns>
  %o = ttg.convert_layout %t : tensor<64x64xf16, #columns> -> tensor<64x64xf16, #b>
  %d = tt.dot %l, %o, %c : tensor<32x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<32x64xf32, #blocked>
  tt.return %d : tensor<32x64xf32, #blocked>
}

// CHECK-LABEL: @elsewhere
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK: arith.addf %[[X]], %[[X]]
tt.func @elsewhere(%x: tensor<64x64xf16, #blocked>, %v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>) -> tensor<64x64xf16, #blocked> {
  %e = sparsity.expand %x of %v, %m : tensor<64x64xf16, #blocked> of tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked>
  // REMARK: missed: expanded the sparse matrix in registers: it is used by arith.addf [sparsity-fuse-expansions]
  %s = arith.addf %e, %e : tensor<64x64xf16, #blocked>
  tt.return %s : tensor<64x64xf16, #blocked>
}

// CHECK-LABEL: @wrong_side
// CHECK: tt.dot
tt.func @wrong_side(%x: tensor<64x64xf16, #blocked>, %v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %l: tensor<32x64xf16, #a>, %c: tensor<32x64xf32, #blocked>) -> tensor<32x64xf32, #blocked> {
  %e = sparsity.expand %x of %v, %m : tensor<64x64xf16, #blocked> of tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked>
  %o = ttg.convert_layout %e : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #b>
  // REMARK: missed: expanded the sparse matrix in registers: it is used by tt.dot, summed along the other dimension
  %d = tt.dot %l, %o, %c : tensor<32x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<32x64xf32, #blocked>
  tt.return %d : tensor<32x64xf32, #blocked>
}

// CHECK-LABEL: @precise
// CHECK: tt.dot
tt.func @precise(%x: tensor<64x64xf32, #blocked>, %v: tensor<64x32xf32, #blocked>, %m: tensor<64x16xi8, #blocked>, %b: tensor<64x32xf32, #b>, %c: tensor<64x32xf32, #blocked>) -> tensor<64x32xf32, #blocked> {
  %e = sparsity.expand %x of %v, %m : tensor<64x64xf32, #blocked> of tensor<64x32xf32, #blocked>, tensor<64x16xi8, #blocked>
  %o = ttg.convert_layout %e : tensor<64x64xf32, #blocked> -> tensor<64x64xf32, #a>
  // REMARK: missed: expanded the sparse matrix in registers: 32-bit floats are not to be rounded to tf32
  %d = tt.dot %o, %b, %c, inputPrecision = ieee : tensor<64x64xf32, #a> * tensor<64x32xf32, #b> -> tensor<64x32xf32, #blocked>
  tt.return %d : tensor<64x32xf32, #blocked>
}

// CHECK-LABEL: @emulated
// CHECK: tt.dot
tt.func @emulated(%x: tensor<64x64xf8E5M2, #blocked>, %v: tensor<64x32xf8E5M2, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf8E5M2, #b>, %c: tensor<64x32xf32, #blocked>) -> tensor<64x32xf32, #blocked> {
  %e = sparsity.expand %x of %v, %m : tensor<64x64xf8E5M2, #blocked> of tensor<64x32xf8E5M2, #blocked>, tensor<64x8xi8, #blocked>
  %o = ttg.convert_layout %e : tensor<64x64xf8E5M2, #blocked> -> tensor<64x64xf8E5M2, #a>
  // REMARK: missed: expanded the sparse matrix in registers: cuda:80 converts 8-bit floats to f16 first
  %d = tt.dot %o, %b, %c : tensor<64x64xf8E5M2, #a> * tensor<64x32xf8E5M2, #b> -> tensor<64x32xf32, #blocked>
  tt.return %d : tensor<64x32xf32, #blocked>
}

}
