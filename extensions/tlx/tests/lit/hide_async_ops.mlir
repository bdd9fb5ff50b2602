// RUN: %opt %s --pass tlx-hide-async-ops | FileCheck %s
// RUN: %opt %s --pass "tlx-hide-async-ops,ttgpuir.pipeline{3 0},tlx-show-async-ops" | FileCheck %s --check-prefix=SHOWN
// RUN: %opt %s --pass "ttgpuir.pipeline{3 0}" | FileCheck %s --check-prefix=SEEN

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// What the pass is for: the pipeliner adds a wait for each dot, and waits for every group of copies.
// SEEN: ttg.async_wait {num = 0 : i32}
// SEEN: ttng.warp_group_dot
// SEEN: ttng.warp_group_dot_wait {{.*}} {pendings = 0 : i32}
// SEEN: ttng.warp_group_dot_wait {{.*}} {pendings = 1 : i32}

// CHECK-LABEL: tt.func @loop
// SHOWN-LABEL: tt.func @loop
tt.func @loop(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #mma>, %n: i32, %use: i1) -> tensor<64x64xf32, #mma> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: scf.for
  // SHOWN: scf.for
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<64x64xf32, #mma>) : i32 {
    // CHECK-NEXT: tlx.async_load_wait {pendings = 2 : i32}
    // SHOWN-NEXT: ttg.async_wait {num = 2 : i32}
    %w = ttg.async_wait {num = 2 : i32}
    // CHECK-NEXT: %[[D:.*]] = tlx.async_dot %{{.*}}, %{{.*}}, %{{.*}} if %{{.*}} {inputPrecision = "tf32", maxNumImpreciseAcc = 32 : i32} : !ttg.memdesc<{{.*}}> * !ttg.memdesc<{{.*}}> -> tensor<64x64xf32, #mma>
    // CHECK-NEXT: ttng.warp_group_dot_wait %[[D]] {pendings = 1 : i32}
    // SHOWN-NEXT: %[[D:.*]] = ttng.warp_group_dot %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {inputPrecision = 0 : i32, isAsync = true, maxNumImpreciseAcc = 32 : i32}
    // SHOWN-NEXT: ttng.warp_group_dot_wait %[[D]] {pendings = 1 : i32}
    %d = ttng.warp_group_dot %a, %b, %acc, %use {inputPrecision = 0 : i32, isAsync = true, maxNumImpreciseAcc = 32 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #mma>
    %v = ttng.warp_group_dot_wait %d {pendings = 1 : i32} : tensor<64x64xf32, #mma>
    scf.yield %v : tensor<64x64xf32, #mma>
  } {tt.num_stages = 1 : i32}
  tt.return %r : tensor<64x64xf32, #mma>
}

// CHECK-LABEL: tt.func @loads
tt.func @loads(%b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) -> (tensor<64x64xf16, #mma>, tensor<64x64xf16, #mma>) {
  // CHECK: tlx.local_load %{{.*}} {ttg.amdg.syncedViaAsyncWait = true} : !ttg.memdesc<{{.*}}> -> tensor<64x64xf16, #mma>
  %l = ttg.local_load %b {ttg.amdg.syncedViaAsyncWait = true} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #mma>
  %g = ttg.async_commit_group
  // CHECK: ttg.local_load %{{.*}} token
  %t = ttg.local_load %b token %g : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #mma>
  tt.return %l, %t : tensor<64x64xf16, #mma>, tensor<64x64xf16, #mma>
}

// What is not of TLX is left to the pipeliner.
// CHECK-LABEL: tt.func @others
tt.func @others(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {
  %g = ttg.async_commit_group
  // CHECK: ttg.async_wait
  %w = ttg.async_wait %g {num = 0 : i32}
  // CHECK: ttng.warp_group_dot
  %d = ttng.warp_group_dot %a, %b, %x : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #mma>
  tt.return %d : tensor<64x64xf32, #mma>
}
}
