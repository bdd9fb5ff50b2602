// Reductions that stay in their loop.
// RUN: %opt %s --pass "layout-defer-reductions{reorder-sums=false}" -o %t.out
// RUN: %opt %s -o %t.in
// RUN: diff %t.in %t.out
// RUN: %opt %s --pass "layout-defer-reductions{reorder-sums=false}" --remarks -o %t 2>&1 | FileCheck %s
// RUN: not %opt %s --pass "layout-defer-reductions{reorder-sums=some}" 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: the pass layout_defer_reductions does not accept its options
// CHECK-NOT: applied:
// CHECK: missed: sums of floating-point numbers keep their order [layout-defer-reductions]
// CHECK-NOT: missed:
// A barrier of the reductions orders the read in front of the store.
// CHECK: missed: the barrier of a reduction may keep this write behind a read of what it overwrites [layout-defer-reductions]
// CHECK-NOT: missed:

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mine = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @sum(%x: tensor<512xf32, #blocked>, %start: f32, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %start) -> (f32) : i32 {
    %r = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tt.reduce.return %sum : f32
    }) : (tensor<512xf32, #blocked>) -> f32
    %next = arith.addf %r, %acc : f32
    scf.yield %next : f32
  }
  tt.return %out : f32
}

// The loop looks at the running sum, and at each sum; the last one has all rows in a thread already.
tt.func public @looked_at(%x: tensor<512xi32, #blocked>, %y: tensor<4x128xi32, #mine>, %start: i32, %row: tensor<128xi32, #ttg.slice<{dim = 0, parent = #mine}>>, %p: !tt.ptr<i32>, %n: i32) -> (i32, i32, tensor<128xi32, #ttg.slice<{dim = 0, parent = #mine}>>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out:3 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %start, %other = %start, %rows = %row) -> (i32, i32, tensor<128xi32, #ttg.slice<{dim = 0, parent = #mine}>>) : i32 {
    %r = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %sum = arith.addi %a, %b : i32
      tt.reduce.return %sum : i32
    }) : (tensor<512xi32, #blocked>) -> i32
    %next = arith.addi %r, %acc : i32
    tt.store %p, %acc : !tt.ptr<i32>
    %q = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %max = arith.maxsi %a, %b : i32
      tt.reduce.return %max : i32
    }) : (tensor<512xi32, #blocked>) -> i32
    %mixed = arith.addi %q, %other : i32
    %s = "tt.reduce"(%y) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %sum = arith.addi %a, %b : i32
      tt.reduce.return %sum : i32
    }) : (tensor<4x128xi32, #mine>) -> tensor<128xi32, #ttg.slice<{dim = 0, parent = #mine}>>
    %more = arith.addi %rows, %s : tensor<128xi32, #ttg.slice<{dim = 0, parent = #mine}>>
    scf.yield %next, %mixed, %more : i32, i32, tensor<128xi32, #ttg.slice<{dim = 0, parent = #mine}>>
  }
  tt.return %out#0, %out#1, %out#2 : i32, i32, tensor<128xi32, #ttg.slice<{dim = 0, parent = #mine}>>
}
tt.func public @shifted_in_place(%x: tensor<512xi32, #blocked>, %base: !tt.ptr<i32>, %start: i32, %n: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #blocked>
  %p = tt.splat %base : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>, #blocked>
  %from = tt.addptr %p, %r : tensor<512x!tt.ptr<i32>, #blocked>, tensor<512xi32, #blocked>
  %old = tt.load %from : tensor<512x!tt.ptr<i32>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %start) -> (i32) : i32 {
    %m = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %max = arith.maxsi %a, %b : i32
      tt.reduce.return %max : i32
    }) : (tensor<512xi32, #blocked>) -> i32
    %next = arith.maxsi %m, %acc : i32
    scf.yield %next : i32
  }
  %next = tt.splat %c1 : i32 -> tensor<512xi32, #blocked>
  %to = tt.addptr %from, %next : tensor<512x!tt.ptr<i32>, #blocked>, tensor<512xi32, #blocked>
  tt.store %to, %old : tensor<512x!tt.ptr<i32>, #blocked>
  tt.return %out : i32
}
}
