// RUN: %opt %s --pass sparsity-accelerate-dots | FileCheck %s
// RUN: %opt %s --pass sparsity-accelerate-dots --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// A byte of 8 columns in two registers and two bits of the lane, 16 rows in the other register and lane bits.
// CHECK-DAG: #[[$META:.*]] = #ttg.linear<{register = {{\[\[}}0, 1], [8, 0], [64, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]], block = []}>
// CHECK-DAG: #[[$WARPMETA:.*]] = #ttg.linear<{register = {{\[\[}}0, 1], [8, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 0], [16, 0]], block = []}>
// Of 8 bits the four registers are bytes of one row.
// CHECK-DAG: #[[$NARROW:.*]] = #ttg.linear<{register = {{\[\[}}0, 1], [0, 2], [0, 8]], lane = {{\[\[}}8, 0], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]], block = []}>
// CHECK-DAG: #[[$MMA3:.*]] = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
// CHECK-DAG: #[[$MMA2:.*]] = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// A transposed operand is another view of what is loaded.
// CHECK-LABEL: @groups
// CHECK-SAME: %[[V:[a-z0-9]+]]: {{[^%]*}}%[[M:[a-z0-9]+]]: {{[^%]*}}%[[A:[a-z0-9]+]]: {{[^%]*}}%[[C:[a-z0-9]+]]:
// CHECK-DAG: %[[SA:.*]] = ttg.local_alloc %[[A]] : {{.*}} -> !ttg.memdesc<64x64xf16, #[[ROWS:.*]], #smem>
// CHECK-DAG: %[[SB:.*]] = ttg.memdesc_trans %[[SA]] {order = array<i32: 1, 0>}
// CHECK-DAG: %[[SV:.*]] = ttg.local_alloc %[[V]]
// CHECK-DAG: %[[CM:.*]] = ttg.convert_layout %[[M]] : {{.*}} -> tensor<128x8xi8, #[[$META]]>
// CHECK-DAG: %[[CC:.*]] = ttg.convert_layout %[[C]] : {{.*}} -> tensor<128x64xf32, #[[$MMA3]]>
// CHECK: %[[D:.*]] = sparsity.warp_group_dot %[[SV]], %[[CM]], %[[SB]], %[[CC]] : {{.*}} -> tensor<128x64xf32, #[[$MMA3]]>
// CHECK: ttg.convert_layout %[[D]] : {{.*}} -> tensor<128x64xf32, #blocked>
tt.func @groups(%v: tensor<128x32xf16, #blocked>, %m: tensor<128x8xi8, #blocked>, %a: tensor<64x64xf16, #blocked>, %c: tensor<128x64xf32, #blocked>) -> tensor<128x64xf32, #blocked> {
  %t = tt.trans %a {order = array<i32: 1, 0>} : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #columns>
  %b = ttg.convert_layout %t : tensor<64x64xf16, #columns> -> tensor<64x64xf16, #blocked>
  // REMARK: applied: chose a product of warp groups [sparsity-accelerate-dots]
  %d = sparsity.dot %v, %m, %b, %c : tensor<128x32xf16, #blocked>, tensor<128x8xi8, #blocked> * tensor<64x64xf16, #blocked> -> tensor<128x64xf32, #blocked>
  tt.return %d : tensor<128x64xf32, #blocked>
}

// CHECK-LABEL: @narrow
// CHECK: ttg.local_alloc {{.*}} -> !ttg.memdesc<128x32xi8, #[[KMAJOR:.*]], #smem>
// CHECK: sparsity.warp_group_dot {{.*}}, tensor<64x16xi8, #[[$NARROW]]> * {{.*}} -> tensor<64x32xi32
tt.func @narrow(%v: tensor<64x64xi8, #blocked>, %m: tensor<64x16xi8, #blocked>, %b: tensor<128x32xi8, #blocked>, %c: tensor<64x32xi32, #blocked>) -> tensor<64x32xi32, #blocked> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x64xi8, #blocked>, tensor<64x16xi8, #blocked> * tensor<128x32xi8, #blocked> -> tensor<64x32xi32, #blocked>
  tt.return %d : tensor<64x32xi32, #blocked>
}

// CHECK-LABEL: @warps
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<32x8xi8, #[[$WARPMETA]]>
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<32x32xf16, #ttg.dot_op<{opIdx = 0, parent = #[[$MMA2]], kWidth = 2}>>
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 1, parent = #[[$MMA2]], kWidth = 2}>>
// CHECK: sparsity.dot {{.*}} -> tensor<32x64xf32, #[[$MMA2]]>
tt.func @warps(%v: tensor<32x32xf16, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x64xf16, #blocked>, %c: tensor<32x64xf32, #blocked>) -> tensor<32x64xf32, #blocked> {
  // REMARK: applied: chose a product of warps: 32 rows are no multiple of 64 [sparsity-accelerate-dots]
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf16, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x64xf16, #blocked> -> tensor<32x64xf32, #blocked>
  tt.return %d : tensor<32x64xf32, #blocked>
}

