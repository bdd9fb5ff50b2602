// RUN: %opt %s --pass tlx-check-shared-memory | FileCheck %s

// CHECK-LABEL: @fits
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = 232448 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @fits() {
  %small = ttg.local_alloc {allocation.offset = 196608 : i32} : () -> !ttg.memdesc<64x64xf16, #plain, #smem, mutable>
  %large = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<3x256x128xf16, #plain, #smem, mutable>
  tt.return
}
}

// -----

// Targets of unknown size are left to the launch.
// CHECK-LABEL: @unknown
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = 999999 : i32, ttg.target = "cuda:89", "ttg.threads-per-warp" = 32 : i32} {
tt.func @unknown() {
  tt.return
}
}
