// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=single}" | FileCheck %s
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=single}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=single}" | %opt - --pass warpspec-audit-barriers -o %t

// A sum that the loop scales ends in its iteration, which gives its own slot back. The scale is
// loaded an iteration ahead, in the layout of the sum.
// CHECK-LABEL: @scaled
// CHECK: default
// CHECK: %[[FIRST:.+]] = tt.load {{.+}} : tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>
// CHECK: scf.for {{.+}} %[[SCALE:.+]] = %[[FIRST]], %[[SLOT:.+]] = %{{.+}}, %[[PHASE:.+]] = %{{.+}}) ->
// CHECK: %[[NEXT:.+]] = tt.load {{.+}} : tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #mma}>>
// CHECK: ttng.wait_barrier
// CHECK: ttng.warp_group_dot
// CHECK-NOT: isAsync = true
// CHECK: %[[EMPTY:.+]] = ttg.memdesc_index %{{.+}}[%[[SLOT]]]
// CHECK: ttng.arrive_barrier %[[EMPTY]], 1 :
// CHECK: tt.expand_dims %[[SCALE]]
// CHECK: scf.yield %{{.+}}, %[[NEXT]],
// CHECK-NOT: ttng.warp_group_dot_wait
// CHECK: partition0
// REMARK: applied: {{.+}} products end in their iteration

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @scaled(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32, %scales: tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #blocked}>>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %zero {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    %at = tt.splat %k : i32 -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %p = tt.addptr %scales, %at : tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #blocked}>>, tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %s = tt.load %p : tensor<64x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #blocked}>>
    %t = ttg.convert_layout %s : tensor<64xf32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>
    %u = tt.expand_dims %t {axis = 1 : i32} : tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>> -> tensor<64x1xf32, #mma>
    %v = tt.broadcast %u : tensor<64x1xf32, #mma> -> tensor<64x64xf32, #mma>
    %w = arith.mulf %d, %v : tensor<64x64xf32, #mma>
    %n = arith.addf %c, %w : tensor<64x64xf32, #mma>
    scf.yield %n : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  %o = arith.truncf %r : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
  %q = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
  tt.descriptor_store %dc[%row, %row], %q : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  tt.return
}
}

// -----

// An operand that the consumers compute has two buffers that take turns.
// CHECK-LABEL: @widened
// CHECK: default
// CHECK: %[[BUFFER:.+]] = ttg.local_alloc : () -> !ttg.memdesc<2x64x256xf16, #shared{{.*}}, #smem, mutable>
// CHECK: scf.for {{.+}} iter_args(%[[SUM:.+]] = %{{.+}}, %[[TURN:.+]] = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) ->
// CHECK: ttng.wait_barrier
// CHECK: ttg.local_load
// CHECK: arith.sitofp
// CHECK: %[[VIEW:.+]] = ttg.memdesc_index %[[BUFFER]][%[[TURN]]]
// CHECK: ttg.local_store %{{.+}}, %[[VIEW]]
// CHECK-NEXT: ttng.fence_async_shared
// CHECK: ttng.warp_group_dot %{{.+}}, %{{.+}}, %[[SUM]] {{.+}} isAsync = true
// CHECK: ttng.warp_group_dot_wait {{.+}} {pendings = 1 : i32, warpGroupLocal}
// CHECK: ttng.arrive_barrier
// CHECK: ttng.warp_group_dot_wait {{.+}} {pendings = 0 : i32, warpGroupLocal}
// CHECK: partition0
// REMARK: applied: {{.+}} 1 product in flight

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 256, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @widened(%da: !tt.tensordesc<128x64xf16, #shared>, %db: !tt.tensordesc<64x256xi8, #narrow>, %dc: !tt.tensordesc<128x256xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<128x256xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<128x256xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
    %sa = ttg.local_alloc %a : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %n = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x256xi8, #narrow> -> tensor<64x256xi8, #blocked>
    %b = arith.sitofp %n : tensor<64x256xi8, #blocked> to tensor<64x256xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x256xf16, #blocked>) -> !ttg.memdesc<64x256xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x256xf16, #shared, #smem> -> tensor<128x256xf32, #mma>
    scf.yield %d : tensor<128x256xf32, #mma>
  } {tt.warp_specialize}
  %o = arith.truncf %r : tensor<128x256xf32, #mma> to tensor<128x256xf16, #mma>
  %p = ttg.convert_layout %o : tensor<128x256xf16, #mma> -> tensor<128x256xf16, #blocked>
  tt.descriptor_store %dc[%row, %row], %p : !tt.tensordesc<128x256xf16, #shared>, tensor<128x256xf16, #blocked>
  tt.return
}
}

