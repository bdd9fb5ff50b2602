// RUN: %opt %s --pass tlx-coalesce-buffer-ops --split-input-file --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {
tt.func @narrow(%p: !tt.ptr<f16>, %t: !ttg.memdesc<1024xf16, #shared, #smem, mutable>) {
  %o = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
  // expected-error @+2 {{expected offsets that let a thread copy at least 4 bytes at once, got 2}}
  // expected-note @+1 {{pass a pointer and strides that are known to be divisible by 16, or say so with tl.multiple_of and tl.max_contiguous}}
  %c = amdg.buffer_load_to_local %p[%o] into %t : !tt.ptr<f16>[tensor<1024xi32, #blocked>]  -> <1024xf16, #shared, #smem, mutable>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {
tt.func @small(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %t: !ttg.memdesc<32xf32, #shared, #smem, mutable>) {
  %o = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #blocked>
  // expected-error @+2 {{expected at least 256 bytes to copy, 4 for each thread of a warp, got 128}}
  // expected-note @+1 {{copy into a larger slot, or use tlx.buffer_load and tlx.local_store}}
  %c = amdg.buffer_load_to_local %p[%o] into %t : !tt.ptr<f32>[tensor<32xi32, #blocked>]  -> <32xf32, #shared, #smem, mutable>
  tt.return
}
}
