// RUN: %opt %s --pass warpspec-lower-ring-barriers | FileCheck %s

// Each warp arrives once, if the condition holds; an op without the mark is stock's.
// CHECK-LABEL: @marked
// CHECK: llvm.inline_asm has_side_effects {{.*}}mbarrier.try_wait.parity{{.*}} %{{.+}}, %arg1
// CHECK: llvm.inline_asm has_side_effects {{.*}}elect.sync{{.*}}mbarrier.arrive.shared::cta.b64 _, [$0]{{.*}} %{{.+}}, %arg2
// CHECK: %[[TRUE:.+]] = arith.constant true
// CHECK: llvm.inline_asm has_side_effects {{.*}}mbarrier.arrive{{.*}} %{{.+}}, %[[TRUE]]
// CHECK-NEXT: ttng.arrive_barrier %arg0, 1
// CHECK-NEXT: tt.return
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @marked(%bar: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %phase: i32, %condition: i1) {
  ttng.wait_barrier %bar, %phase {warpspec.per_warp} : !ttg.memdesc<1xi64, #bars, #smem, mutable>
  ttng.arrive_barrier %bar, 4, %condition {warpspec.per_warp} : !ttg.memdesc<1xi64, #bars, #smem, mutable>
  ttng.arrive_barrier %bar, 4 {warpspec.per_warp} : !ttg.memdesc<1xi64, #bars, #smem, mutable>
  ttng.arrive_barrier %bar, 1 : !ttg.memdesc<1xi64, #bars, #smem, mutable>
  tt.return
}
}
