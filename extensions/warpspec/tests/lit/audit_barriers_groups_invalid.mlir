// Protocols of two warp groups that multiply, each broken by hand in one place.
// RUN: %opt %s --pass warpspec-audit-barriers --verify-diagnostics

// A slot counts one arrival, and both groups give it back.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<64x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    ttng.init_barrier %3, 1 : !bar
    %4 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %4, 1 : !bar
    %5 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.local_alloc : () -> !bars
    %7 = ttg.memdesc_index %6[%c0_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %6[%c1_i32] : !bars -> !bar
    ttng.init_barrier %8, 2 : !bar
    %9 = ttg.memdesc_index %6[%c2_i32] : !bars -> !bar
    ttng.init_barrier %9, 2 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %6, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %10:2 = scf.for %arg7 = %arg3 to %arg4 step %arg6 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32) -> (i32, i32)  : i32 {
        %11:3 = scf.for %arg10 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg11 = %cst, %arg12 = %arg8, %arg13 = %arg9) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %19 = ttg.memdesc_index %2[%arg12] : !bars -> !bar
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
          ttng.wait_barrier %19, %arg13 : !bar
          %20 = ttg.memdesc_index %0[%arg12] : !as -> !a
          %21 = ttg.memdesc_subslice %20[0, 0] : !a -> !part
          %22 = ttg.memdesc_index %1[%arg12] : !bs -> !b
          %23 = ttng.warp_group_dot %21, %22, %arg11 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %24 = ttng.warp_group_dot_wait %23 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %25 = arith.cmpi ne, %arg10, %c0_i32 : i32
          %26 = arith.cmpi eq, %arg12, %c0_i32 : i32
          %27 = arith.subi %arg12, %c1_i32 : i32
          %28 = arith.select %26, %c2_i32, %27 : i32
          %29 = ttg.memdesc_index %6[%28] : !bars -> !bar
          ttng.arrive_barrier %29, 1, %25 : !bar
          %30 = arith.addi %arg12, %c1_i32 : i32
          %31 = arith.cmpi eq, %30, %c3_i32 : i32
          %32 = arith.select %31, %c0_i32, %30 : i32
          %33 = arith.xori %arg13, %c1_i32 : i32
          %34 = arith.select %31, %33, %arg13 : i32
          scf.yield %24, %32, %34 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %12 = ttng.warp_group_dot_wait %11#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %13 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %14 = arith.cmpi eq, %11#1, %c0_i32 : i32
        %15 = arith.subi %11#1, %c1_i32 : i32
        %16 = arith.select %14, %c2_i32, %15 : i32
        %17 = ttg.memdesc_index %6[%16] : !bars -> !bar
        ttng.arrive_barrier %17, 1, %13 : !bar
        %18 = arith.truncf %12 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %18 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %11#1, %11#2 : i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(4) {
      %c3_i32_0 = arith.constant 3 : i32
      %c2_i32_1 = arith.constant 2 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32 = arith.constant 63 : i32
      %c64_i32_3 = arith.constant 64 : i32
      %c0_i32_4 = arith.constant 0 : i32
      %cst_5 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_4, %arg20 = %c0_i32_4) -> (i32, i32)  : i32 {
        %11 = arith.addi %arg14, %c63_i32 : i32
        %12 = arith.divsi %11, %c64_i32_3 : i32
        %13 = arith.maxsi %12, %c0_i32_4 : i32
        %14 = arith.cmpi sgt, %13, %c1_i32_2 : i32
        %15 = arith.cmpi eq, %arg18, %arg11 : i32
        %16 = arith.andi %15, %14 : i1
        %17 = ttg.memdesc_index %arg9[%c1_i32_2] : !bars -> !bar
        ttng.wait_barrier %17, %c0_i32_4, %16 : !bar
        %18:3 = scf.for %arg21 = %c0_i32_4 to %arg14 step %c64_i32_3 iter_args(%arg22 = %cst_5, %arg23 = %arg19, %arg24 = %arg20) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %27 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.wait_barrier %27, %arg24 : !bar
          %28 = ttg.memdesc_index %arg7[%arg23] : !as -> !a
          %29 = ttg.memdesc_subslice %28[64, 0] : !a -> !part
          %30 = ttg.memdesc_index %arg8[%arg23] : !bs -> !b
          %31 = ttng.warp_group_dot %29, %30, %arg22 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %32 = ttng.warp_group_dot_wait %31 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %33 = arith.cmpi ne, %arg21, %c0_i32_4 : i32
          %34 = arith.cmpi eq, %arg23, %c0_i32_4 : i32
          %35 = arith.subi %arg23, %c1_i32_2 : i32
          %36 = arith.select %34, %c2_i32_1, %35 : i32
          %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
          ttng.arrive_barrier %37, 1, %33 : !bar
          %38 = arith.addi %arg23, %c1_i32_2 : i32
          %39 = arith.cmpi eq, %38, %c3_i32_0 : i32
          %40 = arith.select %39, %c0_i32_4, %38 : i32
          %41 = arith.xori %arg24, %c1_i32_2 : i32
          %42 = arith.select %39, %41, %arg24 : i32
          scf.yield %32, %40, %42 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %19 = ttng.warp_group_dot_wait %18#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %20 = arith.cmpi sgt, %arg14, %c0_i32_4 : i32
        %21 = arith.cmpi eq, %18#1, %c0_i32_4 : i32
        %22 = arith.subi %18#1, %c1_i32_2 : i32
        %23 = arith.select %21, %c2_i32_1, %22 : i32
        %24 = ttg.memdesc_index %arg10[%23] : !bars -> !bar
        ttng.arrive_barrier %24, 1, %20 : !bar
        %25 = arith.truncf %19 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        %26 = arith.addi %arg18, %c64_i32_3 : i32
        tt.descriptor_store %arg17[%26, %arg18], %25 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %18#1, %18#2 : i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_3, %arg20 = %c0_i32_3) -> (i32, i32)  : i32 {
        %11:2 = scf.for %arg21 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg22 = %arg19, %arg23 = %arg20) -> (i32, i32)  : i32 {
          %12 = arith.xori %arg23, %c1_i32_1 : i32
          %13 = ttg.memdesc_index %arg10[%arg22] : !bars -> !bar
          ttng.wait_barrier %13, %12 : !bar
          %14 = ttg.memdesc_index %arg9[%arg22] : !bars -> !bar
          ttng.barrier_expect %14, 24576, %true : !bar
          %15 = ttg.memdesc_index %arg7[%arg22] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg18, %arg21] %15, %14, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %16 = ttg.memdesc_index %arg8[%arg22] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg21, %arg18] %16, %14, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %17 = arith.addi %arg22, %c1_i32_1 : i32
          %18 = arith.cmpi eq, %17, %c3_i32_0 : i32
          %19 = arith.select %18, %c0_i32_3, %17 : i32
          %20 = arith.select %18, %12, %arg23 : i32
          scf.yield %19, %20 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %11#0, %11#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group gives back only the last slot of a tile.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<64x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    ttng.init_barrier %3, 1 : !bar
    %4 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %4, 1 : !bar
    %5 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.local_alloc : () -> !bars
    %7 = ttg.memdesc_index %6[%c0_i32] : !bars -> !bar
    ttng.init_barrier %7, 2 : !bar
    %8 = ttg.memdesc_index %6[%c1_i32] : !bars -> !bar
    ttng.init_barrier %8, 2 : !bar
    %9 = ttg.memdesc_index %6[%c2_i32] : !bars -> !bar
    ttng.init_barrier %9, 2 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %6, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %10:2 = scf.for %arg7 = %arg3 to %arg4 step %arg6 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32) -> (i32, i32)  : i32 {
        %11:3 = scf.for %arg10 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg11 = %cst, %arg12 = %arg8, %arg13 = %arg9) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %19 = ttg.memdesc_index %2[%arg12] : !bars -> !bar
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
          ttng.wait_barrier %19, %arg13 : !bar
          %20 = ttg.memdesc_index %0[%arg12] : !as -> !a
          %21 = ttg.memdesc_subslice %20[0, 0] : !a -> !part
          %22 = ttg.memdesc_index %1[%arg12] : !bs -> !b
          %23 = ttng.warp_group_dot %21, %22, %arg11 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %24 = ttng.warp_group_dot_wait %23 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %25 = arith.cmpi ne, %arg10, %c0_i32 : i32
          %26 = arith.cmpi eq, %arg12, %c0_i32 : i32
          %27 = arith.subi %arg12, %c1_i32 : i32
          %28 = arith.select %26, %c2_i32, %27 : i32
          %29 = ttg.memdesc_index %6[%28] : !bars -> !bar
          ttng.arrive_barrier %29, 1, %25 : !bar
          %30 = arith.addi %arg12, %c1_i32 : i32
          %31 = arith.cmpi eq, %30, %c3_i32 : i32
          %32 = arith.select %31, %c0_i32, %30 : i32
          %33 = arith.xori %arg13, %c1_i32 : i32
          %34 = arith.select %31, %33, %arg13 : i32
          scf.yield %24, %32, %34 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %12 = ttng.warp_group_dot_wait %11#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %13 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %14 = arith.cmpi eq, %11#1, %c0_i32 : i32
        %15 = arith.subi %11#1, %c1_i32 : i32
        %16 = arith.select %14, %c2_i32, %15 : i32
        %17 = ttg.memdesc_index %6[%16] : !bars -> !bar
        ttng.arrive_barrier %17, 1, %13 : !bar
        %18 = arith.truncf %12 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %18 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %11#1, %11#2 : i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(4) {
      %c3_i32_0 = arith.constant 3 : i32
      %c2_i32_1 = arith.constant 2 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32 = arith.constant 63 : i32
      %c64_i32_3 = arith.constant 64 : i32
      %c0_i32_4 = arith.constant 0 : i32
      %cst_5 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_4, %arg20 = %c0_i32_4) -> (i32, i32)  : i32 {
        %11 = arith.addi %arg14, %c63_i32 : i32
        %12 = arith.divsi %11, %c64_i32_3 : i32
        %13 = arith.maxsi %12, %c0_i32_4 : i32
        %14 = arith.cmpi sgt, %13, %c1_i32_2 : i32
        %15 = arith.cmpi eq, %arg18, %arg11 : i32
        %16 = arith.andi %15, %14 : i1
        %17 = ttg.memdesc_index %arg9[%c1_i32_2] : !bars -> !bar
        ttng.wait_barrier %17, %c0_i32_4, %16 : !bar
        %18:3 = scf.for %arg21 = %c0_i32_4 to %arg14 step %c64_i32_3 iter_args(%arg22 = %cst_5, %arg23 = %arg19, %arg24 = %arg20) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %27 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.wait_barrier %27, %arg24 : !bar
          %28 = ttg.memdesc_index %arg7[%arg23] : !as -> !a
          %29 = ttg.memdesc_subslice %28[64, 0] : !a -> !part
          %30 = ttg.memdesc_index %arg8[%arg23] : !bs -> !b
          %31 = ttng.warp_group_dot %29, %30, %arg22 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %32 = ttng.warp_group_dot_wait %31 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %33 = arith.cmpi ne, %arg21, %c0_i32_4 : i32
          %34 = arith.cmpi eq, %arg23, %c0_i32_4 : i32
          %35 = arith.subi %arg23, %c1_i32_2 : i32
          %36 = arith.select %34, %c2_i32_1, %35 : i32
          %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
          %38 = arith.addi %arg23, %c1_i32_2 : i32
          %39 = arith.cmpi eq, %38, %c3_i32_0 : i32
          %40 = arith.select %39, %c0_i32_4, %38 : i32
          %41 = arith.xori %arg24, %c1_i32_2 : i32
          %42 = arith.select %39, %41, %arg24 : i32
          scf.yield %32, %40, %42 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %19 = ttng.warp_group_dot_wait %18#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %20 = arith.cmpi sgt, %arg14, %c0_i32_4 : i32
        %21 = arith.cmpi eq, %18#1, %c0_i32_4 : i32
        %22 = arith.subi %18#1, %c1_i32_2 : i32
        %23 = arith.select %21, %c2_i32_1, %22 : i32
        %24 = ttg.memdesc_index %arg10[%23] : !bars -> !bar
        ttng.arrive_barrier %24, 1, %20 : !bar
        %25 = arith.truncf %19 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        %26 = arith.addi %arg18, %c64_i32_3 : i32
        tt.descriptor_store %arg17[%26, %arg18], %25 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %18#1, %18#2 : i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_3, %arg20 = %c0_i32_3) -> (i32, i32)  : i32 {
        %11:2 = scf.for %arg21 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg22 = %arg19, %arg23 = %arg20) -> (i32, i32)  : i32 {
          %12 = arith.xori %arg23, %c1_i32_1 : i32
          %13 = ttg.memdesc_index %arg10[%arg22] : !bars -> !bar
          ttng.wait_barrier %13, %12 : !bar
          %14 = ttg.memdesc_index %arg9[%arg22] : !bars -> !bar
          ttng.barrier_expect %14, 24576, %true : !bar
          %15 = ttg.memdesc_index %arg7[%arg22] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg18, %arg21] %15, %14, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %16 = ttg.memdesc_index %arg8[%arg22] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg21, %arg18] %16, %14, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %17 = arith.addi %arg22, %c1_i32_1 : i32
          %18 = arith.cmpi eq, %17, %c3_i32_0 : i32
          %19 = arith.select %18, %c0_i32_3, %17 : i32
          %20 = arith.select %18, %12, %arg23 : i32
          scf.yield %19, %20 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %11#0, %11#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group gives back the slot that its product reads.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<64x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    ttng.init_barrier %3, 1 : !bar
    %4 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %4, 1 : !bar
    %5 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.local_alloc : () -> !bars
    %7 = ttg.memdesc_index %6[%c0_i32] : !bars -> !bar
    ttng.init_barrier %7, 2 : !bar
    %8 = ttg.memdesc_index %6[%c1_i32] : !bars -> !bar
    ttng.init_barrier %8, 2 : !bar
    %9 = ttg.memdesc_index %6[%c2_i32] : !bars -> !bar
    ttng.init_barrier %9, 2 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %6, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %10:2 = scf.for %arg7 = %arg3 to %arg4 step %arg6 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32) -> (i32, i32)  : i32 {
        %11:3 = scf.for %arg10 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg11 = %cst, %arg12 = %arg8, %arg13 = %arg9) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %19 = ttg.memdesc_index %2[%arg12] : !bars -> !bar
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
          ttng.wait_barrier %19, %arg13 : !bar
          %20 = ttg.memdesc_index %0[%arg12] : !as -> !a
          %21 = ttg.memdesc_subslice %20[0, 0] : !a -> !part
          %22 = ttg.memdesc_index %1[%arg12] : !bs -> !b
          %23 = ttng.warp_group_dot %21, %22, %arg11 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %24 = ttng.warp_group_dot_wait %23 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %25 = arith.cmpi ne, %arg10, %c0_i32 : i32
          %26 = arith.cmpi eq, %arg12, %c0_i32 : i32
          %27 = arith.subi %arg12, %c1_i32 : i32
          %28 = arith.select %26, %c2_i32, %27 : i32
          %29 = ttg.memdesc_index %6[%28] : !bars -> !bar
          ttng.arrive_barrier %29, 1, %25 : !bar
          %30 = arith.addi %arg12, %c1_i32 : i32
          %31 = arith.cmpi eq, %30, %c3_i32 : i32
          %32 = arith.select %31, %c0_i32, %30 : i32
          %33 = arith.xori %arg13, %c1_i32 : i32
          %34 = arith.select %31, %33, %arg13 : i32
          scf.yield %24, %32, %34 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %12 = ttng.warp_group_dot_wait %11#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %13 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %14 = arith.cmpi eq, %11#1, %c0_i32 : i32
        %15 = arith.subi %11#1, %c1_i32 : i32
        %16 = arith.select %14, %c2_i32, %15 : i32
        %17 = ttg.memdesc_index %6[%16] : !bars -> !bar
        ttng.arrive_barrier %17, 1, %13 : !bar
        %18 = arith.truncf %12 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %18 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %11#1, %11#2 : i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(4) {
      %c3_i32_0 = arith.constant 3 : i32
      %c2_i32_1 = arith.constant 2 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32 = arith.constant 63 : i32
      %c64_i32_3 = arith.constant 64 : i32
      %c0_i32_4 = arith.constant 0 : i32
      %cst_5 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_4, %arg20 = %c0_i32_4) -> (i32, i32)  : i32 {
        %11 = arith.addi %arg14, %c63_i32 : i32
        %12 = arith.divsi %11, %c64_i32_3 : i32
        %13 = arith.maxsi %12, %c0_i32_4 : i32
        %14 = arith.cmpi sgt, %13, %c1_i32_2 : i32
        %15 = arith.cmpi eq, %arg18, %arg11 : i32
        %16 = arith.andi %15, %14 : i1
        %17 = ttg.memdesc_index %arg9[%c1_i32_2] : !bars -> !bar
        ttng.wait_barrier %17, %c0_i32_4, %16 : !bar
        %18:3 = scf.for %arg21 = %c0_i32_4 to %arg14 step %c64_i32_3 iter_args(%arg22 = %cst_5, %arg23 = %arg19, %arg24 = %arg20) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %27 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.wait_barrier %27, %arg24 : !bar
          %28 = ttg.memdesc_index %arg7[%arg23] : !as -> !a
          %29 = ttg.memdesc_subslice %28[64, 0] : !a -> !part
          %30 = ttg.memdesc_index %arg8[%arg23] : !bs -> !b
          %31 = ttng.warp_group_dot %29, %30, %arg22 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %32 = ttng.warp_group_dot_wait %31 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %33 = arith.cmpi ne, %arg21, %c0_i32_4 : i32
          %34 = arith.cmpi eq, %arg23, %c0_i32_4 : i32
          %35 = arith.subi %arg23, %c1_i32_2 : i32
          %36 = arith.select %34, %c2_i32_1, %35 : i32
          %37 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.arrive_barrier %37, 1, %33 : !bar
          %38 = arith.addi %arg23, %c1_i32_2 : i32
          %39 = arith.cmpi eq, %38, %c3_i32_0 : i32
          %40 = arith.select %39, %c0_i32_4, %38 : i32
          %41 = arith.xori %arg24, %c1_i32_2 : i32
          %42 = arith.select %39, %41, %arg24 : i32
          scf.yield %32, %40, %42 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %19 = ttng.warp_group_dot_wait %18#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %20 = arith.cmpi sgt, %arg14, %c0_i32_4 : i32
        %21 = arith.cmpi eq, %18#1, %c0_i32_4 : i32
        %22 = arith.subi %18#1, %c1_i32_2 : i32
        %23 = arith.select %21, %c2_i32_1, %22 : i32
        %24 = ttg.memdesc_index %arg10[%23] : !bars -> !bar
        ttng.arrive_barrier %24, 1, %20 : !bar
        %25 = arith.truncf %19 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        %26 = arith.addi %arg18, %c64_i32_3 : i32
        tt.descriptor_store %arg17[%26, %arg18], %25 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %18#1, %18#2 : i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_3, %arg20 = %c0_i32_3) -> (i32, i32)  : i32 {
        %11:2 = scf.for %arg21 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg22 = %arg19, %arg23 = %arg20) -> (i32, i32)  : i32 {
          %12 = arith.xori %arg23, %c1_i32_1 : i32
          %13 = ttg.memdesc_index %arg10[%arg22] : !bars -> !bar
          ttng.wait_barrier %13, %12 : !bar
          %14 = ttg.memdesc_index %arg9[%arg22] : !bars -> !bar
          ttng.barrier_expect %14, 24576, %true : !bar
          %15 = ttg.memdesc_index %arg7[%arg22] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg18, %arg21] %15, %14, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %16 = ttg.memdesc_index %arg8[%arg22] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg21, %arg18] %16, %14, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %17 = arith.addi %arg22, %c1_i32_1 : i32
          %18 = arith.cmpi eq, %17, %c3_i32_0 : i32
          %19 = arith.select %18, %c0_i32_3, %17 : i32
          %20 = arith.select %18, %12, %arg23 : i32
          scf.yield %19, %20 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %11#0, %11#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group gives slots back that it has not read.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<64x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    ttng.init_barrier %3, 1 : !bar
    %4 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %4, 1 : !bar
    %5 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.local_alloc : () -> !bars
    %7 = ttg.memdesc_index %6[%c0_i32] : !bars -> !bar
    ttng.init_barrier %7, 2 : !bar
    %8 = ttg.memdesc_index %6[%c1_i32] : !bars -> !bar
    ttng.init_barrier %8, 2 : !bar
    %9 = ttg.memdesc_index %6[%c2_i32] : !bars -> !bar
    ttng.init_barrier %9, 2 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %6, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %10:2 = scf.for %arg7 = %arg3 to %arg4 step %arg6 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32) -> (i32, i32)  : i32 {
        %11:3 = scf.for %arg10 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg11 = %cst, %arg12 = %arg8, %arg13 = %arg9) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %19 = ttg.memdesc_index %2[%arg12] : !bars -> !bar
          ttng.wait_barrier %19, %arg13 : !bar
          %20 = ttg.memdesc_index %0[%arg12] : !as -> !a
          %21 = ttg.memdesc_subslice %20[0, 0] : !a -> !part
          %22 = ttg.memdesc_index %1[%arg12] : !bs -> !b
          %23 = ttng.warp_group_dot %21, %22, %arg11 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %24 = ttng.warp_group_dot_wait %23 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %25 = arith.cmpi ne, %arg10, %c0_i32 : i32
          %26 = arith.cmpi eq, %arg12, %c0_i32 : i32
          %27 = arith.subi %arg12, %c1_i32 : i32
          %28 = arith.select %26, %c2_i32, %27 : i32
          %29 = ttg.memdesc_index %6[%28] : !bars -> !bar
          ttng.arrive_barrier %29, 1, %25 : !bar
          %30 = arith.addi %arg12, %c1_i32 : i32
          %31 = arith.cmpi eq, %30, %c3_i32 : i32
          %32 = arith.select %31, %c0_i32, %30 : i32
          %33 = arith.xori %arg13, %c1_i32 : i32
          %34 = arith.select %31, %33, %arg13 : i32
          scf.yield %24, %32, %34 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %12 = ttng.warp_group_dot_wait %11#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %13 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %14 = arith.cmpi eq, %11#1, %c0_i32 : i32
        %15 = arith.subi %11#1, %c1_i32 : i32
        %16 = arith.select %14, %c2_i32, %15 : i32
        %17 = ttg.memdesc_index %6[%16] : !bars -> !bar
        ttng.arrive_barrier %17, 1, %13 : !bar
        %18 = arith.truncf %12 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %18 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %11#1, %11#2 : i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(4) {
      %c3_i32_0 = arith.constant 3 : i32
      %c2_i32_1 = arith.constant 2 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32 = arith.constant 63 : i32
      %c64_i32_3 = arith.constant 64 : i32
      %c0_i32_4 = arith.constant 0 : i32
      %cst_5 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_4, %arg20 = %c0_i32_4) -> (i32, i32)  : i32 {
        %11 = arith.addi %arg14, %c63_i32 : i32
        %12 = arith.divsi %11, %c64_i32_3 : i32
        %13 = arith.maxsi %12, %c0_i32_4 : i32
        %14 = arith.cmpi sgt, %13, %c1_i32_2 : i32
        %15 = arith.cmpi eq, %arg18, %arg11 : i32
        %16 = arith.andi %15, %14 : i1
        %17 = ttg.memdesc_index %arg9[%c1_i32_2] : !bars -> !bar
        ttng.wait_barrier %17, %c0_i32_4, %16 : !bar
        %18:3 = scf.for %arg21 = %c0_i32_4 to %arg14 step %c64_i32_3 iter_args(%arg22 = %cst_5, %arg23 = %arg19, %arg24 = %arg20) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %27 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.wait_barrier %27, %arg24 : !bar
          %28 = ttg.memdesc_index %arg7[%c0_i32_4] : !as -> !a
          %29 = ttg.memdesc_subslice %28[64, 0] : !a -> !part
          %30 = ttg.memdesc_index %arg8[%c0_i32_4] : !bs -> !b
          %31 = ttng.warp_group_dot %29, %30, %arg22 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %32 = ttng.warp_group_dot_wait %31 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %33 = arith.cmpi ne, %arg21, %c0_i32_4 : i32
          %34 = arith.cmpi eq, %arg23, %c0_i32_4 : i32
          %35 = arith.subi %arg23, %c1_i32_2 : i32
          %36 = arith.select %34, %c2_i32_1, %35 : i32
          %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
          ttng.arrive_barrier %37, 1, %33 : !bar
          %38 = arith.addi %arg23, %c1_i32_2 : i32
          %39 = arith.cmpi eq, %38, %c3_i32_0 : i32
          %40 = arith.select %39, %c0_i32_4, %38 : i32
          %41 = arith.xori %arg24, %c1_i32_2 : i32
          %42 = arith.select %39, %41, %arg24 : i32
          scf.yield %32, %40, %42 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %19 = ttng.warp_group_dot_wait %18#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %20 = arith.cmpi sgt, %arg14, %c0_i32_4 : i32
        %21 = arith.cmpi eq, %18#1, %c0_i32_4 : i32
        %22 = arith.subi %18#1, %c1_i32_2 : i32
        %23 = arith.select %21, %c2_i32_1, %22 : i32
        %24 = ttg.memdesc_index %arg10[%23] : !bars -> !bar
        ttng.arrive_barrier %24, 1, %20 : !bar
        %25 = arith.truncf %19 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        %26 = arith.addi %arg18, %c64_i32_3 : i32
        tt.descriptor_store %arg17[%26, %arg18], %25 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %18#1, %18#2 : i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_3, %arg20 = %c0_i32_3) -> (i32, i32)  : i32 {
        %11:2 = scf.for %arg21 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg22 = %arg19, %arg23 = %arg20) -> (i32, i32)  : i32 {
          %12 = arith.xori %arg23, %c1_i32_1 : i32
          %13 = ttg.memdesc_index %arg10[%arg22] : !bars -> !bar
          ttng.wait_barrier %13, %12 : !bar
          %14 = ttg.memdesc_index %arg9[%arg22] : !bars -> !bar
          ttng.barrier_expect %14, 24576, %true : !bar
          %15 = ttg.memdesc_index %arg7[%arg22] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is filled while a product reads it}}
          ttng.async_tma_copy_global_to_local %arg15[%arg18, %arg21] %15, %14, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %16 = ttg.memdesc_index %arg8[%arg22] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg21, %arg18] %16, %14, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %17 = arith.addi %arg22, %c1_i32_1 : i32
          %18 = arith.cmpi eq, %17, %c3_i32_0 : i32
          %19 = arith.select %18, %c0_i32_3, %17 : i32
          %20 = arith.select %18, %12, %arg23 : i32
          scf.yield %19, %20 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %11#0, %11#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group multiplies nothing, and gives its slots back.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<64x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    ttng.init_barrier %3, 1 : !bar
    %4 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %4, 1 : !bar
    %5 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.local_alloc : () -> !bars
    %7 = ttg.memdesc_index %6[%c0_i32] : !bars -> !bar
    ttng.init_barrier %7, 2 : !bar
    %8 = ttg.memdesc_index %6[%c1_i32] : !bars -> !bar
    ttng.init_barrier %8, 2 : !bar
    %9 = ttg.memdesc_index %6[%c2_i32] : !bars -> !bar
    ttng.init_barrier %9, 2 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %6, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %10:2 = scf.for %arg7 = %arg3 to %arg4 step %arg6 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32) -> (i32, i32)  : i32 {
        %11:3 = scf.for %arg10 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg11 = %cst, %arg12 = %arg8, %arg13 = %arg9) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %19 = ttg.memdesc_index %2[%arg12] : !bars -> !bar
          ttng.wait_barrier %19, %arg13 : !bar
          %20 = ttg.memdesc_index %0[%arg12] : !as -> !a
          %21 = ttg.memdesc_subslice %20[0, 0] : !a -> !part
          %22 = ttg.memdesc_index %1[%arg12] : !bs -> !b
          %23 = ttng.warp_group_dot %21, %22, %arg11 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %24 = ttng.warp_group_dot_wait %23 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %25 = arith.cmpi ne, %arg10, %c0_i32 : i32
          %26 = arith.cmpi eq, %arg12, %c0_i32 : i32
          %27 = arith.subi %arg12, %c1_i32 : i32
          %28 = arith.select %26, %c2_i32, %27 : i32
          %29 = ttg.memdesc_index %6[%28] : !bars -> !bar
          ttng.arrive_barrier %29, 1, %25 : !bar
          %30 = arith.addi %arg12, %c1_i32 : i32
          %31 = arith.cmpi eq, %30, %c3_i32 : i32
          %32 = arith.select %31, %c0_i32, %30 : i32
          %33 = arith.xori %arg13, %c1_i32 : i32
          %34 = arith.select %31, %33, %arg13 : i32
          scf.yield %24, %32, %34 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %12 = ttng.warp_group_dot_wait %11#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %13 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %14 = arith.cmpi eq, %11#1, %c0_i32 : i32
        %15 = arith.subi %11#1, %c1_i32 : i32
        %16 = arith.select %14, %c2_i32, %15 : i32
        %17 = ttg.memdesc_index %6[%16] : !bars -> !bar
        ttng.arrive_barrier %17, 1, %13 : !bar
        %18 = arith.truncf %12 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %18 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %11#1, %11#2 : i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(4) {
      %c3_i32_0 = arith.constant 3 : i32
      %c2_i32_1 = arith.constant 2 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32 = arith.constant 63 : i32
      %c64_i32_3 = arith.constant 64 : i32
      %c0_i32_4 = arith.constant 0 : i32
      %cst_5 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_4, %arg20 = %c0_i32_4) -> (i32, i32)  : i32 {
        %11 = arith.addi %arg14, %c63_i32 : i32
        %12 = arith.divsi %11, %c64_i32_3 : i32
        %13 = arith.maxsi %12, %c0_i32_4 : i32
        %14 = arith.cmpi sgt, %13, %c1_i32_2 : i32
        %15 = arith.cmpi eq, %arg18, %arg11 : i32
        %16 = arith.andi %15, %14 : i1
        %17 = ttg.memdesc_index %arg9[%c1_i32_2] : !bars -> !bar
        ttng.wait_barrier %17, %c0_i32_4, %16 : !bar
        %18:3 = scf.for %arg21 = %c0_i32_4 to %arg14 step %c64_i32_3 iter_args(%arg22 = %cst_5, %arg23 = %arg19, %arg24 = %arg20) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %27 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.wait_barrier %27, %arg24 : !bar
          %28 = ttg.memdesc_index %arg7[%arg23] : !as -> !a
          %29 = ttg.memdesc_subslice %28[64, 0] : !a -> !part
          %30 = ttg.memdesc_index %arg8[%arg23] : !bs -> !b
          %31 = arith.addf %arg22, %arg22 : tensor<64x64xf32, #mma>
          %32 = ttng.warp_group_dot_wait %31 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %33 = arith.cmpi ne, %arg21, %c0_i32_4 : i32
          %34 = arith.cmpi eq, %arg23, %c0_i32_4 : i32
          %35 = arith.subi %arg23, %c1_i32_2 : i32
          %36 = arith.select %34, %c2_i32_1, %35 : i32
          %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
          ttng.arrive_barrier %37, 1, %33 : !bar
          %38 = arith.addi %arg23, %c1_i32_2 : i32
          %39 = arith.cmpi eq, %38, %c3_i32_0 : i32
          %40 = arith.select %39, %c0_i32_4, %38 : i32
          %41 = arith.xori %arg24, %c1_i32_2 : i32
          %42 = arith.select %39, %41, %arg24 : i32
          scf.yield %32, %40, %42 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %19 = ttng.warp_group_dot_wait %18#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %20 = arith.cmpi sgt, %arg14, %c0_i32_4 : i32
        %21 = arith.cmpi eq, %18#1, %c0_i32_4 : i32
        %22 = arith.subi %18#1, %c1_i32_2 : i32
        %23 = arith.select %21, %c2_i32_1, %22 : i32
        %24 = ttg.memdesc_index %arg10[%23] : !bars -> !bar
        ttng.arrive_barrier %24, 1, %20 : !bar
        %25 = arith.truncf %19 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        %26 = arith.addi %arg18, %c64_i32_3 : i32
        tt.descriptor_store %arg17[%26, %arg18], %25 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %18#1, %18#2 : i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_3, %arg20 = %c0_i32_3) -> (i32, i32)  : i32 {
        %11:2 = scf.for %arg21 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg22 = %arg19, %arg23 = %arg20) -> (i32, i32)  : i32 {
          %12 = arith.xori %arg23, %c1_i32_1 : i32
          %13 = ttg.memdesc_index %arg10[%arg22] : !bars -> !bar
          ttng.wait_barrier %13, %12 : !bar
          %14 = ttg.memdesc_index %arg9[%arg22] : !bars -> !bar
          ttng.barrier_expect %14, 24576, %true : !bar
          %15 = ttg.memdesc_index %arg7[%arg22] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is filled again that a task has given back and not read}}
          ttng.async_tma_copy_global_to_local %arg15[%arg18, %arg21] %15, %14, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %16 = ttg.memdesc_index %arg8[%arg22] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg21, %arg18] %16, %14, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %17 = arith.addi %arg22, %c1_i32_1 : i32
          %18 = arith.cmpi eq, %17, %c3_i32_0 : i32
          %19 = arith.select %18, %c0_i32_3, %17 : i32
          %20 = arith.select %18, %12, %arg23 : i32
          scf.yield %19, %20 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %11#0, %11#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group begins in the phase behind the first.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<64x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    ttng.init_barrier %3, 1 : !bar
    %4 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %4, 1 : !bar
    %5 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.local_alloc : () -> !bars
    %7 = ttg.memdesc_index %6[%c0_i32] : !bars -> !bar
    ttng.init_barrier %7, 2 : !bar
    %8 = ttg.memdesc_index %6[%c1_i32] : !bars -> !bar
    ttng.init_barrier %8, 2 : !bar
    %9 = ttg.memdesc_index %6[%c2_i32] : !bars -> !bar
    ttng.init_barrier %9, 2 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %6, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %10:2 = scf.for %arg7 = %arg3 to %arg4 step %arg6 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32) -> (i32, i32)  : i32 {
        %11:3 = scf.for %arg10 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg11 = %cst, %arg12 = %arg8, %arg13 = %arg9) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %19 = ttg.memdesc_index %2[%arg12] : !bars -> !bar
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
          ttng.wait_barrier %19, %arg13 : !bar
          %20 = ttg.memdesc_index %0[%arg12] : !as -> !a
          %21 = ttg.memdesc_subslice %20[0, 0] : !a -> !part
          %22 = ttg.memdesc_index %1[%arg12] : !bs -> !b
          %23 = ttng.warp_group_dot %21, %22, %arg11 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %24 = ttng.warp_group_dot_wait %23 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %25 = arith.cmpi ne, %arg10, %c0_i32 : i32
          %26 = arith.cmpi eq, %arg12, %c0_i32 : i32
          %27 = arith.subi %arg12, %c1_i32 : i32
          %28 = arith.select %26, %c2_i32, %27 : i32
          %29 = ttg.memdesc_index %6[%28] : !bars -> !bar
          ttng.arrive_barrier %29, 1, %25 : !bar
          %30 = arith.addi %arg12, %c1_i32 : i32
          %31 = arith.cmpi eq, %30, %c3_i32 : i32
          %32 = arith.select %31, %c0_i32, %30 : i32
          %33 = arith.xori %arg13, %c1_i32 : i32
          %34 = arith.select %31, %33, %arg13 : i32
          scf.yield %24, %32, %34 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %12 = ttng.warp_group_dot_wait %11#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %13 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %14 = arith.cmpi eq, %11#1, %c0_i32 : i32
        %15 = arith.subi %11#1, %c1_i32 : i32
        %16 = arith.select %14, %c2_i32, %15 : i32
        %17 = ttg.memdesc_index %6[%16] : !bars -> !bar
        ttng.arrive_barrier %17, 1, %13 : !bar
        %18 = arith.truncf %12 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %18 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %11#1, %11#2 : i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(4) {
      %c3_i32_0 = arith.constant 3 : i32
      %c2_i32_1 = arith.constant 2 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32 = arith.constant 63 : i32
      %c64_i32_3 = arith.constant 64 : i32
      %c0_i32_4 = arith.constant 0 : i32
      %cst_5 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_4, %arg20 = %c0_i32_4) -> (i32, i32)  : i32 {
        %11 = arith.addi %arg14, %c63_i32 : i32
        %12 = arith.divsi %11, %c64_i32_3 : i32
        %13 = arith.maxsi %12, %c0_i32_4 : i32
        %14 = arith.cmpi sgt, %13, %c1_i32_2 : i32
        %15 = arith.cmpi eq, %arg18, %arg11 : i32
        %16 = arith.andi %15, %14 : i1
        %17 = ttg.memdesc_index %arg9[%c1_i32_2] : !bars -> !bar
        ttng.wait_barrier %17, %c1_i32_2, %16 : !bar
        %18:3 = scf.for %arg21 = %c0_i32_4 to %arg14 step %c64_i32_3 iter_args(%arg22 = %cst_5, %arg23 = %arg19, %arg24 = %arg20) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %27 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.wait_barrier %27, %arg24 : !bar
          %28 = ttg.memdesc_index %arg7[%arg23] : !as -> !a
          %29 = ttg.memdesc_subslice %28[64, 0] : !a -> !part
          %30 = ttg.memdesc_index %arg8[%arg23] : !bs -> !b
          %31 = ttng.warp_group_dot %29, %30, %arg22 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %32 = ttng.warp_group_dot_wait %31 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %33 = arith.cmpi ne, %arg21, %c0_i32_4 : i32
          %34 = arith.cmpi eq, %arg23, %c0_i32_4 : i32
          %35 = arith.subi %arg23, %c1_i32_2 : i32
          %36 = arith.select %34, %c2_i32_1, %35 : i32
          %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
          ttng.arrive_barrier %37, 1, %33 : !bar
          %38 = arith.addi %arg23, %c1_i32_2 : i32
          %39 = arith.cmpi eq, %38, %c3_i32_0 : i32
          %40 = arith.select %39, %c0_i32_4, %38 : i32
          %41 = arith.xori %arg24, %c1_i32_2 : i32
          %42 = arith.select %39, %41, %arg24 : i32
          scf.yield %32, %40, %42 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %19 = ttng.warp_group_dot_wait %18#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %20 = arith.cmpi sgt, %arg14, %c0_i32_4 : i32
        %21 = arith.cmpi eq, %18#1, %c0_i32_4 : i32
        %22 = arith.subi %18#1, %c1_i32_2 : i32
        %23 = arith.select %21, %c2_i32_1, %22 : i32
        %24 = ttg.memdesc_index %arg10[%23] : !bars -> !bar
        ttng.arrive_barrier %24, 1, %20 : !bar
        %25 = arith.truncf %19 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        %26 = arith.addi %arg18, %c64_i32_3 : i32
        tt.descriptor_store %arg17[%26, %arg18], %25 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %18#1, %18#2 : i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_3, %arg20 = %c0_i32_3) -> (i32, i32)  : i32 {
        %11:2 = scf.for %arg21 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg22 = %arg19, %arg23 = %arg20) -> (i32, i32)  : i32 {
          %12 = arith.xori %arg23, %c1_i32_1 : i32
          %13 = ttg.memdesc_index %arg10[%arg22] : !bars -> !bar
          ttng.wait_barrier %13, %12 : !bar
          %14 = ttg.memdesc_index %arg9[%arg22] : !bars -> !bar
          ttng.barrier_expect %14, 24576, %true : !bar
          %15 = ttg.memdesc_index %arg7[%arg22] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg18, %arg21] %15, %14, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %16 = ttg.memdesc_index %arg8[%arg22] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg21, %arg18] %16, %14, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %17 = arith.addi %arg22, %c1_i32_1 : i32
          %18 = arith.cmpi eq, %17, %c3_i32_0 : i32
          %19 = arith.select %18, %c0_i32_3, %17 : i32
          %20 = arith.select %18, %12, %arg23 : i32
          scf.yield %19, %20 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %11#0, %11#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group begins behind a slot that need not come.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<64x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    ttng.init_barrier %3, 1 : !bar
    %4 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %4, 1 : !bar
    %5 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.local_alloc : () -> !bars
    %7 = ttg.memdesc_index %6[%c0_i32] : !bars -> !bar
    ttng.init_barrier %7, 2 : !bar
    %8 = ttg.memdesc_index %6[%c1_i32] : !bars -> !bar
    ttng.init_barrier %8, 2 : !bar
    %9 = ttg.memdesc_index %6[%c2_i32] : !bars -> !bar
    ttng.init_barrier %9, 2 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %6, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %10:2 = scf.for %arg7 = %arg3 to %arg4 step %arg6 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32) -> (i32, i32)  : i32 {
        %11:3 = scf.for %arg10 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg11 = %cst, %arg12 = %arg8, %arg13 = %arg9) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %19 = ttg.memdesc_index %2[%arg12] : !bars -> !bar
          ttng.wait_barrier %19, %arg13 : !bar
          %20 = ttg.memdesc_index %0[%arg12] : !as -> !a
          %21 = ttg.memdesc_subslice %20[0, 0] : !a -> !part
          %22 = ttg.memdesc_index %1[%arg12] : !bs -> !b
          %23 = ttng.warp_group_dot %21, %22, %arg11 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %24 = ttng.warp_group_dot_wait %23 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %25 = arith.cmpi ne, %arg10, %c0_i32 : i32
          %26 = arith.cmpi eq, %arg12, %c0_i32 : i32
          %27 = arith.subi %arg12, %c1_i32 : i32
          %28 = arith.select %26, %c2_i32, %27 : i32
          %29 = ttg.memdesc_index %6[%28] : !bars -> !bar
          ttng.arrive_barrier %29, 1, %25 : !bar
          %30 = arith.addi %arg12, %c1_i32 : i32
          %31 = arith.cmpi eq, %30, %c3_i32 : i32
          %32 = arith.select %31, %c0_i32, %30 : i32
          %33 = arith.xori %arg13, %c1_i32 : i32
          %34 = arith.select %31, %33, %arg13 : i32
          scf.yield %24, %32, %34 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %12 = ttng.warp_group_dot_wait %11#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %13 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %14 = arith.cmpi eq, %11#1, %c0_i32 : i32
        %15 = arith.subi %11#1, %c1_i32 : i32
        %16 = arith.select %14, %c2_i32, %15 : i32
        %17 = ttg.memdesc_index %6[%16] : !bars -> !bar
        ttng.arrive_barrier %17, 1, %13 : !bar
        %18 = arith.truncf %12 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %18 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %11#1, %11#2 : i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(4) {
      %c3_i32_0 = arith.constant 3 : i32
      %c2_i32_1 = arith.constant 2 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32 = arith.constant 63 : i32
      %c64_i32_3 = arith.constant 64 : i32
      %c0_i32_4 = arith.constant 0 : i32
      %cst_5 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_4, %arg20 = %c0_i32_4) -> (i32, i32)  : i32 {
        %11 = arith.addi %arg14, %c63_i32 : i32
        %12 = arith.divsi %11, %c64_i32_3 : i32
        %13 = arith.maxsi %12, %c0_i32_4 : i32
        %14 = arith.cmpi sge, %13, %c1_i32_2 : i32
        %15 = arith.cmpi eq, %arg18, %arg11 : i32
        %16 = arith.andi %15, %14 : i1
        %17 = ttg.memdesc_index %arg9[%c1_i32_2] : !bars -> !bar
        // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
        ttng.wait_barrier %17, %c0_i32_4, %16 : !bar
        %18:3 = scf.for %arg21 = %c0_i32_4 to %arg14 step %c64_i32_3 iter_args(%arg22 = %cst_5, %arg23 = %arg19, %arg24 = %arg20) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %27 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.wait_barrier %27, %arg24 : !bar
          %28 = ttg.memdesc_index %arg7[%arg23] : !as -> !a
          %29 = ttg.memdesc_subslice %28[64, 0] : !a -> !part
          %30 = ttg.memdesc_index %arg8[%arg23] : !bs -> !b
          %31 = ttng.warp_group_dot %29, %30, %arg22 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %32 = ttng.warp_group_dot_wait %31 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %33 = arith.cmpi ne, %arg21, %c0_i32_4 : i32
          %34 = arith.cmpi eq, %arg23, %c0_i32_4 : i32
          %35 = arith.subi %arg23, %c1_i32_2 : i32
          %36 = arith.select %34, %c2_i32_1, %35 : i32
          %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
          ttng.arrive_barrier %37, 1, %33 : !bar
          %38 = arith.addi %arg23, %c1_i32_2 : i32
          %39 = arith.cmpi eq, %38, %c3_i32_0 : i32
          %40 = arith.select %39, %c0_i32_4, %38 : i32
          %41 = arith.xori %arg24, %c1_i32_2 : i32
          %42 = arith.select %39, %41, %arg24 : i32
          scf.yield %32, %40, %42 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %19 = ttng.warp_group_dot_wait %18#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %20 = arith.cmpi sgt, %arg14, %c0_i32_4 : i32
        %21 = arith.cmpi eq, %18#1, %c0_i32_4 : i32
        %22 = arith.subi %18#1, %c1_i32_2 : i32
        %23 = arith.select %21, %c2_i32_1, %22 : i32
        %24 = ttg.memdesc_index %arg10[%23] : !bars -> !bar
        ttng.arrive_barrier %24, 1, %20 : !bar
        %25 = arith.truncf %19 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        %26 = arith.addi %arg18, %c64_i32_3 : i32
        tt.descriptor_store %arg17[%26, %arg18], %25 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %18#1, %18#2 : i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_3, %arg20 = %c0_i32_3) -> (i32, i32)  : i32 {
        %11:2 = scf.for %arg21 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg22 = %arg19, %arg23 = %arg20) -> (i32, i32)  : i32 {
          %12 = arith.xori %arg23, %c1_i32_1 : i32
          %13 = ttg.memdesc_index %arg10[%arg22] : !bars -> !bar
          ttng.wait_barrier %13, %12 : !bar
          %14 = ttg.memdesc_index %arg9[%arg22] : !bars -> !bar
          ttng.barrier_expect %14, 24576, %true : !bar
          %15 = ttg.memdesc_index %arg7[%arg22] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg18, %arg21] %15, %14, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %16 = ttg.memdesc_index %arg8[%arg22] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg21, %arg18] %16, %14, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %17 = arith.addi %arg22, %c1_i32_1 : i32
          %18 = arith.cmpi eq, %17, %c3_i32_0 : i32
          %19 = arith.select %18, %c0_i32_3, %17 : i32
          %20 = arith.select %18, %12, %arg23 : i32
          scf.yield %19, %20 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %11#0, %11#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group begins late in each tile.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<64x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    ttng.init_barrier %3, 1 : !bar
    %4 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %4, 1 : !bar
    %5 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.local_alloc : () -> !bars
    %7 = ttg.memdesc_index %6[%c0_i32] : !bars -> !bar
    ttng.init_barrier %7, 2 : !bar
    %8 = ttg.memdesc_index %6[%c1_i32] : !bars -> !bar
    ttng.init_barrier %8, 2 : !bar
    %9 = ttg.memdesc_index %6[%c2_i32] : !bars -> !bar
    ttng.init_barrier %9, 2 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %6, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %10:2 = scf.for %arg7 = %arg3 to %arg4 step %arg6 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32) -> (i32, i32)  : i32 {
        %11:3 = scf.for %arg10 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg11 = %cst, %arg12 = %arg8, %arg13 = %arg9) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %19 = ttg.memdesc_index %2[%arg12] : !bars -> !bar
          ttng.wait_barrier %19, %arg13 : !bar
          %20 = ttg.memdesc_index %0[%arg12] : !as -> !a
          %21 = ttg.memdesc_subslice %20[0, 0] : !a -> !part
          %22 = ttg.memdesc_index %1[%arg12] : !bs -> !b
          %23 = ttng.warp_group_dot %21, %22, %arg11 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %24 = ttng.warp_group_dot_wait %23 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %25 = arith.cmpi ne, %arg10, %c0_i32 : i32
          %26 = arith.cmpi eq, %arg12, %c0_i32 : i32
          %27 = arith.subi %arg12, %c1_i32 : i32
          %28 = arith.select %26, %c2_i32, %27 : i32
          %29 = ttg.memdesc_index %6[%28] : !bars -> !bar
          ttng.arrive_barrier %29, 1, %25 : !bar
          %30 = arith.addi %arg12, %c1_i32 : i32
          %31 = arith.cmpi eq, %30, %c3_i32 : i32
          %32 = arith.select %31, %c0_i32, %30 : i32
          %33 = arith.xori %arg13, %c1_i32 : i32
          %34 = arith.select %31, %33, %arg13 : i32
          scf.yield %24, %32, %34 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %12 = ttng.warp_group_dot_wait %11#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %13 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %14 = arith.cmpi eq, %11#1, %c0_i32 : i32
        %15 = arith.subi %11#1, %c1_i32 : i32
        %16 = arith.select %14, %c2_i32, %15 : i32
        %17 = ttg.memdesc_index %6[%16] : !bars -> !bar
        ttng.arrive_barrier %17, 1, %13 : !bar
        %18 = arith.truncf %12 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %18 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %11#1, %11#2 : i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(4) {
      %c3_i32_0 = arith.constant 3 : i32
      %c2_i32_1 = arith.constant 2 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32 = arith.constant 63 : i32
      %c64_i32_3 = arith.constant 64 : i32
      %c0_i32_4 = arith.constant 0 : i32
      %cst_5 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_4, %arg20 = %c0_i32_4) -> (i32, i32)  : i32 {
        %11 = arith.addi %arg14, %c63_i32 : i32
        %12 = arith.divsi %11, %c64_i32_3 : i32
        %13 = arith.maxsi %12, %c0_i32_4 : i32
        %14 = arith.cmpi sgt, %13, %c1_i32_2 : i32
        %15 = arith.cmpi eq, %arg18, %arg11 : i32
        %16 = arith.andi %15, %14 : i1
        %17 = ttg.memdesc_index %arg9[%c1_i32_2] : !bars -> !bar
        // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait returns a phase too early}}
        ttng.wait_barrier %17, %c0_i32_4, %14 : !bar
        %18:3 = scf.for %arg21 = %c0_i32_4 to %arg14 step %c64_i32_3 iter_args(%arg22 = %cst_5, %arg23 = %arg19, %arg24 = %arg20) -> (tensor<64x64xf32, #mma>, i32, i32)  : i32 {
          %27 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.wait_barrier %27, %arg24 : !bar
          %28 = ttg.memdesc_index %arg7[%arg23] : !as -> !a
          %29 = ttg.memdesc_subslice %28[64, 0] : !a -> !part
          %30 = ttg.memdesc_index %arg8[%arg23] : !bs -> !b
          %31 = ttng.warp_group_dot %29, %30, %arg22 {inputPrecision = 0 : i32, isAsync = true} : !part * !b -> tensor<64x64xf32, #mma>
          %32 = ttng.warp_group_dot_wait %31 {pendings = 1 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
          %33 = arith.cmpi ne, %arg21, %c0_i32_4 : i32
          %34 = arith.cmpi eq, %arg23, %c0_i32_4 : i32
          %35 = arith.subi %arg23, %c1_i32_2 : i32
          %36 = arith.select %34, %c2_i32_1, %35 : i32
          %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
          ttng.arrive_barrier %37, 1, %33 : !bar
          %38 = arith.addi %arg23, %c1_i32_2 : i32
          %39 = arith.cmpi eq, %38, %c3_i32_0 : i32
          %40 = arith.select %39, %c0_i32_4, %38 : i32
          %41 = arith.xori %arg24, %c1_i32_2 : i32
          %42 = arith.select %39, %41, %arg24 : i32
          scf.yield %32, %40, %42 : tensor<64x64xf32, #mma>, i32, i32
        } {tt.num_stages = 0 : i32}
        %19 = ttng.warp_group_dot_wait %18#0 {pendings = 0 : i32, warpGroupLocal} : tensor<64x64xf32, #mma>
        %20 = arith.cmpi sgt, %arg14, %c0_i32_4 : i32
        %21 = arith.cmpi eq, %18#1, %c0_i32_4 : i32
        %22 = arith.subi %18#1, %c1_i32_2 : i32
        %23 = arith.select %21, %c2_i32_1, %22 : i32
        %24 = ttg.memdesc_index %arg10[%23] : !bars -> !bar
        ttng.arrive_barrier %24, 1, %20 : !bar
        %25 = arith.truncf %19 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
        %26 = arith.addi %arg18, %c64_i32_3 : i32
        tt.descriptor_store %arg17[%26, %arg18], %25 : !tt.tensordesc<64x64xf16, #shared>, tensor<64x64xf16, #mma>
        scf.yield %18#1, %18#2 : i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !tt.tensordesc<64x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %10:2 = scf.for %arg18 = %arg11 to %arg12 step %arg13 iter_args(%arg19 = %c0_i32_3, %arg20 = %c0_i32_3) -> (i32, i32)  : i32 {
        %11:2 = scf.for %arg21 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg22 = %arg19, %arg23 = %arg20) -> (i32, i32)  : i32 {
          %12 = arith.xori %arg23, %c1_i32_1 : i32
          %13 = ttg.memdesc_index %arg10[%arg22] : !bars -> !bar
          ttng.wait_barrier %13, %12 : !bar
          %14 = ttg.memdesc_index %arg9[%arg22] : !bars -> !bar
          ttng.barrier_expect %14, 24576, %true : !bar
          %15 = ttg.memdesc_index %arg7[%arg22] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg18, %arg21] %15, %14, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %16 = ttg.memdesc_index %arg8[%arg22] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg21, %arg18] %16, %14, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %17 = arith.addi %arg22, %c1_i32_1 : i32
          %18 = arith.cmpi eq, %17, %c3_i32_0 : i32
          %19 = arith.select %18, %c0_i32_3, %17 : i32
          %20 = arith.select %18, %12, %arg23 : i32
          scf.yield %19, %20 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %11#0, %11#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The first group does not hand over.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c1_i32) -> (i32, i32, i32)  : i32 {
        ttng.wait_barrier %5, %arg10 : !bar
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        ttng.arrive_barrier %6, 1, %23 : !bar
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %34, %37, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %20 to %arg12 step %26 iter_args(%arg20 = %23, %arg21 = %25, %arg22 = %c0_i32_5) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The first group hands over twice.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c1_i32) -> (i32, i32, i32)  : i32 {
        ttng.wait_barrier %5, %arg10 : !bar
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
            ttng.arrive_barrier %6, 1 : !bar
            ttng.arrive_barrier %6, 1 : !bar
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        ttng.arrive_barrier %6, 1, %23 : !bar
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %34, %37, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %20 to %arg12 step %26 iter_args(%arg20 = %23, %arg21 = %25, %arg22 = %c0_i32_5) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// A tile without products does not hand over.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c1_i32) -> (i32, i32, i32)  : i32 {
        ttng.wait_barrier %5, %arg10 : !bar
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
            ttng.arrive_barrier %6, 1 : !bar
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %34, %37, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %20 to %arg12 step %26 iter_args(%arg20 = %23, %arg21 = %25, %arg22 = %c0_i32_5) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// Both groups begin.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c1_i32) -> (i32, i32, i32)  : i32 {
        ttng.wait_barrier %5, %arg10 : !bar
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
            ttng.arrive_barrier %6, 1 : !bar
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        ttng.arrive_barrier %6, 1, %23 : !bar
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %34, %37, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %20 to %arg12 step %26 iter_args(%arg20 = %23, %arg21 = %25, %arg22 = %c1_i32_2) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// Neither group begins.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c0_i32) -> (i32, i32, i32)  : i32 {
        // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
        ttng.wait_barrier %5, %arg10 : !bar
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
            ttng.arrive_barrier %6, 1 : !bar
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        ttng.arrive_barrier %6, 1, %23 : !bar
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %34, %37, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %20 to %arg12 step %26 iter_args(%arg20 = %23, %arg21 = %25, %arg22 = %c0_i32_5) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group begins with the first tile.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c1_i32) -> (i32, i32, i32)  : i32 {
        ttng.wait_barrier %5, %arg10 : !bar
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
            ttng.arrive_barrier %6, 1 : !bar
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        ttng.arrive_barrier %6, 1, %23 : !bar
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %34, %37, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %arg11 to %arg12 step %26 iter_args(%arg20 = %23, %arg21 = %25, %arg22 = %c0_i32_5) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The second group begins with the slot of the first.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c1_i32) -> (i32, i32, i32)  : i32 {
        ttng.wait_barrier %5, %arg10 : !bar
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
            ttng.arrive_barrier %6, 1 : !bar
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        ttng.arrive_barrier %6, 1, %23 : !bar
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %34, %37, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %20 to %arg12 step %26 iter_args(%arg20 = %c0_i32_5, %arg21 = %25, %arg22 = %c0_i32_5) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The first group does not pass over the slots of the second.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c1_i32) -> (i32, i32, i32)  : i32 {
        ttng.wait_barrier %5, %arg10 : !bar
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
            ttng.arrive_barrier %6, 1 : !bar
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        ttng.arrive_barrier %6, 1, %23 : !bar
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %22#1, %22#2, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %20 to %arg12 step %26 iter_args(%arg20 = %23, %arg21 = %25, %arg22 = %c0_i32_5) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}

// -----

// The first group waits for no turn.
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #shared1, #smem, mutable>
!bars = !ttg.memdesc<3x1xi64, #shared1, #smem, mutable>
!as = !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
!bs = !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
!a = !ttg.memdesc<128x64xf16, #shared, #smem>
!b = !ttg.memdesc<64x64xf16, #shared, #smem>
!part = !ttg.memdesc<64x64xf16, #shared, #smem, 128x64>
module attributes {ttg.maxnreg = 168 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel(%arg0: !tt.tensordesc<128x64xf16, #shared>, %arg1: !tt.tensordesc<64x64xf16, #shared>, %arg2: !tt.tensordesc<128x64xf16, #shared>, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32) {
    %c3_i32 = arith.constant 3 : i32
    %c63_i32 = arith.constant 63 : i32
    %cst = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
    %c64_i32 = arith.constant 64 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> !as
    %1 = ttg.local_alloc : () -> !bs
    %2 = ttg.local_alloc : () -> !bars
    %3 = ttg.memdesc_index %2[%c0_i32] : !bars -> !bar
    %4 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>
    %5 = ttg.memdesc_index %4[%c0_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %5, 1 : !bar
    %6 = ttg.memdesc_index %4[%c1_i32] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
    ttng.init_barrier %6, 1 : !bar
    ttng.init_barrier %3, 1 : !bar
    %7 = ttg.memdesc_index %2[%c1_i32] : !bars -> !bar
    ttng.init_barrier %7, 1 : !bar
    %8 = ttg.memdesc_index %2[%c2_i32] : !bars -> !bar
    ttng.init_barrier %8, 1 : !bar
    %9 = ttg.local_alloc : () -> !bars
    %10 = ttg.memdesc_index %9[%c0_i32] : !bars -> !bar
    ttng.init_barrier %10, 1 : !bar
    %11 = ttg.memdesc_index %9[%c1_i32] : !bars -> !bar
    ttng.init_barrier %11, 1 : !bar
    %12 = ttg.memdesc_index %9[%c2_i32] : !bars -> !bar
    ttng.init_barrier %12, 1 : !bar
    ttng.fence_async_shared {bCluster = false}
    ttg.barrier local
    ttg.warp_specialize(%0, %1, %2, %9, %arg3, %arg4, %arg6, %arg5, %arg0, %arg1, %4, %arg2) attributes {requestedRegisters = array<i32: 232, 40>}
    default {
      %13 = arith.addi %arg5, %c63_i32 : i32
      %14 = arith.divsi %13, %c64_i32 : i32
      %15 = arith.maxsi %14, %c0_i32 : i32
      %16 = arith.subi %15, %c1_i32 : i32
      %17 = arith.remsi %15, %c3_i32 : i32
      %18 = arith.divsi %15, %c3_i32 : i32
      %19 = arith.andi %18, %c1_i32 : i32
      %20 = arith.addi %arg6, %arg6 : i32
      %21:3 = scf.for %arg7 = %arg3 to %arg4 step %20 iter_args(%arg8 = %c0_i32, %arg9 = %c0_i32, %arg10 = %c1_i32) -> (i32, i32, i32)  : i32 {
        %22:4 = scf.for %arg11 = %c0_i32 to %arg5 step %c64_i32 iter_args(%arg12 = %cst, %arg13 = %arg8, %arg14 = %arg9, %arg15 = %c0_i32) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %39 = ttg.memdesc_index %2[%arg13] : !bars -> !bar
          // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait returns a phase too early}}
          ttng.wait_barrier %39, %arg14 : !bar
          %40 = arith.cmpi eq, %arg15, %16 : i32
          scf.if %40 {
            ttng.arrive_barrier %6, 1 : !bar
          }
          %41 = ttg.memdesc_index %0[%arg13] : !as -> !a
          %42 = ttg.memdesc_index %1[%arg13] : !bs -> !b
          %43 = ttng.warp_group_dot %41, %42, %arg12 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %44 = ttng.warp_group_dot_wait %43 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %45 = arith.cmpi ne, %arg11, %c0_i32 : i32
          %46 = arith.cmpi eq, %arg13, %c0_i32 : i32
          %47 = arith.subi %arg13, %c1_i32 : i32
          %48 = arith.select %46, %c2_i32, %47 : i32
          %49 = ttg.memdesc_index %9[%48] : !bars -> !bar
          ttng.arrive_barrier %49, 1, %45 : !bar
          %50 = arith.addi %arg13, %c1_i32 : i32
          %51 = arith.cmpi eq, %50, %c3_i32 : i32
          %52 = arith.select %51, %c0_i32, %50 : i32
          %53 = arith.xori %arg14, %c1_i32 : i32
          %54 = arith.select %51, %53, %arg14 : i32
          %55 = arith.addi %arg15, %c1_i32 : i32
          scf.yield %44, %52, %54, %55 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %23 = arith.cmpi eq, %15, %c0_i32 : i32
        ttng.arrive_barrier %6, 1, %23 : !bar
        %24 = ttng.warp_group_dot_wait %22#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %25 = arith.cmpi sgt, %arg5, %c0_i32 : i32
        %26 = arith.cmpi eq, %22#1, %c0_i32 : i32
        %27 = arith.subi %22#1, %c1_i32 : i32
        %28 = arith.select %26, %c2_i32, %27 : i32
        %29 = ttg.memdesc_index %9[%28] : !bars -> !bar
        ttng.arrive_barrier %29, 1, %25 : !bar
        %30 = arith.truncf %24 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg2[%arg7, %arg7], %30 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %31 = arith.addi %22#1, %17 : i32
        %32 = arith.cmpi sge, %31, %c3_i32 : i32
        %33 = arith.subi %31, %c3_i32 : i32
        %34 = arith.select %32, %33, %31 : i32
        %35 = arith.xori %22#2, %19 : i32
        %36 = arith.xori %35, %c1_i32 : i32
        %37 = arith.select %32, %36, %35 : i32
        %38 = arith.xori %arg10, %c1_i32 : i32
        scf.yield %34, %37, %38 : i32, i32, i32
      }
      ttg.warp_yield
    }
    partition0(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(4) {
      %c2_i32_0 = arith.constant 2 : i32
      %c3_i32_1 = arith.constant 3 : i32
      %c1_i32_2 = arith.constant 1 : i32
      %c63_i32_3 = arith.constant 63 : i32
      %c64_i32_4 = arith.constant 64 : i32
      %c0_i32_5 = arith.constant 0 : i32
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #mma>
      %13 = arith.addi %arg14, %c63_i32_3 : i32
      %14 = arith.divsi %13, %c64_i32_4 : i32
      %15 = arith.maxsi %14, %c0_i32_5 : i32
      %16 = arith.subi %15, %c1_i32_2 : i32
      %17 = arith.remsi %15, %c3_i32_1 : i32
      %18 = arith.divsi %15, %c3_i32_1 : i32
      %19 = arith.andi %18, %c1_i32_2 : i32
      %20 = arith.addi %arg11, %arg13 : i32
      %21 = arith.cmpi sge, %17, %c3_i32_1 : i32
      %22 = arith.subi %17, %c3_i32_1 : i32
      %23 = arith.select %21, %22, %17 : i32
      %24 = arith.xori %19, %c1_i32_2 : i32
      %25 = arith.select %21, %24, %19 : i32
      %26 = arith.addi %arg13, %arg13 : i32
      %27:3 = scf.for %arg19 = %20 to %arg12 step %26 iter_args(%arg20 = %23, %arg21 = %25, %arg22 = %c0_i32_5) -> (i32, i32, i32)  : i32 {
        %28 = ttg.memdesc_index %arg17[%c1_i32_2] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.wait_barrier %28, %arg22 : !bar
        %29:4 = scf.for %arg23 = %c0_i32_5 to %arg14 step %c64_i32_4 iter_args(%arg24 = %cst_6, %arg25 = %arg20, %arg26 = %arg21, %arg27 = %c0_i32_5) -> (tensor<128x64xf32, #mma>, i32, i32, i32)  : i32 {
          %47 = ttg.memdesc_index %arg9[%arg25] : !bars -> !bar
          ttng.wait_barrier %47, %arg26 : !bar
          %48 = arith.cmpi eq, %arg27, %16 : i32
          scf.if %48 {
            %64 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
            ttng.arrive_barrier %64, 1 : !bar
          }
          %49 = ttg.memdesc_index %arg7[%arg25] : !as -> !a
          %50 = ttg.memdesc_index %arg8[%arg25] : !bs -> !b
          %51 = ttng.warp_group_dot %49, %50, %arg24 {inputPrecision = 0 : i32, isAsync = true} : !a * !b -> tensor<128x64xf32, #mma>
          %52 = ttng.warp_group_dot_wait %51 {pendings = 1 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
          %53 = arith.cmpi ne, %arg23, %c0_i32_5 : i32
          %54 = arith.cmpi eq, %arg25, %c0_i32_5 : i32
          %55 = arith.subi %arg25, %c1_i32_2 : i32
          %56 = arith.select %54, %c2_i32_0, %55 : i32
          %57 = ttg.memdesc_index %arg10[%56] : !bars -> !bar
          ttng.arrive_barrier %57, 1, %53 : !bar
          %58 = arith.addi %arg25, %c1_i32_2 : i32
          %59 = arith.cmpi eq, %58, %c3_i32_1 : i32
          %60 = arith.select %59, %c0_i32_5, %58 : i32
          %61 = arith.xori %arg26, %c1_i32_2 : i32
          %62 = arith.select %59, %61, %arg26 : i32
          %63 = arith.addi %arg27, %c1_i32_2 : i32
          scf.yield %52, %60, %62, %63 : tensor<128x64xf32, #mma>, i32, i32, i32
        } {tt.num_stages = 0 : i32}
        %30 = arith.cmpi eq, %15, %c0_i32_5 : i32
        %31 = ttg.memdesc_index %arg17[%c0_i32_5] : !ttg.memdesc<2x1xi64, #shared1, #smem, mutable> -> !bar
        ttng.arrive_barrier %31, 1, %30 : !bar
        %32 = ttng.warp_group_dot_wait %29#0 {pendings = 0 : i32, warpGroupLocal} : tensor<128x64xf32, #mma>
        %33 = arith.cmpi sgt, %arg14, %c0_i32_5 : i32
        %34 = arith.cmpi eq, %29#1, %c0_i32_5 : i32
        %35 = arith.subi %29#1, %c1_i32_2 : i32
        %36 = arith.select %34, %c2_i32_0, %35 : i32
        %37 = ttg.memdesc_index %arg10[%36] : !bars -> !bar
        ttng.arrive_barrier %37, 1, %33 : !bar
        %38 = arith.truncf %32 : tensor<128x64xf32, #mma> to tensor<128x64xf16, #mma>
        tt.descriptor_store %arg18[%arg19, %arg19], %38 : !tt.tensordesc<128x64xf16, #shared>, tensor<128x64xf16, #mma>
        %39 = arith.addi %29#1, %17 : i32
        %40 = arith.cmpi sge, %39, %c3_i32_1 : i32
        %41 = arith.subi %39, %c3_i32_1 : i32
        %42 = arith.select %40, %41, %39 : i32
        %43 = arith.xori %29#2, %19 : i32
        %44 = arith.xori %43, %c1_i32_2 : i32
        %45 = arith.select %40, %44, %43 : i32
        %46 = arith.xori %arg22, %c1_i32_2 : i32
        scf.yield %42, %45, %46 : i32, i32, i32
      }
      ttg.warp_return
    }
    partition1(%arg7: !as, %arg8: !bs, %arg9: !bars, %arg10: !bars, %arg11: i32, %arg12: i32, %arg13: i32, %arg14: i32, %arg15: !tt.tensordesc<128x64xf16, #shared>, %arg16: !tt.tensordesc<64x64xf16, #shared>, %arg17: !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, %arg18: !tt.tensordesc<128x64xf16, #shared>) num_warps(1) {
      %c3_i32_0 = arith.constant 3 : i32
      %true = arith.constant true
      %c1_i32_1 = arith.constant 1 : i32
      %c64_i32_2 = arith.constant 64 : i32
      %c0_i32_3 = arith.constant 0 : i32
      %13:2 = scf.for %arg19 = %arg11 to %arg12 step %arg13 iter_args(%arg20 = %c0_i32_3, %arg21 = %c0_i32_3) -> (i32, i32)  : i32 {
        %14:2 = scf.for %arg22 = %c0_i32_3 to %arg14 step %c64_i32_2 iter_args(%arg23 = %arg20, %arg24 = %arg21) -> (i32, i32)  : i32 {
          %15 = arith.xori %arg24, %c1_i32_1 : i32
          %16 = ttg.memdesc_index %arg10[%arg23] : !bars -> !bar
          ttng.wait_barrier %16, %15 : !bar
          %17 = ttg.memdesc_index %arg9[%arg23] : !bars -> !bar
          ttng.barrier_expect %17, 24576, %true : !bar
          %18 = ttg.memdesc_index %arg7[%arg23] : !as -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg15[%arg19, %arg22] %18, %17, %true : !tt.tensordesc<128x64xf16, #shared>, !bar -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
          %19 = ttg.memdesc_index %arg8[%arg23] : !bs -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          ttng.async_tma_copy_global_to_local %arg16[%arg22, %arg19] %19, %17, %true : !tt.tensordesc<64x64xf16, #shared>, !bar -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %20 = arith.addi %arg23, %c1_i32_1 : i32
          %21 = arith.cmpi eq, %20, %c3_i32_0 : i32
          %22 = arith.select %21, %c0_i32_3, %20 : i32
          %23 = arith.select %21, %15, %arg24 : i32
          scf.yield %22, %23 : i32, i32
        } {tt.num_stages = 0 : i32}
        scf.yield %14#0, %14#1 : i32, i32
      } {tt.num_stages = 0 : i32}
      ttg.warp_return
    } : (!as, !bs, !bars, !bars, i32, i32, i32, i32, !tt.tensordesc<128x64xf16, #shared>, !tt.tensordesc<64x64xf16, #shared>, !ttg.memdesc<2x1xi64, #shared1, #smem, mutable>, !tt.tensordesc<128x64xf16, #shared>) -> ()
    tt.return
  }
}
