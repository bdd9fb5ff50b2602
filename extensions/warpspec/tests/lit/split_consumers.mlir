// Consumers as two tasks of one warp group each.
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=cooperative}" | FileCheck %s --check-prefix=ROWS
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=pingpong}" | FileCheck %s --check-prefix=TURNS
// RUN: %opt %s --pass warpspec-specialize-loops --remarks -o %t 2>&1 | FileCheck %s --check-prefix=CHOSEN
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=cooperative}" | %opt - --pass warpspec-audit-barriers -o %t
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=pingpong}" | %opt - --pass warpspec-audit-barriers -o %t

// The descriptor of the host gets half of its block, and each group its rows of A and of the result. The second group
// begins two slots behind the first.
// ROWS: #mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1],
// ROWS: "ttg.num-warps" = 4
// ROWS-LABEL: @stored_by_descriptor
// ROWS-SAME: !tt.tensordesc<128x64xf16, #shared>, %{{.+}}: !tt.tensordesc<64x128xf16, #shared>, %{{.+}}: !tt.tensordesc<64x128xf16, #shared>
// ROWS: ttng.init_barrier %{{.+}}, 1 :
// ROWS: ttng.init_barrier %{{.+}}, 2 :
// ROWS: requestedRegisters = array<i32: 232, 40>
// ROWS: default
// ROWS: scf.for
// ROWS-NOT: ttng.wait_barrier
// ROWS: scf.for {{.+}} -> (tensor<64x128xf32, #mma>, i32, i32)
// ROWS: ttg.memdesc_subslice %{{.+}}[0, 0] : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
// ROWS: tt.descriptor_store {{.+}} : !tt.tensordesc<64x128xf16, #shared>, tensor<64x128xf16,
// ROWS: partition0
// ROWS-SAME: num_warps(4)
// ROWS: scf.for
// ROWS: %[[LONG:.+]] = arith.cmpi sgt
// ROWS: %[[FIRST:.+]] = arith.cmpi eq
// ROWS: %[[WANTED:.+]] = arith.andi %[[FIRST]], %[[LONG]]
// ROWS: ttng.wait_barrier %{{.+}}, %{{.+}}, %[[WANTED]]
// ROWS: scf.for
// ROWS: ttg.memdesc_subslice %{{.+}}[64, 0]
// ROWS: %[[OFFSET:.+]] = arith.constant 64 : i32
// ROWS: %[[ROW:.+]] = arith.addi %{{.+}}, %[[OFFSET]]
// ROWS: tt.descriptor_store %{{.+}}[%[[ROW]], %{{.+}}]
// ROWS: partition1
// ROWS-SAME: num_warps(1)

// Each group takes every other tile, with a position behind the slots of the other's. It multiplies when it is its turn,
// which ends when the last slot of its tile is there.
// TURNS-LABEL: @stored_by_descriptor
// TURNS-SAME: !tt.tensordesc<128x64xf16, #shared>, %{{.+}}: !tt.tensordesc<64x128xf16, #shared>, %{{.+}}: !tt.tensordesc<128x128xf16, #shared>
// TURNS: default
// TURNS: %[[STEP:.+]] = arith.addi %[[ONE:.+]], %[[ONE]]
// TURNS: scf.for %{{.+}} = %arg5 to %arg6 step %[[STEP]] iter_args({{.+}}) -> (i32, i32, i32)
// TURNS: ttng.wait_barrier
// TURNS: scf.for {{.+}} -> (tensor<128x128xf32, #{{.+}}>, i32, i32, i32)
// TURNS: ttng.wait_barrier
// TURNS: %[[LAST:.+]] = arith.cmpi eq
// TURNS: scf.if %[[LAST]]
// TURNS: ttng.arrive_barrier %{{.+}}, 1 :
// TURNS: ttng.warp_group_dot
// TURNS: ttng.arrive_barrier
// TURNS: tt.descriptor_store
// TURNS: partition0
// TURNS: tt.descriptor_store
// TURNS: partition1
// CHOSEN: in two groups that take turns, a ring of 5 slots of 32768 bytes

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @stored_by_descriptor(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %row = arith.divsi %tile, %size : i32
    %column = arith.remsi %tile, %size : i32
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %column] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
    tt.descriptor_store %dc[%row, %column], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// What is needed of both groups is computed by both, and a result of rows alone by each for its own.
