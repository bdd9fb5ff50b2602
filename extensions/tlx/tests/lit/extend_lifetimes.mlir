// RUN: %opt %s --pass tlx-extend-lifetimes | FileCheck %s

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#rows = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// A wait for some stores is none for this one. Behind the wait for all, a barrier stays right behind it.
// CHECK-LABEL: @store
// CHECK: ttng.async_tma_store_wait {pendings = 1 : i32}
// CHECK-NEXT: ttg.local_alloc
// CHECK-NEXT: ttng.async_tma_store_wait {pendings = 0 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<2x64x64xf16
// CHECK-NEXT: ttng.async_tma_store_wait {pendings = 0 : i32}
// CHECK-NEXT: tt.return
tt.func public @store(%desc: !tt.tensordesc<64x64xf16, #wide>, %i: i32) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf16, #wide, #smem, mutable>
  %slot = ttg.memdesc_index %a[%i] : !ttg.memdesc<2x64x64xf16, #wide, #smem, mutable> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.async_tma_copy_local_to_global %desc[%i, %i] %slot : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.async_tma_store_wait {pendings = 1 : i32}
  %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.async_tma_store_wait {pendings = 0 : i32}
  ttg.barrier local
  ttng.async_tma_store_wait {pendings = 0 : i32}
  tt.return
}

// Nothing is said of a buffer that is used behind the wait anyway, in the block or by the loop around both.
// CHECK-LABEL: @used
// CHECK-NOT: ttg.local_dealloc
// CHECK: tt.return
tt.func public @used(%desc: !tt.tensordesc<64x64xf16, #wide>, %x: tensor<64x64xf16, #rows>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.async_tma_copy_local_to_global %desc[%n, %n] %a : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.async_tma_store_wait {pendings = 0 : i32}
  ttg.local_store %x, %a : tensor<64x64xf16, #rows> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  scf.for %i = %c1 to %n step %c1 : i32 {
    ttng.async_tma_copy_local_to_global %desc[%n, %n] %b : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    ttng.async_tma_store_wait {pendings = 0 : i32}
  }
  tt.return
}

