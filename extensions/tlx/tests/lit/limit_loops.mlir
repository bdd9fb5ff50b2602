// RUN: %opt %s --pass tlx-limit-loops | FileCheck %s

// CHECK-LABEL: tt.func @by_hand
tt.func @by_hand(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: scf.for
  scf.for %i = %c0 to %n step %c1 : i32 {
    // CHECK: scf.for
    scf.for %j = %c0 to %n step %c1 : i32 {
      %g = ttg.async_commit_group
      // Also when stated.
      // CHECK: } {tt.num_stages = 1 : i32}
    } {tt.num_stages = 0 : i32}
    // A loop around one.
    // CHECK-NEXT: } {tt.num_stages = 1 : i32}
  }
  tt.return
}

// -----

// CHECK-LABEL: tt.func @by_the_compiler
tt.func @by_the_compiler(%p: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK-NOT: tt.num_stages = 1
  scf.for %i = %c0 to %n step %c1 : i32 {
    tt.store %p, %i : !tt.ptr<i32>
  }
  // CHECK: } {tt.num_stages = 3 : i32}
  scf.for %i = %c0 to %n step %c1 : i32 {
    tt.store %p, %i : !tt.ptr<i32>
  } {tt.num_stages = 3 : i32}
  tt.return
}
