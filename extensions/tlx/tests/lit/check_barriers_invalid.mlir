// RUN: %opt %s --pass tlx-check-barriers --verify-diagnostics

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @nobody_arrives() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-note @below {{the barrier is made here}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected an arrival at the barrier, got none in the whole kernel}}
  // expected-note @below {{call tlx.barrier_arrive where the phase ends, or leave the wait out}}
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @bytes_only(%desc: !tt.tensordesc<64x64xf16>, %tile: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-note @below {{the barrier is made here}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-note @below {{this copy brings bytes only}}
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %b0, %true : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected an arrival at the barrier, got none in the whole kernel}}
  // expected-note @below {{announce the bytes of the copies with tlx.barrier_expect_bytes, which arrives}}
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @copy_without_a_wait(%desc: !tt.tensordesc<64x64xf16>, %tile: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-note @below {{the barrier is made here}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.barrier_expect %b0, 8192, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected a wait for the barrier, got none in the whole kernel}}
  // expected-note @below {{call tlx.barrier_wait before the buffer is read}}
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %b0, %true : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @steps() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-error @below {{expected arrivals that add up to the 3 of the barrier, got only multiples of 2}}
  // expected-note @below {{make the number of arrivals of the barrier the sum over the tasks and replicas that arrive}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 3 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-note @below {{arrives 2 times}}
  ttng.arrive_barrier %b0, 2 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @too_few() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-note @below {{the barrier is made here}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 3 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-note @below {{arrives 1 times}}
  ttng.arrive_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected 3 arrivals to complete the phase, got at most 1 in the whole kernel}}
  // expected-note @below {{make the number of arrivals of the barrier the sum over the tasks and replicas that arrive}}
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @side_by_side() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-error @below {{expected at most 1 arrivals in the first phase, got 2 from tasks that do not wait for each other}}
  // expected-note @below {{make the number of arrivals of the barrier the sum over the tasks and replicas that arrive}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttg.warp_specialize(%b0)
  default {
    ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_yield
  }
  partition0(%b: !ttg.memdesc<1xi64, #bar, #smem, mutable>) num_warps(4) {
    // expected-note @below {{arrives 1 times}}
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  }
  partition1(%b: !ttg.memdesc<1xi64, #bar, #smem, mutable>) num_warps(4) {
    // expected-note @below {{arrives 1 times}}
    ttng.arrive_barrier %b, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<1xi64, #bar, #smem, mutable>) -> ()
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @bytes(%desc: !tt.tensordesc<64x64xf16>, %tile: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-note @below {{the barrier is made here}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected 8192 bytes to be announced, those of the copies here, got 4096}}
  // expected-note @below {{pass the bytes of all copies to tlx.barrier_expect_bytes, as in M * K * tlx.size_of(tl.float16)}}
  ttng.barrier_expect %b0, 4096, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-note @below {{copied here}}
  tlx.async_descriptor_load %desc[%c0, %c0] %tile, %b0, %true : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

// Each constant place is a barrier of its own.
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @one_of_two() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-note @below {{the barrier is made here}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %b1 = ttg.memdesc_index %bs[%c1] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b1, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.arrive_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.wait_barrier %b0, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  // expected-error @below {{expected an arrival at the barrier, got none in the whole kernel}}
  // expected-note @below {{call tlx.barrier_arrive where the phase ends, or leave the wait out}}
  ttng.wait_barrier %b1, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// -----

// The first iteration waits for the first phase.
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @in_a_loop(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-note @below {{the barrier is made here}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %use = arith.divui %i, %c1 : i32
    %parity = arith.andi %use, %c1 : i32
    // expected-error @below {{expected an arrival at the barrier, got none in the whole kernel}}
    // expected-note @below {{call tlx.barrier_arrive where the phase ends, or leave the wait out}}
    ttng.wait_barrier %b0, %parity : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  tt.return
}

// -----

// Its phase is carried.
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
tt.func public @carried(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  // expected-note @below {{the barrier is made here}}
  %bs = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
  %b0 = ttg.memdesc_index %bs[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %b0, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  scf.for %i = %c0 to %n step %c1 iter_args(%phase = %c0) -> i32 : i32 {
    // expected-error @below {{expected an arrival at the barrier, got none in the whole kernel}}
    // expected-note @below {{call tlx.barrier_arrive where the phase ends, or leave the wait out}}
    ttng.wait_barrier %b0, %phase : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %next = arith.xori %phase, %c1 : i32
    scf.yield %next : i32
  }
  tt.return
}
