// RUN: %opt %s --pass "warpspec-specialize-loops{slots=2}" | FileCheck %s
// RUN: %opt %s --pass "warpspec-specialize-loops{slots=2}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass "warpspec-specialize-loops{slots=2}" | %opt - --pass warpspec-audit-barriers -o %t

// Both tasks read the table. Before a descriptor is made again, its copies have to be there.
// CHECK-LABEL: @groups
// CHECK: ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf16, #shared
// CHECK: default
// CHECK: tt.load
// CHECK: tt.make_tensor_descriptor
// CHECK: partition0
// CHECK: tt.load
// CHECK-COUNT-2: ttng.wait_barrier
// CHECK: tt.make_tensor_descriptor
// CHECK-NOT: ttng.wait_barrier
// CHECK: tt.make_tensor_descriptor
// CHECK: ttng.wait_barrier
// CHECK: ttng.barrier_expect
// CHECK-COUNT-2: ttng.async_tma_copy_global_to_local
// CHECK-SAME: !tt.tensordesc<1x64x64xf16
// CHECK: ttg.warp_return
// REMARK: applied: specialized: one producer warp, 4 consumer warps, a ring of 2 slots

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#stack = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16, rank = 3}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @groups(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %dc: !tt.tensordesc<64x64xf16, #shared>, %starts: !tt.ptr<i32>, %groups: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %wide = arith.extsi %size : i32 to i64
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  scf.for %group = %c0 to %groups step %c1 : i32 {
    %at = tt.addptr %starts, %group : !tt.ptr<i32>, i32
    %row = tt.load %at : !tt.ptr<i32>
    %pa = tt.addptr %a, %row : !tt.ptr<f16>, i32
    %da = tt.make_tensor_descriptor %pa, [%size, %size], [%wide, %one] : <f16>, <64x64xf16, #shared>
    %db = tt.make_tensor_descriptor %b, [%size, %size, %size], [%wide, %wide, %one] : <f16>, <1x64x64xf16, #stack>
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
      %ta = tt.descriptor_load %da[%c0, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sa = ttg.local_alloc %ta : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %tb = tt.descriptor_load %db[%group, %k, %c0] : !tt.tensordesc<1x64x64xf16, #stack> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %tb : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      scf.yield %d : tensor<64x64xf32, #mma>
    } {tt.num_stages = 2 : i32}
    %o = arith.truncf %r : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
    %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
    tt.descriptor_store %dc[%row, %c0], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// A pointer out of a table leads to other memory than one out of another table, and than the table.
// CHECK-LABEL: @pointers
// CHECK: ttg.warp_specialize
// REMARK: applied:

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @pointers(%as: !tt.ptr<i64>, %b: !tt.ptr<f16>, %cs: !tt.ptr<i64>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant 1 : i64
  %wide = arith.extsi %size : i32 to i64
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %db = tt.make_tensor_descriptor %b, [%size, %size], [%wide, %one] : <f16>, <64x64xf16, #shared>
  scf.for %group = %c0 to %size step %c1 : i32 {
    %at = tt.addptr %as, %group : !tt.ptr<i64>, i32
    %number = tt.load %at : !tt.ptr<i64>
    %pa = tt.int_to_ptr %number : i64 -> !tt.ptr<f16>
    %da = tt.make_tensor_descriptor %pa, [%size, %size], [%wide, %one] : <f16>, <64x64xf16, #shared>
    %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
      %ta = tt.descriptor_load %da[%c0, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sa = ttg.local_alloc %ta : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %tb = tt.descriptor_load %db[%k, %c0] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %tb : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      scf.yield %d : tensor<64x64xf32, #mma>
    }
    %ac = tt.addptr %cs, %group : !tt.ptr<i64>, i32
    %stored = tt.load %ac : !tt.ptr<i64>
    %pc = tt.int_to_ptr %stored : i64 -> !tt.ptr<f16>
    %dc = tt.make_tensor_descriptor %pc, [%size, %size], [%wide, %one] : <f16>, <64x64xf16, #shared>
    %o = arith.truncf %r : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
    %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
    tt.descriptor_store %dc[%c0, %c0], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  } {tt.warp_specialize}
  tt.return
}
}
