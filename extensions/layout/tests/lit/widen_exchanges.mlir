// RUN: %opt %s --pass layout-widen-exchanges | FileCheck %s
// RUN: %opt %s --pass layout-widen-exchanges --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// The operands of the loop are no longer needed when its result is exchanged.
// CHECK-LABEL: @epilogue
// CHECK: ttg.local_dealloc
// CHECK-NEXT: %[[ALL:.+]] = ttg.local_alloc %arg0 : (tensor<128x128xf16, #mma{{[0-9]*}}>) -> !ttg.memdesc<128x128xf16, #[[S:.+]], #smem>
// CHECK-NEXT: ttg.local_load %[[ALL]] : !ttg.memdesc<128x128xf16, #[[S]], #smem> -> tensor<128x128xf16, #blocked{{[0-9]*}}>
// CHECK-NOT: convert_layout
// REMARK: applied: the exchange takes one round instead of {{[0-9]+}}, in memory that is free by then [layout-widen-exchanges]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @epilogue(%x: tensor<128x128xf16, #mma>) -> tensor<128x128xf16, #blocked> {
  %ring = ttg.local_alloc : () -> !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
  ttg.local_dealloc %ring : !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
  %y = ttg.convert_layout %x : tensor<128x128xf16, #mma> -> tensor<128x128xf16, #blocked>
  tt.return %y : tensor<128x128xf16, #blocked>
}
}
