// RUN: %opt %s --pass tlx-lower-async-dots | FileCheck %s
// RUN: %opt %s --pass tlx-lower-async-dots --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
// CHECK: #[[$MMA:.*]] = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// The layout goes around the loop and through the waits; only ends are converted.
// CHECK-LABEL: tt.func @loop
// CHECK-SAME: %[[A:[a-z0-9]+]]: !ttg.memdesc{{.*}}, %[[X:[a-z0-9]+]]: tensor
tt.func @loop(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #blocked>, %n: i32, %use: i1) -> tensor<64x64xf32, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: %[[INIT:.*]] = ttg.convert_layout %[[X]] : {{.*}} -> tensor<64x64xf32, #[[$MMA]]>
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[INIT]]) -> (tensor<64x64xf32, #[[$MMA]]>)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<64x64xf32, #blocked>) : i32 {
    // REMARK: lower_async_dots.mlir:[[#@LINE+2]]:10: %d = tlx.async_dot
    // REMARK-NEXT: applied: lowered to an asynchronous warp-group MMA [tlx-lower-async-dots]
    %d = tlx.async_dot %a, %a, %acc if %use : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #blocked>
    // CHECK-NEXT: %[[D:.*]] = ttng.warp_group_dot %[[A]], %[[A]], %[[ACC]], %{{.*}} {isAsync = true}
    // CHECK-NEXT: %[[W:.*]] = ttng.warp_group_dot_wait %[[D]] {pendings = 1 : i32} : tensor<64x64xf32, #[[$MMA]]>
    %w = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : tensor<64x64xf32, #blocked>
    // CHECK-NEXT: scf.yield %[[W]]
    scf.yield %w : tensor<64x64xf32, #blocked>
  }
  // CHECK: %[[W0:.*]] = ttng.warp_group_dot_wait %[[R]]
  // CHECK-NEXT: %[[OUT:.*]] = ttg.convert_layout %[[W0]] : {{.*}} -> tensor<64x64xf32, #blocked>
  // CHECK-NEXT: tt.return %[[OUT]]
  %z = ttng.warp_group_dot_wait %r {pendings = 0 : i32} : tensor<64x64xf32, #blocked>
  tt.return %z : tensor<64x64xf32, #blocked>
}

// With other ops on the accumulator inside of the loop, which start from and end in their own layout.
// CHECK-LABEL: tt.func @arithmetic
tt.func @arithmetic(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #blocked>, %n: i32) -> tensor<64x64xf32, #blocked> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: %[[R:.*]] = scf.for {{.*}} -> (tensor<64x64xf32, #[[$MMA]]>)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<64x64xf32, #blocked>) : i32 {
    %d = tlx.async_dot %a, %a, %acc : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #blocked>
    %w = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<64x64xf32, #blocked>
    // CHECK: %[[W:.*]] = ttng.warp_group_dot_wait
    // CHECK-NEXT: %[[OUT:.*]] = ttg.convert_layout %[[W]] : {{.*}} -> tensor<64x64xf32, #blocked>
    // CHECK-NEXT: %[[S:.*]] = arith.addf %[[OUT]], %{{.*}} : tensor<64x64xf32, #blocked>
    // CHECK-NEXT: %[[IN:.*]] = ttg.convert_layout %[[S]] : {{.*}} -> tensor<64x64xf32, #[[$MMA]]>
    // CHECK-NEXT: scf.yield %[[IN]]
    %s = arith.addf %w, %x : tensor<64x64xf32, #blocked>
    scf.yield %s : tensor<64x64xf32, #blocked>
  }
  // CHECK: ttg.convert_layout %[[R]] : {{.*}} -> tensor<64x64xf32, #blocked>
  tt.return %r : tensor<64x64xf32, #blocked>
}

// Through a conditional, with an operand in registers; arithmetic behind the wait is in its own layout.
// CHECK-LABEL: tt.func @conditional
tt.func @conditional(%r: tensor<64x64xf16, #blocked>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #blocked>, %c: i1) -> tensor<64x64xf32, #blocked> {
  // CHECK: %[[IF:.*]] = scf.if {{.*}} -> (tensor<64x64xf32, #[[$MMA]]>)
  %s = scf.if %c -> (tensor<64x64xf32, #blocked>) {
    // CHECK: ttg.convert_layout {{.*}} -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #[[$MMA]], kWidth = 2}>>
    // CHECK: ttng.warp_group_dot
    %d = tlx.async_dot %r, %b, %x : tensor<64x64xf16, #blocked> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #blocked>
    scf.yield %d : tensor<64x64xf32, #blocked>
  } else {
    scf.yield %x : tensor<64x64xf32, #blocked>
  }
  // CHECK: %[[W:.*]] = ttng.warp_group_dot_wait %[[IF]]
  %w = ttng.warp_group_dot_wait %s {pendings = 0 : i32} : tensor<64x64xf32, #blocked>
  // CHECK: %[[OUT:.*]] = ttg.convert_layout %[[W]]
  // CHECK: arith.addf %[[OUT]], %{{.*}} : tensor<64x64xf32, #blocked>
  %o = arith.addf %w, %x : tensor<64x64xf32, #blocked>
  tt.return %o : tensor<64x64xf32, #blocked>
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#shared1 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
// Two warp groups share the rows when there are enough, K follows from the type.
// CHECK: #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 128, 32]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @groups(%a: !ttg.memdesc<128x128xf8E4M3FN, #shared, #smem, mutable>, %b: !ttg.memdesc<128x128xf8E4M3FN, #shared1, #smem, mutable>, %x: tensor<128x128xf32, #blocked>) -> tensor<128x128xf32, #blocked> {
  // CHECK: ttng.warp_group_dot {{.*}} maxNumImpreciseAcc = 64 : i32
  %d = tlx.async_dot %a, %b, %x {maxNumImpreciseAcc = 64 : i32} : !ttg.memdesc<128x128xf8E4M3FN, #shared, #smem, mutable> * !ttg.memdesc<128x128xf8E4M3FN, #shared1, #smem, mutable> -> tensor<128x128xf32, #blocked>
  %w = ttng.warp_group_dot_wait %d {pendings = 0 : i32} : tensor<128x128xf32, #blocked>
  tt.return %w : tensor<128x128xf32, #blocked>
}
}