// Each kind has a wait of its own, and copies count from their commit on.
// CHECK-LABEL: @kinds
// CHECK: ttng.async_tma_store_wait
// CHECK-NEXT: ttg.async_wait {num = 0 : i32}
// CHECK-NEXT: ttg.async_commit_group
// CHECK-NEXT: ttng.warp_group_dot_wait
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<64x64xf16, #{{[a-z0-9]+}}, #smem, mutable>
// CHECK-NEXT: ttg.async_wait {num = 0 : i32}
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<32x64xf16
// CHECK: tt.return
tt.func public @kinds(%x: tensor<32x64x!tt.ptr<f16>, #rows>, %c: tensor<64x64xf32, #mma>) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<32x64xf16, #plain, #smem, mutable>
  %d = ttng.warp_group_dot %a, %a, %c {isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
  %0 = ttg.async_copy_global_to_local %x, %b : tensor<32x64x!tt.ptr<f16>, #rows> -> <32x64xf16, #plain, #smem, mutable>
  ttng.async_tma_store_wait {pendings = 0 : i32}
  %1 = ttg.async_wait {num = 0 : i32}
  %2 = ttg.async_commit_group
  %e = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<64x64xf32, #mma>
  %3 = ttg.async_wait {num = 0 : i32}
  tt.return
}

// A copy by descriptor is over at a wait for its barrier, wherever that is.
// CHECK-LABEL: @signalled
// CHECK: ttng.wait_barrier %[[OTHER:.*]], %{{.*}} :
// CHECK: scf.if
// CHECK-NEXT: ttng.wait_barrier
// CHECK-NEXT: }
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<64x64xf16
// CHECK: tt.return
tt.func public @signalled(%desc: !tt.tensordesc<64x64xf16, #wide>, %i: i32, %p: i1) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %other = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.async_tma_copy_global_to_local %desc[%i, %i] %a, %bar, %p : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<1xi64, #bar, #smem, mutable> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.wait_barrier %other, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.if %p {
    ttng.wait_barrier %bar, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  ttng.inval_barrier %bar : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.inval_barrier %other : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// A wait for another slot of the array is none.
// CHECK-LABEL: @slots
// CHECK-COUNT-2: ttng.wait_barrier
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<64x64xf16
// CHECK: tt.return
tt.func public @slots(%desc: !tt.tensordesc<64x64xf16, #wide>, %i: i32, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %bars = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable>
  %first = ttg.memdesc_index %bars[%c0] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %second = ttg.memdesc_index %bars[%c1] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.async_tma_copy_global_to_local %desc[%i, %i] %a, %second, %p : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<1xi64, #bar, #smem, mutable> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.wait_barrier %first, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %second, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.inval_barrier %second : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// Bulk stores are inline assembly on an address.
// CHECK-LABEL: @bulk
// CHECK: llvm.inline_asm
// CHECK: ttng.async_tma_store_wait
// CHECK-NEXT: ttg.local_dealloc
tt.func public @bulk(%warp: i32, %to: !llvm.ptr<1>, %bytes: i32) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  %0 = builtin.unrealized_conversion_cast %a : !ttg.memdesc<64xf16, #bar, #smem, mutable> to !llvm.struct<(ptr<3>, i32)>
  %1 = llvm.extractvalue %0[0] : !llvm.struct<(ptr<3>, i32)>
  llvm.inline_asm has_side_effects "@p cp.async.bulk.global.shared::cta.bulk_group [$1], [$2], $3;", "r,l,r,r" %warp, %to, %1, %bytes : (i32, !llvm.ptr<1>, !llvm.ptr<3>, i32) -> ()
  ttng.async_tma_store_wait {pendings = 0 : i32}
  tt.return
}

// Without a wait in the loop the buffer is that of all iterations, and of what runs up to the wait behind it.
// CHECK-LABEL: @loop
// CHECK: %[[A:.*]] = ttg.local_alloc
// CHECK-NEXT: scf.for
// CHECK-NEXT: ttng.async_tma_store_wait {pendings = 0 : i32}
// CHECK-NEXT: ttng.async_tma_copy_local_to_global {{.*}} %[[A]] :
// CHECK-NEXT: }
// CHECK-NEXT: ttng.async_tma_store_wait {pendings = 0 : i32}
// CHECK-NEXT: ttg.local_dealloc %[[A]]
tt.func public @loop(%desc: !tt.tensordesc<64x64xf16, #wide>, %n: i32) {
  %c1 = arith.constant 1 : i32
  scf.for %i = %c1 to %n step %c1 : i32 {
    ttng.async_tma_store_wait {pendings = 0 : i32}
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    ttng.async_tma_copy_local_to_global %desc[%i, %i] %a : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  }
  ttng.async_tma_store_wait {pendings = 0 : i32}
  tt.return
}

// Another task's wait is for its own stores. The buffer of a task that does not wait is kept from what comes behind.
// CHECK-LABEL: @task
// CHECK: %[[A:.*]] = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16
// CHECK-NEXT: ttg.warp_specialize(%{{.*}}, %{{.*}}, %{{.*}}, %[[A]])
// CHECK: partition0({{.*}}, %[[ARGUMENT:.*]]: !ttg.memdesc<64x64xf16
// CHECK-NEXT: ttng.async_tma_copy_local_to_global {{.*}} %[[ARGUMENT]]
// CHECK: partition1(
// CHECK-SAME: !ttg.memdesc<64x64xf16
// CHECK: ttng.async_tma_store_wait
// CHECK-NEXT: ttg.local_dealloc
// CHECK-NEXT: ttg.warp_return
// CHECK: ttng.async_tma_store_wait
// CHECK-NEXT: ttg.local_dealloc %[[A]]
// CHECK-NEXT: tt.return
tt.func public @task(%desc: !tt.tensordesc<64x64xf16, #wide>, %half: !tt.tensordesc<32x64xf16, #wide>, %n: i32) {
  ttg.warp_specialize(%desc, %half, %n)
  default {
    ttng.async_tma_store_wait {pendings = 0 : i32}
    ttg.warp_yield
  }
  partition0(%to: !tt.tensordesc<64x64xf16, #wide>, %0: !tt.tensordesc<32x64xf16, #wide>, %m: i32) num_warps(4) {
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    ttng.async_tma_copy_local_to_global %to[%m, %m] %a : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    ttg.warp_return
  }
  partition1(%0: !tt.tensordesc<64x64xf16, #wide>, %to: !tt.tensordesc<32x64xf16, #wide>, %m: i32) num_warps(4) {
    %b = ttg.local_alloc : () -> !ttg.memdesc<32x64xf16, #wide, #smem, mutable>
    ttng.async_tma_copy_local_to_global %to[%m, %m] %b : !tt.tensordesc<32x64xf16, #wide>, !ttg.memdesc<32x64xf16, #wide, #smem, mutable>
    ttng.async_tma_store_wait {pendings = 0 : i32}
    ttg.warp_return
  } : (!tt.tensordesc<64x64xf16, #wide>, !tt.tensordesc<32x64xf16, #wide>, i32) -> ()
  ttng.async_tma_store_wait {pendings = 0 : i32}
  tt.return
}

// Both ends of a kernel that may return early, and a buffer that is one of two.
// CHECK-LABEL: @early
// CHECK-COUNT-2: ttg.local_alloc
// CHECK: ^bb1:
// CHECK-NEXT: ttg.local_dealloc
// CHECK-NEXT: ttg.local_dealloc
// CHECK-NEXT: tt.return
// CHECK: ^bb2:
// CHECK: ttng.async_tma_copy_local_to_global
// CHECK-NEXT: ttg.local_dealloc
// CHECK-NEXT: ttg.local_dealloc
// CHECK-NEXT: tt.return
tt.func public @early(%desc: !tt.tensordesc<64x64xf16, #wide>, %n: i32, %p: i1) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  tt.return
^bb2:
  %one = arith.select %p, %a, %b : !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttng.async_tma_copy_local_to_global %desc[%n, %n] %one : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  tt.return
}

}

// -----

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#rows = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#eight = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#scales_in_tiles = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {

// Work of Blackwell's tensor cores is over at a wait for the commit behind it, not for one in front.
// CHECK-LABEL: @committed
// CHECK: ttng.tc_gen5_mma
// CHECK-COUNT-2: ttng.wait_barrier
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<128x128xf16
// CHECK: tt.return
tt.func public @committed(%d: !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, %i: i32, %p: i1) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<128x128xf16, #wide, #smem, mutable>
  %before = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %behind = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.tc_gen5_commit %before : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.tc_gen5_mma %a, %a, %d, %p, %p {is_async} : !ttg.memdesc<128x128xf16, #wide, #smem, mutable>, !ttg.memdesc<128x128xf16, #wide, #smem, mutable>, !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
  ttng.tc_gen5_commit %behind : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %before, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %behind, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.inval_barrier %behind : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// So is that of two blocks.
// CHECK-LABEL: @pair
// CHECK: tlx.pair_dot
// CHECK: ttng.wait_barrier
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<64x64xf16
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<128x64xf16
// CHECK: tt.return
tt.func public @pair(%d: !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, %i: i32, %p: i1) {
  %a = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #wide, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %behind = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.pair_dot %a, %b, %d if %p, %p : !ttg.memdesc<128x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
  tlx.pair_commit %behind, %p : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %behind, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.inval_barrier %behind : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// And so are a scaled one, and a copy in front of it.
// CHECK-LABEL: @scaled_pair
// CHECK: tlx.pair_dot_scaled
// CHECK: ttng.wait_barrier
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<64x128xi8
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<128x128xi8
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<128x4xi8
// CHECK: tt.return
tt.func public @scaled_pair(%d: !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, %s: !ttg.memdesc<128x4xi8, #ttng.tensor_memory_scales_encoding<>, #ttng.tensor_memory, mutable>, %i: i32, %p: i1) {
  %t = ttg.local_alloc : () -> !ttg.memdesc<128x4xi8, #scales_in_tiles, #smem, mutable>
  %a = ttg.local_alloc : () -> !ttg.memdesc<128x128xi8, #eight, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<64x128xi8, #eight, #smem, mutable>
  %behind = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.pair_copy %t, %s : !ttg.memdesc<128x4xi8, #scales_in_tiles, #smem, mutable> -> !ttg.memdesc<128x4xi8, #ttng.tensor_memory_scales_encoding<>, #ttng.tensor_memory, mutable>
  tlx.pair_dot_scaled %a scale %s, %b scale %s, %d lhs = e4m3 rhs = e4m3 if %p, %p : !ttg.memdesc<128x128xi8, #eight, #smem, mutable>, !ttg.memdesc<128x4xi8, #ttng.tensor_memory_scales_encoding<>, #ttng.tensor_memory, mutable> * !ttg.memdesc<64x128xi8, #eight, #smem, mutable>, !ttg.memdesc<128x4xi8, #ttng.tensor_memory_scales_encoding<>, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
  tlx.pair_commit %behind, %p : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %behind, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.inval_barrier %behind : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// A wait that only one of the two blocks reaches says nothing to the other one, which the product reads too.
// CHECK-LABEL: @pair_of_which_one_waits
// CHECK: tlx.pair_dot
// CHECK: ttng.wait_barrier
// CHECK: ttg.local_alloc : () -> !ttg.memdesc<32x64xf16
// CHECK-NOT: ttg.local_dealloc
// CHECK: ttng.inval_barrier
// CHECK-DAG: ttg.local_dealloc %{{.*}} : !ttg.memdesc<64x64xf16
// CHECK-DAG: ttg.local_dealloc %{{.*}} : !ttg.memdesc<128x64xf16
// CHECK-NEXT: tt.return
tt.func public @pair_of_which_one_waits(%d: !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, %i: i32, %leads: i1) {
  %true = arith.constant true
  %a = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #wide, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %behind = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.pair_dot %a, %b, %d if %true, %true : !ttg.memdesc<128x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
  tlx.pair_commit %behind, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.if %leads {
    ttng.wait_barrier %behind, %i : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  %c = ttg.local_alloc : () -> !ttg.memdesc<32x64xf16, #wide, #smem, mutable>
  ttng.inval_barrier %behind : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// So does one under a predicate, unless that is true.
// CHECK-LABEL: @pair_with_predicates
// CHECK: ttng.wait_barrier
// CHECK-NEXT: ttng.wait_barrier
// CHECK-NEXT: ttg.local_dealloc
// CHECK-NEXT: ttg.local_dealloc
// CHECK-NEXT: ttng.inval_barrier
tt.func public @pair_with_predicates(%d: !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, %i: i32, %leads: i1) {
  %true = arith.constant true
  %a = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #wide, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %behind = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.pair_dot %a, %b, %d if %true, %true : !ttg.memdesc<128x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>
  tlx.pair_commit %behind, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %behind, %i, %leads : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %behind, %i, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.inval_barrier %behind : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// What other blocks access lives between the meetings of the cluster, or with the kernel.
// CHECK-LABEL: @shared_with_others
// CHECK: tlx.cluster_barrier
// CHECK-NEXT: ttg.local_alloc : () -> !ttg.memdesc<32x64xf16
// CHECK: tlx.cluster_barrier
// CHECK-DAG: ttg.local_dealloc %{{.*}} : !ttg.memdesc<32x64xf16
// CHECK-DAG: ttg.local_alloc : () -> !ttg.memdesc<64x64xf16
// CHECK: scf.for
// CHECK: }
// CHECK-NEXT: ttg.local_dealloc %{{.*}} : !ttg.memdesc<64x64xf16
// CHECK-NEXT: tt.return
tt.func public @shared_with_others(%rank: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = arith.constant dense<1.0> : tensor<64x64xf16, #rows>
  tlx.cluster_barrier
  %z = arith.constant dense<1.0> : tensor<32x64xf16, #rows>
  %b = ttg.local_alloc : () -> !ttg.memdesc<32x64xf16, #wide, #smem, mutable>
  ttg.local_store %z, %b : tensor<32x64xf16, #rows> -> !ttg.memdesc<32x64xf16, #wide, #smem, mutable>
  %bs = builtin.unrealized_conversion_cast %b : !ttg.memdesc<32x64xf16, #wide, #smem, mutable> to !llvm.struct<(ptr<3>, i32, i32)>
  %bp = llvm.extractvalue %bs[0] : !llvm.struct<(ptr<3>, i32, i32)>
  %bo = llvm.getelementptr %bp[%n] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  llvm.inline_asm has_side_effects "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$0];", "r" %bo : (!llvm.ptr<3>) -> ()
  tlx.cluster_barrier
  scf.for %i = %c0 to %n step %c1 : i32 {
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    ttg.local_store %x, %a : tensor<64x64xf16, #rows> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    %as = builtin.unrealized_conversion_cast %a : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> to !llvm.struct<(ptr<3>, i32, i32)>
    %ap = llvm.extractvalue %as[0] : !llvm.struct<(ptr<3>, i32, i32)>
    %remote = llvm.inline_asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %ap, %rank : (!llvm.ptr<3>, i32) -> i32
    llvm.inline_asm has_side_effects "ld.shared::cluster.b32 $0, [$1];", "r" %remote : (i32) -> ()
  }
  tt.return
}

// In a cluster a response comes from another block, whose request this one is not told of.
// CHECK-LABEL: @response
// CHECK: ttg.local_alloc : () -> !ttg.memdesc<2xi64
// CHECK: ttg.local_store
// CHECK: llvm.inline_asm
// CHECK: ttg.local_dealloc %{{.*}} : !ttg.memdesc<2xi64
// CHECK: tt.return
tt.func public @response(%rank: i32, %leads: i1) {
  %x = arith.constant dense<1.0> : tensor<64x64xf16, #rows>
  %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  ttg.local_store %x, %a : tensor<64x64xf16, #rows> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %full = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %empty = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %r = ttg.local_alloc : () -> !ttg.memdesc<2xi64, #bar, #smem, mutable>
  scf.if %leads {
    ttng.clc_try_cancel %r, %full : !ttg.memdesc<2xi64, #bar, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  ttng.wait_barrier %full, %rank : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %s = builtin.unrealized_conversion_cast %empty : !ttg.memdesc<1xi64, #bar, #smem, mutable> to !llvm.struct<(ptr<3>, i32)>
  %p = llvm.extractvalue %s[0] : !llvm.struct<(ptr<3>, i32)>
  %remote = llvm.inline_asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %p, %rank : (!llvm.ptr<3>, i32) -> i32
  llvm.inline_asm has_side_effects "mbarrier.arrive.shared::cluster.b64 _, [$0];", "r" %remote : (i32) -> ()
  tt.return
}
}