// -----

// A product reads the registers of its first operand until it has ended. So the loop carries them
// to the wait for it, and the next operand is computed in others, and moved behind the wait.
// CHECK-LABEL: @rectified
// CHECK: default
// CHECK: %[[LOOP:.+]]:4 = scf.for {{.+}} iter_args(%[[SUM:[a-z0-9]+]] = %{{.+}}, %[[LAST:[a-z0-9]+]] = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) ->
// CHECK: ttng.wait_barrier
// CHECK: %[[LOADED:.+]] = ttg.local_load {{.+}} -> tensor<64x64xf16, #ttg.dot_op<
// CHECK: %[[NEXT:.+]] = arith.maxnumf %[[LOADED]]
// CHECK: %[[ENDED:.+]]:3 = ttng.warp_group_dot_wait %[[SUM]], %[[NEXT]], %[[LAST]] {pendings = 0 : i32, warpGroupLocal}
// CHECK: ttng.arrive_barrier
// CHECK: %[[A:.+]] = tt.elementwise_inline_asm "mov.b32 $0, $1;" {{.+}} %[[ENDED]]#1
// CHECK: %[[SUM:.+]] = ttng.warp_group_dot %[[A]], %{{.+}}, %[[ENDED]]#0 {{.+}} isAsync = true
// CHECK: scf.yield %[[SUM]], %[[A]],
// CHECK: ttng.warp_group_dot_wait %[[LOOP]]#0, %[[LOOP]]#1 {pendings = 0 : i32, warpGroupLocal}
// CHECK: partition0
// REMARK: applied: {{.+}} 1 product in flight until the next operand is in registers

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#operand = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @rectified(%da: !tt.tensordesc<64x64xf16, #shared>, %db: !tt.tensordesc<64x64xf16, #shared>, %dc: !tt.tensordesc<64x64xf16, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf16, #operand>
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %t = ttg.convert_layout %a : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #operand>
    %u = arith.maxnumf %t, %none : tensor<64x64xf16, #operand>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %u, %sb, %c {inputPrecision = 0 : i32} : tensor<64x64xf16, #operand> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  %o = arith.truncf %r : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
  %p = ttg.convert_layout %o : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #blocked>
  tt.descriptor_store %dc[%row, %row], %p : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #blocked>
  tt.return
}
}

// -----

// CHECK-LABEL: @imprecise
// CHECK: ttng.warp_group_dot {{.+}} maxNumImpreciseAcc
// CHECK-NOT: ttng.warp_group_dot_wait
// CHECK: ttng.arrive_barrier
// CHECK: partition0
// REMARK: applied: {{.+}} products end in their iteration

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 32]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @imprecise(%da: !tt.tensordesc<64x64xf8E4M3FN, #shared>, %db: !tt.tensordesc<64x64xf8E4M3FN, #shared>, %dc: !tt.tensordesc<64x64xf8E4M3FN, #shared>, %row: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %r = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (tensor<64x64xf32, #mma>) : i32 {
    %a = tt.descriptor_load %da[%row, %k] : !tt.tensordesc<64x64xf8E4M3FN, #shared> -> tensor<64x64xf8E4M3FN, #blocked>
    %sa = ttg.local_alloc %a : (tensor<64x64xf8E4M3FN, #blocked>) -> !ttg.memdesc<64x64xf8E4M3FN, #shared, #smem>
    %b = tt.descriptor_load %db[%k, %row] : !tt.tensordesc<64x64xf8E4M3FN, #shared> -> tensor<64x64xf8E4M3FN, #blocked>
    %sb = ttg.local_alloc %b : (tensor<64x64xf8E4M3FN, #blocked>) -> !ttg.memdesc<64x64xf8E4M3FN, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32, maxNumImpreciseAcc = 32 : i32} : !ttg.memdesc<64x64xf8E4M3FN, #shared, #smem> * !ttg.memdesc<64x64xf8E4M3FN, #shared, #smem> -> tensor<64x64xf32, #mma>
    scf.yield %d : tensor<64x64xf32, #mma>
  } {tt.warp_specialize}
  tt.return
}
}
