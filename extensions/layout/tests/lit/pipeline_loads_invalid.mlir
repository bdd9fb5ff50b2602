// Loads that keep their layout.
// RUN: %opt %s --pass layout-pipeline-loads -o %t.out
// RUN: %opt %s -o %t.in
// RUN: diff %t.in %t.out
// RUN: %opt %s --pass layout-pipeline-loads --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not %opt %s --pass "layout-pipeline-loads{bits=8}" 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: the pass layout_pipeline_loads does not accept its options
// REMARK-NOT: applied:

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#tile = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #tile}>
#b = #ttg.dot_op<{opIdx = 1, parent = #tile}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
// A loop that does not multiply is not pipelined.
tt.func public @added(%scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf16, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<f16>, i32
    %p = tt.splat %from : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %next = arith.addf %acc, %acc : tensor<64x64xf32, #tile>
    scf.yield %next, %s : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
}

// Elements of 32 bits are copied one by one.
tt.func public @words(%scales: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf32, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xf32, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xf32, #blocked>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<f32>, i32
    %p = tt.splat %from : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #blocked>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<f32>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f32>, #blocked>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %s : tensor<64x64xf32, #tile>, tensor<128xf32, #blocked>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xf32, #blocked>
}

// A volatile load is not changed.
tt.func public @volatile(%scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf16, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<f16>, i32
    %p = tt.splat %from : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q {isVolatile = true} : tensor<128x!tt.ptr<f16>, #blocked>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %s : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
}

// Elements that are not together in memory, or of which it is not known.
// REMARK: missed: memory has 16 bits of its elements together, an asynchronous copy moves 32 [layout-pipeline-loads]
tt.func public @strided(%scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf16, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<f16>, i32
    %p = tt.splat %from : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
    %two = arith.constant dense<2> : tensor<128xi32, #blocked>
    %far = arith.muli %r, %two : tensor<128xi32, #blocked>
    %q = tt.addptr %p, %far : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %s : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
}

// REMARK: missed: memory has 16 bits of its elements together, an asynchronous copy moves 32 [layout-pipeline-loads]
tt.func public @unaligned(%scales: !tt.ptr<f16>, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf16, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<f16>, i32
    %p = tt.splat %from : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %s : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
}

// Another thread's copy may be read after the store.
// REMARK: missed: the kernel may write to what it reads [layout-pipeline-loads]
tt.func public @stored(%scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf16, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<f16>, i32
    %p = tt.splat %from : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    tt.store %q, %last : tensor<128x!tt.ptr<f16>, #blocked>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %s : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
}
}

// -----

#wide = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[1, 0], [8, 0], [16, 0], [32, 0], [0, 32]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8], [0, 16]], block = []}>
#tile = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #tile}>
#b = #ttg.dot_op<{opIdx = 1, parent = #tile}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
// A conversion that keeps the order of memory.
tt.func public @in_order(%base: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<64x64xi8, #tile>) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #tile>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %out:2 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #tile>) : i32 {
    %from = tt.addptr %base, %i : !tt.ptr<i8>, i32
    %q = tt.splat %from : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>, #wide>
    %w = tt.load %q : tensor<64x64x!tt.ptr<i8>, #wide>
    %t = ttg.convert_layout %w : tensor<64x64xi8, #wide> -> tensor<64x64xi8, #tile>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %t : tensor<64x64xf32, #tile>, tensor<64x64xi8, #tile>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<64x64xi8, #tile>
}

// A volatile load is not moved.
tt.func public @turned_volatile(%base: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<64x64xi8, #linear>) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %out:2 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>) : i32 {
    %from = tt.addptr %base, %i : !tt.ptr<i8>, i32
    %q = tt.splat %from : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>, #wide>
    %w = tt.load %q {isVolatile = true} : tensor<64x64x!tt.ptr<i8>, #wide>
    %t = ttg.convert_layout %w : tensor<64x64xi8, #wide> -> tensor<64x64xi8, #linear>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %t : tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>
}

// A loop that does not multiply is not pipelined.
tt.func public @turned_added(%base: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<64x64xi8, #linear>) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %out:2 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>) : i32 {
    %from = tt.addptr %base, %i : !tt.ptr<i8>, i32
    %q = tt.splat %from : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>, #wide>
    %w = tt.load %q : tensor<64x64x!tt.ptr<i8>, #wide>
    %t = ttg.convert_layout %w : tensor<64x64xi8, #wide> -> tensor<64x64xi8, #linear>
    %next = arith.addf %acc, %acc : tensor<64x64xf32, #tile>
    scf.yield %next, %t : tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>
}

// REMARK: missed: the kernel may write to what it reads [layout-pipeline-loads]
tt.func public @turned_stored(%base: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<64x64xi8, #linear>) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %out:2 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>) : i32 {
    %from = tt.addptr %base, %i : !tt.ptr<i8>, i32
    %q = tt.splat %from : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>, #wide>
    %w = tt.load %q : tensor<64x64x!tt.ptr<i8>, #wide>
    %t = ttg.convert_layout %w : tensor<64x64xi8, #wide> -> tensor<64x64xi8, #linear>
    %zero = arith.constant dense<0> : tensor<64x64xi8, #wide>
    tt.store %q, %zero : tensor<64x64x!tt.ptr<i8>, #wide>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %t : tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>
}
}
