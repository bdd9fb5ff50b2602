// What cannot be widened is left alone, and the check behind refuses it.
// RUN: %opt %s --pass tlx-widen-async-copies | FileCheck %s
// RUN: not %opt %s --pass tlx-widen-async-copies --pass tlx-check-async-copies 2>&1 | FileCheck %s --check-prefix=ERROR

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// Nothing is known of the pointers.
// ERROR: expected pointers that let a thread copy at least 4 bytes at once, got 2
// CHECK-LABEL: tt.func @pointers
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return
tt.func @pointers(%p: tensor<64x!tt.ptr<f16>, #blocked>, %b: !ttg.memdesc<64xf16, #shared, #smem, mutable>) {
  %t = ttg.async_copy_global_to_local %p, %b : tensor<64x!tt.ptr<f16>, #blocked> -> <64xf16, #shared, #smem, mutable>
  tt.return
}

// Nothing is known of the mask.
// CHECK-LABEL: tt.func @mask
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return
tt.func @mask(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %m: tensor<64xi1, #blocked>, %b: !ttg.memdesc<64xf16, #shared, #smem, mutable>) {
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #blocked>
  %s = tt.splat %p : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>, #blocked>
  %a = tt.addptr %s, %r : tensor<64x!tt.ptr<f16>, #blocked>, tensor<64xi32, #blocked>
  %t = ttg.async_copy_global_to_local %a, %b mask %m : tensor<64x!tt.ptr<f16>, #blocked> -> <64xf16, #shared, #smem, mutable>
  tt.return
}

// One element has no 4 bytes.
// CHECK-LABEL: tt.func @one
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.return
tt.func @one(%p: tensor<1x!tt.ptr<f16>, #blocked>, %b: !ttg.memdesc<1xf16, #shared, #smem, mutable>) {
  %t = ttg.async_copy_global_to_local %p, %b : tensor<1x!tt.ptr<f16>, #blocked> -> <1xf16, #shared, #smem, mutable>
  tt.return
}
}
