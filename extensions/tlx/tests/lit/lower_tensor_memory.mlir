// RUN: %opt %s --pass tlx-lower-tensor-memory | FileCheck %s
// RUN: %opt %s --pass tlx-lower-tensor-memory --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [2, 2], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
// CHECK-DAG: #[[$LINEAR:.*]] = #ttg.linear<{register = {{\[\[}}0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane = {{\[\[}}1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = {{\[\[}}32, 0], [64, 0]], block = []}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {

// CHECK-LABEL: tt.func @access
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<{{.*}}>, %[[T:[a-z0-9]+]]: !ttg.memdesc
tt.func @access(%x: tensor<128x64xf32, #blocked>, %t: !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>) -> tensor<128x64xf32, #blocked> {
  // CHECK: %[[IN:.*]] = ttg.convert_layout %[[X]] : {{.*}} -> tensor<128x64xf32, #[[$LINEAR]]>
  // CHECK: ttng.tmem_store %[[IN]], %[[T]], %true
  tlx.tmem_store %x, %t : tensor<128x64xf32, #blocked> -> !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>
  // CHECK: %[[R:.*]] = ttng.tmem_load %[[T]] : {{.*}} -> tensor<128x64xf32, #[[$LINEAR]]>
  // CHECK: %[[OUT:.*]] = ttg.convert_layout %[[R]] : {{.*}} -> tensor<128x64xf32, #blocked>
  %r = tlx.tmem_load %t : !ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable> -> tensor<128x64xf32, #blocked>
  // CHECK: tt.return %[[OUT]]
  tt.return %r : tensor<128x64xf32, #blocked>
}

// An asynchronous dot of tensors is one in tensor memory, which stock passes know from its tokens.
// CHECK-LABEL: tt.func @dot
// CHECK-SAME: %[[A:[a-z0-9]+]]: !ttg.memdesc{{.*}}, %[[B:[a-z0-9]+]]: !ttg.memdesc{{.*}}, %[[C:[a-z0-9]+]]: tensor{{.*}}, %[[USE:[a-z0-9]+]]: i1
tt.func @dot(%a: !ttg.memdesc<128x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %c: tensor<128x64xf32, #blocked>, %use: i1) -> tensor<128x64xf32, #blocked> {
  // CHECK: %[[IN:.*]] = ttg.convert_layout %[[C]]
  // CHECK: %[[ACC:.*]], %[[T0:.*]] = ttng.tmem_alloc %[[IN]]
  // CHECK: %[[T1:.*]] = ttng.tc_gen5_mma %[[A]], %[[B]], %[[ACC]][%[[T0]]], %[[USE]], %true
  // CHECK: %[[R:.*]], %{{.*}} = ttng.tmem_load %[[ACC]][%[[T1]]]
  // CHECK: ttg.convert_layout %[[R]] : {{.*}} -> tensor<128x64xf32, #blocked>
  // REMARK: applied: lowered to an MMA in tensor memory [tlx-lower-tensor-memory]
  %d = tlx.async_dot %a, %b, %c if %use : !ttg.memdesc<128x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<128x64xf32, #blocked>
  tt.return %d : tensor<128x64xf32, #blocked>
}

// A in registers goes to tensor memory too, packed.
// CHECK-LABEL: tt.func @registers
tt.func @registers(%a: tensor<128x64xf16, #blocked>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %c: tensor<128x64xf32, #blocked>) -> tensor<128x64xf32, #blocked> {
  // CHECK: %[[A:.*]] = ttng.tmem_alloc %{{.*}} : (tensor<128x64xf16, {{.*}}>) -> !ttg.memdesc<128x64xf16, #tmem, #ttng.tensor_memory>
  // CHECK: ttng.tc_gen5_mma %[[A]],
  %d = tlx.async_dot %a, %b, %c : tensor<128x64xf16, #blocked> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<128x64xf32, #blocked>
  tt.return %d : tensor<128x64xf32, #blocked>
}

// Stock has no tokens that a task can use.
// CHECK-LABEL: tt.func @task
// CHECK: partition0(%[[TA:[a-z0-9]+]]: {{.*}}, %[[TB:[a-z0-9]+]]: {{.*}}) num_warps(4)
// CHECK: %[[TACC:.*]] = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32
// CHECK: ttng.tmem_store %{{.*}}, %[[TACC]], %true
// CHECK: ttng.tc_gen5_mma %[[TA]], %[[TB]], %[[TACC]], %true
// CHECK: ttng.tmem_load %[[TACC]] :
tt.func @task(%a: !ttg.memdesc<128x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) {
  ttg.warp_specialize(%a, %b)
  default {
    ttg.warp_yield
  }
  partition0(%ta: !ttg.memdesc<128x64xf16, #shared, #smem, mutable>, %tb: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) num_warps(4) {
    %c = arith.constant dense<0.0> : tensor<128x64xf32, #blocked>
    %d = tlx.async_dot %ta, %tb, %c : !ttg.memdesc<128x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<128x64xf32, #blocked>
    tlx.inspect_layout %d : tensor<128x64xf32, #blocked>
    ttg.warp_return
  } : (!ttg.memdesc<128x64xf16, #shared, #smem, mutable>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>) -> ()
  tt.return
}

}
