// RUN: %opt %s --pass tlx-show-async-ops | FileCheck %s

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
// CHECK-LABEL: tt.func @ops
tt.func @ops(%a: tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %x: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {
  // CHECK: ttg.async_wait {num = 3 : i32}
  %w = tlx.async_load_wait {pendings = 3 : i32}
  // CHECK-NEXT: ttng.warp_group_dot {{.*}} {inputPrecision = 0 : i32, isAsync = true} : tensor<64x64xf16, #ttg.dot_op
  %d = tlx.async_dot %a, %b, %x {inputPrecision = "tf32"} : tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #mma>
  tt.return %d : tensor<64x64xf32, #mma>
}
}
