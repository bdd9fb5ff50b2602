// RUN: %opt %s --pass layout-pipeline-loads | FileCheck %s
// RUN: %opt %s --pass layout-pipeline-loads --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass layout-pipeline-loads -o %t.once
// RUN: %opt %t.once --pass layout-pipeline-loads -o %t.twice
// RUN: diff %t.once %t.twice

// CHECK: #[[$ONE:.+]] = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK: #[[$HALVES:.+]] = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK: #[[$BYTES:.+]] = #ttg.blocked<{sizePerThread = [16], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK: #[[$PAIRS:.+]] = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>

// CHECK-LABEL: @halves
// CHECK: %[[P:.+]] = ttg.convert_layout %{{.+}} : {{.*}} -> tensor<128x!tt.ptr<f16>, #[[$HALVES]]>
// CHECK: %[[S:.+]] = tt.load %[[P]] : tensor<128x!tt.ptr<f16>, #[[$HALVES]]>
// CHECK: %[[BACK:.+]] = ttg.convert_layout %[[S]] : tensor<128xf16, #[[$HALVES]]> -> tensor<128xf16, #[[$ONE]]>
// CHECK: scf.yield %{{.+}}, %[[BACK]]
// REMARK: applied: a thread loads 128 bits at once instead of 16 [layout-pipeline-loads]

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#tile = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#row = #ttg.slice<{dim = 0, parent = #tile}>
#a = #ttg.dot_op<{opIdx = 0, parent = #tile}>
#b = #ttg.dot_op<{opIdx = 1, parent = #tile}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @halves(%scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf16, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) {
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

// CHECK-LABEL: @bytes
// CHECK: tt.load %{{.+}} : tensor<128x!tt.ptr<i8>, #[[$BYTES]]>
// REMARK: applied: a thread loads 128 bits at once instead of 8 [layout-pipeline-loads]
tt.func public @bytes(%scales: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xi8, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xi8, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xi8, #blocked>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<i8>, i32
    %p = tt.splat %from : !tt.ptr<i8> -> tensor<128x!tt.ptr<i8>, #blocked>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<i8>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<i8>, #blocked>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %s : tensor<64x64xf32, #tile>, tensor<128xi8, #blocked>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xi8, #blocked>
}

// A conversion of the result takes the wide one.
// CHECK-LABEL: @converted
// CHECK: %[[S:.+]] = tt.load %{{.+}} : tensor<128x!tt.ptr<f16>, #[[$HALVES]]>
// CHECK-NEXT: ttg.convert_layout %[[S]] : tensor<128xf16, #[[$HALVES]]> -> tensor<128xf16, #ttg.slice
// CHECK-NOT: convert_layout
tt.func public @converted(%scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf16, #row>) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #row>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #row>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<f16>, i32
    %p = tt.splat %from : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %c = ttg.convert_layout %s : tensor<128xf16, #blocked> -> tensor<128xf16, #row>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %c : tensor<64x64xf32, #tile>, tensor<128xf16, #row>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xf16, #row>
}
// No more than what one value of the mask holds for.
// CHECK-LABEL: @masked
// CHECK: tt.load %{{.+}}, %{{.+}}, %{{.+}} : tensor<128x!tt.ptr<f16>, #[[$PAIRS]]>
// REMARK: applied: a thread loads 32 bits at once instead of 16 [layout-pipeline-loads]
tt.func public @masked(%scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<128xf16, #blocked>) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) {
  %c0 = arith.constant 0 : i32
  %c128 = arith.constant 128 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>) : i32 {
    %from = tt.addptr %scales, %i : !tt.ptr<f16>, i32
    %p = tt.splat %from : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
    %two = arith.constant dense<2> : tensor<128xi32, #blocked>
    %half = arith.divsi %r, %two : tensor<128xi32, #blocked>
    %lengths = tt.splat %n : i32 -> tensor<128xi32, #blocked>
    %m = arith.cmpi slt, %half, %lengths : tensor<128xi32, #blocked>
    %q = tt.addptr %p, %r : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %s = tt.load %q, %m, %last : tensor<128x!tt.ptr<f16>, #blocked>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %s : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<128xf16, #blocked>
}
}

// -----

// Columns of bytes become rows of an operand: copies fill memory by rows, from where columns are read.
// CHECK: #[[$BY_ROWS:.+]] = #ttg.swizzled_shared<{vec = 16, perPhase = 2, maxPhase = 4, order = [1, 0]}>
// CHECK-LABEL: @turned
// CHECK: %[[W:.+]] = tt.load
// CHECK-NEXT: %[[M:.+]] = ttg.local_alloc %[[W]] : {{.*}} -> !ttg.memdesc<64x64xi8, #[[$BY_ROWS]], #smem>
// CHECK-NEXT: %[[T:.+]] = ttg.local_load %[[M]] : {{.*}} -> tensor<64x64xi8, #linear>
// CHECK-NOT: convert_layout
// CHECK: scf.yield %{{.+}}, %[[T]]
// REMARK: applied: turned in shared memory that asynchronous copies can fill [layout-pipeline-loads]

#wide = #ttg.blocked<{sizePerThread = [1, 16], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[1, 0], [8, 0], [16, 0], [32, 0], [0, 32]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8], [0, 16]], block = []}>
#tile = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#a = #ttg.dot_op<{opIdx = 0, parent = #tile}>
#b = #ttg.dot_op<{opIdx = 1, parent = #tile}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @turned(%base: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %n: i32, %a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %x: tensor<64x64xf32, #tile>, %v: tensor<64x64xi8, #linear>) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %out:2 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %x, %last = %v) -> (tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>) : i32 {
    %from = tt.addptr %base, %i : !tt.ptr<i8>, i32
    %q = tt.splat %from : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>, #wide>
    %w = tt.load %q : tensor<64x64x!tt.ptr<i8>, #wide>
    %t = ttg.convert_layout %w : tensor<64x64xi8, #wide> -> tensor<64x64xi8, #linear>
    %next = tt.dot %a, %b, %acc : tensor<64x64xf16, #a> * tensor<64x64xf16, #b> -> tensor<64x64xf32, #tile>
    scf.yield %next, %t : tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>
  }
  tt.return %out#0, %out#1 : tensor<64x64xf32, #tile>, tensor<64x64xi8, #linear>
}
}
