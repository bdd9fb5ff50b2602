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
// CHECK: %[[ENDED:.+]] = ttng.warp_group_dot_wait %[[O]] {pendings = 0 : i32, warpGroupLocal}
// CHECK: ttng.arrive_barrier
// CHECK: arith.mulf %[[ENDED]], %[[ENDED]]
// The next factor is rounded behind the product that reads this one.
// CHECK: arith.truncf
// CHECK: ttg.convert_layout
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
// CHECK: %[[SAME:.+]] = tt.elementwise_inline_asm "mov.b32 $0, $1;" {{.+}} %[[IN]]#0
// CHECK: scf.yield %[[SAME]], %[[IN]]#1, %[[IN]]#2, %[[IN]]#3, %[[IN]]#4
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

// -----

// Gradients of keys and values: what is loaded for the rows goes on beside products, and those that
// need nothing of the iteration start in order, as threads have no registers for all results.
// CHECK-LABEL: @gradients
// CHECK: default
// CHECK: scf.for
// CHECK: tt.load %{{.+}} : tensor<64x!tt.ptr<f32>
// CHECK: ttng.wait_barrier %{{.+}} {warpspec.separate_warps, warpspec.takes_turn}
// CHECK: %[[S:.+]] = ttng.warp_group_dot {{.+}} isAsync = true
// CHECK: %[[DK:.+]] = ttng.warp_group_dot {{.+}} isAsync = true
// CHECK: %[[ENDED:.+]] = ttng.warp_group_dot_wait %[[S]] {pendings = 1 : i32, warpGroupLocal, warpspec.passes_turn}
// CHECK: math.exp2
// CHECK: tt.load %{{.+}} : tensor<64x!tt.ptr<f32>
// CHECK: ttng.warp_group_dot_wait %[[DK]] {pendings = 0 : i32, warpGroupLocal}
// CHECK: ttng.arrive_barrier
// CHECK: ttng.wait_barrier %{{.+}} {warpspec.separate_warps}
// CHECK: %[[DV:.+]] = ttng.warp_group_dot {{.+}} isAsync = true
// CHECK: %[[DP:.+]] = ttng.warp_group_dot {{.+}} isAsync = true
// The stock pass that removes conversions gives all results of a wait one layout.
// CHECK: ttng.warp_group_dot_wait %[[DV]] {pendings = 0 : i32, warpGroupLocal}
// CHECK: %[[CHANGE:.+]] = ttng.warp_group_dot_wait %[[DP]] {pendings = 0 : i32, warpGroupLocal}
// CHECK: ttng.arrive_barrier
// CHECK: arith.subf %[[CHANGE]]
// CHECK: } {tt.num_stages = 0 : i32}
// CHECK: partition0
// CHECK-NOT: tt.load
// CHECK: ttg.warp_return
// REMARK: applied: specialized: one producer warp, 8 consumer warps, 2 rings of 3 slots of 16384 and 16384 bytes, 2 products in flight, warp groups in turns [warpspec-specialize-loops]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 128, 16]}>
#narrow = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#row = #ttg.slice<{dim = 0, parent = #narrow}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#sharedT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!desc = !tt.tensordesc<64x128xbf16, #shared>
!rows = tensor<64x128xbf16, #blocked>
!tile = !ttg.memdesc<64x128xbf16, #shared, #smem>
!turned = !ttg.memdesc<128x64xbf16, #sharedT, #smem>
!keys = !ttg.memdesc<128x128xbf16, #shared, #smem>
!scores = tensor<128x64xf32, #narrow>
!sum = tensor<128x128xf32, #mma>
!factor = tensor<128x64xbf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @gradients(%dq: !desc, %ddo: !desc, %dk: !tt.tensordesc<128x128xbf16, #shared>, %dv: !tt.tensordesc<128x128xbf16, #shared>, %lse: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %delta: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %size: i32, %out: tensor<128x128x!tt.ptr<f32>, #mma>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  %k = tt.descriptor_load %dk[%c0, %c0] : !tt.tensordesc<128x128xbf16, #shared> -> tensor<128x128xbf16, #blocked>
  %sk = ttg.local_alloc %k : (tensor<128x128xbf16, #blocked>) -> !keys
  %v = tt.descriptor_load %dv[%c0, %c0] : !tt.tensordesc<128x128xbf16, #shared> -> tensor<128x128xbf16, #blocked>
  %sv = ttg.local_alloc %v : (tensor<128x128xbf16, #blocked>) -> !keys
  %r:2 = scf.for %i = %c0 to %size step %c64 iter_args(%keyPart = %zero, %valuePart = %zero) -> (!sum, !sum) : i32 {
    %q = tt.descriptor_load %dq[%i, %c0] : !desc -> !rows
    %sq = ttg.local_alloc %q : (!rows) -> !tile
    %g = tt.descriptor_load %ddo[%i, %c0] : !desc -> !rows
    %sg = ttg.local_alloc %g : (!rows) -> !tile
    %tq = ttg.memdesc_trans %sq {order = array<i32: 1, 0>} : !tile -> !turned
    %s = ttng.warp_group_dot %sk, %tq, %none {inputPrecision = 0 : i32} : !keys * !turned -> !scores
    %lanes = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #row>
    %first = tt.splat %i : i32 -> tensor<64xi32, #row>
    %at = arith.addi %first, %lanes : tensor<64xi32, #row>
    %lseAll = tt.splat %lse : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #row>
    %lseAt = tt.addptr %lseAll, %at : tensor<64x!tt.ptr<f32>, #row>, tensor<64xi32, #row>
    %l = tt.load %lseAt : tensor<64x!tt.ptr<f32>, #row>
    %lRow = tt.expand_dims %l {axis = 0 : i32} : tensor<64xf32, #row> -> tensor<1x64xf32, #narrow>
    %lWide = tt.broadcast %lRow : tensor<1x64xf32, #narrow> -> !scores
    %x = arith.subf %s, %lWide : !scores
    %e = math.exp2 %x : !scores
    %p = arith.truncf %e : !scores to tensor<128x64xbf16, #narrow>
    %f = ttg.convert_layout %p : tensor<128x64xbf16, #narrow> -> !factor
    %dvSum = ttng.warp_group_dot %f, %sg, %valuePart {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    %tg = ttg.memdesc_trans %sg {order = array<i32: 1, 0>} : !tile -> !turned
    %dp = ttng.warp_group_dot %sv, %tg, %none {inputPrecision = 0 : i32} : !keys * !turned -> !scores
    %deltaAll = tt.splat %delta : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #row>
    %deltaAt = tt.addptr %deltaAll, %at : tensor<64x!tt.ptr<f32>, #row>, tensor<64xi32, #row>
    %d = tt.load %deltaAt : tensor<64x!tt.ptr<f32>, #row>
    %dRow = tt.expand_dims %d {axis = 0 : i32} : tensor<64xf32, #row> -> tensor<1x64xf32, #narrow>
    %dWide = tt.broadcast %dRow : tensor<1x64xf32, #narrow> -> !scores
    %y = arith.subf %dp, %dWide : !scores
    %z = arith.mulf %e, %y : !scores
    %ds = arith.truncf %z : !scores to tensor<128x64xbf16, #narrow>
    %fs = ttg.convert_layout %ds : tensor<128x64xbf16, #narrow> -> !factor
    %dkSum = ttng.warp_group_dot %fs, %sq, %keyPart {inputPrecision = 0 : i32} : !factor * !tile -> !sum
    scf.yield %dkSum, %dvSum : !sum, !sum
  } {tt.warp_specialize}
  %both = arith.addf %r#0, %r#1 : !sum
  tt.store %out, %both : tensor<128x128x!tt.ptr<f32>, #mma>
  tt.return
}
}

// -----

// In a loop over tiles the producer loads what a chain reads in all of its iterations, too.
// CHECK-LABEL: @tiles
// CHECK-COUNT-2: ttg.local_alloc : () -> !ttg.memdesc<6x128x64xf16,
// CHECK: ttg.local_alloc : () -> !ttg.memdesc<2x128x64xf16,
// CHECK: default
// CHECK: scf.for
// CHECK: ttng.wait_barrier %{{.+}} {warpspec.separate_warps}
// CHECK: %[[Q:.+]] = ttg.memdesc_index %{{.+}} : !ttg.memdesc<2x128x64xf16,
// CHECK: scf.if
// CHECK: ttng.warp_group_dot %[[Q]],
// CHECK: scf.for
// CHECK: ttng.warp_group_dot %[[Q]],
// CHECK: } else {
// CHECK: ttng.arrive_barrier %{{.+}}, 8 {warpspec.separate_warps}
// CHECK: tt.store
// CHECK: partition0
// CHECK: scf.for
// CHECK: ttng.barrier_expect %{{.+}}, 16384
// CHECK: scf.for
// CHECK-COUNT-2: ttng.barrier_expect %{{.+}}, 16384
// CHECK: ttg.warp_return
// REMARK: applied: specialized: one producer warp, 8 consumer warps, 2 rings of 6 slots of 16384 and 16384 bytes and around them 1 of 2 slots of 16384, 2 products in flight, warp groups in turns, loads go on behind the loop [warpspec-specialize-loops]

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
tt.func public @tiles(%dq: !desc, %dk: !desc, %dv: !desc, %tiles: i32, %size: i32, %out: tensor<128x64x!tt.ptr<f32>, #mma>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %none = arith.constant dense<0.000000e+00> : !scores
  %zero = arith.constant dense<0.000000e+00> : !sum
  scf.for %tile = %c0 to %tiles step %c1 : i32 {
    %row = arith.muli %tile, %c128 : i32
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
    %offset = tt.splat %row : i32 -> tensor<128x64xi32, #mma>
    %at = tt.addptr %out, %offset : tensor<128x64x!tt.ptr<f32>, #mma>, tensor<128x64xi32, #mma>
    tt.store %at, %r : tensor<128x64x!tt.ptr<f32>, #mma>
  }
  tt.return
}
}
