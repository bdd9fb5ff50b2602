// RUN: %opt %s --pass tlx-check-barriers --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --input-file=%t

// REMARK: nothing waits for the barrier: the arrivals have no effect
// REMARK: nothing arrives at the barrier: a wait for its first phase does not return
// REMARK: nothing arrives at the barrier: a wait for its first phase does not return

// CHECK-LABEL: @ring
// CHECK: ttng.wait_barrier
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @ring(%desc: !tt.tensordesc<64x64xf16>, %tile: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %fulls = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable>
  %full0 = ttg.memdesc_index %fulls[%c0] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %full0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %full1 = ttg.memdesc_index %fulls[%c1] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %full1, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %emptys = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable>
  %empty0 = ttg.memdesc_index %emptys[%c0] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %empty0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %empty1 = ttg.memdesc_index %emptys[%c1] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %empty1, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttg.warp_specialize(%fulls, %emptys, %desc, %tile, %n)
  default {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %slot = arith.andi %i, %c1 : i32
      %f = ttg.memdesc_index %fulls[%slot] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
      %e = ttg.memdesc_index %emptys[%slot] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
      ttng.wait_barrier %f, %slot : !ttg.memdesc<1xi64, #bar, #smem, mutable>
      ttng.arrive_barrier %e, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    }
    ttg.warp_yield
  }
  partition0(%fs: !ttg.memdesc<2x1xi64, #bar, #smem, mutable>, %es: !ttg.memdesc<2x1xi64, #bar, #smem, mutable>, %d: !tt.tensordesc<64x64xf16>, %t: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %m: i32) num_warps(1) {
    %d0 = arith.constant 0 : i32
    %d1 = arith.constant 1 : i32
    %go = arith.constant true
    scf.for %i = %d0 to %m step %d1 : i32 {
      %slot = arith.andi %i, %d1 : i32
      %f = ttg.memdesc_index %fs[%slot] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
      %e = ttg.memdesc_index %es[%slot] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
      ttng.wait_barrier %e, %slot : !ttg.memdesc<1xi64, #bar, #smem, mutable>
      ttng.barrier_expect %f, 8192, %go : !ttg.memdesc<1xi64, #bar, #smem, mutable>
      tlx.async_descriptor_load %d[%i, %i] %t, %f, %go : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
    }
    ttg.warp_return
  } : (!ttg.memdesc<2x1xi64, #bar, #smem, mutable>, !ttg.memdesc<2x1xi64, #bar, #smem, mutable>, !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, i32) -> ()
  tt.return
}

// -----

// The phase before the first one counts as complete.
// CHECK-LABEL: @parity_one
// CHECK: ttng.wait_barrier
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @parity_one() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

// Two tasks, one phase.
// CHECK-LABEL: @counted
// CHECK: ttng.arrive_barrier
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @counted(%desc: !tt.tensordesc<64x64xf16>, %tile: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 3 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.arrive_barrier %b0, 2 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.barrier_expect %b0, 8192, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %b0, %true : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

// Bytes of a copy that another block announces.
// CHECK-LABEL: @elsewhere
// CHECK: ttng.barrier_expect
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @elsewhere(%desc: !tt.tensordesc<64x64xf16>, %tile: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.if %p {
    ttng.barrier_expect %b0, 8192, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %b0, %true : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

// What a function does with a barrier is not known.
// CHECK-LABEL: @passed_on
// CHECK: tt.call
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func @passed_on() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.call @other(%b0) : (!ttg.memdesc<1xi64, #bar, #smem, mutable>) -> ()
  tt.return
}
tt.func private @other(!ttg.memdesc<1xi64, #bar, #smem, mutable>)

// -----

// Blocks of tasks run one after another, with a wait between the arrivals.
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
// CHECK-LABEL: @apart
// CHECK: ttng.arrive_barrier
tt.func @apart() {
  %c0 = arith.constant 0 : i32
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttg.warp_specialize(%b0)
  default {
    ttg.warp_yield
  }
  partition0(%b: !ttg.memdesc<1xi64, #bar, #smem, mutable>) num_warps(4) {
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<1xi64, #bar, #smem, mutable>) -> ()
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttg.warp_specialize(%b0)
  default {
    ttg.warp_yield
  }
  partition0(%b: !ttg.memdesc<1xi64, #bar, #smem, mutable>) num_warps(4) {
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<1xi64, #bar, #smem, mutable>) -> ()
  tt.return
}

// -----

// A ring whose steps are no more than its slots: nobody has to wait for a slot to be free.
// CHECK-LABEL: @steps_for_each_slot
// CHECK-COUNT-2: ttng.arrive_barrier
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @steps_for_each_slot() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.arrive_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.arrive_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

// The first waits find the phase before the first one, and no more may come.
// CHECK-LABEL: @waits_that_pass
// CHECK: ttng.wait_barrier
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @waits_that_pass(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %use = arith.divui %i, %c1 : i32
    %parity = arith.andi %use, %c1 : i32
    %other = arith.xori %parity, %c1 : i32
    ttng.wait_barrier %b0, %other : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  tt.return
}

// -----

// No run may get there.
// CHECK-LABEL: @behind_a_condition
// CHECK: ttng.wait_barrier
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @behind_a_condition(%p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.if %p {
    ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  tt.return
}

// -----

// What never happens is neither a wait nor an arrival nor a copy.
// CHECK-LABEL: @never
// CHECK: ttng.barrier_expect
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @never(%desc: !tt.tensordesc<64x64xf16>, %tile: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %false = arith.constant false
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.barrier_expect %b0, 4096, %false : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %b0, %false : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.arrive_barrier %b0, 1, %false : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c0, %false : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

// Too few arrivals for a phase that nobody waits for, and too many bytes.
// CHECK-LABEL: @unfinished
// CHECK: ttng.barrier_expect
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @unfinished(%desc: !tt.tensordesc<64x64xf16>, %tile: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 3 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.arrive_barrier %b0, 2 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %cs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %one = ttg.memdesc_index %cs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.barrier_expect %one, 4096, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %one, %c1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

// Two of three tasks end the phase.
// CHECK-LABEL: @quorum
// CHECK-COUNT-3: ttng.arrive_barrier
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @quorum() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 2 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttg.warp_specialize(%b0)
  default {
    ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_yield
  }
  partition0(%b: !ttg.memdesc<1xi64, #bar, #smem, mutable>) num_warps(4) {
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  }
  partition1(%b: !ttg.memdesc<1xi64, #bar, #smem, mutable>) num_warps(4) {
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  }
  partition2(%b: !ttg.memdesc<1xi64, #bar, #smem, mutable>) num_warps(4) {
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<1xi64, #bar, #smem, mutable>) -> ()
  tt.return
}
