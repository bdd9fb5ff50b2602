// RUN: %opt %s --pass tlx-widen-async-copies --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --input-file=%t

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// REMARK: gave each thread 4 bytes to copy: all threads would get less
// CHECK: #[[$WIDE:.*]] = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK-LABEL: tt.func @narrow
// CHECK: %[[P:.*]] = ttg.convert_layout {{.*}} -> tensor<64x!tt.ptr<f16>, #[[$WIDE]]>
// CHECK: %[[M:.*]] = ttg.convert_layout {{.*}} -> tensor<64xi1, #[[$WIDE]]>
// CHECK: ttg.async_copy_global_to_local %[[P]], %{{.*}} mask %[[M]]
tt.func @narrow(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}, %b: !ttg.memdesc<64xf16, #shared, #smem, mutable>) {
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #blocked>
  %s = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>, #blocked>
  %a = tt.addptr %s, %r : tensor<64x!tt.ptr<f16>, #blocked>, tensor<64xi32, #blocked>
  %l = tt.splat %n : i32 -> tensor<64xi32, #blocked>
  %m = arith.cmpi slt, %r, %l : tensor<64xi32, #blocked>
  %t = ttg.async_copy_global_to_local %a, %b mask %m : tensor<64x!tt.ptr<f16>, #blocked> -> <64xf16, #shared, #smem, mutable>
  tt.return
}

// Elements of 4 bytes are enough, as are two of 2 bytes.
// CHECK-LABEL: tt.func @wide
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return
tt.func @wide(%p: tensor<64x!tt.ptr<f32>, #blocked>, %b: !ttg.memdesc<64xf32, #shared, #smem, mutable>) {
  %t = ttg.async_copy_global_to_local %p, %b : tensor<64x!tt.ptr<f32>, #blocked> -> <64xf32, #shared, #smem, mutable>
  tt.return
}
}
