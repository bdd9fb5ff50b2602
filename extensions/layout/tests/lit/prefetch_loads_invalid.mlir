// Loads that stay where they are.
// RUN: %opt %s --pass layout-prefetch-loads -o %t.out
// RUN: %opt %s -o %t.in
// RUN: diff %t.in %t.out
// RUN: %opt %s --pass layout-prefetch-loads --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not %opt %s --pass "layout-prefetch-loads{max-registers=some}" 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: the pass layout_prefetch_loads does not accept its options
// REMARK-NOT: applied:

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
#wide = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
// Without asynchronous copies, Triton does not pipeline the loop.
tt.func public @waiting(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %is = tt.splat %i : i32 -> tensor<128xi32, #blocked>
    %at = arith.addi %is, %r : tensor<128xi32, #blocked>
    %q = tt.addptr %p, %at : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}

// It is the same memory in each iteration.
tt.func public @fixed(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}

// A volatile load is not moved.
tt.func public @volatile(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %is = tt.splat %i : i32 -> tensor<128xi32, #blocked>
    %at = arith.addi %is, %r : tensor<128xi32, #blocked>
    %q = tt.addptr %p, %at : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q {isVolatile = true} : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}

// The address is what another load gave.
tt.func public @indirect(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>, %indices: !tt.ptr<i32>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %pi = tt.addptr %indices, %i : !tt.ptr<i32>, i32
    %j = tt.load %pi {isVolatile = true} : !tt.ptr<i32>
    %is = tt.splat %j : i32 -> tensor<128xi32, #blocked>
    %q = tt.addptr %p, %is : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}

// A later iteration may read what an earlier one stored.
// REMARK: missed: the kernel may write to what it reads [layout-prefetch-loads]
tt.func public @stored(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %is = tt.splat %i : i32 -> tensor<128xi32, #blocked>
    %at = arith.addi %is, %r : tensor<128xi32, #blocked>
    %q = tt.addptr %p, %at : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    tt.store %q, %acc : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}

// An atomic may tell that another program has written the memory.
// REMARK: missed: loads of the loop may have to stay behind it [layout-prefetch-loads]
tt.func public @guarded(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>, %locks: !tt.ptr<i32>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %one = arith.constant true
    %lock = tt.atomic_rmw add, acq_rel, gpu, %locks, %c1, %one : (!tt.ptr<i32>, i32, i1) -> i32
    %is = tt.splat %i : i32 -> tensor<128xi32, #blocked>
    %at = arith.addi %is, %r : tensor<128xi32, #blocked>
    %q = tt.addptr %p, %at : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}

// The same without an interface that says what the op does.
// REMARK: missed: loads of the loop may have to stay behind it [layout-prefetch-loads]
tt.func public @barrier(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    ttg.barrier all
    %is = tt.splat %i : i32 -> tensor<128xi32, #blocked>
    %at = arith.addi %is, %r : tensor<128xi32, #blocked>
    %q = tt.addptr %p, %at : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}

// A thread has too much of it to carry.
// REMARK: missed: the next iteration's would take 16 registers of a thread, of which 8 are left [layout-prefetch-loads]
tt.func public @large(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %from: !tt.ptr<f16>, %n: i32, %x: tensor<2048xf16, #wide>) -> tensor<2048xf16, #wide> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<2048xf16, #wide>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %b = tt.addptr %from, %i : !tt.ptr<f16>, i32
    %q = tt.splat %b : !tt.ptr<f16> -> tensor<2048x!tt.ptr<f16>, #wide>
    %s = tt.load %q : tensor<2048x!tt.ptr<f16>, #wide>
    %y = arith.mulf %acc, %s : tensor<2048xf16, #wide>
    scf.yield %y : tensor<2048xf16, #wide>
  }
  tt.return %out : tensor<2048xf16, #wide>
}
}
