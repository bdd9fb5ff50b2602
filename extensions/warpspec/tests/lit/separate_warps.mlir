// RUN: %opt %s --pass warpspec-separate-warps | FileCheck %s
// RUN: %opt %s --pass "warpspec-separate-warps{instrumentation=iisan,consan}" | FileCheck %s --check-prefix=STOCK
// STOCK-NOT: ttg.inline_asm

// Each warp waits and arrives for itself. Warp group 1 gives the first turn away, and group 0 takes
// the last one.
// CHECK-LABEL: @turns
// CHECK: default
// CHECK-NEXT: ttg.inline_asm "{{.*}}@second bar.arrive 14, 256; }"
// CHECK-NEXT: ttg.inline_asm "{{.*}}mbarrier.try_wait.parity{{.*}}" {constraints = "r,r,~{memory}", pure = false} %{{.+}}, %{{.+}} :
// CHECK-NEXT: ttg.inline_asm "{{.*}}bar.sync turn, 256; }"
// CHECK-NEXT: ttg.inline_asm "{{.*}}bar.arrive turn, 256; }"
// CHECK-NEXT: ttng.warp_group_dot_wait
// CHECK-NOT: passes_turn
// CHECK: ttg.inline_asm "{{.*}}@first mbarrier.arrive{{.*}}" {constraints = "r,~{memory}", pure = false} %{{.+}} :
// CHECK-NEXT: ttng.wait_barrier
// CHECK-NEXT: ttg.inline_asm "{{.*}}@first bar.sync 14, 256; }"
// CHECK-NEXT: ttg.warp_yield

#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!bar = !ttg.memdesc<1xi64, #bars, #smem, mutable>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @turns(%sum: tensor<128x64xf32, #mma>, %phase: i32) {
  %full = ttg.local_alloc : () -> !bar
  %empty = ttg.local_alloc : () -> !bar
  ttg.warp_specialize()
  default {
    ttng.wait_barrier %full, %phase {warpspec.separate_warps, warpspec.takes_turn} : !bar
    %w = ttng.warp_group_dot_wait %sum {pendings = 0 : i32, warpspec.passes_turn} : tensor<128x64xf32, #mma>
    ttng.arrive_barrier %empty, 8 {warpspec.separate_warps} : !bar
    ttng.wait_barrier %full, %phase : !bar
    ttg.warp_yield
  }
  partition0() num_warps(1) {
    ttg.warp_return
  } : () -> ()
  tt.return
}
}
