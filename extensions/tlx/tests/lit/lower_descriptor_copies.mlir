// RUN: %opt %s --pass tlx-lower-descriptor-copies | FileCheck %s

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// A layout that stock chose gives way to that of the buffer.
// CHECK-LABEL: @load
// CHECK-SAME: %[[DESC:.*]]: !tt.tensordesc<64x64xf16, [[$NARROW:#[a-z0-9]+]]>
// CHECK: ttng.async_tma_copy_global_to_local %[[DESC]][%{{.*}}, %{{.*}}] {{.*}} {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>}
// CHECK-SAME: !tt.tensordesc<64x64xf16, [[$NARROW]]>
tt.func @load(%desc: !tt.tensordesc<64x64xf16, #wide>, %buffer: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, %barrier: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %at: i32, %pred: i1) {
  tlx.async_descriptor_load %desc[%at, %at] %buffer, %barrier, %pred {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>} : !tt.tensordesc<64x64xf16, #wide>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
  tt.return
}

// CHECK-LABEL: @store
// CHECK-SAME: %[[DESC:.*]]: !tt.tensordesc<64x64xf16, [[$WIDE:#[a-z0-9]+]]>, %[[SUM:.*]]: !tt.tensordesc<64x64xf16, [[$WIDE]]>
// CHECK: ttng.async_tma_copy_local_to_global %[[DESC]]
// CHECK: ttng.async_tma_reduce add, %[[SUM]]
tt.func @store(%desc: !tt.tensordesc<64x64xf16>, %sum: !tt.tensordesc<64x64xf16>, %buffer: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %at: i32) {
  tlx.async_descriptor_store %desc[%at, %at] %buffer : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  tlx.async_descriptor_store %sum[%at, %at] %buffer {kind = 1 : i32} : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
  tt.return
}

