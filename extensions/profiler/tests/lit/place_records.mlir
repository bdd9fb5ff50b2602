// RUN: %opt %s --pass profiler-place-records | FileCheck %s
// RUN: %opt %s --pass "profiler-place-records{mode=all}" | FileCheck %s --check-prefix=ALL
// RUN: %opt %s --pass "profiler-place-records{mode=header}" | FileCheck %s --check-prefix=HEADER
// RUN: sed 's/^  %wait = /  profiler.enter "step"\n&/; s/^  %dot = /  profiler.enter "dot"\n&/; s/^  %done = /  profiler.exit "dot"\n  profiler.mark "value", %long {is_float}\n&/; s/^  %next = /  profiler.exit "step"\n&/; s/^  %c8 = /  %long = arith.constant 7 : i64\n&/' %s > %t
// RUN: %opt %t --pass "profiler-place-records{mode=scopes}" | FileCheck %s --check-prefix=SCOPES
// RUN: %opt %t --pass profiler-place-records | FileCheck %s --check-prefix=BOTH

// A loop of known length: so many records, and no more room than for them.
// CHECK: profiler.capacity = 36 : i64
// CHECK-SAME: profiler.loops = [{column = {{[0-9]+}} : i64, file = "{{.*}}.mlir", line = {{[0-9]+}} : i64, pace = 2 : i64, parent = -1 : i64, trip_count = 8 : i64}]
// CHECK-SAME: profiler.mode = "auto"
// CHECK-SAME: category = "entry"
// CHECK-SAME: {bytes = 16384 : i64, category = "copy_issue"
// CHECK-SAME: flops = 2097152 : i64
// CHECK-SAME: category = "epilogue"
// CHECK-SAME: profiler.roles = [{first_warp = 0 : i64, name = "default", num_warps = 4 : i64}, {first_warp = 4 : i64, name = "partition0", num_warps = 4 : i64}]
// CHECK-LABEL: @kernel
// CHECK: profiler.record 1
// CHECK-NEXT: ttg.async_copy_global_to_local
// CHECK-NEXT: ttg.async_commit_group
// CHECK: ^bb1
// CHECK-NOT: profiler.record
// CHECK: ^bb2
// CHECK: profiler.record 2
// CHECK-NEXT: ttg.async_wait
// Views belong to what surrounds them.
// CHECK-NEXT: ttg.memdesc_index
// CHECK: profiler.record 3
// CHECK-NEXT: ttng.warp_group_dot
// CHECK-NEXT: profiler.record 4
// CHECK-NEXT: ttng.warp_group_dot_wait
// CHECK-NEXT: profiler.record 5
// CHECK-NEXT: ttg.barrier
// CHECK-NEXT: arith.addi
// CHECK-NEXT: cf.br
// CHECK: ^bb3
// CHECK-NEXT: profiler.record 6
// CHECK-NEXT: arith.truncf
// CHECK: default
// CHECK-NEXT: profiler.record 7
// CHECK-NEXT: ttg.warp_yield
// CHECK: partition0
// CHECK: profiler.record 8
// CHECK-NEXT: ttng.wait_barrier
// CHECK-NEXT: profiler.record 9
// CHECK-NEXT: ttg.warp_return
// CHECK: profiler.record 10
// CHECK-NEXT: tt.store

// ALL: profiler.record 1
// ALL-NEXT: ttg.async_copy_global_to_local
// ALL-NEXT: profiler.record 2
// ALL-NEXT: ttg.async_commit_group

// HEADER: profiler.capacity = 0 : i64
// HEADER-SAME: name = "partition0"
// HEADER-NOT: profiler.record

// SCOPES: profiler.capacity = 40 : i64
// SCOPES-SAME: pace = 1 : i64
// SCOPES-SAME: category = "scope"
// SCOPES-SAME: enters = true
// SCOPES-SAME: name = "step", op = "profiler.enter"
// SCOPES-SAME: enters = true
// SCOPES-SAME: name = "step/dot", op = "profiler.enter"
// SCOPES-SAME: name = "step", op = "profiler.exit"
// SCOPES-SAME: mark = "value"
// SCOPES-SAME: value = "float"
// SCOPES: profiler.record 1
// SCOPES-NEXT: ttg.async_wait
// SCOPES: profiler.record 2
// SCOPES-NEXT: ttng.warp_group_dot
// SCOPES-NEXT: profiler.record 3
// SCOPES-NEXT: profiler.record 4, %
// SCOPES-NEXT: ttng.warp_group_dot_wait
// SCOPES-NEXT: ttg.barrier
// SCOPES-NEXT: profiler.record 5
// SCOPES-NOT: profiler.record

// What a scope begins with says of which category its beginning is.
// BOTH: {bytes = 16384 : i64, category = "copy_issue"
// BOTH-SAME: category = "copy_wait"
// BOTH-SAME: name = "step"
// BOTH-SAME: category = "mma_issue"
// BOTH-SAME: name = "step/dot"

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 128, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttg.total-num-warps" = 8 : i32} {
tt.func public @kernel(%from: tensor<128x64x!tt.ptr<f16>, #blocked>, %buffers: !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x128xf16, #shared, #smem, mutable>, %zero: tensor<128x128xf32, #mma>, %to: tensor<128x128x!tt.ptr<f16>, #mma>, %bar: !ttg.memdesc<1xi64, #one, #smem, mutable>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %buffer = ttg.memdesc_index %buffers[%c0] : !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
  %copy = ttg.async_copy_global_to_local %from, %buffer : tensor<128x64x!tt.ptr<f16>, #blocked> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
  %group = ttg.async_commit_group tokens %copy
  cf.br ^bb1(%c0, %zero : i32, tensor<128x128xf32, #mma>)
^bb1(%i: i32, %acc: tensor<128x128xf32, #mma>):
  %more = arith.cmpi slt, %i, %c8 : i32
  cf.cond_br %more, ^bb2, ^bb3
^bb2:
  %wait = ttg.async_wait {num = 0 : i32}
  %a = ttg.memdesc_index %buffers[%c1] : !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
  %dot = ttng.warp_group_dot %a, %b, %acc {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<128x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x128xf16, #shared, #smem, mutable> -> tensor<128x128xf32, #mma>
  %done = ttng.warp_group_dot_wait %dot {pendings = 0 : i32} : tensor<128x128xf32, #mma>
  ttg.barrier local
  %next = arith.addi %i, %c1 : i32
  cf.br ^bb1(%next, %done : i32, tensor<128x128xf32, #mma>)
^bb3:
  %half = arith.truncf %acc : tensor<128x128xf32, #mma> to tensor<128x128xf16, #mma>
  ttg.warp_specialize(%bar) attributes {warpGroupStartIds = array<i32: 4>}
  default {
    ttg.warp_yield
  }
  partition0(%own: !ttg.memdesc<1xi64, #one, #smem, mutable>) num_warps(4) {
    %phase = arith.constant 0 : i32
    ttng.wait_barrier %own, %phase : !ttg.memdesc<1xi64, #one, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<1xi64, #one, #smem, mutable>) -> ()
  tt.store %to, %half : tensor<128x128x!tt.ptr<f16>, #mma>
  tt.return
}
}
