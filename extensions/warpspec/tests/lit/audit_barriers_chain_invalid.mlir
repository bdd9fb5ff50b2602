// Protocols of a chain of products with two rings, each broken by hand in one place.
// RUN: %opt %s --pass warpspec-audit-barriers --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @values_not_waited_for(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<128x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: tensor<128x64x!tt.ptr<f32>, #mma>) {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %0 = tt.descriptor_load %arg0[%arg3, %c0_i32] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
    %1 = ttg.local_alloc %0 : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %2 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %3 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %4 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_1 = arith.constant 0 : i32
    %5 = ttg.memdesc_index %4[%c0_i32_1] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %5, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32 = arith.constant 1 : i32
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %6, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32 = arith.constant 2 : i32
    %7 = ttg.memdesc_index %4[%c2_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %7, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32 = arith.constant 3 : i32
    %8 = ttg.memdesc_index %4[%c3_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %8, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %9 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_2 = arith.constant 0 : i32
    %10 = ttg.memdesc_index %9[%c0_i32_2] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %10, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_3 = arith.constant 1 : i32
    %11 = ttg.memdesc_index %9[%c1_i32_3] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %11, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_4 = arith.constant 2 : i32
    %12 = ttg.memdesc_index %9[%c2_i32_4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %12, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_5 = arith.constant 3 : i32
    %13 = ttg.memdesc_index %9[%c3_i32_5] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %13, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %14 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_6 = arith.constant 0 : i32
    %15 = ttg.memdesc_index %14[%c0_i32_6] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %15, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_7 = arith.constant 1 : i32
    %16 = ttg.memdesc_index %14[%c1_i32_7] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %16, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_8 = arith.constant 2 : i32
    %17 = ttg.memdesc_index %14[%c2_i32_8] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %17, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_9 = arith.constant 3 : i32
    %18 = ttg.memdesc_index %14[%c3_i32_9] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %18, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %19 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_10 = arith.constant 0 : i32
    %20 = ttg.memdesc_index %19[%c0_i32_10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %20, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_11 = arith.constant 1 : i32
    %21 = ttg.memdesc_index %19[%c1_i32_11] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %21, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_12 = arith.constant 2 : i32
    %22 = ttg.memdesc_index %19[%c2_i32_12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %22, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_13 = arith.constant 3 : i32
    %23 = ttg.memdesc_index %19[%c3_i32_13] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %23, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    %c0_i32_14 = arith.constant 0 : i32
    %c0_i32_15 = arith.constant 0 : i32
    %24 = ttg.warp_specialize(%2, %4, %9, %3, %14, %19, %arg5, %arg1, %arg2) attributes {requestedRegisters = array<i32: 40>}
    default {
      %25 = arith.cmpi slt, %c0_i32, %arg5 : i32
      %26:5 = scf.if %25 -> (tensor<128x64xf32, #mma>, i32, i32, i32, i32) {
        %27 = ttg.memdesc_index %4[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %c0_i32_14 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %2[%c0_i32_14] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %29 = ttg.memdesc_trans %28 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
        %30 = ttng.warp_group_dot %1, %29, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
        %31 = ttng.warp_group_dot_wait %30 {pendings = 0 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
        %32 = ttg.memdesc_index %9[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %32, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %33 = math.exp2 %31 : tensor<128x128xf32, #mma>
        %34 = arith.truncf %33 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
        %35 = ttg.convert_layout %34 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %36 = arith.mulf %cst_0, %cst_0 : tensor<128x64xf32, #mma>
        %c1_i32_16 = arith.constant 1 : i32
        %37 = arith.addi %c0_i32_14, %c1_i32_16 : i32
        %c4_i32 = arith.constant 4 : i32
        %38 = arith.cmpi eq, %37, %c4_i32 : i32
        %c0_i32_17 = arith.constant 0 : i32
        %39 = arith.select %38, %c0_i32_17, %37 : i32
        %40 = arith.xori %c0_i32_14, %c1_i32_16 : i32
        %41 = arith.select %38, %40, %c0_i32_14 : i32
        %42 = arith.addi %c0_i32, %c128_i32 : i32
        %43:6 = scf.for %arg7 = %42 to %arg5 step %c128_i32 iter_args(%arg8 = %36, %arg9 = %35, %arg10 = %39, %arg11 = %41, %arg12 = %c0_i32_15, %arg13 = %c0_i32_15) -> (tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32)  : i32 {
          %c1_i32_21 = arith.constant 1 : i32
          %54 = arith.addi %arg12, %c1_i32_21 : i32
          %c4_i32_22 = arith.constant 4 : i32
          %55 = arith.cmpi eq, %54, %c4_i32_22 : i32
          %c0_i32_23 = arith.constant 0 : i32
          %56 = arith.select %55, %c0_i32_23, %54 : i32
          %57 = arith.xori %arg13, %c1_i32_21 : i32
          %58 = arith.select %55, %57, %arg13 : i32
          %59 = ttg.memdesc_index %4[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.wait_barrier %59, %arg11 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %60 = ttg.memdesc_index %2[%arg10] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %61 = ttg.memdesc_trans %60 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
          %62 = ttng.warp_group_dot %1, %61, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
          %63 = ttg.memdesc_index %14[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %64 = ttg.memdesc_index %3[%arg12] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is read before its copy is there}}
          %65 = ttng.warp_group_dot %arg9, %64, %arg8 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
          %66 = ttng.warp_group_dot_wait %62 {pendings = 1 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
          %67 = ttg.memdesc_index %9[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %67, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %68 = math.exp2 %66 : tensor<128x128xf32, #mma>
          %69 = arith.truncf %68 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
          %70 = ttg.convert_layout %69 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %71:2 = ttng.warp_group_dot_wait %65, %arg9 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %72 = ttg.memdesc_index %19[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %72, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %73 = arith.mulf %71#0, %71#0 : tensor<128x64xf32, #mma>
          %c1_i32_24 = arith.constant 1 : i32
          %74 = arith.addi %arg10, %c1_i32_24 : i32
          %c4_i32_25 = arith.constant 4 : i32
          %75 = arith.cmpi eq, %74, %c4_i32_25 : i32
          %c0_i32_26 = arith.constant 0 : i32
          %76 = arith.select %75, %c0_i32_26, %74 : i32
          %77 = arith.xori %arg11, %c1_i32_24 : i32
          %78 = arith.select %75, %77, %arg11 : i32
          scf.yield %73, %70, %76, %78, %56, %58 : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %c1_i32_18 = arith.constant 1 : i32
        %44 = arith.addi %43#4, %c1_i32_18 : i32
        %c4_i32_19 = arith.constant 4 : i32
        %45 = arith.cmpi eq, %44, %c4_i32_19 : i32
        %c0_i32_20 = arith.constant 0 : i32
        %46 = arith.select %45, %c0_i32_20, %44 : i32
        %47 = arith.xori %43#5, %c1_i32_18 : i32
        %48 = arith.select %45, %47, %43#5 : i32
        %49 = ttg.memdesc_index %14[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %49, %43#5 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %50 = ttg.memdesc_index %3[%43#4] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %51 = ttng.warp_group_dot %43#1, %50, %43#0 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
        %52:2 = ttng.warp_group_dot_wait %51, %43#1 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %53 = ttg.memdesc_index %19[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %53, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        scf.yield %52#0, %43#2, %43#3, %46, %48 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      } else {
        scf.yield %cst_0, %c0_i32_14, %c0_i32_14, %c0_i32_15, %c0_i32_15 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      }
      ttg.warp_yield %26#0 : tensor<128x64xf32, #mma>
    }
    partition0(%arg7: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg8: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg9: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg10: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg11: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg12: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg13: i32, %arg14: !tt.tensordesc<128x64xf16, #shared>, %arg15: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c128_i32_16 = arith.constant 128 : i32
      %c0_i32_17 = arith.constant 0 : i32
      %c0_i32_18 = arith.constant 0 : i32
      %c0_i32_19 = arith.constant 0 : i32
      %25:4 = scf.for %arg16 = %c0_i32_17 to %arg13 step %c128_i32_16 iter_args(%arg17 = %c0_i32_18, %arg18 = %c0_i32_18, %arg19 = %c0_i32_19, %arg20 = %c0_i32_19) -> (i32, i32, i32, i32)  : i32 {
        %c1_i32_20 = arith.constant 1 : i32
        %26 = arith.xori %arg18, %c1_i32_20 : i32
        %27 = ttg.memdesc_index %arg9[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %26 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %arg8[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true = arith.constant true
        ttng.barrier_expect %28, 16384, %true : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %29 = ttg.memdesc_index %arg7[%arg17] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg14[%arg16, %c0_i32_17] %29, %28, %true : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_21 = arith.constant 1 : i32
        %30 = arith.addi %arg17, %c1_i32_21 : i32
        %c4_i32 = arith.constant 4 : i32
        %31 = arith.cmpi eq, %30, %c4_i32 : i32
        %c0_i32_22 = arith.constant 0 : i32
        %32 = arith.select %31, %c0_i32_22, %30 : i32
        %33 = arith.xori %arg18, %c1_i32_21 : i32
        %34 = arith.select %31, %33, %arg18 : i32
        %c1_i32_23 = arith.constant 1 : i32
        %35 = arith.xori %arg20, %c1_i32_23 : i32
        %36 = ttg.memdesc_index %arg12[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %36, %35 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %37 = ttg.memdesc_index %arg11[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true_24 = arith.constant true
        ttng.barrier_expect %37, 16384, %true_24 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %38 = ttg.memdesc_index %arg10[%arg19] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg15[%arg16, %c0_i32_17] %38, %37, %true_24 : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_25 = arith.constant 1 : i32
        %39 = arith.addi %arg19, %c1_i32_25 : i32
        %c4_i32_26 = arith.constant 4 : i32
        %40 = arith.cmpi eq, %39, %c4_i32_26 : i32
        %c0_i32_27 = arith.constant 0 : i32
        %41 = arith.select %40, %c0_i32_27, %39 : i32
        %42 = arith.xori %arg20, %c1_i32_25 : i32
        %43 = arith.select %40, %42, %arg20 : i32
        scf.yield %32, %34, %41, %43 : i32, i32, i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<128x64xf16, #shared>) -> tensor<128x64xf32, #mma>
    tt.store %arg6, %24 : tensor<128x64x!tt.ptr<f32>, #mma>
    tt.return
  }
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @keys_not_given_back(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<128x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: tensor<128x64x!tt.ptr<f32>, #mma>) {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %0 = tt.descriptor_load %arg0[%arg3, %c0_i32] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
    %1 = ttg.local_alloc %0 : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %2 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %3 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %4 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_1 = arith.constant 0 : i32
    %5 = ttg.memdesc_index %4[%c0_i32_1] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %5, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32 = arith.constant 1 : i32
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %6, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32 = arith.constant 2 : i32
    %7 = ttg.memdesc_index %4[%c2_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %7, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32 = arith.constant 3 : i32
    %8 = ttg.memdesc_index %4[%c3_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %8, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %9 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_2 = arith.constant 0 : i32
    %10 = ttg.memdesc_index %9[%c0_i32_2] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %10, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_3 = arith.constant 1 : i32
    %11 = ttg.memdesc_index %9[%c1_i32_3] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %11, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_4 = arith.constant 2 : i32
    %12 = ttg.memdesc_index %9[%c2_i32_4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %12, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_5 = arith.constant 3 : i32
    %13 = ttg.memdesc_index %9[%c3_i32_5] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %13, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %14 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_6 = arith.constant 0 : i32
    %15 = ttg.memdesc_index %14[%c0_i32_6] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %15, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_7 = arith.constant 1 : i32
    %16 = ttg.memdesc_index %14[%c1_i32_7] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %16, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_8 = arith.constant 2 : i32
    %17 = ttg.memdesc_index %14[%c2_i32_8] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %17, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_9 = arith.constant 3 : i32
    %18 = ttg.memdesc_index %14[%c3_i32_9] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %18, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %19 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_10 = arith.constant 0 : i32
    %20 = ttg.memdesc_index %19[%c0_i32_10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %20, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_11 = arith.constant 1 : i32
    %21 = ttg.memdesc_index %19[%c1_i32_11] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %21, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_12 = arith.constant 2 : i32
    %22 = ttg.memdesc_index %19[%c2_i32_12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %22, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_13 = arith.constant 3 : i32
    %23 = ttg.memdesc_index %19[%c3_i32_13] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %23, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    %c0_i32_14 = arith.constant 0 : i32
    %c0_i32_15 = arith.constant 0 : i32
    %24 = ttg.warp_specialize(%2, %4, %9, %3, %14, %19, %arg5, %arg1, %arg2) attributes {requestedRegisters = array<i32: 40>}
    default {
      %25 = arith.cmpi slt, %c0_i32, %arg5 : i32
      %26:5 = scf.if %25 -> (tensor<128x64xf32, #mma>, i32, i32, i32, i32) {
        %27 = ttg.memdesc_index %4[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %c0_i32_14 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %2[%c0_i32_14] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %29 = ttg.memdesc_trans %28 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
        %30 = ttng.warp_group_dot %1, %29, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
        %31 = ttng.warp_group_dot_wait %30 {pendings = 0 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
        %32 = ttg.memdesc_index %9[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %32, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %33 = math.exp2 %31 : tensor<128x128xf32, #mma>
        %34 = arith.truncf %33 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
        %35 = ttg.convert_layout %34 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %36 = arith.mulf %cst_0, %cst_0 : tensor<128x64xf32, #mma>
        %c1_i32_16 = arith.constant 1 : i32
        %37 = arith.addi %c0_i32_14, %c1_i32_16 : i32
        %c4_i32 = arith.constant 4 : i32
        %38 = arith.cmpi eq, %37, %c4_i32 : i32
        %c0_i32_17 = arith.constant 0 : i32
        %39 = arith.select %38, %c0_i32_17, %37 : i32
        %40 = arith.xori %c0_i32_14, %c1_i32_16 : i32
        %41 = arith.select %38, %40, %c0_i32_14 : i32
        %42 = arith.addi %c0_i32, %c128_i32 : i32
        %43:6 = scf.for %arg7 = %42 to %arg5 step %c128_i32 iter_args(%arg8 = %36, %arg9 = %35, %arg10 = %39, %arg11 = %41, %arg12 = %c0_i32_15, %arg13 = %c0_i32_15) -> (tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32)  : i32 {
          %c1_i32_21 = arith.constant 1 : i32
          %54 = arith.addi %arg12, %c1_i32_21 : i32
          %c4_i32_22 = arith.constant 4 : i32
          %55 = arith.cmpi eq, %54, %c4_i32_22 : i32
          %c0_i32_23 = arith.constant 0 : i32
          %56 = arith.select %55, %c0_i32_23, %54 : i32
          %57 = arith.xori %arg13, %c1_i32_21 : i32
          %58 = arith.select %55, %57, %arg13 : i32
          %59 = ttg.memdesc_index %4[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
          ttng.wait_barrier %59, %arg11 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %60 = ttg.memdesc_index %2[%arg10] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %61 = ttg.memdesc_trans %60 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
          %62 = ttng.warp_group_dot %1, %61, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
          %63 = ttg.memdesc_index %14[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.wait_barrier %63, %arg13 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %64 = ttg.memdesc_index %3[%arg12] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %65 = ttng.warp_group_dot %arg9, %64, %arg8 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
          %66 = ttng.warp_group_dot_wait %62 {pendings = 1 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
          %67 = ttg.memdesc_index %9[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %68 = math.exp2 %66 : tensor<128x128xf32, #mma>
          %69 = arith.truncf %68 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
          %70 = ttg.convert_layout %69 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %71:2 = ttng.warp_group_dot_wait %65, %arg9 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %72 = ttg.memdesc_index %19[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %72, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %73 = arith.mulf %71#0, %71#0 : tensor<128x64xf32, #mma>
          %c1_i32_24 = arith.constant 1 : i32
          %74 = arith.addi %arg10, %c1_i32_24 : i32
          %c4_i32_25 = arith.constant 4 : i32
          %75 = arith.cmpi eq, %74, %c4_i32_25 : i32
          %c0_i32_26 = arith.constant 0 : i32
          %76 = arith.select %75, %c0_i32_26, %74 : i32
          %77 = arith.xori %arg11, %c1_i32_24 : i32
          %78 = arith.select %75, %77, %arg11 : i32
          scf.yield %73, %70, %76, %78, %56, %58 : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %c1_i32_18 = arith.constant 1 : i32
        %44 = arith.addi %43#4, %c1_i32_18 : i32
        %c4_i32_19 = arith.constant 4 : i32
        %45 = arith.cmpi eq, %44, %c4_i32_19 : i32
        %c0_i32_20 = arith.constant 0 : i32
        %46 = arith.select %45, %c0_i32_20, %44 : i32
        %47 = arith.xori %43#5, %c1_i32_18 : i32
        %48 = arith.select %45, %47, %43#5 : i32
        %49 = ttg.memdesc_index %14[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %49, %43#5 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %50 = ttg.memdesc_index %3[%43#4] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %51 = ttng.warp_group_dot %43#1, %50, %43#0 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
        %52:2 = ttng.warp_group_dot_wait %51, %43#1 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %53 = ttg.memdesc_index %19[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %53, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        scf.yield %52#0, %43#2, %43#3, %46, %48 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      } else {
        scf.yield %cst_0, %c0_i32_14, %c0_i32_14, %c0_i32_15, %c0_i32_15 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      }
      ttg.warp_yield %26#0 : tensor<128x64xf32, #mma>
    }
    partition0(%arg7: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg8: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg9: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg10: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg11: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg12: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg13: i32, %arg14: !tt.tensordesc<128x64xf16, #shared>, %arg15: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c128_i32_16 = arith.constant 128 : i32
      %c0_i32_17 = arith.constant 0 : i32
      %c0_i32_18 = arith.constant 0 : i32
      %c0_i32_19 = arith.constant 0 : i32
      %25:4 = scf.for %arg16 = %c0_i32_17 to %arg13 step %c128_i32_16 iter_args(%arg17 = %c0_i32_18, %arg18 = %c0_i32_18, %arg19 = %c0_i32_19, %arg20 = %c0_i32_19) -> (i32, i32, i32, i32)  : i32 {
        %c1_i32_20 = arith.constant 1 : i32
        %26 = arith.xori %arg18, %c1_i32_20 : i32
        %27 = ttg.memdesc_index %arg9[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %26 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %arg8[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true = arith.constant true
        ttng.barrier_expect %28, 16384, %true : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %29 = ttg.memdesc_index %arg7[%arg17] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg14[%arg16, %c0_i32_17] %29, %28, %true : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_21 = arith.constant 1 : i32
        %30 = arith.addi %arg17, %c1_i32_21 : i32
        %c4_i32 = arith.constant 4 : i32
        %31 = arith.cmpi eq, %30, %c4_i32 : i32
        %c0_i32_22 = arith.constant 0 : i32
        %32 = arith.select %31, %c0_i32_22, %30 : i32
        %33 = arith.xori %arg18, %c1_i32_21 : i32
        %34 = arith.select %31, %33, %arg18 : i32
        %c1_i32_23 = arith.constant 1 : i32
        %35 = arith.xori %arg20, %c1_i32_23 : i32
        %36 = ttg.memdesc_index %arg12[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %36, %35 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %37 = ttg.memdesc_index %arg11[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true_24 = arith.constant true
        ttng.barrier_expect %37, 16384, %true_24 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %38 = ttg.memdesc_index %arg10[%arg19] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg15[%arg16, %c0_i32_17] %38, %37, %true_24 : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_25 = arith.constant 1 : i32
        %39 = arith.addi %arg19, %c1_i32_25 : i32
        %c4_i32_26 = arith.constant 4 : i32
        %40 = arith.cmpi eq, %39, %c4_i32_26 : i32
        %c0_i32_27 = arith.constant 0 : i32
        %41 = arith.select %40, %c0_i32_27, %39 : i32
        %42 = arith.xori %arg20, %c1_i32_25 : i32
        %43 = arith.select %40, %42, %arg20 : i32
        scf.yield %32, %34, %41, %43 : i32, i32, i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<128x64xf16, #shared>) -> tensor<128x64xf32, #mma>
    tt.store %arg6, %24 : tensor<128x64x!tt.ptr<f32>, #mma>
    tt.return
  }
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @scores_used_early(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<128x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: tensor<128x64x!tt.ptr<f32>, #mma>) {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %0 = tt.descriptor_load %arg0[%arg3, %c0_i32] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
    %1 = ttg.local_alloc %0 : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %2 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %3 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %4 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_1 = arith.constant 0 : i32
    %5 = ttg.memdesc_index %4[%c0_i32_1] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %5, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32 = arith.constant 1 : i32
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %6, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32 = arith.constant 2 : i32
    %7 = ttg.memdesc_index %4[%c2_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %7, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32 = arith.constant 3 : i32
    %8 = ttg.memdesc_index %4[%c3_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %8, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %9 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_2 = arith.constant 0 : i32
    %10 = ttg.memdesc_index %9[%c0_i32_2] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %10, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_3 = arith.constant 1 : i32
    %11 = ttg.memdesc_index %9[%c1_i32_3] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %11, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_4 = arith.constant 2 : i32
    %12 = ttg.memdesc_index %9[%c2_i32_4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %12, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_5 = arith.constant 3 : i32
    %13 = ttg.memdesc_index %9[%c3_i32_5] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %13, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %14 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_6 = arith.constant 0 : i32
    %15 = ttg.memdesc_index %14[%c0_i32_6] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %15, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_7 = arith.constant 1 : i32
    %16 = ttg.memdesc_index %14[%c1_i32_7] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %16, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_8 = arith.constant 2 : i32
    %17 = ttg.memdesc_index %14[%c2_i32_8] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %17, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_9 = arith.constant 3 : i32
    %18 = ttg.memdesc_index %14[%c3_i32_9] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %18, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %19 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_10 = arith.constant 0 : i32
    %20 = ttg.memdesc_index %19[%c0_i32_10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %20, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_11 = arith.constant 1 : i32
    %21 = ttg.memdesc_index %19[%c1_i32_11] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %21, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_12 = arith.constant 2 : i32
    %22 = ttg.memdesc_index %19[%c2_i32_12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %22, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_13 = arith.constant 3 : i32
    %23 = ttg.memdesc_index %19[%c3_i32_13] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %23, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    %c0_i32_14 = arith.constant 0 : i32
    %c0_i32_15 = arith.constant 0 : i32
    %24 = ttg.warp_specialize(%2, %4, %9, %3, %14, %19, %arg5, %arg1, %arg2) attributes {requestedRegisters = array<i32: 40>}
    default {
      %25 = arith.cmpi slt, %c0_i32, %arg5 : i32
      %26:5 = scf.if %25 -> (tensor<128x64xf32, #mma>, i32, i32, i32, i32) {
        %27 = ttg.memdesc_index %4[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %c0_i32_14 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %2[%c0_i32_14] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %29 = ttg.memdesc_trans %28 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
        %30 = ttng.warp_group_dot %1, %29, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
        %31 = ttng.warp_group_dot_wait %30 {pendings = 0 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
        %32 = ttg.memdesc_index %9[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %32, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %33 = math.exp2 %31 : tensor<128x128xf32, #mma>
        %34 = arith.truncf %33 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
        %35 = ttg.convert_layout %34 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %36 = arith.mulf %cst_0, %cst_0 : tensor<128x64xf32, #mma>
        %c1_i32_16 = arith.constant 1 : i32
        %37 = arith.addi %c0_i32_14, %c1_i32_16 : i32
        %c4_i32 = arith.constant 4 : i32
        %38 = arith.cmpi eq, %37, %c4_i32 : i32
        %c0_i32_17 = arith.constant 0 : i32
        %39 = arith.select %38, %c0_i32_17, %37 : i32
        %40 = arith.xori %c0_i32_14, %c1_i32_16 : i32
        %41 = arith.select %38, %40, %c0_i32_14 : i32
        %42 = arith.addi %c0_i32, %c128_i32 : i32
        %43:6 = scf.for %arg7 = %42 to %arg5 step %c128_i32 iter_args(%arg8 = %36, %arg9 = %35, %arg10 = %39, %arg11 = %41, %arg12 = %c0_i32_15, %arg13 = %c0_i32_15) -> (tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32)  : i32 {
          %c1_i32_21 = arith.constant 1 : i32
          %54 = arith.addi %arg12, %c1_i32_21 : i32
          %c4_i32_22 = arith.constant 4 : i32
          %55 = arith.cmpi eq, %54, %c4_i32_22 : i32
          %c0_i32_23 = arith.constant 0 : i32
          %56 = arith.select %55, %c0_i32_23, %54 : i32
          %57 = arith.xori %arg13, %c1_i32_21 : i32
          %58 = arith.select %55, %57, %arg13 : i32
          %59 = ttg.memdesc_index %4[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.wait_barrier %59, %arg11 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %60 = ttg.memdesc_index %2[%arg10] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %61 = ttg.memdesc_trans %60 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
          %62 = ttng.warp_group_dot %1, %61, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
          %63 = ttg.memdesc_index %14[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.wait_barrier %63, %arg13 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %64 = ttg.memdesc_index %3[%arg12] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %65 = ttng.warp_group_dot %arg9, %64, %arg8 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
          %66 = ttng.warp_group_dot_wait %62 {pendings = 2 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
          %67 = ttg.memdesc_index %9[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %67, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          // expected-error @below {{expected tasks that wait for each other as they have to, got that the sum of a product is used before the product has ended}}
          %68 = math.exp2 %66 : tensor<128x128xf32, #mma>
          %69 = arith.truncf %68 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
          %70 = ttg.convert_layout %69 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %71:2 = ttng.warp_group_dot_wait %65, %arg9 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %72 = ttg.memdesc_index %19[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %72, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %73 = arith.mulf %71#0, %71#0 : tensor<128x64xf32, #mma>
          %c1_i32_24 = arith.constant 1 : i32
          %74 = arith.addi %arg10, %c1_i32_24 : i32
          %c4_i32_25 = arith.constant 4 : i32
          %75 = arith.cmpi eq, %74, %c4_i32_25 : i32
          %c0_i32_26 = arith.constant 0 : i32
          %76 = arith.select %75, %c0_i32_26, %74 : i32
          %77 = arith.xori %arg11, %c1_i32_24 : i32
          %78 = arith.select %75, %77, %arg11 : i32
          scf.yield %73, %70, %76, %78, %56, %58 : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %c1_i32_18 = arith.constant 1 : i32
        %44 = arith.addi %43#4, %c1_i32_18 : i32
        %c4_i32_19 = arith.constant 4 : i32
        %45 = arith.cmpi eq, %44, %c4_i32_19 : i32
        %c0_i32_20 = arith.constant 0 : i32
        %46 = arith.select %45, %c0_i32_20, %44 : i32
        %47 = arith.xori %43#5, %c1_i32_18 : i32
        %48 = arith.select %45, %47, %43#5 : i32
        %49 = ttg.memdesc_index %14[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %49, %43#5 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %50 = ttg.memdesc_index %3[%43#4] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %51 = ttng.warp_group_dot %43#1, %50, %43#0 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
        %52:2 = ttng.warp_group_dot_wait %51, %43#1 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %53 = ttg.memdesc_index %19[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %53, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        scf.yield %52#0, %43#2, %43#3, %46, %48 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      } else {
        scf.yield %cst_0, %c0_i32_14, %c0_i32_14, %c0_i32_15, %c0_i32_15 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      }
      ttg.warp_yield %26#0 : tensor<128x64xf32, #mma>
    }
    partition0(%arg7: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg8: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg9: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg10: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg11: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg12: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg13: i32, %arg14: !tt.tensordesc<128x64xf16, #shared>, %arg15: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c128_i32_16 = arith.constant 128 : i32
      %c0_i32_17 = arith.constant 0 : i32
      %c0_i32_18 = arith.constant 0 : i32
      %c0_i32_19 = arith.constant 0 : i32
      %25:4 = scf.for %arg16 = %c0_i32_17 to %arg13 step %c128_i32_16 iter_args(%arg17 = %c0_i32_18, %arg18 = %c0_i32_18, %arg19 = %c0_i32_19, %arg20 = %c0_i32_19) -> (i32, i32, i32, i32)  : i32 {
        %c1_i32_20 = arith.constant 1 : i32
        %26 = arith.xori %arg18, %c1_i32_20 : i32
        %27 = ttg.memdesc_index %arg9[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %26 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %arg8[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true = arith.constant true
        ttng.barrier_expect %28, 16384, %true : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %29 = ttg.memdesc_index %arg7[%arg17] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg14[%arg16, %c0_i32_17] %29, %28, %true : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_21 = arith.constant 1 : i32
        %30 = arith.addi %arg17, %c1_i32_21 : i32
        %c4_i32 = arith.constant 4 : i32
        %31 = arith.cmpi eq, %30, %c4_i32 : i32
        %c0_i32_22 = arith.constant 0 : i32
        %32 = arith.select %31, %c0_i32_22, %30 : i32
        %33 = arith.xori %arg18, %c1_i32_21 : i32
        %34 = arith.select %31, %33, %arg18 : i32
        %c1_i32_23 = arith.constant 1 : i32
        %35 = arith.xori %arg20, %c1_i32_23 : i32
        %36 = ttg.memdesc_index %arg12[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %36, %35 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %37 = ttg.memdesc_index %arg11[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true_24 = arith.constant true
        ttng.barrier_expect %37, 16384, %true_24 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %38 = ttg.memdesc_index %arg10[%arg19] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg15[%arg16, %c0_i32_17] %38, %37, %true_24 : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_25 = arith.constant 1 : i32
        %39 = arith.addi %arg19, %c1_i32_25 : i32
        %c4_i32_26 = arith.constant 4 : i32
        %40 = arith.cmpi eq, %39, %c4_i32_26 : i32
        %c0_i32_27 = arith.constant 0 : i32
        %41 = arith.select %40, %c0_i32_27, %39 : i32
        %42 = arith.xori %arg20, %c1_i32_25 : i32
        %43 = arith.select %40, %42, %arg20 : i32
        scf.yield %32, %34, %41, %43 : i32, i32, i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<128x64xf16, #shared>) -> tensor<128x64xf32, #mma>
    tt.store %arg6, %24 : tensor<128x64x!tt.ptr<f32>, #mma>
    tt.return
  }
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @sum_used_early(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<128x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: tensor<128x64x!tt.ptr<f32>, #mma>) {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %0 = tt.descriptor_load %arg0[%arg3, %c0_i32] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
    %1 = ttg.local_alloc %0 : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %2 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %3 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %4 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_1 = arith.constant 0 : i32
    %5 = ttg.memdesc_index %4[%c0_i32_1] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %5, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32 = arith.constant 1 : i32
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %6, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32 = arith.constant 2 : i32
    %7 = ttg.memdesc_index %4[%c2_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %7, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32 = arith.constant 3 : i32
    %8 = ttg.memdesc_index %4[%c3_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %8, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %9 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_2 = arith.constant 0 : i32
    %10 = ttg.memdesc_index %9[%c0_i32_2] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %10, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_3 = arith.constant 1 : i32
    %11 = ttg.memdesc_index %9[%c1_i32_3] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %11, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_4 = arith.constant 2 : i32
    %12 = ttg.memdesc_index %9[%c2_i32_4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %12, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_5 = arith.constant 3 : i32
    %13 = ttg.memdesc_index %9[%c3_i32_5] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %13, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %14 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_6 = arith.constant 0 : i32
    %15 = ttg.memdesc_index %14[%c0_i32_6] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %15, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_7 = arith.constant 1 : i32
    %16 = ttg.memdesc_index %14[%c1_i32_7] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %16, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_8 = arith.constant 2 : i32
    %17 = ttg.memdesc_index %14[%c2_i32_8] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %17, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_9 = arith.constant 3 : i32
    %18 = ttg.memdesc_index %14[%c3_i32_9] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %18, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %19 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_10 = arith.constant 0 : i32
    %20 = ttg.memdesc_index %19[%c0_i32_10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %20, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_11 = arith.constant 1 : i32
    %21 = ttg.memdesc_index %19[%c1_i32_11] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %21, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_12 = arith.constant 2 : i32
    %22 = ttg.memdesc_index %19[%c2_i32_12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %22, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_13 = arith.constant 3 : i32
    %23 = ttg.memdesc_index %19[%c3_i32_13] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %23, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    %c0_i32_14 = arith.constant 0 : i32
    %c0_i32_15 = arith.constant 0 : i32
    %24 = ttg.warp_specialize(%2, %4, %9, %3, %14, %19, %arg5, %arg1, %arg2) attributes {requestedRegisters = array<i32: 40>}
    default {
      %25 = arith.cmpi slt, %c0_i32, %arg5 : i32
      %26:5 = scf.if %25 -> (tensor<128x64xf32, #mma>, i32, i32, i32, i32) {
        %27 = ttg.memdesc_index %4[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %c0_i32_14 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %2[%c0_i32_14] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %29 = ttg.memdesc_trans %28 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
        %30 = ttng.warp_group_dot %1, %29, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
        %31 = ttng.warp_group_dot_wait %30 {pendings = 0 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
        %32 = ttg.memdesc_index %9[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %32, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %33 = math.exp2 %31 : tensor<128x128xf32, #mma>
        %34 = arith.truncf %33 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
        %35 = ttg.convert_layout %34 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %36 = arith.mulf %cst_0, %cst_0 : tensor<128x64xf32, #mma>
        %c1_i32_16 = arith.constant 1 : i32
        %37 = arith.addi %c0_i32_14, %c1_i32_16 : i32
        %c4_i32 = arith.constant 4 : i32
        %38 = arith.cmpi eq, %37, %c4_i32 : i32
        %c0_i32_17 = arith.constant 0 : i32
        %39 = arith.select %38, %c0_i32_17, %37 : i32
        %40 = arith.xori %c0_i32_14, %c1_i32_16 : i32
        %41 = arith.select %38, %40, %c0_i32_14 : i32
        %42 = arith.addi %c0_i32, %c128_i32 : i32
        %43:6 = scf.for %arg7 = %42 to %arg5 step %c128_i32 iter_args(%arg8 = %36, %arg9 = %35, %arg10 = %39, %arg11 = %41, %arg12 = %c0_i32_15, %arg13 = %c0_i32_15) -> (tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32)  : i32 {
          %c1_i32_21 = arith.constant 1 : i32
          %54 = arith.addi %arg12, %c1_i32_21 : i32
          %c4_i32_22 = arith.constant 4 : i32
          %55 = arith.cmpi eq, %54, %c4_i32_22 : i32
          %c0_i32_23 = arith.constant 0 : i32
          %56 = arith.select %55, %c0_i32_23, %54 : i32
          %57 = arith.xori %arg13, %c1_i32_21 : i32
          %58 = arith.select %55, %57, %arg13 : i32
          %59 = ttg.memdesc_index %4[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.wait_barrier %59, %arg11 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %60 = ttg.memdesc_index %2[%arg10] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %61 = ttg.memdesc_trans %60 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
          %62 = ttng.warp_group_dot %1, %61, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
          %63 = ttg.memdesc_index %14[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.wait_barrier %63, %arg13 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %64 = ttg.memdesc_index %3[%arg12] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %65 = ttng.warp_group_dot %arg9, %64, %arg8 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
          %66 = ttng.warp_group_dot_wait %62 {pendings = 1 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
          %67 = ttg.memdesc_index %9[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %67, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %68 = math.exp2 %66 : tensor<128x128xf32, #mma>
          %69 = arith.truncf %68 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
          %70 = ttg.convert_layout %69 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %71:2 = ttng.warp_group_dot_wait %65, %arg9 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %72 = ttg.memdesc_index %19[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %72, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          // expected-error @below {{expected tasks that wait for each other as they have to, got that the sum of a product is used before the product has ended}}
          %73 = arith.mulf %71#0, %71#0 : tensor<128x64xf32, #mma>
          %c1_i32_24 = arith.constant 1 : i32
          %74 = arith.addi %arg10, %c1_i32_24 : i32
          %c4_i32_25 = arith.constant 4 : i32
          %75 = arith.cmpi eq, %74, %c4_i32_25 : i32
          %c0_i32_26 = arith.constant 0 : i32
          %76 = arith.select %75, %c0_i32_26, %74 : i32
          %77 = arith.xori %arg11, %c1_i32_24 : i32
          %78 = arith.select %75, %77, %arg11 : i32
          scf.yield %73, %70, %76, %78, %56, %58 : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %c1_i32_18 = arith.constant 1 : i32
        %44 = arith.addi %43#4, %c1_i32_18 : i32
        %c4_i32_19 = arith.constant 4 : i32
        %45 = arith.cmpi eq, %44, %c4_i32_19 : i32
        %c0_i32_20 = arith.constant 0 : i32
        %46 = arith.select %45, %c0_i32_20, %44 : i32
        %47 = arith.xori %43#5, %c1_i32_18 : i32
        %48 = arith.select %45, %47, %43#5 : i32
        %49 = ttg.memdesc_index %14[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %49, %43#5 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %50 = ttg.memdesc_index %3[%43#4] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %51 = ttng.warp_group_dot %43#1, %50, %43#0 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
        %52:2 = ttng.warp_group_dot_wait %51, %43#1 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %53 = ttg.memdesc_index %19[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %53, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        scf.yield %52#0, %43#2, %43#3, %46, %48 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      } else {
        scf.yield %cst_0, %c0_i32_14, %c0_i32_14, %c0_i32_15, %c0_i32_15 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      }
      ttg.warp_yield %26#0 : tensor<128x64xf32, #mma>
    }
    partition0(%arg7: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg8: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg9: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg10: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg11: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg12: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg13: i32, %arg14: !tt.tensordesc<128x64xf16, #shared>, %arg15: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c128_i32_16 = arith.constant 128 : i32
      %c0_i32_17 = arith.constant 0 : i32
      %c0_i32_18 = arith.constant 0 : i32
      %c0_i32_19 = arith.constant 0 : i32
      %25:4 = scf.for %arg16 = %c0_i32_17 to %arg13 step %c128_i32_16 iter_args(%arg17 = %c0_i32_18, %arg18 = %c0_i32_18, %arg19 = %c0_i32_19, %arg20 = %c0_i32_19) -> (i32, i32, i32, i32)  : i32 {
        %c1_i32_20 = arith.constant 1 : i32
        %26 = arith.xori %arg18, %c1_i32_20 : i32
        %27 = ttg.memdesc_index %arg9[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %26 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %arg8[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true = arith.constant true
        ttng.barrier_expect %28, 16384, %true : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %29 = ttg.memdesc_index %arg7[%arg17] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg14[%arg16, %c0_i32_17] %29, %28, %true : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_21 = arith.constant 1 : i32
        %30 = arith.addi %arg17, %c1_i32_21 : i32
        %c4_i32 = arith.constant 4 : i32
        %31 = arith.cmpi eq, %30, %c4_i32 : i32
        %c0_i32_22 = arith.constant 0 : i32
        %32 = arith.select %31, %c0_i32_22, %30 : i32
        %33 = arith.xori %arg18, %c1_i32_21 : i32
        %34 = arith.select %31, %33, %arg18 : i32
        %c1_i32_23 = arith.constant 1 : i32
        %35 = arith.xori %arg20, %c1_i32_23 : i32
        %36 = ttg.memdesc_index %arg12[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %36, %35 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %37 = ttg.memdesc_index %arg11[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true_24 = arith.constant true
        ttng.barrier_expect %37, 16384, %true_24 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %38 = ttg.memdesc_index %arg10[%arg19] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg15[%arg16, %c0_i32_17] %38, %37, %true_24 : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_25 = arith.constant 1 : i32
        %39 = arith.addi %arg19, %c1_i32_25 : i32
        %c4_i32_26 = arith.constant 4 : i32
        %40 = arith.cmpi eq, %39, %c4_i32_26 : i32
        %c0_i32_27 = arith.constant 0 : i32
        %41 = arith.select %40, %c0_i32_27, %39 : i32
        %42 = arith.xori %arg20, %c1_i32_25 : i32
        %43 = arith.select %40, %42, %arg20 : i32
        scf.yield %32, %34, %41, %43 : i32, i32, i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<128x64xf16, #shared>) -> tensor<128x64xf32, #mma>
    tt.store %arg6, %24 : tensor<128x64x!tt.ptr<f32>, #mma>
    tt.return
  }
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared2 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @producer_waits_for_no_values(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<128x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: tensor<128x64x!tt.ptr<f32>, #mma>) {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #mma>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %0 = tt.descriptor_load %arg0[%arg3, %c0_i32] : !tt.tensordesc<128x64xf16, #shared> -> tensor<128x64xf16, #blocked>
    %1 = ttg.local_alloc %0 : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %2 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %3 = ttg.local_alloc : () -> !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>
    %4 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_1 = arith.constant 0 : i32
    %5 = ttg.memdesc_index %4[%c0_i32_1] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %5, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32 = arith.constant 1 : i32
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %6, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32 = arith.constant 2 : i32
    %7 = ttg.memdesc_index %4[%c2_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %7, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32 = arith.constant 3 : i32
    %8 = ttg.memdesc_index %4[%c3_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %8, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %9 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_2 = arith.constant 0 : i32
    %10 = ttg.memdesc_index %9[%c0_i32_2] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %10, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_3 = arith.constant 1 : i32
    %11 = ttg.memdesc_index %9[%c1_i32_3] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %11, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_4 = arith.constant 2 : i32
    %12 = ttg.memdesc_index %9[%c2_i32_4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %12, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_5 = arith.constant 3 : i32
    %13 = ttg.memdesc_index %9[%c3_i32_5] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %13, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %14 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_6 = arith.constant 0 : i32
    %15 = ttg.memdesc_index %14[%c0_i32_6] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %15, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_7 = arith.constant 1 : i32
    %16 = ttg.memdesc_index %14[%c1_i32_7] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %16, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_8 = arith.constant 2 : i32
    %17 = ttg.memdesc_index %14[%c2_i32_8] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %17, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_9 = arith.constant 3 : i32
    %18 = ttg.memdesc_index %14[%c3_i32_9] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %18, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %19 = ttg.local_alloc : () -> !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>
    %c0_i32_10 = arith.constant 0 : i32
    %20 = ttg.memdesc_index %19[%c0_i32_10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %20, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c1_i32_11 = arith.constant 1 : i32
    %21 = ttg.memdesc_index %19[%c1_i32_11] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %21, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c2_i32_12 = arith.constant 2 : i32
    %22 = ttg.memdesc_index %19[%c2_i32_12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %22, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    %c3_i32_13 = arith.constant 3 : i32
    %23 = ttg.memdesc_index %19[%c3_i32_13] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %23, 8 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    %c0_i32_14 = arith.constant 0 : i32
    %c0_i32_15 = arith.constant 0 : i32
    %24 = ttg.warp_specialize(%2, %4, %9, %3, %14, %19, %arg5, %arg1, %arg2) attributes {requestedRegisters = array<i32: 40>}
    default {
      %25 = arith.cmpi slt, %c0_i32, %arg5 : i32
      %26:5 = scf.if %25 -> (tensor<128x64xf32, #mma>, i32, i32, i32, i32) {
        %27 = ttg.memdesc_index %4[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %c0_i32_14 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %2[%c0_i32_14] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %29 = ttg.memdesc_trans %28 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
        %30 = ttng.warp_group_dot %1, %29, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
        %31 = ttng.warp_group_dot_wait %30 {pendings = 0 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
        %32 = ttg.memdesc_index %9[%c0_i32_14] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %32, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %33 = math.exp2 %31 : tensor<128x128xf32, #mma>
        %34 = arith.truncf %33 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
        %35 = ttg.convert_layout %34 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %36 = arith.mulf %cst_0, %cst_0 : tensor<128x64xf32, #mma>
        %c1_i32_16 = arith.constant 1 : i32
        %37 = arith.addi %c0_i32_14, %c1_i32_16 : i32
        %c4_i32 = arith.constant 4 : i32
        %38 = arith.cmpi eq, %37, %c4_i32 : i32
        %c0_i32_17 = arith.constant 0 : i32
        %39 = arith.select %38, %c0_i32_17, %37 : i32
        %40 = arith.xori %c0_i32_14, %c1_i32_16 : i32
        %41 = arith.select %38, %40, %c0_i32_14 : i32
        %42 = arith.addi %c0_i32, %c128_i32 : i32
        %43:6 = scf.for %arg7 = %42 to %arg5 step %c128_i32 iter_args(%arg8 = %36, %arg9 = %35, %arg10 = %39, %arg11 = %41, %arg12 = %c0_i32_15, %arg13 = %c0_i32_15) -> (tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32)  : i32 {
          %c1_i32_21 = arith.constant 1 : i32
          %54 = arith.addi %arg12, %c1_i32_21 : i32
          %c4_i32_22 = arith.constant 4 : i32
          %55 = arith.cmpi eq, %54, %c4_i32_22 : i32
          %c0_i32_23 = arith.constant 0 : i32
          %56 = arith.select %55, %c0_i32_23, %54 : i32
          %57 = arith.xori %arg13, %c1_i32_21 : i32
          %58 = arith.select %55, %57, %arg13 : i32
          %59 = ttg.memdesc_index %4[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.wait_barrier %59, %arg11 {warpspec.separate_warps, warpspec.takes_turn} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %60 = ttg.memdesc_index %2[%arg10] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %61 = ttg.memdesc_trans %60 {order = array<i32: 1, 0>} : !ttg.memdesc<128x64xf16, #shared, #smem> -> !ttg.memdesc<64x128xf16, #shared2, #smem>
          %62 = ttng.warp_group_dot %1, %61, %cst {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x128xf16, #shared2, #smem> -> tensor<128x128xf32, #mma>
          %63 = ttg.memdesc_index %14[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.wait_barrier %63, %arg13 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %64 = ttg.memdesc_index %3[%arg12] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
          %65 = ttng.warp_group_dot %arg9, %64, %arg8 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
          %66 = ttng.warp_group_dot_wait %62 {pendings = 1 : i32, warpGroupLocal, warpspec.passes_turn} : tensor<128x128xf32, #mma>
          %67 = ttg.memdesc_index %9[%arg10] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %67, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %68 = math.exp2 %66 : tensor<128x128xf32, #mma>
          %69 = arith.truncf %68 : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
          %70 = ttg.convert_layout %69 : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %71:2 = ttng.warp_group_dot_wait %65, %arg9 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
          %72 = ttg.memdesc_index %19[%arg12] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          ttng.arrive_barrier %72, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
          %73 = arith.mulf %71#0, %71#0 : tensor<128x64xf32, #mma>
          %c1_i32_24 = arith.constant 1 : i32
          %74 = arith.addi %arg10, %c1_i32_24 : i32
          %c4_i32_25 = arith.constant 4 : i32
          %75 = arith.cmpi eq, %74, %c4_i32_25 : i32
          %c0_i32_26 = arith.constant 0 : i32
          %76 = arith.select %75, %c0_i32_26, %74 : i32
          %77 = arith.xori %arg11, %c1_i32_24 : i32
          %78 = arith.select %75, %77, %arg11 : i32
          scf.yield %73, %70, %76, %78, %56, %58 : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, i32, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %c1_i32_18 = arith.constant 1 : i32
        %44 = arith.addi %43#4, %c1_i32_18 : i32
        %c4_i32_19 = arith.constant 4 : i32
        %45 = arith.cmpi eq, %44, %c4_i32_19 : i32
        %c0_i32_20 = arith.constant 0 : i32
        %46 = arith.select %45, %c0_i32_20, %44 : i32
        %47 = arith.xori %43#5, %c1_i32_18 : i32
        %48 = arith.select %45, %47, %43#5 : i32
        %49 = ttg.memdesc_index %14[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %49, %43#5 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %50 = ttg.memdesc_index %3[%43#4] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem>
        %51 = ttng.warp_group_dot %43#1, %50, %43#0 {inputPrecision = 0 : i32, isAsync = true} : tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<128x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
        %52:2 = ttng.warp_group_dot_wait %51, %43#1 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>, tensor<128x128xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        %53 = ttg.memdesc_index %19[%43#4] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.arrive_barrier %53, 8 {warpspec.separate_warps} : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        scf.yield %52#0, %43#2, %43#3, %46, %48 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      } else {
        scf.yield %cst_0, %c0_i32_14, %c0_i32_14, %c0_i32_15, %c0_i32_15 : tensor<128x64xf32, #mma>, i32, i32, i32, i32
      }
      ttg.warp_yield %26#0 : tensor<128x64xf32, #mma>
    }
    partition0(%arg7: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg8: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg9: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg10: !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, %arg11: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg12: !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, %arg13: i32, %arg14: !tt.tensordesc<128x64xf16, #shared>, %arg15: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c128_i32_16 = arith.constant 128 : i32
      %c0_i32_17 = arith.constant 0 : i32
      %c0_i32_18 = arith.constant 0 : i32
      %c0_i32_19 = arith.constant 0 : i32
      %25:4 = scf.for %arg16 = %c0_i32_17 to %arg13 step %c128_i32_16 iter_args(%arg17 = %c0_i32_18, %arg18 = %c0_i32_18, %arg19 = %c0_i32_19, %arg20 = %c0_i32_19) -> (i32, i32, i32, i32)  : i32 {
        %c1_i32_20 = arith.constant 1 : i32
        %26 = arith.xori %arg18, %c1_i32_20 : i32
        %27 = ttg.memdesc_index %arg9[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        ttng.wait_barrier %27, %26 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %28 = ttg.memdesc_index %arg8[%arg17] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true = arith.constant true
        ttng.barrier_expect %28, 16384, %true : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %29 = ttg.memdesc_index %arg7[%arg17] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg14[%arg16, %c0_i32_17] %29, %28, %true : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_21 = arith.constant 1 : i32
        %30 = arith.addi %arg17, %c1_i32_21 : i32
        %c4_i32 = arith.constant 4 : i32
        %31 = arith.cmpi eq, %30, %c4_i32 : i32
        %c0_i32_22 = arith.constant 0 : i32
        %32 = arith.select %31, %c0_i32_22, %30 : i32
        %33 = arith.xori %arg18, %c1_i32_21 : i32
        %34 = arith.select %31, %33, %arg18 : i32
        %c1_i32_23 = arith.constant 1 : i32
        %35 = arith.xori %arg20, %c1_i32_23 : i32
        %36 = ttg.memdesc_index %arg12[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %37 = ttg.memdesc_index %arg11[%arg19] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %true_24 = arith.constant true
        // expected-error @below {{expected tasks that wait for each other as they have to, got that more arrive at a barrier than a phase takes}}
        ttng.barrier_expect %37, 16384, %true_24 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
        %38 = ttg.memdesc_index %arg10[%arg19] : !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        ttng.async_tma_copy_global_to_local %arg15[%arg16, %c0_i32_17] %38, %37, %true_24 : !tt.tensordesc<128x64xf16, #shared>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
        %c1_i32_25 = arith.constant 1 : i32
        %39 = arith.addi %arg19, %c1_i32_25 : i32
        %c4_i32_26 = arith.constant 4 : i32
        %40 = arith.cmpi eq, %39, %c4_i32_26 : i32
        %c0_i32_27 = arith.constant 0 : i32
        %41 = arith.select %40, %c0_i32_27, %39 : i32
        %42 = arith.xori %arg20, %c1_i32_25 : i32
        %43 = arith.select %40, %42, %arg20 : i32
        scf.yield %32, %34, %41, %43 : i32, i32, i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, !ttg.memdesc<4x1xi64, #shared1, #smem, mutable>, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<128x64xf16, #shared>) -> tensor<128x64xf32, #mma>
    tt.store %arg6, %24 : tensor<128x64x!tt.ptr<f32>, #mma>
    tt.return
  }
}
