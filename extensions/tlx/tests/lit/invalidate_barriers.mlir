// RUN: %opt %s --pass tlx-invalidate-barriers | FileCheck %s

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// CHECK-LABEL: @kernel
// CHECK: %[[FIRST:.*]] = ttg.memdesc_index
// CHECK: ttng.init_barrier %[[FIRST]], 1
// CHECK: %[[SECOND:.*]] = ttg.memdesc_index
// CHECK: ttng.init_barrier %[[SECOND]], 1
// CHECK: ttg.warp_specialize
// CHECK-NOT: ttng.inval_barrier
// CHECK: } : (i32) -> ()
// CHECK: ttng.inval_barrier %[[FIRST]]
// CHECK: ttng.inval_barrier %[[SECOND]]
// CHECK-NEXT: tt.return
tt.func @kernel(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %all = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable>
  %first = ttg.memdesc_index %all[%c0] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %first, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %second = ttg.memdesc_index %all[%c1] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %second, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttg.warp_specialize(%n)
  default {
    ttg.warp_yield
  }
  partition0(%m: i32) num_warps(4) {
    ttg.warp_return
  } : (i32) -> ()
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// Barriers of a loop's body end with it, also where the initialization is further inside.
// CHECK-LABEL: @loop
// CHECK: scf.for
// CHECK: %[[ALL:.*]] = ttg.local_alloc
// CHECK: scf.if
// CHECK: ttng.init_barrier
// CHECK: }
// CHECK: %[[VIEW:.*]] = ttg.memdesc_index %[[ALL]]
// CHECK: ttng.inval_barrier %[[VIEW]]
// CHECK-NEXT: }
tt.func @loop(%n: i32, %p: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %all = ttg.local_alloc : () -> !ttg.memdesc<1x1xi64, #bar, #smem, mutable>
    scf.if %p {
      %one = ttg.memdesc_index %all[%c0] : !ttg.memdesc<1x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
      ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    }
  }
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// What somebody invalidates already, or got from elsewhere, is left alone.
// CHECK-LABEL: @done
// CHECK-COUNT-1: ttng.inval_barrier
// CHECK-NOT: ttng.inval_barrier
tt.func @done(%other: !ttg.memdesc<1xi64, #bar, #smem, mutable>) {
  %one = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.inval_barrier %one : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %other, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}
