// RUN: %opt %s --pass tlx-check-buffer-reads | FileCheck %s

// CHECK-LABEL: @counted
// CHECK: ttg.local_load
#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @counted(%p: tensor<128x!tt.ptr<f32>, #blocked>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %b = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %ta = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  %g11 = ttg.async_commit_group
  %tb = ttg.async_copy_global_to_local %p, %b : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  %g12 = ttg.async_commit_group
  %w13 = ttg.async_wait {num = 1 : i32}
  %l14 = ttg.local_load %a : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  tt.return
}
}

// -----

// Another slot, and one that is not known.
// CHECK-LABEL: @others
// CHECK: ttg.local_load
#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @others(%p: tensor<128x!tt.ptr<f32>, #blocked>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %b = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %ta = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  %l15 = ttg.local_load %b : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  %s = ttg.memdesc_index %ring[%n] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %l16 = ttg.local_load %s : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  %g17 = ttg.async_commit_group
  %w18 = ttg.async_wait {num = 0 : i32}
  %l19 = ttg.local_load %a : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  tt.return
}
}

// -----

// Groups of a loop are not counted.
// CHECK-LABEL: @looped
// CHECK: ttg.local_load
#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @looped(%p: tensor<128x!tt.ptr<f32>, #blocked>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %b = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %ta = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  %g20 = ttg.async_commit_group
  scf.for %i = %c0 to %n step %c1 : i32 {
  %g21 = ttg.async_commit_group
  }
  %w22 = ttg.async_wait {num = 2 : i32}
  %l23 = ttg.local_load %a : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  tt.return
}
}

// -----

// The kernel writes the buffer itself too.
// CHECK-LABEL: @stored
// CHECK: ttg.local_load
#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @stored(%p: tensor<128x!tt.ptr<f32>, #blocked>, %v: tensor<128xf32, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %b = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  ttg.local_store %v, %b : tensor<128xf32, #blocked> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %l24 = ttg.local_load %b : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  %ta = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  tt.return
}
}

// -----

// The first iteration waits, and later ones read.
// CHECK-LABEL: @later
// CHECK: ttg.local_load
#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @later(%p: tensor<128x!tt.ptr<f32>, #blocked>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %ta = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  %g = ttg.async_commit_group
  scf.for %i = %c0 to %n step %c1 : i32 {
    %behind = arith.cmpi sgt, %i, %c0 : i32
    scf.if %behind {
      %l = ttg.local_load %a : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
    }
    %w = ttg.async_wait {num = 0 : i32}
  }
  tt.return
}
}

// -----

// A group of other copies is closed before the wait.
// CHECK-LABEL: @group_between
// CHECK: ttg.local_load
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @group_between(%desc: !tt.tensordesc<64x64xf16>, %b0: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %ring = ttg.local_alloc : () -> !ttg.memdesc<1x64x64xf16, #tile, #smem, mutable>
  %tile = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<1x64x64xf16, #tile, #smem, mutable> -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %b0, %true : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.if %p {
    %g = ttg.async_commit_group
    ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  %l = ttg.local_load %tile : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf16, #blocked>
  tt.return
}
}

// -----

// By the atomic another task may say that it has waited.
// CHECK-LABEL: @told_by_another
// CHECK: ttg.local_load
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @told_by_another(%desc: !tt.tensordesc<64x64xf16>, %b0: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %flag: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %ring = ttg.local_alloc : () -> !ttg.memdesc<1x64x64xf16, #tile, #smem, mutable>
  %tile = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<1x64x64xf16, #tile, #smem, mutable> -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %b0, %true : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %seen = tt.atomic_cas acquire, gpu, %flag, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
  %l = ttg.local_load %tile : !ttg.memdesc<64x64xf16, #tile, #smem, mutable> -> tensor<64x64xf16, #blocked>
  tt.return
}
}
