// Threads copy one operand and TMA the other, and both arrive at the barrier of a slot.
// RUN: %opt %s --pass warpspec-audit-barriers | FileCheck %s

// CHECK-LABEL: @right
// CHECK: ttng.async_copy_mbarrier_arrive

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!pointers = tensor<64x64x!tt.ptr<f16>, #blocked>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @right(%pa: !tt.ptr<f16>, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 129 : !bar
  ttng.init_barrier %f1, 129 : !bar
  ttng.init_barrier %e0, 1 : !bar
  ttng.init_barrier %e1, 1 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %pa, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      ttng.fence_async_shared {bCluster = false}
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 1, %later : !bar
      %over = arith.cmpi eq, %slot, %c1 : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next = arith.xori %slot, %c1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %w, %next, %nextPhase : !sum, i32, i32
    }
    %sum = ttng.warp_group_dot_wait %r#0 {pendings = 0 : i32} : !sum
    %ran = arith.cmpi slt, %c0, %size : i32
    %last = arith.xori %r#1, %c1 : i32
    %el = ttg.memdesc_index %empty[%last] : !bars -> !bar
    ttng.arrive_barrier %el, 1, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%sa: !ring, %sb: !ring, %pfull: !bars, %pempty: !bars, %base: !tt.ptr<f16>, %pdb: !desc, %psize: i32) num_warps(4) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %at = tt.splat %base : !tt.ptr<f16> -> !pointers
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 8192, %ptrue : !bar
      %ta = ttg.memdesc_index %sa[%slot] : !ring -> !tile
      %copied = ttg.async_copy_global_to_local %at, %ta : !pointers -> !tile
      %tb = ttg.memdesc_index %sb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      ttng.async_copy_mbarrier_arrive %f {noIncrement} : !bar
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !tt.ptr<f16>, !desc, i32) -> ()
  tt.return
}
}
