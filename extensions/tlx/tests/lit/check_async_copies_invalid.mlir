// RUN: %opt %s --pass tlx-check-async-copies --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @pointers(%p: tensor<1024x!tt.ptr<f16>, #blocked>, %b: !ttg.memdesc<1024xf16, #shared, #smem, mutable>) {
  // expected-error @below {{expected pointers that let a thread copy at least 4 bytes at once, got 2}}
  // expected-note @below {{pass pointers and strides that are known to be divisible by 16, or say so with tl.multiple_of and tl.max_contiguous}}
  %t = ttg.async_copy_global_to_local %p, %b : tensor<1024x!tt.ptr<f16>, #blocked> -> <1024xf16, #shared, #smem, mutable>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @mask(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %b: !ttg.memdesc<1024xf16, #shared, #smem, mutable>) {
  %r = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #blocked>
  %s = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>, #blocked>
  %a = tt.addptr %s, %r : tensor<1024x!tt.ptr<f16>, #blocked>, tensor<1024xi32, #blocked>
  %l = tt.splat %n : i32 -> tensor<1024xi32, #blocked>
  %m = arith.cmpi slt, %r, %l : tensor<1024xi32, #blocked>
  // expected-error @below {{expected a mask that is constant over at least 4 bytes, got 2}}
  // expected-note @below {{pass sizes in the mask that are known to be divisible by 16}}
  %t = ttg.async_copy_global_to_local %a, %b mask %m : tensor<1024x!tt.ptr<f16>, #blocked> -> <1024xf16, #shared, #smem, mutable>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @modifier(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !ttg.memdesc<512xf16, #shared, #smem, mutable>) {
  %r = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32, #blocked>
  %s = tt.splat %p : !tt.ptr<f16> -> tensor<512x!tt.ptr<f16>, #blocked>
  %a = tt.addptr %s, %r : tensor<512x!tt.ptr<f16>, #blocked>, tensor<512xi32, #blocked>
  // expected-error @below {{expected copies of 16 bytes for the cache modifier .cg, got 8}}
  %t = ttg.async_copy_global_to_local %a, %b {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>} : tensor<512x!tt.ptr<f16>, #blocked> -> <512xf16, #shared, #smem, mutable>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @small(%p: tensor<1x!tt.ptr<f16>, #blocked>, %b: !ttg.memdesc<1xf16, #shared, #smem, mutable>) {
  // expected-error @below {{expected at least 4 bytes to copy, 4 for each thread that copies, got 2}}
  // expected-note @below {{copy into a larger slot, or fill the slot with tl.load and tlx.local_store}}
  %t = ttg.async_copy_global_to_local %p, %b : tensor<1x!tt.ptr<f16>, #blocked> -> <1xf16, #shared, #smem, mutable>
  tt.return
}
}

// -----

// A warp of AMD copies at once.
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {
tt.func @row(%p: tensor<32x!tt.ptr<f32>, #blocked>, %b: !ttg.memdesc<32xf32, #shared, #smem, mutable>) {
  // expected-error @below {{expected at least 256 bytes to copy, 4 for each thread that copies, got 128}}
  // expected-note @below {{copy into a larger slot, or fill the slot with tl.load and tlx.local_store}}
  %t = ttg.async_copy_global_to_local %p, %b : tensor<32x!tt.ptr<f32>, #blocked> -> <32xf32, #shared, #smem, mutable>
  tt.return
}
}

// -----

// Pointers follow one another along columns, and elements of the slot along rows.
#columns = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @transposed(%p: tensor<64x64x!tt.ptr<f16>, #columns>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) {
  // expected-error @below {{expected a slot in which neighbours of dimension 0 lie next to each other, as those of the pointers do}}
  // expected-note @below {{let the pointers follow one another along the last dimension of the slot, and use tlx.local_trans of it}}
  %t = ttg.async_copy_global_to_local %p, %b {contiguity = 8 : i32} : tensor<64x64x!tt.ptr<f16>, #columns> -> <64x64xf16, #shared, #smem, mutable>
  tt.return
}
}
