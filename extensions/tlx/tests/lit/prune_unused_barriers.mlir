// RUN: %opt %s --pass tlx-prune-unused-barriers --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --input-file=%t

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

// REMARK-COUNT-2: left out the barriers: nothing waits for them or arrives at them
// REMARK-NOT: left out
// CHECK-LABEL: @unused
// CHECK-NEXT: arith.constant
// CHECK-NEXT: tt.return
tt.func @unused(%p: i1) {
  %c0 = arith.constant 0 : i32
  %all = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable>
  %first = ttg.memdesc_index %all[%c0] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %first, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.inval_barrier %first : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// A task that has a barrier and does nothing with it loses it too.
// CHECK-LABEL: @captured
// CHECK-NOT: ttg.local_alloc
// CHECK: ttg.warp_specialize(%arg0)
// CHECK: partition0(%{{[a-z0-9]+}}: i32) num_warps(4) {
// CHECK-NEXT: ttg.warp_return
tt.func @captured(%n: i32) {
  %one = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttg.warp_specialize(%one, %n)
  default {
    ttg.warp_yield
  }
  partition0(%b: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %m: i32) num_warps(4) {
    %again = ttg.memdesc_reinterpret %b : !ttg.memdesc<1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<1xi64, #bar, #smem, mutable>, i32) -> ()
  tt.return
}

// What one slot is used for may be any slot; buffers, and barriers that come from elsewhere or go there, stay.
// CHECK-LABEL: @kept
// CHECK-COUNT-3: ttg.local_alloc
// CHECK: ttng.init_barrier
// CHECK: ttng.init_barrier
// CHECK: ttng.arrive_barrier
// CHECK: ttng.init_barrier
// CHECK: ttng.init_barrier
// CHECK: tt.return
tt.func @kept(%n: i32, %p: i1, %other: !ttg.memdesc<1xi64, #bar, #smem, mutable>) -> !ttg.memdesc<1xi64, #bar, #smem, mutable> {
  %c0 = arith.constant 0 : i32
  %buffer = ttg.local_alloc : () -> !ttg.memdesc<64xf32, #bar, #smem, mutable>
  %all = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #bar, #smem, mutable>
  %a = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %a, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %first = ttg.memdesc_index %all[%c0] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %first, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %any = ttg.memdesc_index %all[%n] : !ttg.memdesc<2x1xi64, #bar, #smem, mutable> -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.arrive_barrier %any, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  %one = arith.select %p, %a, %other : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %one, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  ttng.init_barrier %other, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return %one : !ttg.memdesc<1xi64, #bar, #smem, mutable>
}
