// Products in a chain: the last of an iteration is put off to the next.
// RUN: %opt %s --pass warpspec-specialize-loops | FileCheck %s
// RUN: %opt %s --pass warpspec-specialize-loops --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass warpspec-specialize-loops | %opt - --pass warpspec-audit-barriers -o %t

// CHECK-LABEL: @chain
// CHECK-COUNT-2: ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16,
// CHECK: default
// CHECK: scf.if
// The first iteration starts no product of the one before.
// CHECK: ttng.wait_barrier %{{.+}} {warpspec.separate_warps, warpspec.takes_turn}
// CHECK: %[[FIRST:.+]] = ttng.warp_group_dot {{.+}} isAsync = true
// CHECK: ttng.warp_group_dot_wait %[[FIRST]] {pendings = 0 : i32, warpGroupLocal, warpspec.passes_turn}
// CHECK: ttng.arrive_barrier %{{.+}}, 8 {warpspec.separate_warps}
// CHECK: scf.for
// CHECK: ttng.wait_barrier %{{.+}} {warpspec.separate_warps, warpspec.takes_turn}
// CHECK: %[[S:.+]] = ttng.warp_group_dot {{.+}} isAsync = true
// CHECK: ttng.wait_barrier %{{.+}} {warpspec.separate_warps}
// CHECK: %[[O:.+]] = ttng.warp_group_dot {{.+}} isAsync = true
// CHECK: ttng.warp_group_dot_wait %[[S]] {pendings = 1 : i32, warpGroupLocal, warpspec.passes_turn}
// CHECK: ttng.arrive_barrier
// CHECK: math.exp2
// CHECK: %[[ENDED:.+]]:2 = ttng.warp_group_dot_wait %[[O]], %{{.+}} {pendings = 0 : i32, warpGroupLocal}
// CHECK: ttng.arrive_barrier
// CHECK: arith.mulf %[[ENDED]]#0, %[[ENDED]]#0
// CHECK: } {tt.num_stages = 0 : i32}
// CHECK: ttng.warp_group_dot {{.+}} isAsync = true
// CHECK: ttng.warp_group_dot_wait {{.+}} {pendings = 0 : i32, warpGroupLocal}
// CHECK: ttng.arrive_barrier
// CHECK: } else {
// CHECK: partition0
// CHECK: scf.for
// CHECK-COUNT-2: ttng.barrier_expect %{{.+}}, 16384
// CHECK: ttg.warp_return
// REMARK: applied: specialized: one producer warp, 8 consumer warps, 2 rings of 4 slots of 16384 and 16384 bytes, 2 products in flight, warp groups in turns [warpspec-specialize-loops]

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
tt.func public @chain(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32, %out: tensor<128x64x!tt.ptr<f32>, #mma>) {
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
  tt.store %out, %r : tensor<128x64x!tt.ptr<f32>, #mma>
  tt.return
}
}

// -----

// Two loops share rings. What is between them and needs neither stands before them.
// CHECK-LABEL: @two_loops
// CHECK: arith.addi
// CHECK: ttg.warp_specialize
// CHECK: default
// CHECK: %[[IN:.+]]:5 = scf.if
// CHECK: %{{.+}}:5 = scf.if
// CHECK: scf.yield %[[IN]]#0, %[[IN]]#1, %[[IN]]#2, %[[IN]]#3, %[[IN]]#4
// CHECK: partition0
// CHECK: %[[LOADED:.+]]:4 = scf.for
// CHECK: scf.for {{.+}} iter_args(%{{.+}} = %[[LOADED]]#0, %{{.+}} = %[[LOADED]]#1, %{{.+}} = %[[LOADED]]#2, %{{.+}} = %[[LOADED]]#3)
// CHECK: ttg.warp_return
// REMARK: applied: specialized:

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
tt.func public @two_loops(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32, %out: tensor<128x64x!tt.ptr<f32>, #mma>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %q = tt.descriptor_load %dq[%row, %c0] : !desc -> !rows
  %sq = ttg.local_alloc %q : (!rows) -> !tile
  %r = scf.for %i = %c0 to %middle step %c128 iter_args(%acc = %zero) -> (!sum) : i32 {
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
  %behind = arith.addi %row, %size : i32
  %r2 = scf.for %i = %middle to %size step %c128 iter_args(%acc = %r) -> (!sum) : i32 {
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
  tt.store %out, %r2 : tensor<128x64x!tt.ptr<f32>, #mma>
  tt.print ": " {hex = false, isSigned = array<i32: 0>} : %behind : i32
  tt.return
}
}

// -----

// A group that waits for the other one, here for its part of a reduction over rows, has no turns.
// CHECK-LABEL: @groups_that_meet
// CHECK-NOT: warpspec.takes_turn
// CHECK: tt.return
// REMARK: applied: specialized: {{.+}}, 2 products in flight [warpspec-specialize-loops]

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
tt.func public @groups_that_meet(%dq: !desc, %dk: !desc, %dv: !desc, %row: i32, %middle: i32, %size: i32, %out: tensor<128x64x!tt.ptr<f32>, #mma>) {
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
    %most = "tt.reduce"(%e) <{axis = 0 : i32}> ({
    ^bb0(%one: f32, %other: f32):
      %larger = arith.maxnumf %one, %other : f32
      tt.reduce.return %larger : f32
    }) : (!scores) -> tensor<128xf32, #ttg.slice<{dim = 0, parent = #mma}>>
    %line = tt.expand_dims %most {axis = 0 : i32} : tensor<128xf32, #ttg.slice<{dim = 0, parent = #mma}>> -> tensor<1x128xf32, #mma>
    %lines = tt.broadcast %line : tensor<1x128xf32, #mma> -> !scores
    %g = arith.mulf %e, %lines : !scores
    %p = arith.truncf %g : !scores to tensor<128x128xf16, #mma>
    %f = ttg.convert_layout %p : tensor<128x128xf16, #mma> -> !factor
    %v = tt.descriptor_load %dv[%i, %c0] : !desc -> !rows
    %sv = ttg.local_alloc %v : (!rows) -> !tile
    %scaled = arith.mulf %acc, %acc : !sum
    %o = ttng.warp_group_dot %f, %sv, %scaled {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %o : !sum
  } {tt.warp_specialize}
  tt.store %out, %r : tensor<128x64x!tt.ptr<f32>, #mma>
  tt.return
}
}