// CHECK-LABEL: @slim
// CHECK: sparsity.dot {{.*}} -> tensor<64x8xf32, #
tt.func @slim(%v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x8xf16, #blocked>, %c: tensor<64x8xf32, #blocked>) -> tensor<64x8xf32, #blocked> {
  // REMARK: applied: chose a product of warps: rows of 8 columns of 16 bits are shorter than a swizzle of shared memory [sparsity-accelerate-dots]
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x8xf16, #blocked> -> tensor<64x8xf32, #blocked>
  tt.return %d : tensor<64x8xf32, #blocked>
}

}

// -----

// On AMD a thread has the bytes of the values that it has, and the index register of four steps.
// CHECK-DAG: #[[$WAVEMETA:.*]] = #ttg.linear<{register = {{\[\[}}0, 4], [16, 0]], lane = {{\[\[}}1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = {{\[\[}}0, 0], [0, 0]], block = []}>
// CHECK-DAG: #[[$MFMA:.*]] = #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 4], instrShape = [16, 16, 32], isTransposed = false}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {

// CHECK-LABEL: @waves
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<32x8xi8, #[[$WAVEMETA]]>
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<32x32xf16, #ttg.dot_op<{opIdx = 0, parent = #[[$MFMA]], kWidth = 4}>>
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<64x128xf16, #ttg.dot_op<{opIdx = 1, parent = #[[$MFMA]], kWidth = 8}>>
// CHECK: sparsity.dot {{.*}} -> tensor<32x128xf32, #[[$MFMA]]>
tt.func @waves(%v: tensor<32x32xf16, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x128xf16, #blocked>, %c: tensor<32x128xf32, #blocked>) -> tensor<32x128xf32, #blocked> {
  // REMARK: applied: chose a product of waves [sparsity-accelerate-dots]
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf16, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x128xf16, #blocked> -> tensor<32x128xf32, #blocked>
  tt.return %d : tensor<32x128xf32, #blocked>
}
}

// -----

// gfx950 has instructions of the doubled K, for K that is a multiple of it.
// CHECK-DAG: #[[$WIDEMETA:.*]] = #ttg.linear<{register = {{\[\[}}0, 1]], lane = {{\[\[}}1, 0], [2, 0], [4, 0], [8, 0], [0, 2], [0, 4]], warp = [], block = []}>
// CHECK-DAG: #[[$WIDE:.*]] = #ttg.amd_mfma<{version = 4, warpsPerCTA = [1, 1], instrShape = [16, 16, 64], isTransposed = false}>
// CHECK-DAG: #[[$SHORT:.*]] = #ttg.amd_mfma<{version = 4, warpsPerCTA = [1, 1], instrShape = [16, 16, 32], isTransposed = false}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {

// CHECK-LABEL: @doubled
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<16x8xi8, #[[$WIDEMETA]]>
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<16x32xf16, #ttg.dot_op<{opIdx = 0, parent = #[[$WIDE]], kWidth = 8}>>
// CHECK-DAG: ttg.convert_layout %{{.*}} -> tensor<64x16xf16, #ttg.dot_op<{opIdx = 1, parent = #[[$WIDE]], kWidth = 8}>>
tt.func @doubled(%v: tensor<16x32xf16, #blocked>, %m: tensor<16x8xi8, #blocked>, %b: tensor<64x16xf16, #blocked>, %c: tensor<16x16xf32, #blocked>) -> tensor<16x16xf32, #blocked> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x32xf16, #blocked>, tensor<16x8xi8, #blocked> * tensor<64x16xf16, #blocked> -> tensor<16x16xf32, #blocked>
  tt.return %d : tensor<16x16xf32, #blocked>
}

// CHECK-LABEL: @short
// CHECK: sparsity.dot {{.*}} -> tensor<16x16xf32, #[[$SHORT]]>
tt.func @short(%v: tensor<16x16xf16, #blocked>, %m: tensor<16x4xi8, #blocked>, %b: tensor<32x16xf16, #blocked>, %c: tensor<16x16xf32, #blocked>) -> tensor<16x16xf32, #blocked> {
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x16xf16, #blocked>, tensor<16x4xi8, #blocked> * tensor<32x16xf16, #blocked> -> tensor<16x16xf32, #blocked>
  tt.return %d : tensor<16x16xf32, #blocked>
}
}
