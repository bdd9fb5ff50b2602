// RUN: %opt %s --pass tlx-check-slots | FileCheck %s

// CHECK-LABEL: @inside
// CHECK-COUNT-2: ttg.memdesc_index
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @inside(%ring: !ttg.memdesc<3x64xf16, #bar, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  %a = ttg.memdesc_index %ring[%c1] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  scf.for %i = %c0 to %c3 step %c1 : i32 {
  %b = ttg.memdesc_index %ring[%i] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  }
  tt.return
}

// -----

// A loop that may stop before, and a view that may not be reached.
// CHECK-LABEL: @unknown
// CHECK-COUNT-2: ttg.memdesc_index
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @unknown(%ring: !ttg.memdesc<3x64xf16, #bar, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
  %b = ttg.memdesc_index %ring[%i] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  }
  %c9 = arith.constant 9 : i32
  scf.for %i = %c0 to %c9 step %c1 : i32 {
    %p = arith.cmpi slt, %i, %c3 : i32
    scf.if %p {
  %b = ttg.memdesc_index %ring[%i] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
    }
  }
  tt.return
}

// -----

// CHECK-LABEL: @never
// CHECK: ttg.memdesc_index
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @never(%ring: !ttg.memdesc<3x64xf16, #bar, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  scf.for %i = %c3 to %c0 step %c1 : i32 {
  %b = ttg.memdesc_index %ring[%i] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  }
  tt.return
}

// -----

// A slot that the last iteration takes and does nothing to.
// CHECK-LABEL: @unused
// CHECK-COUNT-2: ttg.memdesc_index
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @unused(%ring: !ttg.memdesc<3x1xi64, #bar, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  scf.for %i = %c0 to %c3 step %c1 : i32 {
    %k = arith.addi %i, %c1 : i32
    %p = arith.cmpi slt, %i, %c2 : i32
    %a = ttg.memdesc_index %ring[%k] : !ttg.memdesc<3x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    scf.if %p {
      ttng.wait_barrier %a, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    }
    %b = ttg.memdesc_index %ring[%k] : !ttg.memdesc<3x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.wait_barrier %b, %c0, %p : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  tt.return
}

// -----

// Carried into an iteration that does not come, given to a function, and behind a condition.
// CHECK-LABEL: @passed_on
// CHECK-COUNT-4: ttg.memdesc_index
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @passed_on(%ring: !ttg.memdesc<3x1xi64, #bar, #smem, mutable>, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %first = ttg.memdesc_index %ring[%c0] : !ttg.memdesc<3x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%b = %first) -> !ttg.memdesc<1xi64, #bar, #smem, mutable> : i32 {
    ttng.wait_barrier %b, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %ahead = arith.addi %i, %c1 : i32
    %next = ttg.memdesc_index %ring[%ahead] : !ttg.memdesc<3x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    scf.yield %next : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  }
  %outside = ttg.memdesc_index %ring[%c3] : !ttg.memdesc<3x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.call @other(%outside) : (!ttg.memdesc<1xi64, #bar, #smem, mutable>) -> ()
  %again = ttg.memdesc_index %ring[%c3] : !ttg.memdesc<3x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tlx.remote_arrive %again of %c0, %p : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}
tt.func private @other(!ttg.memdesc<1xi64, #bar, #smem, mutable>)
