// RUN: %opt %s --pass tlx-check-buffer-reads --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @nowhere(%p: tensor<128x!tt.ptr<f32>, #blocked>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %b = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %s = ttg.memdesc_index %ring[%i] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  // expected-note @below {{copied here}}
  %ts = ttg.async_copy_global_to_local %p, %s : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  }
  // expected-error @below {{expected a wait for the copies into the buffer, got none in the whole kernel}}
  // expected-note @below {{call tlx.async_load_commit_group behind the copies, and tlx.async_load_wait_group before the read}}
  %l0 = ttg.local_load %b : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @in_order(%p: tensor<128x!tt.ptr<f32>, #blocked>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %b = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  // expected-note @below {{copied here}}
  %ta = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  %g1 = ttg.async_commit_group
  // expected-error @below {{expected a wait for the copy before its buffer is read, got none}}
  // expected-note @below {{call tlx.async_load_commit_group behind the copy, and tlx.async_load_wait_group before the read}}
  %l2 = ttg.local_load %a : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  %w3 = ttg.async_wait {num = 0 : i32}
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @too_many(%p: tensor<128x!tt.ptr<f32>, #blocked>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %b = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  // expected-note @below {{copied here}}
  %ta = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  %g4 = ttg.async_commit_group
  %tb = ttg.async_copy_global_to_local %p, %b : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  %g5 = ttg.async_commit_group
  // expected-error @below {{expected a wait that covers the copy, got one that leaves 2 groups where 1 are newer than that of the copy}}
  // expected-note @below {{call tlx.async_load_wait_group(1)}}
  %w6 = ttg.async_wait {num = 2 : i32}
  // expected-note @below {{read here}}
  %l7 = ttg.local_load %a : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @uncommitted(%p: tensor<128x!tt.ptr<f32>, #blocked>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = ttg.local_alloc : () -> !ttg.memdesc<2x128xf32, #bar, #smem, mutable>
  %a = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  %b = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<2x128xf32, #bar, #smem, mutable> -> !ttg.memdesc<128xf32, #bar, #smem, mutable>
  // expected-note @below {{copied here}}
  %ta = ttg.async_copy_global_to_local %p, %a : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #bar, #smem, mutable>
  // expected-error @below {{expected a wait that covers the copy, got one before the copy is in a group}}
  // expected-note @below {{call tlx.async_load_commit_group between the copy and the wait}}
  %w8 = ttg.async_wait {num = 0 : i32}
  %g9 = ttg.async_commit_group
  // expected-note @below {{read here}}
  %l10 = ttg.local_load %a : !ttg.memdesc<128xf32, #bar, #smem, mutable> -> tensor<128xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @descriptor(%desc: !tt.tensordesc<64x64xf16>, %bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  %true = arith.constant true
  %tile = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
  // expected-note @below {{copied here}}
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %bar, %true : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected a wait for the copy before its buffer is read, got none}}
  // expected-note @below {{call tlx.barrier_wait on the barrier of the copy before the read}}
  tlx.async_descriptor_store %desc[%c0, %c0] %tile : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
  tt.return
}
