// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=single}" | FileCheck %s
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=single}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=single}" | %opt - --pass warpspec-audit-barriers -o %t
// RUN: %opt %s --pass "warpspec-specialize-loops{all-loops=true slots=2}" | FileCheck %s --check-prefix=ALL

// The consumer keeps one product in flight, and gives the slot of the one before back.
// CHECK-LABEL: @plain
// CHECK: %[[TILES:.+]] = ttg.local_alloc : () -> !ttg.memdesc<3x64x64xf16,
// CHECK: %[[FULL:.+]] = ttg.local_alloc : () -> !ttg.memdesc<3x1xi64,
// CHECK-COUNT-3: ttng.init_barrier %{{.+}}, 1 :
// CHECK: %[[EMPTY:.+]] = ttg.local_alloc : () -> !ttg.memdesc<3x1xi64,
// CHECK-COUNT-3: ttng.init_barrier %{{.+}}, 1 :
// CHECK: ttng.fence_async_shared
// CHECK-NEXT: ttg.barrier local
// CHECK: %[[SUM:.+]] = ttg.warp_specialize(
// CHECK: default
// CHECK: scf.for {{.+}} iter_args(%{{.+}} = %{{.+}}, %[[SLOT:.+]] = %{{.+}}, %[[PHASE:.+]] = %{{.+}}) -> (tensor<64x64xf32, #mma>, i32, i32)
// CHECK: %[[VIEW:.+]] = ttg.memdesc_index %[[FULL]][%[[SLOT]]]
// CHECK: ttng.wait_barrier %[[VIEW]], %[[PHASE]]
// CHECK: ttng.warp_group_dot {{.+}} isAsync = true
// CHECK: ttng.warp_group_dot_wait {{.+}} {pendings = 1 : i32, warpGroupLocal}
// CHECK: %[[LATER:.+]] = arith.cmpi ne
// CHECK: %[[BEFORE:.+]] = arith.select
// CHECK: %[[GIVEN:.+]] = ttg.memdesc_index %[[EMPTY]][%[[BEFORE]]]
// CHECK: ttng.arrive_barrier %[[GIVEN]], 1, %[[LATER]]
// CHECK: } {tt.num_stages = 0 : i32}
// CHECK: ttng.warp_group_dot_wait {{.+}} {pendings = 0 : i32, warpGroupLocal}
// CHECK: ttng.arrive_barrier
// CHECK: ttg.warp_yield
// CHECK: partition0
// CHECK-SAME: num_warps(1)
// CHECK: scf.for
// CHECK: arith.xori
// CHECK: ttng.wait_barrier
// CHECK: ttng.barrier_expect %{{.+}}, 16384
// CHECK-COUNT-2: ttng.async_tma_copy_global_to_local
// CHECK-NOT: tensor<
// CHECK: ttg.warp_return
// CHECK: arith.truncf %[[SUM]]
// CHECK: tt.descriptor_store
// REMARK: applied: specialized: one producer warp, 4 consumer warps, a ring of 3 slots of 16384 bytes, 1 product in flight [warpspec-specialize-loops]
// ALL: memdesc<2x64x64xf16,

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @plain(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  %o = arith.truncf %r : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
  %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
  tt.descriptor_store %dc[%row, %row], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  tt.return
}
}

// -----

