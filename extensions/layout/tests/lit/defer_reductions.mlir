// RUN: %opt %s --pass layout-defer-reductions | FileCheck %s
// RUN: %opt %s --pass layout-defer-reductions --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Rows lie in registers (4), lanes (2) and warps (4), in this order of bits. Threads add up their four rows.
// CHECK-LABEL: @columns
// CHECK: %[[NEUTRAL:.+]] = arith.constant dense<-0.000000e+00> : tensor<8x64xf32,
// CHECK: %[[OUT:.+]] = scf.for {{.*}} iter_args(%[[ACC:.+]] = %[[NEUTRAL]])
// CHECK:   %[[SPLIT:.+]] = tt.reshape %{{.+}} : tensor<32x64xf32, #blocked> -> tensor<8x4x64xf32,
// CHECK-NEXT: %[[MINE:.+]] = "tt.reduce"(%[[SPLIT]]) <{axis = 1 : i32}>
// CHECK:   arith.addf %[[ACC]], %[[MINE]] : tensor<8x64xf32,
// CHECK-NEXT: scf.yield
// CHECK: %[[REST:.+]] = "tt.reduce"(%[[OUT]]) <{axis = 0 : i32}>
// CHECK: %[[SUM:.+]] = ttg.convert_layout %[[REST]] : {{.*}} -> tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>>
// CHECK-NEXT: arith.addf %arg1, %[[SUM]]
// REMARK: applied: threads combine what they have in the loop, and with each other after it, in another order of the sum [layout-defer-reductions]

#blocked = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @columns(%x: tensor<32x64xf32, #blocked>, %start: tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>>, %n: i32) -> tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %start) -> (tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>>) : i32 {
    %s = tt.splat %n : i32 -> tensor<32x64xi32, #blocked>
    %f = arith.sitofp %s : tensor<32x64xi32, #blocked> to tensor<32x64xf32, #blocked>
    %y = arith.mulf %x, %f : tensor<32x64xf32, #blocked>
    %r = "tt.reduce"(%y) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      tt.reduce.return %sum : f32
    }) : (tensor<32x64xf32, #blocked>) -> tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %next = arith.addf %acc, %r : tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>>
    scf.yield %next : tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>>
  }
  tt.return %out : tensor<64xf32, #ttg.slice<{dim = 0, parent = #blocked}>>
}
}

// -----

// A scalar becomes one number per thread.
// CHECK-LABEL: @scalar
// CHECK: %[[LEAST:.+]] = arith.constant dense<0x7FC00000> : tensor<128xf32,
// CHECK: %[[OUT:.+]] = scf.for {{.*}} iter_args(%[[ACC:.+]] = %[[LEAST]])
// CHECK:   tt.reshape %{{.+}} : tensor<1024xf32, #blocked> -> tensor<2x128x4xf32,
// CHECK:   "tt.reduce"{{.*}}axis = 2
// CHECK:   "tt.reduce"{{.*}}axis = 0
// CHECK:   arith.maxnumf %{{.+}}, %[[ACC]] : tensor<128xf32,
// CHECK: %[[REST:.+]] = "tt.reduce"(%[[OUT]]) <{axis = 0 : i32}>
// CHECK: arith.maxnumf %[[REST]], %arg1 : f32
// REMARK: applied: threads combine what they have in the loop, and with each other after it [layout-defer-reductions]

#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @scalar(%x: tensor<1024xf32, #blocked>, %start: f32, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %start) -> (f32) : i32 {
    %s = tt.splat %start : f32 -> tensor<1024xf32, #blocked>
    %y = arith.mulf %x, %s : tensor<1024xf32, #blocked>
    %r = "tt.reduce"(%y) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %max = arith.maxnumf %a, %b : f32
      tt.reduce.return %max : f32
    }) : (tensor<1024xf32, #blocked>) -> f32
    %next = arith.maxnumf %r, %acc : f32
    scf.yield %next : f32
  }
  tt.return %out : f32
}
}
