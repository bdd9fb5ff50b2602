// RUN: %opt %s --pass layout-prefetch-loads | FileCheck %s
// RUN: %opt %s --pass layout-prefetch-loads --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %opt %s --pass layout-prefetch-loads -o %t.once
// RUN: %opt %t.once --pass layout-prefetch-loads -o %t.twice
// RUN: diff %t.once %t.twice

// REMARK-COUNT-4: applied: each iteration loads what the next one uses [layout-prefetch-loads]

// Whatever the first iteration loads, and nothing if there is none.
// CHECK-LABEL: @by_index
// CHECK: %[[ANY:.+]] = arith.cmpi slt, %c0_i32, %[[N:arg[0-9]+]] : i32
// CHECK: %[[ANYS:.+]] = tt.splat %[[ANY]] : i1 -> tensor<128xi1, #blocked>
// CHECK: %[[FIRST:.+]] = tt.load %{{.+}}, %[[ANYS]] : tensor<128x!tt.ptr<f16>, #blocked>
// CHECK: scf.for %[[I:.+]] = {{.*}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[S:.+]] = %[[FIRST]])
// CHECK:   %[[NEXT:.+]] = arith.addi %[[I]], %c1_i32 : i32
// CHECK:   %[[MORE:.+]] = arith.cmpi slt, %[[NEXT]], %[[N]] : i32
// CHECK:   arith.mulf %[[ACC]], %[[S]]
// CHECK:   tt.splat %[[NEXT]]
// CHECK:   %[[MORES:.+]] = tt.splat %[[MORE]] : i1 -> tensor<128xi1, #blocked>
// CHECK:   %[[LOADED:.+]] = tt.load %{{.+}}, %[[MORES]] : tensor<128x!tt.ptr<f16>, #blocked>
// CHECK:   arith.addf
// CHECK:   scf.yield %{{.+}}, %[[LOADED]]
// CHECK: {tt.num_stages = 3 : i32}

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @by_index(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>) -> tensor<128xf16, #blocked> {
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
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  } {tt.num_stages = 3 : i32}
  tt.return %out : tensor<128xf16, #blocked>
}

// A mask of the kernel holds as well. What is masked off stays what it was.
// CHECK-LABEL: @masked
// CHECK: %[[ONE:.+]] = arith.cmpi slt, %{{.+}}, %{{.+}} : tensor<128xi32, #blocked>
// CHECK: scf.for
// CHECK: %[[OWN:.+]] = arith.cmpi slt, %{{.+}}, %{{.+}} : tensor<128xi32, #blocked>
// CHECK: %[[BOTH:.+]] = arith.andi %[[OWN]], %{{.+}} : tensor<128xi1, #blocked>
// CHECK: tt.load %{{.+}}, %[[BOTH]], %{{.+}}
tt.func public @masked(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %lengths = tt.splat %n : i32 -> tensor<128xi32, #blocked>
  %other = arith.constant dense<1.0> : tensor<128xf16, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %is = tt.splat %i : i32 -> tensor<128xi32, #blocked>
    %at = arith.addi %is, %r : tensor<128xi32, #blocked>
    %q = tt.addptr %p, %at : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    %inside = arith.cmpi slt, %at, %lengths : tensor<128xi32, #blocked>
    %s = tt.load %q, %inside, %other : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}

// A pointer that the loop carries is what the iteration hands on.
// CHECK-LABEL: @by_pointer
// CHECK: tt.load %{{.+}}, %{{.+}} : tensor<128x!tt.ptr<f16>, #blocked>
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[Q:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}})
// CHECK:   arith.mulf %[[ACC]], %[[S]]
// CHECK:   %[[STEPPED:.+]] = tt.addptr %[[Q]], %{{.+}}
// CHECK:   tt.load %[[STEPPED]], %{{.+}} : tensor<128x!tt.ptr<f16>, #blocked>
tt.func public @by_pointer(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %begin = tt.addptr %p, %r : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
  %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x, %q = %begin) -> (tensor<128xf16, #blocked>, tensor<128x!tt.ptr<f16>, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %s = tt.load %q : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    %step = tt.splat %n : i32 -> tensor<128xi32, #blocked>
    %next = tt.addptr %q, %step : tensor<128x!tt.ptr<f16>, #blocked>, tensor<128xi32, #blocked>
    scf.yield %z, %next : tensor<128xf16, #blocked>, tensor<128x!tt.ptr<f16>, #blocked>
  }
  tt.return %out#0 : tensor<128xf16, #blocked>
}

// A scalar, beside a store to other memory.
// CHECK-LABEL: @scalar
// CHECK: %[[ANY:.+]] = arith.cmpi slt
// CHECK: tt.load %{{.+}}, %[[ANY]] : !tt.ptr<f16>
// CHECK: scf.for
// CHECK:   tt.load %{{.+}}, %{{.+}} : !tt.ptr<f16>
// CHECK:   scf.yield
tt.func public @scalar(%tiles: tensor<128x!tt.ptr<f32>, #blocked>, %buffer: !ttg.memdesc<128xf32, #shared, #smem, mutable>, %scales: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %x: tensor<128xf16, #blocked>, %base: !tt.ptr<f16>) -> tensor<128xf16, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>
  %to = tt.splat %base : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %p = tt.splat %scales : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>, #blocked>
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<128xf16, #blocked>) : i32 {
    %token = ttg.async_copy_global_to_local %tiles, %buffer : tensor<128x!tt.ptr<f32>, #blocked> -> <128xf32, #shared, #smem, mutable>
    %q = tt.addptr %scales, %i : !tt.ptr<f16>, i32
    %one = tt.load %q : !tt.ptr<f16>
    %s = tt.splat %one : f16 -> tensor<128xf16, #blocked>
    tt.store %to, %s : tensor<128x!tt.ptr<f16>, #blocked>
    %y = arith.mulf %acc, %s : tensor<128xf16, #blocked>
    %z = arith.addf %y, %y : tensor<128xf16, #blocked>
    scf.yield %z : tensor<128xf16, #blocked>
  }
  tt.return %out : tensor<128xf16, #blocked>
}
}
