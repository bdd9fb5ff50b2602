// Kernels whose consumers stay one task, and why.
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=cooperative}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=pingpong}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=TURNS
// RUN: not %opt %s --pass "warpspec-specialize-loops{schedule=both}" 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: expected schedule=auto, single, cooperative or pingpong, got 'both'

// ROWS: not cooperative: 'tt.reduce' needs the rows of both warp groups
// TURNS: not pingpong: 'tt.store' may write where another tile is stored

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @columns(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
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
    %most = "tt.reduce"(%r) <{axis = 0 : i32}> ({
    ^bb0(%one: f32, %other: f32):
      %larger = arith.maxnumf %one, %other : f32
      tt.reduce.return %larger : f32
    }) : (tensor<128x128xf32, #mma>) -> tensor<128xf32, #row>
    %columns = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #row>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    %at = tt.addptr %ps, %columns : tensor<128x!tt.ptr<f32>, #row>, tensor<128xi32, #row>
    tt.store %at, %most : tensor<128x!tt.ptr<f32>, #row>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// ROWS: not cooperative: a scalar is written, which others may wait for
// TURNS: not pingpong: a scalar is written, which others may wait for

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @flag(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
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
    %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
    tt.descriptor_store %dc[%tile, %tile], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
    
    %one = arith.constant 1.0 : f32
    tt.store %p, %one : !tt.ptr<f32>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// ROWS: not cooperative: 'tt.store' may write what the other warp group reads
// TURNS: not pingpong: 'tt.store' may write what the other warp group reads

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @in_place(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
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
    %rows = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #column>
    %pt = tt.addptr %p, %tile : !tt.ptr<f32>, i32
    %ps = tt.splat %pt : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #column>
    %at = tt.addptr %ps, %rows : tensor<128x!tt.ptr<f32>, #column>, tensor<128xi32, #column>
    %before = tt.load %at : tensor<128x!tt.ptr<f32>, #column>
    %most = "tt.reduce"(%r) <{axis = 1 : i32}> ({
    ^bb0(%one: f32, %other: f32):
      %larger = arith.maxnumf %one, %other : f32
      tt.reduce.return %larger : f32
    }) : (tensor<128x128xf32, #mma>) -> tensor<128xf32, #column>
    %sum = arith.addf %before, %most : tensor<128xf32, #column>
    tt.store %at, %sum : tensor<128x!tt.ptr<f32>, #column>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// TURNS: not pingpong: there is no loop over tiles right around one loop of products

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @one_tile(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%first, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %first] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
    scf.yield %d : tensor<128x128xf32, #mma>
  } {tt.warp_specialize}
  %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
  tt.descriptor_store %dc[%first, %first], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
  tt.return
}
}

// -----

// TURNS: not pingpong: the number of products differs between tiles

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @lengths(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %r = scf.for %k = %c0 to %tile step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%tile, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %tile] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
    tt.descriptor_store %dc[%tile, %tile], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// TURNS: not pingpong: a tile needs what the one before has computed

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @chained(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  %n = scf.for %tile = %first to %last step %c1 iter_args(%mine = %first) -> (i32) : i32 {
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%tile, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %tile] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
    tt.descriptor_store %dc[%tile, %tile], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
    %next = arith.muli %mine, %tile : i32
    scf.yield %next : i32
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// TURNS: not pingpong: the step of the loop is not a constant

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @stepped(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %r = scf.for %k = %c0 to %size step %last iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%tile, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %tile] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
    tt.descriptor_store %dc[%tile, %tile], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// The row of a tile is not enough where its column decides on what is stored.
// TURNS: not pingpong: 'tt.descriptor_store' may write where another tile is stored

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #mma}>
#column = #ttg.slice<{dim = 1, parent = #mma}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @columns_in_one_place(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<f32>, %first: i32, %last: i32, %size: i32) {
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
    tt.descriptor_store %dc[%row, %c0], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// Tiles with one remainder are stored to one place, also where the remainder is a difference.
// TURNS: not pingpong: 'tt.descriptor_store' may write where another tile is stored

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @remainder(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %size: i32, %first: i32, %last: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %part = arith.divsi %tile, %c4 : i32
    %whole = arith.muli %part, %c4 : i32
    %m = arith.subi %tile, %whole : i32
    %row = arith.muli %m, %c128 : i32
    %column = arith.muli %part, %c128 : i32
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %column] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
    tt.descriptor_store %dc[%row, %c0], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// Parts of K that one kernel has as tiles are added up in no known order.
// TURNS: not pingpong: 'tt.descriptor_reduce' may add different tiles in one place

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @parts(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<i32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %row = arith.divsi %tile, %c2 : i32
    %part = arith.remsi %tile, %c2 : i32
    %r = scf.for %k = %part to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %c0] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %o = arith.truncf %r : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
    tt.descriptor_reduce add, %dc[%row, %c0], %o : !tt.tensordesc<128x128xf16, #shared>, tensor<128x128xf16, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// A table may have one place for several tiles, and for rows of both groups.
// ROWS: not cooperative: 'tt.atomic_rmw' may add different tiles in one place
// TURNS: not pingpong: 'tt.atomic_rmw' may add different tiles in one place

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @table(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %dc: !tt.tensordesc<128x128xf16, #shared>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %x: !tt.ptr<i32>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %row = arith.divsi %tile, %c2 : i32
    %part = arith.remsi %tile, %c2 : i32
    %r = scf.for %k = %part to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %c0] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %at = tt.addptr %x, %tile : !tt.ptr<i32>, i32
    %place = tt.load %at : !tt.ptr<i32>
    %sum = tt.addptr %p, %place : !tt.ptr<f32>, i32
    %sums = tt.splat %sum : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>, #mma>
    %was = tt.atomic_rmw fadd, relaxed, gpu, %sums, %r : (tensor<128x128x!tt.ptr<f32>, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// So may one that a descriptor reads.
// ROWS: not cooperative: 'tt.atomic_rmw' may add different tiles in one place

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#words = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @map(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x128xf16, #shared>, %map: !tt.tensordesc<128x128xi32, #words>, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %row = arith.divsi %tile, %c2 : i32
    %part = arith.remsi %tile, %c2 : i32
    %r = scf.for %k = %part to %size step %c64 iter_args(%c = %zero) -> (tensor<128x128xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %c0] : !tt.tensordesc<64x128xf16, #shared> -> tensor<64x128xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x128xf16, #blocked>) -> !ttg.memdesc<64x128xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared, #smem> -> tensor<128x128xf32, #mma>
      scf.yield %d : tensor<128x128xf32, #mma>
    }
    %places = tt.descriptor_load %map[%row, %c0] : !tt.tensordesc<128x128xi32, #words> -> tensor<128x128xi32, #mma>
    %start = tt.splat %p : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>, #mma>
    %sums = tt.addptr %start, %places : tensor<128x128x!tt.ptr<f32>, #mma>, tensor<128x128xi32, #mma>
    %was = tt.atomic_rmw fadd, relaxed, gpu, %sums, %r : (tensor<128x128x!tt.ptr<f32>, #mma>, tensor<128x128xf32, #mma>) -> tensor<128x128xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}
