// RUN: %opt %s --pass sparsity-lower-warp-group-dots --verify-diagnostics

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 16]}>
#meta = #ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#s64 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>
#s0 = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>
#s128t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @unswizzled(%v: !ttg.memdesc<64x32xbf16, #s64, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x16xbf16, #s0, #smem>, %c: tensor<64x16xf32, #mma>) {
  // expected-error @below {{expected operands in swizzled shared memory, got '!ttg.memdesc<64x16xbf16, }}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xbf16, #s64, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x16xbf16, #s0, #smem> -> tensor<64x16xf32, #mma>
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 32]}>
#meta = #ttg.linear<{register = [[0, 1], [0, 2], [0, 8]], lane = [[8, 0], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#b64 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8}>
#b32 = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 8}>
#b128t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @major(%v: !ttg.memdesc<64x64xf8E4M3FN, #b64, #smem>, %m: tensor<64x16xi8, #meta>, %b: !ttg.memdesc<128x32xf8E4M3FN, #b32, #smem>, %c: tensor<64x32xf32, #mma>) {
  // expected-error @below {{expected K as the contiguous dimension of operands that have not 16 bits, got '!ttg.memdesc<128x32xf8E4M3FN, }}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x64xf8E4M3FN, #b64, #smem>, tensor<64x16xi8, #meta> * !ttg.memdesc<128x32xf8E4M3FN, #b32, #smem> -> tensor<64x32xf32, #mma>
  tt.return
}
}

// -----

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 512, 32]}>
#meta = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[8, 0], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]], block = []}>
#b32 = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 8}>
#b64t = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 8}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @width(%v: !ttg.memdesc<64x32xi8, #b32, #smem>, %m: tensor<64x8xi8, #meta>, %b: !ttg.memdesc<64x512xi8, #b64t, #smem>, %c: tensor<64x512xi32, #mma>) {
  // expected-error @below {{expected a layout of the accumulator with columns that an instruction has for 'i8', got 512}}
  %d = sparsity.warp_group_dot %v, %m, %b, %c : !ttg.memdesc<64x32xi8, #b32, #smem>, tensor<64x8xi8, #meta> * !ttg.memdesc<64x512xi8, #b64t, #smem> -> tensor<64x512xi32, #mma>
  tt.return
}
}
