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

#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
// A buffer that the loop writes: the pipeliner would move loads of it across iterations.
// CHECK-LABEL: tt.func @buffer
tt.func @buffer(%b: !ttg.memdesc<64xf32, #shared, #smem, mutable>, %x: tensor<64xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    // CHECK: ttg.local_store
    // CHECK-NEXT: } {tt.num_stages = 1 : i32}
    ttg.local_store %x, %b : tensor<64xf32> -> !ttg.memdesc<64xf32, #shared, #smem, mutable>
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