// A kernel with one tile makes the descriptor that stores it while the first slots are filled, and loads what its
// epilogue adds before the products.
// CHECK-LABEL: @one_tile
// CHECK-NOT: tt.make_tensor_descriptor
// CHECK: %[[ROW:.+]] = tt.load
// CHECK: %[[BEHIND:.+]]:2 = ttg.warp_specialize
// CHECK: default
// CHECK: %[[DESC:.+]] = tt.make_tensor_descriptor
// CHECK: scf.for
// CHECK: ttg.warp_yield %{{.+}}, %[[DESC]]
// CHECK: partition0
// CHECK: ttg.convert_layout %[[ROW]]
// CHECK: tt.descriptor_store %[[BEHIND]]#1
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @one_tile(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %out: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %row: i32, %size: i32, %x: !tt.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %pitch = arith.extsi %size : i32 to i64
  %one = arith.constant 1 : i64
  %dc = tt.make_tensor_descriptor %out, [%size, %size], [%pitch, %one] : <f16>, <64x64xf16, #shared>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #line>
  %all = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #line>
  %at = tt.addptr %all, %range : tensor<64x!tt.ptr<f32>, #line>, tensor<64xi32, #line>
  %loaded = tt.load %at : tensor<64x!tt.ptr<f32>, #line>
  %few = ttg.convert_layout %loaded : tensor<64xf32, #line> -> tensor<64xf32, #row>
  %wide = tt.expand_dims %few {axis = 0 : i32} : tensor<64xf32, #row> -> tensor<1x64xf32, #mma>
  %whole = tt.broadcast %wide : tensor<1x64xf32, #mma> -> tensor<64x64xf32, #mma>
  %q = arith.addf %r, %whole : tensor<64x64xf32, #mma>
  %o = arith.truncf %q : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
  %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
  tt.descriptor_store %dc[%row, %row], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  tt.return
}
}

// -----

// Both tasks have the loop over tiles, and carry the place in the ring through it.
// CHECK-LABEL: @persistent
// CHECK: default
// CHECK: scf.for {{.+}} -> (i32, i32)
// CHECK: scf.for {{.+}} -> (tensor<64x64xf32, #mma>, i32, i32)
// CHECK: tt.descriptor_store
// CHECK: scf.yield %{{.+}}#1, %{{.+}}#2
// CHECK-NOT: tt.flatten
// CHECK: partition0
// CHECK: scf.for {{.+}} -> (i32, i32)
// CHECK: scf.for {{.+}} -> (i32, i32)
// CHECK-NOT: tt.descriptor_store
// CHECK: ttg.warp_return
// REMARK: applied: {{.+}} loads go on behind the loop

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @persistent(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  scf.for %tile = %row to %size step %c64 : i32 {
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%tile, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %tile] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      scf.yield %d : tensor<64x64xf32, #mma>
    } {tt.num_stages = 4 : i32}
    %o = arith.truncf %r : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
    %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
    tt.descriptor_store %dc[%tile, %tile], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  } {tt.flatten, tt.warp_specialize}
  tt.return
}
}

// -----

// A row of which each thread has a little is loaded before the products; the rest of the epilogue stays.
// CHECK-LABEL: @row
// CHECK: default
// CHECK: scf.for
// CHECK: tt.make_range
// CHECK: tt.load
// CHECK-NEXT: scf.for
// CHECK: tt.expand_dims
// CHECK: tt.descriptor_store
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @row(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %x: !tt.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  scf.for %tile = %row to %size step %c64 : i32 {
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%tile, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %tile] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      scf.yield %d : tensor<64x64xf32, #mma>
    } {tt.num_stages = 4 : i32}
    %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #line>
    %all = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #line>
    %at = tt.addptr %all, %range : tensor<64x!tt.ptr<f32>, #line>, tensor<64xi32, #line>
    %few = tt.load %at : tensor<64x!tt.ptr<f32>, #line>
    %few_row = ttg.convert_layout %few : tensor<64xf32, #line> -> tensor<64xf32, #row>
    %wide = tt.expand_dims %few_row {axis = 0 : i32} : tensor<64xf32, #row> -> tensor<1x64xf32, #mma>
    %whole = tt.broadcast %wide : tensor<1x64xf32, #mma> -> tensor<64x64xf32, #mma>
    %q = arith.addf %r, %whole : tensor<64x64xf32, #mma>
    %o = arith.truncf %q : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
    %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
    tt.descriptor_store %dc[%tile, %tile], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  } {tt.flatten, tt.warp_specialize}
  tt.return
}
}

