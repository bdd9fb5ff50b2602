// Loops that keep the stock schedule, and why. All but the annotation stays as it is.
// RUN: %opt %s --pass warpspec-specialize-loops --remarks -o %t.out 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=OUT --input-file %t.out
// RUN: not %opt %s --pass "warpspec-specialize-loops{slots=some}" 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: the pass warpspec_specialize_loops does not accept its options
// OUT-NOT: tt.warp_specialize
// CHECK-NOT: applied:

// CHECK: missed: left to the stock schedule: the loop has no product of warp groups [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @no_product(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %c0) -> (i32) : i32 {
    %d = arith.addi %c, %k : i32
    scf.yield %d : i32
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the loop is in a function that is not a kernel [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func private @function(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
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
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the kernel has 16 warps, and products of one or two warp groups are known [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [16, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 4], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 16 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @warps(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
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
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the products are inside of 'scf.while' [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @while(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  scf.while : () -> () {
    %go = arith.cmpi slt, %row, %size : i32
    scf.condition(%go)
  } do {
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      scf.yield %d : tensor<64x64xf32, #mma>
    } {tt.warp_specialize}
    scf.yield
  }
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the kernel goes on behind a conditional return [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @return(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %flag: i1) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  cf.cond_br %flag, ^go, ^end
^go:
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  cf.br ^end
^end:
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the kernel has 'ttg.warp_specialize' [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @specialized(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(1) {
    ttg.warp_return
  } : () -> ()
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the kernel has a second loop of products [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @two(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
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
  %r2 = scf.for %k = %c0 to %size step %c64 iter_args(%c = %r) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  }
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the kernel has a second loop of products, of other tiles than the first [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @other_tiles(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  %r2 = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %r) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = arith.addf %s, %s : !scores
    scf.yield %acc : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: 'ttg.local_alloc' is between two loops of products, and used behind them [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @tile_behind(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32, %dc: !desc) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  %h = arith.truncf %r : !sum to tensor<128x64xf16, #mma>
  %kept = ttg.local_alloc %h : (tensor<128x64xf16, #mma>) -> !tile
  %r2 = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %r) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  %back = ttg.local_load %kept : !tile -> !rows
  tt.descriptor_store %dc[%row, %row], %back : !desc, !rows
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a product in a chain is of limited precision, or adds on a condition [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @conditional_sum(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32, %flag: i1) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled, %flag {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the loop computes an operand of a product from another product, and does not end with such a product that it adds up [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @not_a_sum(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %zero {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    %total = arith.addf %scaled, %o : !sum
    scf.yield %total : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a load through pointers in the loop would be waited for [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @pointers_in_chain(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32, %from: tensor<128x128x!tt.ptr<f32>, #mma>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %x = tt.load %from : tensor<128x128x!tt.ptr<f32>, #mma>
    %y = arith.addf %s, %x : !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a tile in a chain of products is used in registers [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @registers_in_chain(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %x = tt.descriptor_load %dv[%row, %i] : !desc -> !rows
    tt.print ": " {hex = false, isSigned = array<i32: 0>} : %x : !rows
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the loop puts an operand of a chain of products into shared memory [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @staged_in_chain(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %w = arith.addf %v, %v : !rows
    %sv = ttg.local_alloc %w : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: an iteration of the chain of products takes about 768 cycles, and less than 1536 gain nothing [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<64x64xf16, #shared>
!rows = tensor<64x64xf16, #blocked>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x64xf16, #sharedT, #smem>
!scores = tensor<64x64xf32, #mma>
!sum = tensor<64x64xf32, #mma>
!factor = tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @short_chain(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<64x64xf16, #mma>
    %f = ttg.convert_layout %p : tensor<64x64xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the chain of products takes more registers than threads have [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @crowded_chain(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: two warp groups compute the same rows of a chain of products [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 2], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<128x64xf16, #shared>
!rows = tensor<128x64xf16, #blocked>
!tile = !ttg.memdesc<128x64xf16, #shared, #smem>
!turned = !ttg.memdesc<64x128xf16, #sharedT, #smem>
!scores = tensor<128x128xf32, #mma>
!sum = tensor<128x64xf32, #mma>
!factor = tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @shared_rows(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %size step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
    %k = tt.descriptor_load %dk[%i, %c0] : !desc -> !rows
    %sk = ttg.local_alloc %k : (!rows) -> !tile
    %tk = ttg.memdesc_trans %sk {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sq, %tk, %none {inputPrecision = 0 : i32} : !tile * !turned -> !scores
    %e = math.exp2 %s : !scores
    %p = arith.truncf %e : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a product is inside of 'scf.if' [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @hidden(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %flag: i1) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %e = scf.if %flag -> tensor<64x64xf32, #mma> {
      %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      scf.yield %d : tensor<64x64xf32, #mma>
    } else {
      scf.yield %c : tensor<64x64xf32, #mma>
    }
    scf.yield %e : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the product is asynchronous already [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @asynchronous(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: an operand of the product is not a tile of its own [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @view(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    ttg.local_store %b, %sb : tensor<64x64xf16, #blocked> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: an operand is loaded through pointers, which the stock schedule does as fast in a kernel without a loop over tiles [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @pointers(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %pb: tensor<64x64x!tt.ptr<f16>, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.load %pb : tensor<64x64x!tt.ptr<f16>, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: an operand that the loop computes is used for more than products [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @computed(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %b2 = arith.addf %b, %b : tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b2 : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    %again = ttg.local_load %sb : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #blocked>
    tt.descriptor_store %dc[%row, %k], %again : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a tile is put into shared memory under a condition [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @sometimes(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %flag: i1) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    %x = tt.descriptor_load %da[%k, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    scf.if %flag {
      %sx = ttg.local_alloc %x : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %again = ttg.local_load %sx : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #blocked>
      tt.descriptor_store %dc[%row, %k], %again : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
    }
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a tile has 32 bytes, no multiple of 128 [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#line = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16, rank = 1}>
#few = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @small(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %dx: !tt.tensordesc<16xf16, #line>, %out: tensor<16x!tt.ptr<f16>, #few>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    %x = tt.descriptor_load %dx[%k] : !tt.tensordesc<16xf16, #line> -> tensor<16xf16, #few>
    tt.store %out, %x : tensor<16x!tt.ptr<f16>, #few>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a load through pointers in the loop would be waited for [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @waits(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %px: tensor<64x64x!tt.ptr<f32>, #mma>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    %x = tt.load %px : tensor<64x64x!tt.ptr<f32>, #mma>
    %e = arith.addf %d, %x : tensor<64x64xf32, #mma>
    scf.yield %e : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: an operand is loaded outside of the loop, and put into shared memory in it [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @outside(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %b = tt.descriptor_load %db[%row, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a tile is wanted in another shape or layout than its descriptor's [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared3 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16, rank = 3}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @layout(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<1x64x64xf16, #shared3>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%c0, %k, %row] : !tt.tensordesc<1x64x64xf16, #shared3> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: a tile is used for more than products [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @reused(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    %again = ttg.local_load %sa : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #blocked>
    tt.descriptor_store %dc[%row, %k], %again : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the loop loads no operand [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @invariant(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %a = tt.descriptor_load %da[%row, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%row, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: an address depends on 'tt.atomic_rmw' [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @indirect(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %index: !tt.ptr<i32>) {
  %true = arith.constant true
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %at = tt.atomic_rmw add, relaxed, gpu, %index, %row, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %a = tt.descriptor_load %da[%at, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: 'tt.atomic_cas' may wait for memory that the producer loads ahead of it [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @acquired(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %index: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %flag = tt.atomic_cas acquire, gpu, %index, %c0, %c64 : (!tt.ptr<i32>, i32, i32) -> i32
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: 'tt.store' may write what the producer loads ahead of it [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @written(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %index: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %at = tt.load %index : !tt.ptr<i32>
    %a = tt.descriptor_load %da[%at, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    tt.store %index, %k : !tt.ptr<i32>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the producer needs a tensor for its addresses [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @reduced(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %at = "tt.reduce"(%range) <{axis = 0 : i32}> ({
    ^bb0(%x: i32, %y: i32):
      %m = arith.maxsi %x, %y : i32
      tt.reduce.return %m : i32
    }) : (tensor<64xi32, #ttg.slice<{dim = 0, parent = #blocked}>>) -> i32
    %a = tt.descriptor_load %da[%at, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: it is not known what memory an operand is loaded from [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @unknown(%flag: i1, %x: !tt.tensordesc<64x64xf16, #shared>, %y: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %da = scf.while (%z = %x) : (!tt.tensordesc<64x64xf16, #shared>) -> !tt.tensordesc<64x64xf16, #shared> {
    scf.condition(%flag) %z : !tt.tensordesc<64x64xf16, #shared>
  } do {
  ^bb0(%z: !tt.tensordesc<64x64xf16, #shared>):
    scf.yield %y : !tt.tensordesc<64x64xf16, #shared>
  }
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: 'tt.descriptor_store' may write what the producer loads ahead of it [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @in_place(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
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
  tt.descriptor_store %da[%row, %row], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the audit found that a barrier or tile is used in a way that is not known [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @foreign(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %half = arith.constant dense<0.0> : tensor<64x64xf16, #blocked>
  %other = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    ttg.local_store %half, %other : tensor<64x64xf16, #blocked> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: products in flight would hold both slots that there is room for, and the stock schedule has 3 stages [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [1, 32], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 256, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @two_slots(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x256xf16, #shared>, %dc: !tt.tensordesc<128x256xf16, #shared>, %x: tensor<128x256x!tt.ptr<f16>, #blocked>, %first: i32, %last: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x256xf32, #mma>
  scf.for %tile = %first to %last step %c1 : i32 {
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x256xf32, #mma>) : i32 {
      %a = tt.descriptor_load %da[%tile, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
      %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %b = tt.descriptor_load %db[%k, %tile] : !tt.tensordesc<64x256xf16, #shared> -> tensor<64x256xf16, #blocked>
      %sb = ttg.local_alloc %b : (tensor<64x256xf16, #blocked>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x256xf16, #shared, #smem> -> tensor<128x256xf32, #mma>
      scf.yield %d : tensor<128x256xf32, #mma>
    } {tt.num_stages = 3 : i32}
    %more = tt.load %x : tensor<128x256x!tt.ptr<f16>, #blocked>
    %beside = ttg.convert_layout %more : tensor<128x256xf16, #blocked> -> tensor<128x256xf16, #mma>
    %o = arith.truncf %r : tensor<128x256xf32, #mma> to tensor<128x256xf16, #mma>
    %sum = arith.addf %o, %beside : tensor<128x256xf16, #mma>
    tt.descriptor_store %dc[%tile, %tile], %sum : !tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: shared memory has room for 0 slots of 262144 bytes [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 256, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @room(%da: !tt.tensordesc<256x256xf16, #shared>, %db: !tt.tensordesc<256x256xf16, #shared>, %dc: !tt.tensordesc<256x256xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<256x256xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<256x256xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<256x256xf16, #shared> -> tensor<256x256xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<256x256xf16, #blocked>) -> !ttg.memdesc<256x256xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<256x256xf16, #shared> -> tensor<256x256xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<256x256xf16, #blocked>) -> !ttg.memdesc<256x256xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<256x256xf16, #shared, #smem> * !ttg.memdesc<256x256xf16, #shared, #smem> -> tensor<256x256xf32, #mma>
    scf.yield %d : tensor<256x256xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: products take more registers than a thread has, of 152 at launch [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 256, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.maxnreg = 159 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @registers(%da: !tt.tensordesc<256x256xf16, #shared>, %db: !tt.tensordesc<256x256xf16, #shared>, %dc: !tt.tensordesc<256x256xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<256x256xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<256x256xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<256x256xf16, #shared> -> tensor<256x256xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<256x256xf16, #blocked>) -> !ttg.memdesc<256x256xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<256x256xf16, #shared> -> tensor<256x256xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<256x256xf16, #blocked>) -> !ttg.memdesc<256x256xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<256x256xf16, #shared, #smem> * !ttg.memdesc<256x256xf16, #shared, #smem> -> tensor<256x256xf32, #mma>
    scf.yield %d : tensor<256x256xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// CHECK: missed: left to the stock schedule: the product is too short for what computes its operand to go on beside it [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @widened(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xi8, #narrow>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %n = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xi8, #narrow> -> tensor<64x64xi8, #blocked>
    %b = arith.sitofp %n : tensor<64x64xi8, #blocked> to tensor<64x64xf16, #blocked>
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
