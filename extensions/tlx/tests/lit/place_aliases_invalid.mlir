// RUN: %opt %s --pass tlx-place-aliases --verify-diagnostics

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

tt.func @too_large() {
  // expected-error @below {{expected buffer_size_bytes of 256 or more, which the buffers need, got 255}}
  %spec = tlx.alias_spec {size = 255 : i32}
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tt.return
}

// -----

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

tt.func @placed_twice() {
  %spec = tlx.alias_spec
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  // expected-note @below {{the first one is here}}
  tlx.alias_storage %a in %spec {stride = 128 : i32} : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  // expected-error @below {{expected one overlap for a storage_alias_spec, got a second one}}
  tlx.alias_storage %a in %spec {stride = 256 : i32} : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tt.return
}

// -----

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

tt.func @of_other_memory() {
  %spec = tlx.alias_spec
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  // expected-error @below {{expected a buffer that reuses this storage_alias_spec, got one with memory of its own or of another}}
  tlx.alias_storage %a in %spec {stride = 128 : i32} : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tt.return
}

// -----

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

tt.func @left_out() {
  %spec = tlx.alias_spec
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  // expected-note @below {{allocated here}}
  %b = ttg.local_alloc : () -> !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tlx.alias_storage %b in %spec : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  // expected-error @below {{expected an overlap of all buffers of the storage_alias_spec, got one without a place}}
  tlx.alias_storage %a in %spec {stride = 128 : i32} : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tt.return
}

// -----

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

tt.func @carried(%c: i1, %other: !ttg.memdesc<2x32xf32, #plain, #smem, mutable>) {
  %spec = tlx.alias_spec
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  // expected-note @below {{placed here}}
  tlx.alias_storage %a in %spec {stride = 256 : i32} : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  // expected-error @below {{expected a buffer whose slots lie apart to be indexed where it is allocated or in a task, got another use}}
  %b = arith.select %c, %a, %other : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tt.return
}

// -----

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

tt.func @from_elsewhere(%spec: i32) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  // expected-error @below {{expected a storage_alias_spec and its buffer outside of tasks and of functions that are not inlined, got a value from elsewhere}}
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x32xf32, #plain, #smem, mutable>
  tt.return
}

// -----

tt.func @used_otherwise() -> i32 {
  // expected-error @below {{expected a storage_alias_spec that only buffers use, got another use}}
  %spec = tlx.alias_spec
  tt.return %spec : i32
}

// -----

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
#words = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#tmem = #ttng.tensor_memory

tt.func @of_both_memories() {
  %spec = tlx.alias_spec
  // expected-note @below {{the first one is here}}
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x32x32xf32, #plain, #smem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x32x32xf32, #plain, #smem, mutable>
  // expected-error @below {{expected buffers of one memory in a storage_alias_spec, got another}}
  %b = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  tlx.alias_storage %b in %spec : !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  tt.return
}

// -----

#words = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#half = #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1>
#tmem = #ttng.tensor_memory

tt.func @of_other_rows() {
  %spec = tlx.alias_spec
  // expected-note @below {{the first one is here}}
  %a = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  // expected-error @below {{expected buffers of one number of rows in a storage_alias_spec, got another}}
  %b = ttng.tmem_alloc : () -> !ttg.memdesc<2x64x64xf32, #half, #tmem, mutable>
  tlx.alias_storage %b in %spec : !ttg.memdesc<2x64x64xf32, #half, #tmem, mutable>
  tt.return
}

// -----

#words = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#tmem = #ttng.tensor_memory

tt.func @too_many_columns() {
  // expected-error @below {{expected buffer_size_bytes of 65536 or more, which the buffers need, got 65535}}
  %spec = tlx.alias_spec {size = 65535 : i32}
  %a = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  tt.return
}
