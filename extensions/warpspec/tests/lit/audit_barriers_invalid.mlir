// Protocols that are broken by hand, each in one place.
// RUN: %opt %s --pass warpspec-audit-barriers --verify-diagnostics

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @consumer_waits_for_nothing(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is read that nothing fills}}
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @producer_waits_for_nothing(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that more arrive at a barrier than a phase takes}}
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @producer_starts_in_wrong_phase(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p0) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @consumer_starts_in_wrong_phase(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c1) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is read that nothing fills}}
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @consumer_phase_stands_still(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait returns a phase too early}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
      %over = arith.cmpi eq, %slot, %c1 : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next = arith.xori %slot, %c1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %w, %next, %phase : !sum, i32, i32
    }
    %sum = ttng.warp_group_dot_wait %r#0 {pendings = 0 : i32} : !sum
    %ran = arith.cmpi slt, %c0, %size : i32
    %last = arith.xori %r#1, %c1 : i32
    %el = ttg.memdesc_index %empty[%last] : !bars -> !bar
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @producer_phase_stands_still(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait returns a phase too early}}
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %phase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @consumer_slot_stands_still(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait returns a phase too early}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
      %over = arith.cmpi eq, %slot, %c1 : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next = arith.xori %slot, %c1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %w, %slot, %nextPhase : !sum, i32, i32
    }
    %sum = ttng.warp_group_dot_wait %r#0 {pendings = 0 : i32} : !sum
    %ran = arith.cmpi slt, %c0, %size : i32
    %last = arith.xori %r#1, %c1 : i32
    %el = ttg.memdesc_index %empty[%last] : !bars -> !bar
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @slot_of_this_iteration_given_back(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%slot] : !bars -> !bar
      ttng.arrive_barrier %e, 4 : !bar
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
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is filled while a product reads it}}
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @slot_given_back_twice(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4 : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is filled while a product reads it}}
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @last_slot_not_given_back(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c5 = arith.constant 5 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 2, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @too_many_arrivals(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that more arrive at a barrier than a phase takes}}
      ttng.arrive_barrier %e, 8, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @too_many_in_flight(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 2 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is filled while a product reads it}}
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @sum_used_too_early(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
      %over = arith.cmpi eq, %slot, %c1 : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next = arith.xori %slot, %c1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %w, %next, %nextPhase : !sum, i32, i32
    }
    %ran = arith.cmpi slt, %c0, %size : i32
    %last = arith.xori %r#1, %c1 : i32
    %el = ttg.memdesc_index %empty[%last] : !bars -> !bar
    ttng.arrive_barrier %el, 4, %ran : !bar
    // expected-error @below {{expected tasks that wait for each other as they have to, got that the sum of a product is used before the product has ended}}
    tt.store %out, %r#0 : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @products_not_ended(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      // expected-error @below {{expected tasks that wait for each other as they have to, got that products go on when their task ends}}
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
      %over = arith.cmpi eq, %slot, %c1 : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next = arith.xori %slot, %c1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %w, %next, %nextPhase : !sum, i32, i32
    }
    %ran = arith.cmpi slt, %c0, %size : i32
    %last = arith.xori %r#1, %c1 : i32
    %el = ttg.memdesc_index %empty[%last] : !bars -> !bar
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @too_few_bytes_expected(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 8192, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that more bytes are copied than a phase expects}}
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @too_many_bytes_expected(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 24576, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @nothing_expected(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @copy_to_another_slot(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is read that nothing fills}}
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %next = arith.xori %slot, %p1 : i32
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%next] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @copy_signals_another_barrier(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait does not return}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %e, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @tile_is_not_copied(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is read that nothing fills}}
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 8192, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @tile_is_not_read(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is copied and not read}}
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %ta, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @producer_runs_less(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p1 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that nothing waits for a copy}}
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @producer_runs_more(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %plarge = arith.addi %psize, %p1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %plarge step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that nothing waits for a copy}}
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @barrier_not_initialised(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a barrier is used that is not initialised}}
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @barrier_initialised_somewhere(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%size] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  // expected-error @below {{expected tasks that wait for each other as they have to, got that it is not known which barrier is initialised}}
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @barrier_of_unknown_slot(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%k] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a barrier is used that is not initialised}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @barrier_chosen_by_size(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%size] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that it is not known which barrier or tile an op is about}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @barrier_of_another_block(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a barrier of another block is signalled}}
      ttng.arrive_barrier %e, 4, %later {fromCTA = 0 : i32} : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @unknown_phase(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that the phase that a wait is for is not known}}
      ttng.wait_barrier %f, %size : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @unknown_condition(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %maybe = arith.cmpi sle, %k, %c2 : i32
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that it is not known whether an op happens}}
      ttng.arrive_barrier %e, 4, %maybe : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @unstructured(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  // expected-error @below {{expected tasks that wait for each other as they have to, got that the control flow of a task is not structured}}
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    cf.br ^next
  ^next:
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @foreign_access(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %junk = arith.constant dense<0.0> : tensor<64x64xf16, #mma>
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is filled while a product reads it}}
      ttg.local_store %junk, %ta : tensor<64x64xf16, #mma> -> !tile
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @while_around_ring(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
      %over = arith.cmpi eq, %slot, %c1 : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next = arith.xori %slot, %c1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %w, %next, %nextPhase : !sum, i32, i32
    }
    %sum = ttng.warp_group_dot_wait %r#0 {pendings = 0 : i32} : !sum
    // expected-error @below {{expected tasks that wait for each other as they have to, got that an op with code in it is not known}}
    scf.while : () -> () {
      %go = arith.cmpi slt, %c0, %size : i32
      scf.condition(%go)
    } do {
      ttng.wait_barrier %f0, %c0 : !bar
      scf.yield
    }
    %ran = arith.cmpi slt, %c0, %size : i32
    %last = arith.xori %r#1, %c1 : i32
    %el = ttg.memdesc_index %empty[%last] : !bars -> !bar
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @producer_does_not_wait_for_its_copies(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a wait returns a phase too early}}
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @slot_is_given_back_before_it_is_read(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %e = ttg.memdesc_index %empty[%slot] : !bars -> !bar
      ttng.arrive_barrier %e, 4 : !bar
      %d = ttng.warp_group_dot %ta, %tb, %c : !tile * !tile -> !sum
      %over = arith.cmpi eq, %slot, %c1 : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next = arith.xori %slot, %c1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %d, %next, %nextPhase : !sum, i32, i32
    }
    tt.store %out, %r#0 : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a tile is filled again before it was read}}
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
!factor = tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @registers_are_given_away(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %ra = ttg.local_load %ta : !tile -> !factor
      %d = ttng.warp_group_dot %ra, %tb, %c {isAsync = true} : !factor * !tile -> !sum
      // expected-error @below {{expected tasks that wait for each other as they have to, got that a product ends of which nothing has kept the registers}}
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
!bars = !ttg.memdesc<2x1xi64, #bars, #smem, mutable>
!tile = !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
!ring = !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>
!desc = !tt.tensordesc<64x64xf16, #shared>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @loops_are_long(%da: !desc, %db: !desc, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %many = arith.constant 32 : i32
  %true = arith.constant true
  %zero = arith.constant dense<0.000000e+00> : !sum
  %a = ttg.local_alloc : () -> !ring
  %b = ttg.local_alloc : () -> !ring
  %full = ttg.local_alloc : () -> !bars
  %empty = ttg.local_alloc : () -> !bars
  %f0 = ttg.memdesc_index %full[%c0] : !bars -> !bar
  %f1 = ttg.memdesc_index %full[%c1] : !bars -> !bar
  %e0 = ttg.memdesc_index %empty[%c0] : !bars -> !bar
  %e1 = ttg.memdesc_index %empty[%c1] : !bars -> !bar
  ttng.init_barrier %f0, 1 : !bar
  ttng.init_barrier %f1, 1 : !bar
  ttng.init_barrier %e0, 4 : !bar
  ttng.init_barrier %e1, 4 : !bar
  ttg.warp_specialize(%a, %b, %full, %empty, %da, %db, %size)
  default {
    %r:3 = scf.for %k = %c0 to %size step %c1 iter_args(%c = %zero, %slot = %c0, %phase = %c0) -> (!sum, i32, i32) : i32 {
      %f = ttg.memdesc_index %full[%slot] : !bars -> !bar
      ttng.wait_barrier %f, %phase : !bar
      %ta = ttg.memdesc_index %a[%slot] : !ring -> !tile
      %tb = ttg.memdesc_index %b[%slot] : !ring -> !tile
      %d = ttng.warp_group_dot %ta, %tb, %c {isAsync = true} : !tile * !tile -> !sum
      %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : !sum
      %later = arith.cmpi ne, %k, %c0 : i32
      %before = arith.xori %slot, %c1 : i32
      %e = ttg.memdesc_index %empty[%before] : !bars -> !bar
      ttng.arrive_barrier %e, 4, %later : !bar
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
    ttng.arrive_barrier %el, 4, %ran : !bar
    %n0 = scf.for %i0 = %c0 to %many step %c1 iter_args(%v0 = %c0) -> (i32) : i32 {
      %n1 = scf.for %i1 = %c0 to %many step %c1 iter_args(%v1 = %v0) -> (i32) : i32 {
        %n2 = scf.for %i2 = %c0 to %many step %c1 iter_args(%v2 = %v1) -> (i32) : i32 {
          %n3 = scf.for %i3 = %c0 to %many step %c1 iter_args(%v3 = %v2) -> (i32) : i32 {
            %n4 = scf.for %i4 = %c0 to %many step %c1 iter_args(%v4 = %v3) -> (i32) : i32 {
              %n5 = scf.for %i5 = %c0 to %many step %c1 iter_args(%v5 = %v4) -> (i32) : i32 {
                %n6 = scf.for %i6 = %c0 to %many step %c1 iter_args(%v6 = %v5) -> (i32) : i32 {
                  %n7 = scf.for %i7 = %c0 to %many step %c1 iter_args(%v7 = %v6) -> (i32) : i32 {
                    // expected-error @below {{expected tasks that wait for each other as they have to, got that its loops take too long to be audited}}
                    %u = arith.addi %v7, %c1 : i32
                    scf.yield %u : i32
                  }
                  scf.yield %n7 : i32
                }
                scf.yield %n6 : i32
              }
              scf.yield %n5 : i32
            }
            scf.yield %n4 : i32
          }
          scf.yield %n3 : i32
        }
        scf.yield %n2 : i32
      }
      scf.yield %n1 : i32
    }
    tt.store %out, %sum : tensor<64x64x!tt.ptr<f32>, #mma>
    ttg.warp_yield
  }
  partition0(%pa: !ring, %pb: !ring, %pfull: !bars, %pempty: !bars, %pda: !desc, %pdb: !desc, %psize: i32) num_warps(1) {
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ptrue = arith.constant true
    %q:2 = scf.for %k = %p0 to %psize step %p1 iter_args(%slot = %p0, %phase = %p1) -> (i32, i32) : i32 {
      %e = ttg.memdesc_index %pempty[%slot] : !bars -> !bar
      ttng.wait_barrier %e, %phase : !bar
      %f = ttg.memdesc_index %pfull[%slot] : !bars -> !bar
      ttng.barrier_expect %f, 16384, %ptrue : !bar
      %ta = ttg.memdesc_index %pa[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pda[%p0, %k] %ta, %f, %ptrue : !desc, !bar -> !tile
      %tb = ttg.memdesc_index %pb[%slot] : !ring -> !tile
      ttng.async_tma_copy_global_to_local %pdb[%k, %p0] %tb, %f, %ptrue : !desc, !bar -> !tile
      %over = arith.cmpi eq, %slot, %p1 : i32
      %flipped = arith.xori %phase, %p1 : i32
      %next = arith.xori %slot, %p1 : i32
      %nextPhase = arith.select %over, %flipped, %phase : i32
      scf.yield %next, %nextPhase : i32, i32
    }
    ttg.warp_return
  } : (!ring, !ring, !bars, !bars, !desc, !desc, i32) -> ()
  tt.return
}
}
