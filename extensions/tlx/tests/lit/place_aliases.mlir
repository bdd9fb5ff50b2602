// RUN: %opt %s --pass tlx-place-aliases | FileCheck %s

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#words = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#column = #ttng.tensor_memory_encoding<blockM = 128, blockN = 1, colStride = 1>
#tmem = #ttng.tensor_memory

// The memory has the size of the larger buffer, and the alignment of the swizzled one.
// CHECK-LABEL: @from_the_start
// CHECK-NOT: tlx.
// CHECK: %[[MEMORY:.*]] = ttg.local_alloc {alignment = 1024 : i32} : () -> !ttg.memdesc<1536x16xi8,
// CHECK: %[[A:.*]] = ttg.memdesc_reinterpret %[[MEMORY]] : {{.*}} -> !ttg.memdesc<3x64x64xf16,
// CHECK: %[[B:.*]] = ttg.memdesc_reinterpret %[[MEMORY]] : {{.*}} -> !ttg.memdesc<2x8x8xf32,
// CHECK: ttg.memdesc_index %[[A]][%arg0]
// CHECK: ttg.memdesc_index %[[B]][%arg0]
tt.func @from_the_start(%n: i32) {
  %spec = tlx.alias_spec
  %a = ttg.local_alloc : () -> !ttg.memdesc<3x64x64xf16, #wide, #smem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<3x64x64xf16, #wide, #smem, mutable>
  %b = ttg.local_alloc : () -> !ttg.memdesc<2x8x8xf32, #plain, #smem, mutable>
  tlx.alias_storage %b in %spec : !ttg.memdesc<2x8x8xf32, #plain, #smem, mutable>
  %0 = ttg.memdesc_index %a[%n] : !ttg.memdesc<3x64x64xf16, #wide, #smem, mutable> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  %1 = ttg.memdesc_index %b[%n] : !ttg.memdesc<2x8x8xf32, #plain, #smem, mutable> -> !ttg.memdesc<8x8xf32, #plain, #smem, mutable>
  tt.return
}

// Pairs of slots of 256 bytes, 1024 bytes apart, from byte 512 on: slots 2, 3, 6, 7 of a view.
// CHECK-LABEL: @in_groups
// CHECK: %[[MEMORY:.*]] = ttg.local_alloc {{.*}} -> !ttg.memdesc<200x16xi8,
// CHECK: %[[A:.*]] = ttg.memdesc_reinterpret %[[MEMORY]] : {{.*}} -> !ttg.memdesc<8x8x8xf32,
// CHECK: %[[PAIR:.*]] = arith.divui %arg0, %c2_i32
// CHECK: %[[FIRST:.*]] = arith.muli %[[PAIR]], %c4_i32
// CHECK: %[[ODD:.*]] = arith.remui %arg0, %c2_i32
// CHECK: %[[REST:.*]] = arith.addi %[[ODD]], %c2_i32
// CHECK: %[[SLOT:.*]] = arith.addi %[[FIRST]], %[[REST]]
// CHECK: ttg.memdesc_index %[[A]][%[[SLOT]]]
// CHECK: ttg.warp_specialize(%[[A]])
// CHECK: partition0(%[[ARGUMENT:.*]]: !ttg.memdesc<8x8x8xf32,
// CHECK: %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK: ttg.memdesc_index %[[ARGUMENT]][%[[SEVEN]]]
tt.func @in_groups(%n: i32) {
  %spec = tlx.alias_spec {size = 3200 : i32}
  %a = ttg.local_alloc : () -> !ttg.memdesc<4x8x8xf32, #plain, #smem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<4x8x8xf32, #plain, #smem, mutable>
  tlx.alias_storage %a in %spec {offset = 512 : i32, stride = 1024 : i32, group = 2 : i32} : !ttg.memdesc<4x8x8xf32, #plain, #smem, mutable>
  %0 = ttg.memdesc_index %a[%n] : !ttg.memdesc<4x8x8xf32, #plain, #smem, mutable> -> !ttg.memdesc<8x8xf32, #plain, #smem, mutable>
  ttg.warp_specialize(%a)
  default {
    ttg.warp_yield
  }
  partition0(%b: !ttg.memdesc<4x8x8xf32, #plain, #smem, mutable>) num_warps(4) {
    %c3 = arith.constant 3 : i32
    %1 = ttg.memdesc_index %b[%c3] : !ttg.memdesc<4x8x8xf32, #plain, #smem, mutable> -> !ttg.memdesc<8x8xf32, #plain, #smem, mutable>
    ttg.warp_return
  } : (!ttg.memdesc<4x8x8xf32, #plain, #smem, mutable>) -> ()
  tt.return
}

// CHECK-LABEL: @nobody_reuses
// CHECK-NEXT: tt.return
tt.func @nobody_reuses() {
  %spec = tlx.alias_spec
  tt.return
}

// Slots of 64 and of 32 columns; a size of 128 rows with 4 bytes in each column.
// CHECK-LABEL: @in_tensor_memory
// CHECK: %[[MEMORY:.*]] = ttng.tmem_alloc : () -> !ttg.memdesc<160x128x1xi32,
// CHECK: %[[A:.*]] = ttg.memdesc_reinterpret %[[MEMORY]] : {{.*}} -> !ttg.memdesc<2x128x64xf32,
// CHECK: %[[B:.*]] = ttg.memdesc_reinterpret %[[MEMORY]] : {{.*}} -> !ttg.memdesc<3x128x64xf16,
// CHECK: %[[C:.*]] = ttg.memdesc_reinterpret %[[MEMORY]] : {{.*}} -> !ttg.memdesc<97x128x1xf32,
// CHECK: ttg.memdesc_index %[[A]][%arg0]
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK: ttg.memdesc_index %[[B]][%[[TWO]]]
// CHECK: %[[LAST:.*]] = arith.constant 96 : i32
// CHECK: ttg.memdesc_index %[[C]][%[[LAST]]]
tt.func @in_tensor_memory(%n: i32) {
  %c1 = arith.constant 1 : i32
  %spec = tlx.alias_spec {size = 81920 : i32}
  %a = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  tlx.alias_storage %a in %spec : !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  tlx.alias_storage %a in %spec {stride = 64 : i32} : !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable>
  %b = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x64xf16, #words, #tmem, mutable>
  tlx.alias_storage %b in %spec : !ttg.memdesc<2x128x64xf16, #words, #tmem, mutable>
  tlx.alias_storage %b in %spec {stride = 64 : i32} : !ttg.memdesc<2x128x64xf16, #words, #tmem, mutable>
  %c = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x1xf32, #column, #tmem, mutable>
  tlx.alias_storage %c in %spec : !ttg.memdesc<2x128x1xf32, #column, #tmem, mutable>
  tlx.alias_storage %c in %spec {offset = 32 : i32, stride = 64 : i32} : !ttg.memdesc<2x128x1xf32, #column, #tmem, mutable>
  %0 = ttg.memdesc_index %a[%n] : !ttg.memdesc<2x128x64xf32, #words, #tmem, mutable> -> !ttg.memdesc<128x64xf32, #words, #tmem, mutable>
  %1 = ttg.memdesc_index %b[%c1] : !ttg.memdesc<2x128x64xf16, #words, #tmem, mutable> -> !ttg.memdesc<128x64xf16, #words, #tmem, mutable>
  %2 = ttg.memdesc_index %c[%c1] : !ttg.memdesc<2x128x1xf32, #column, #tmem, mutable> -> !ttg.memdesc<128x1xf32, #column, #tmem, mutable>
  tt.return
}