// ROWS-LABEL: @stored_by_pointers
// ROWS: default
// ROWS: tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 1,
// ROWS: tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0,
// ROWS: "tt.reduce"
// ROWS: tt.store %{{.+}} : tensor<64x!tt.ptr<f32>
// ROWS: tt.broadcast %{{.+}} : tensor<1x128x!tt.ptr<f32>, #{{.+}}> -> tensor<64x128x!tt.ptr<f32>
// ROWS: tt.atomic_rmw {{.+}} tensor<64x128xf32
// ROWS: partition0
// ROWS: tt.make_range {end = 128 : i32, start = 64 : i32}
// ROWS: partition1
// TURNS-LABEL: @stored_by_pointers
// TURNS: default
// TURNS: tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 1,
// TURNS: tt.store %{{.+}} : tensor<128x!tt.ptr<f32>
// TURNS: partition0
// TURNS: tt.atomic_rmw
// CHOSEN: in two groups that take turns

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @stored_by_pointers(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%tile, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %tile] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #column>
    %columns = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #row>
    %most = "tt.reduce"(%r) <{axis = 1 : i32}> ({
    ^bb0(%one: f32, %other: f32):
      %larger = arith.maxnumf %one, %other : f32
      tt.reduce.return %larger : f32
    }) : (tensor<128x128xf32, #mma>) -> tensor<128xf32, #column>
    %xt = tt.addptr %x, %tile : !tt.ptr<f32>, i32
    %xs = tt.splat %xt : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #column>
    %xat = tt.addptr %xs, %range : tensor<128x!tt.ptr<f32>, #column>, tensor<128xi32, #column>
    tt.store %xat, %most : tensor<128x!tt.ptr<f32>, #column>
    %pt = tt.addptr %p, %tile : !tt.ptr<f32>, i32
    %ps = tt.splat %pt : !tt.ptr<f32> -> tensor<1x128x!tt.ptr<f32>, #mma>
    %cs = tt.expand_dims %columns {axis = 0 : i32} : tensor<128xi32, #row> -> tensor<1x128xi32, #mma>
    %pat = tt.addptr %ps, %cs : tensor<1x128x!tt.ptr<f32>, #mma>, tensor<1x128xi32, #mma>
    %pall = tt.broadcast %pat : tensor<1x128x!tt.ptr<f32>, #mma> -> tensor<128x128x!tt.ptr<f32>, #mma>
    %rs = tt.expand_dims %range {axis = 1 : i32} : tensor<128xi32, #column> -> tensor<128x1xi32, #mma>
    %rall = tt.broadcast %rs : tensor<128x1xi32, #mma> -> tensor<128x128xi32, #mma>
    %at = tt.addptr %pall, %rall : tensor<128x128x!tt.ptr<f32>, #mma>, tensor<128x128xi32, #mma>
    %was = tt.atomic_rmw fadd, relaxed, gpu, %at, %r : (tensor<128x128x!tt.ptr<f32>, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// A tile that is too wide for the registers of one group is shared. What comes behind the loop is in the tasks.
// ROWS-LABEL: @wide
// ROWS: ttg.warp_specialize
// ROWS: tt.descriptor_store
// ROWS: tt.descriptor_store
// ROWS: partition1
// ROWS-NOT: tt.descriptor_store
// CHOSEN: 8 consumer warps, a ring of 4 slots of 49152 bytes

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @wide(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x256xf16, #shared>, %dc: !tt.tensordesc<128x256xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x256xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x256xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%first, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %first] : !tt.tensordesc<64x256xf16, #shared> -> tensor<64x256xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x256xf16, #blocked>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x256xf16, #shared, #smem> -> tensor<128x256xf32, #mma>
    scf.yield %d : tensor<128x256xf32, #mma>
  } {tt.warp_specialize}
  %o = arith.truncf %r : tensor<128x256xf32, #mma> to tensor<128x256xf16, #mma>
  tt.descriptor_store %dc[%first, %first], %o : !tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #mma>
  tt.return
}
}

// -----

// Each of two groups that share tiles has a buffer of its own.
// ROWS-LABEL: @with_a_buffer
// ROWS: ttg.local_alloc : () -> !ttg.memdesc<3x128x128xf16,

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @with_a_buffer(%da: !tt.tensordesc<128x128xf16, #shared>, %db: !tt.tensordesc<128x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %w = tt.descriptor_load %db[%c0, %tile] : !tt.tensordesc<128x128xf16, #shared> -> tensor<128x128xf16, #blocked>
    %sb = ttg.local_alloc %w : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
    %row = arith.divsi %tile, %size : i32
    %column = arith.remsi %tile, %size : i32
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<128x128xf16, #shared> -> tensor<128x128xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x128xf16, #blocked>) -> !ttg.memdesc<128x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x128xf16, #shared, #smem> * !ttg.memdesc<128x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
    tt.descriptor_store %dc[%row, %column], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
  } {tt.warp_specialize}
  tt.return
}
}
