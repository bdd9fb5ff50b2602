// RUN: %opt %s --pass tlx-check-async-copies | FileCheck %s

#blocked = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
// CHECK-LABEL: tt.func @wide
tt.func @wide(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}, %b: !ttg.memdesc<1024xf16, #shared, #smem, mutable>) {
  %r = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #blocked>
  %s = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>, #blocked>
  %a = tt.addptr %s, %r : tensor<1024x!tt.ptr<f16>, #blocked>, tensor<1024xi32, #blocked>
  %l = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
  %m = arith.cmpi slt, %r, %l : tensor<1024xi32, #blocked>
  // CHECK: ttg.async_copy_global_to_local
  %t = ttg.async_copy_global_to_local %a, %b mask %m : tensor<1024x!tt.ptr<f16>, #blocked> -> <1024xf16, #shared, #smem, mutable>
  tt.return
}

// The author says what the analysis cannot know.
// CHECK-LABEL: tt.func @stated
tt.func @stated(%p: tensor<1024x!tt.ptr<f16>, #blocked>, %b: !ttg.memdesc<1024xf16, #shared, #smem, mutable>) {
  // CHECK: ttg.async_copy_global_to_local
  %t = ttg.async_copy_global_to_local %p, %b {contiguity = 8 : i32} : tensor<1024x!tt.ptr<f16>, #blocked> -> <1024xf16, #shared, #smem, mutable>
  tt.return
}
}
