// RUN: %opt %s --pass tlx-convert-partitions | FileCheck %s
// RUN: %opt %s --pass tlx-convert-partitions --pass "ttir.convert_to_ttgpuir{cuda:90 4 32 1}" | FileCheck %s --check-prefix=ALL

// A task with the warps of the kernel is left to the stock conversion, which also sees the default task.

// CHECK: [[$EIGHT:#[a-z0-9]+]] = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
// CHECK-LABEL: @tasks
// CHECK: ttg.warp_specialize(%{{.*}})
// CHECK-NOT: tlx.
// CHECK: default
// CHECK: tt.make_range {{.*}} : tensor<1024xi32>
// CHECK: partition0(%[[BASE:.*]]: !tt.ptr<f32>, %{{.*}}) num_warps(8)
// CHECK: tt.splat %[[BASE]] : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, [[$EIGHT]]>
// CHECK: tt.load {{.*}} : tensor<1024x!tt.ptr<f32>, [[$EIGHT]]>
// CHECK: ttg.warp_return
// CHECK: partition1({{.*}}) num_warps(4)
// CHECK: tt.make_range {{.*}} : tensor<1024xi32>
// CHECK: ttg.warp_return

// ALL-DAG: [[$FOUR:#[a-z0-9]+]] = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// ALL-DAG: [[$MORE:#[a-z0-9]+]] = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
// ALL: default
// ALL: tt.make_range {{.*}} : tensor<1024xi32, [[$FOUR]]>
// ALL: partition0
// ALL: tt.load {{.*}} : tensor<1024x!tt.ptr<f32>, [[$MORE]]>
// ALL: partition1
// ALL: tt.make_range {{.*}} : tensor<1024xi32, [[$FOUR]]>
tt.func @tasks(%x: !tt.ptr<f32>, %y: !tt.ptr<i32>) {
  ttg.warp_specialize(%x, %y) attributes {tlx.target = "cuda:90", tlx.num_warps = 4 : i32, tlx.threads_per_warp = 32 : i32, tlx.num_ctas = 1 : i32}
  default {
    %at = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %ptr = tt.splat %y : !tt.ptr<i32> -> tensor<1024x!tt.ptr<i32>>
    %ptrs = tt.addptr %ptr, %at : tensor<1024x!tt.ptr<i32>>, tensor<1024xi32>
    tt.store %ptrs, %at : tensor<1024x!tt.ptr<i32>>
    ttg.warp_yield
  }
  partition0(%a: !tt.ptr<f32>, %b: !tt.ptr<i32>) num_warps(8) {
    %at = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %ptr = tt.splat %a : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %ptrs = tt.addptr %ptr, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %value = tt.load %ptrs : tensor<1024x!tt.ptr<f32>>
    tt.store %ptrs, %value : tensor<1024x!tt.ptr<f32>>
    ttg.warp_return
  }
  partition1(%a: !tt.ptr<f32>, %b: !tt.ptr<i32>) num_warps(4) {
    %at = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %ptr = tt.splat %b : !tt.ptr<i32> -> tensor<1024x!tt.ptr<i32>>
    %ptrs = tt.addptr %ptr, %at : tensor<1024x!tt.ptr<i32>>, tensor<1024xi32>
    tt.store %ptrs, %at : tensor<1024x!tt.ptr<i32>>
    ttg.warp_return
  } : (!tt.ptr<f32>, !tt.ptr<i32>) -> ()
  tt.return
}

// -----

// Ops that the conversion does not know are carried across it within the task.

// CHECK: [[$ONE:#[a-z0-9]+]] = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 1], order = [1, 0]}>
// CHECK-LABEL: @buffer
// CHECK: partition0
// CHECK: ttg.local_load {{.*}} -> tensor<64x64xf16, [[$ONE]]>
// CHECK-NOT: tt.call
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @buffer(%from: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %to: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) {
  ttg.warp_specialize(%from, %to) attributes {tlx.target = "cuda:90", tlx.num_warps = 4 : i32, tlx.threads_per_warp = 32 : i32, tlx.num_ctas = 1 : i32}
  default {
    ttg.warp_yield
  }
  partition0(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) num_warps(1) {
    %tile = ttg.local_load %a : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16>
    ttg.local_store %tile, %b : tensor<64x64xf16> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<64x64xf16, #shared, #smem, mutable>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) -> ()
  tt.return
}
