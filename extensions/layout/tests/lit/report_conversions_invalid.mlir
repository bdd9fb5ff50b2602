// The pass says nothing of a module without conversions, and nothing goes through shuffles that warps exchange.
// RUN: %opt %s --pass "layout-report-conversions{shuffles=true}" --remarks -o %t 2>&1 | FileCheck %s
// RUN: not %opt %s --pass "layout-report-conversions{shuffles=maybe}" 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: the pass layout_report_conversions does not accept its options

// CHECK-NOT: shuffles of
// CHECK: "path":"shared memory of a CTA"
// CHECK-NOT: "path"

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @across_warps(%x: tensor<64x64xf32, #blocked>) {
  %0 = ttg.convert_layout %x : tensor<64x64xf32, #blocked> -> tensor<64x64xf32, #columns>
  tt.return
}
tt.func public @none(%x: tensor<64x64xf32, #blocked>) {
  tt.return
}
}