// Tasks, loops, branches and selections pass the layout on to what made the descriptor.
// CHECK-LABEL: @flow
// CHECK: tt.make_tensor_descriptor {{.*}} : <f16>, <64x64xf16, [[$NARROW]]>
// CHECK: tt.make_tensor_descriptor {{.*}} : <f16>, <64x64xf16, [[$NARROW]]>
// CHECK: scf.if {{.*}} -> (!tt.tensordesc<64x64xf16, [[$NARROW]]>)
// CHECK: arith.select {{.*}} : !tt.tensordesc<64x64xf16, [[$NARROW]]>
// CHECK: scf.for {{.*}} -> (!tt.tensordesc<64x64xf16, [[$NARROW]]>)
// CHECK: scf.while {{.*}} : (!tt.tensordesc<64x64xf16, [[$NARROW]]>) -> !tt.tensordesc<64x64xf16, [[$NARROW]]>
// CHECK: partition0({{.*}}: !tt.tensordesc<64x64xf16, [[$NARROW]]>,
tt.func @flow(%x: !tt.ptr<f16>, %buffer: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, %barrier: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %n: i32, %s: i64, %one: i64, %pred: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tt.make_tensor_descriptor %x, [%n, %n], [%s, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
  %b = tt.make_tensor_descriptor %x, [%n, %c1], [%s, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
  %branch = scf.if %pred -> !tt.tensordesc<64x64xf16> {
    scf.yield %a : !tt.tensordesc<64x64xf16>
  } else {
    scf.yield %b : !tt.tensordesc<64x64xf16>
  }
  %select = arith.select %pred, %branch, %a : !tt.tensordesc<64x64xf16>
  %loop = scf.for %i = %c0 to %n step %c1 iter_args(%desc = %select) -> (!tt.tensordesc<64x64xf16>) : i32 {
    scf.yield %desc : !tt.tensordesc<64x64xf16>
  }
  %while = scf.while (%desc = %loop) : (!tt.tensordesc<64x64xf16>) -> !tt.tensordesc<64x64xf16> {
    scf.condition(%pred) %desc : !tt.tensordesc<64x64xf16>
  } do {
  ^bb0(%desc: !tt.tensordesc<64x64xf16>):
    scf.yield %desc : !tt.tensordesc<64x64xf16>
  }
  ttg.warp_specialize(%while, %buffer, %barrier, %n, %pred)
  default {
    ttg.warp_yield
  }
  partition0(%desc: !tt.tensordesc<64x64xf16>, %to: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %at: i32, %go: i1) num_warps(1) {
    tlx.async_descriptor_load %desc[%at, %at] %to, %bar, %go : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttg.warp_return
  } : (!tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>, i32, i1) -> ()
  tt.return
}

// A prefetch needs no layout, and becomes the instruction.
// CHECK-LABEL: @prefetch
// CHECK: %[[POINTER:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !tt.tensordesc<64x64xf16> to !llvm.ptr
// CHECK: llvm.inline_asm has_side_effects {{.*}}prefetch.tensor.2d{{.*}}"b,l,r,r" %[[PRED:.*]], %[[POINTER]], %[[J:.*]], %[[I:.*]] : (i1, !llvm.ptr, i32, i32) -> ()
tt.func @prefetch(%desc: !tt.tensordesc<64x64xf16>, %i: i32, %j: i32, %pred: i1) {
  tlx.async_descriptor_prefetch %desc[%i, %j], %pred : !tt.tensordesc<64x64xf16>
  tt.return
}

// One that never happens is how a task mentions a descriptor that only others use.
// CHECK-LABEL: @never
// CHECK-NOT: inline_asm
// CHECK: tt.return
tt.func @never(%desc: !tt.tensordesc<64x64xf16>, %i: i32) {
  %never = arith.constant false
  tlx.async_descriptor_prefetch %desc[%i, %i], %never : !tt.tensordesc<64x64xf16>
  tt.return
}

// A branch between blocks, as early returns make them.
// CHECK-LABEL: @blocks
// CHECK: ^bb1(%{{.*}}: !tt.tensordesc<64x64xf16, [[$NARROW]]>)
tt.func @blocks(%x: !tt.tensordesc<64x64xf16>, %buffer: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, %at: i32) {
  cf.br ^bb1(%x : !tt.tensordesc<64x64xf16>)
^bb1(%desc: !tt.tensordesc<64x64xf16>):
  tlx.async_descriptor_store %desc[%at, %at] %buffer : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>
  tt.return
}

// What one task makes in memory another one uses, with the layout of the buffer.
// CHECK-LABEL: @in_memory
// CHECK: %[[MEMORY:.*]] = ttg.global_scratch_alloc
// CHECK: %[[SLOT:.*]] = tt.addptr %[[MEMORY]]
// CHECK: ttng.tensormap_create %[[SLOT]], {{.*}}swizzle_mode = 1
// CHECK: ttng.tensormap_fenceproxy_acquire %[[SLOT]]
// CHECK: ttg.warp_specialize(%[[MEMORY]],
// CHECK: partition0(%[[ARGUMENT:[^:]*]]:
// CHECK: ttng.tensormap_fenceproxy_acquire %[[ARGUMENT]]
// CHECK: %[[DESC:.*]] = ttng.reinterpret_tensor_descriptor %[[ARGUMENT]]
// CHECK: ttng.async_tma_copy_local_to_global %[[DESC]]
tt.func @in_memory(%x: !tt.ptr<f16>, %n: i32, %stride: i64, %buffer: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>) {
  %c1 = arith.constant 1 : i64
  %c128 = arith.constant 128 : i32
  %memory = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 256 : i32} : !tt.ptr<i8>
  %desc = tt.make_tensor_descriptor %x, [%n, %n], [%stride, %c1] : <f16>, <64x64xf16, #wide>
  %slot = tt.addptr %memory, %c128 : !tt.ptr<i8>, i32
  tlx.store_descriptor %desc in %slot : !tt.tensordesc<64x64xf16, #wide>, !tt.ptr<i8>
  ttg.warp_specialize(%memory, %buffer)
  default {
    ttg.warp_yield
  }
  partition0(%there: !tt.ptr<i8>, %tile: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>) num_warps(4) {
    %at = arith.constant 0 : i32
    %again = tlx.load_descriptor %there : !tt.ptr<i8> -> !tt.tensordesc<64x64xf16>
    tlx.async_descriptor_store %again[%at, %at] %tile : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>
    ttg.warp_return
  } : (!tt.ptr<i8>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>) -> ()
  tt.return
}
}
