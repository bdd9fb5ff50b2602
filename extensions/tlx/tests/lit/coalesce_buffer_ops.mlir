// RUN: %opt %s --pass tlx-coalesce-buffer-ops | FileCheck %s
// RUN: %opt %s --pass tlx-coalesce-buffer-ops --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
// CHECK-DAG: #[[$WIDE:.*]] = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {

// CHECK-LABEL: tt.func @load_and_store
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tt.ptr<f32>
tt.func @load_and_store(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
  // CHECK: %[[O:.*]] = tt.make_range
  %o = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
  // CHECK: %[[O1:.*]] = ttg.convert_layout %[[O]] : {{.*}} -> tensor<1024xi32, #[[$WIDE]]>
  // CHECK: %[[V:.*]] = amdg.buffer_load %[[P]][%[[O1]]] : {{.*}}tensor<1024xf32, #[[$WIDE]]>
  // CHECK: %[[V1:.*]] = ttg.convert_layout %[[V]] : {{.*}} -> tensor<1024xf32, #blocked>
  // REMARK: applied: accesses 16 bytes at once [tlx-coalesce-buffer-ops]
  %v = amdg.buffer_load %p[%o] : !tt.ptr<f32> -> tensor<1024xf32, #blocked>
  // CHECK-DAG: %[[V2:.*]] = ttg.convert_layout %[[V1]] : {{.*}} -> tensor<1024xf32, #[[$WIDE]]>
  // CHECK: amdg.buffer_store %{{.*}}, %[[P]][%{{.*}}] : {{.*}}tensor<1024xf32, #[[$WIDE]]>
  amdg.buffer_store %v, %p[%o] : !tt.ptr<f32> -> tensor<1024xf32, #blocked>
  tt.return
}

// A pointer of unknown alignment is accessed element by element: its layout is right already.
// CHECK-LABEL: tt.func @unknown
tt.func @unknown(%p: !tt.ptr<f32>) -> tensor<1024xf32, #blocked> {
  // CHECK-NOT: ttg.convert_layout
  // CHECK: tt.return
  %o = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32, #blocked>
  %v = amdg.buffer_load %p[%o] : !tt.ptr<f32> -> tensor<1024xf32, #blocked>
  tt.return %v : tensor<1024xf32, #blocked>
}

}