// -----

// What the products' loop writes is not loaded before it.
// CHECK-LABEL: @row_that_the_loop_writes
// CHECK: default
// CHECK: scf.for
// CHECK-NOT: tt.load
// CHECK: scf.for
// CHECK: tt.store
// CHECK: tt.load
// CHECK: partition0
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @row_that_the_loop_writes(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %x: !tt.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  scf.for %tile = %row to %size step %c64 : i32 {
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%tile, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %tile] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      %one = arith.constant 1.000000e+00 : f32
      tt.store %x, %one : !tt.ptr<f32>
      scf.yield %d : tensor<64x64xf32, #mma>
    } {tt.num_stages = 4 : i32}
    %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #line>
    %all = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #line>
    %at = tt.addptr %all, %range : tensor<64x!tt.ptr<f32>, #line>, tensor<64xi32, #line>
    %few = tt.load %at : tensor<64x!tt.ptr<f32>, #line>
    %few_row = ttg.convert_layout %few : tensor<64xf32, #line> -> tensor<64xf32, #row>
    %wide = tt.expand_dims %few_row {axis = 0 : i32} : tensor<64xf32, #row> -> tensor<1x64xf32, #mma>
    %whole = tt.broadcast %wide : tensor<1x64xf32, #mma> -> tensor<64x64xf32, #mma>
    %q = arith.addf %r, %whole : tensor<64x64xf32, #mma>
    %o = arith.truncf %q : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
    %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
    tt.descriptor_store %dc[%tile, %tile], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  } {tt.flatten, tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK-LABEL: @conditional
// CHECK: default
// CHECK: %{{.+}}:2 = scf.if %{{.+}} -> (i32, i32)
// CHECK: tt.descriptor_store
// CHECK: } else {
// CHECK: partition0
// CHECK: %{{.+}}:2 = scf.if %{{.+}} -> (i32, i32)
// CHECK: ttng.async_tma_copy_global_to_local
// CHECK: } else {
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @conditional(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %flag: i1) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  scf.if %flag {
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      scf.yield %d : tensor<64x64xf32, #mma>
    } {tt.warp_specialize}
    %o = arith.truncf %r : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
    %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
    tt.descriptor_store %dc[%row, %row], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  }
  tt.return
}
}

// -----

// CHECK-LABEL: @unannotated
// CHECK-NOT: ttg.warp_specialize
// CHECK: tt.return
// ALL-LABEL: @unannotated
// ALL: ttg.warp_specialize

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @unannotated(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.num_stages = 2 : i32}
  %o = arith.truncf %r : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
  %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
  tt.descriptor_store %dc[%row, %row], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  tt.return
}
}

// -----

// Threads get the registers for the sums of all loops, here of the second, and an SM so many blocks.
// CHECK: ttg.maxnreg = 128
// CHECK-LABEL: @sums_of_the_second_loop
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @sums_of_the_second_loop(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : !sum
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%s0 = %zero) -> (!sum) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d0 = ttng.warp_group_dot %sa, %sb, %s0 {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> !sum
    scf.yield %d0 : !sum
  } {tt.warp_specialize}
  %q:4 = scf.for %k = %c0 to %size step %c64 iter_args(%s0 = %r, %s1 = %zero, %s2 = %zero, %s3 = %zero) -> (!sum, !sum, !sum, !sum) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d0 = ttng.warp_group_dot %sa, %sb, %s0 {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> !sum
    %d1 = ttng.warp_group_dot %sa, %sb, %s1 {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> !sum
    %d2 = ttng.warp_group_dot %sa, %sb, %s2 {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> !sum
    %d3 = ttng.warp_group_dot %sa, %sb, %s3 {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> !sum
    scf.yield %d0, %d1, %d2, %d3 : !sum, !sum, !sum, !sum
  } {tt.warp_specialize}
  tt.return
}
}
