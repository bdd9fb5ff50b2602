// One JSON object for each conversion; the module stays as it is.
// RUN: %opt %s --pass layout-report-conversions -o %t.out
// RUN: %opt %s -o %t.in
// RUN: diff %t.in %t.out
// RUN: %opt %s --pass layout-report-conversions --remarks -o %t 2>&1 | FileCheck %s
// RUN: %opt %s --pass "layout-report-conversions{shuffles=true}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=SHUFFLE

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#turned = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
#linear = #ttg.linear<{register = [[32, 0], [0, 32], [0, 16], [0, 2], [0, 1]], lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], warp = [[8, 0], [16, 0]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @paths(%x: tensor<64x64xf32, #blocked>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // CHECK-DAG: "path":"nothing"
  %0 = ttg.convert_layout %x : tensor<64x64xf32, #blocked> -> tensor<64x64xf32, #blocked>
  // CHECK-DAG: "path":"registers",{{.*}}"to":"linear"
  %1 = ttg.convert_layout %x : tensor<64x64xf32, #blocked> -> tensor<64x64xf32, #linear>
  // CHECK-DAG: "block_barriers":0,{{.*}}"from":"blocked 1x4, lanes 8x4, warps 4x1","loads":{"bits":128,"conflicts":0,"instructions":8,"matrix":true,"wavefronts":32},"path":"shared memory of a warp",{{.*}}"rounds":8,"scratch_bytes":2048,{{.*}}"to":"blocked 4x1, lanes 2x16, warps 4x1","warp_barriers":15
  // SHUFFLE-DAG: "path":"shuffles",{{.*}}"selects":128,{{.*}}"shuffles":32
  %2 = ttg.convert_layout %x : tensor<64x64xf32, #blocked> -> tensor<64x64xf32, #turned>
  scf.for %i = %zero to %n step %one : i32 {
    %sum = arith.addf %x, %x : tensor<64x64xf32, #blocked>
    // CHECK-DAG: "block_barriers":1,{{.*}}"consumer_lines":[27],"consumers":["tt.reduce"],"cycles":{{[0-9]+}},"depth":1,{{.*}}"path":"shared memory of a CTA","permutes":0,"producer":"the caller","rounds":1,"scratch_bytes":16384,
    %3 = ttg.convert_layout %sum : tensor<64x64xf32, #blocked> -> tensor<64x64xf32, #columns>
    %4 = "tt.reduce"(%3) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<64x64xf32, #columns>) -> tensor<64xf32, #ttg.slice<{dim = 0, parent = #columns}>>
  } {tt.keep}
  tt.return
}
}
