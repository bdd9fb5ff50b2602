// RUN: %opt %s --pass profiler-lower-records | FileCheck %s
// RUN: sed 's/"cuda:90"/"hip:gfx942"/' %s > %t && %opt %t --pass profiler-lower-records | FileCheck %s --check-prefix=AMD
// RUN: sed 's/mode = "auto"/mode = "header"/; s/profiler.record .*//' %s > %t && %opt %t --pass profiler-lower-records | FileCheck %s --check-prefix=HEADER

// Two records make a batch and one another: a batch has to begin two records before the end.
// CHECK: batch_limit
// CHECK-SAME: :18,
// CHECK-SAME: capacity
// CHECK-SAME: :20,
// CHECK-SAME: segment_bytes
// CHECK-SAME: :256,
// CHECK-SAME: ttg.profile_scratch_memory_alignment = 128 : i32
// CHECK-SAME: ttg.profile_scratch_memory_size = 1024 : i32
// CHECK-LABEL: llvm.func @kernel
// CHECK: "llvm.nvvm.read.ptx.sreg.clock64"
// CHECK-NOT: llvm.atomicrmw
// CHECK: %[[ADDRESS:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK: %[[LOW:.+]] = llvm.trunc %[[ADDRESS]]
// CHECK: %[[FITS:.+]] = llvm.icmp "ule" %[[LOW]], %
// CHECK: %[[WRITES:.+]] = llvm.and %{{.+}}, %[[FITS]]
// CHECK: %[[NOW:.+]] = llvm.inline_asm has_side_effects {{.*}}mov.u32 $0, %clock
// CHECK: llvm.add %arg0, %arg0
// A store comes where the warp does not wait for its clock any more.
// CHECK: llvm.inline_asm has_side_effects {{.*}}"@$0 st.global.v2.u32 [$1 + 0], {$2, 1};", "b,l,r" %[[WRITES]], %[[ADDRESS]], %[[NOW]]
// CHECK: mov.u32 $0, %clock
// CHECK: llvm.inline_asm has_side_effects {{.*}}[$1 + 8], {$2, 2};", "b,l,r" %[[WRITES]], %[[ADDRESS]]
// CHECK: llvm.add %[[ADDRESS]], %{{.+}} : i64
// CHECK: ^{{bb.+}}:
// CHECK: [$1 + 0], {$2, 3}
// CHECK: llvm.atomicrmw add
// CHECK: llvm.return
// CHECK: llvm.atomicrmw add
// CHECK: llvm.return

// AMD: "llvm.amdgcn.s.memtime"
// AMD: "llvm.amdgcn.s.memrealtime"
// AMD: "llvm.amdgcn.s.memtime"
// AMD-NEXT: llvm.trunc
// AMD: llvm.add %arg0, %arg0
// AMD: llvm.cond_br %{{.+}}, ^[[WRITE:bb.+]], ^[[AFTER:bb.+]]
// AMD: ^[[WRITE]]:
// AMD: llvm.store
// AMD: llvm.store
// AMD-NEXT: llvm.br ^[[AFTER]]

// The slot is read at the end.
// HEADER-LABEL: llvm.func @kernel
// HEADER-NOT: llvm.load
// HEADER: llvm.add %arg0, %arg0
// HEADER: llvm.load
// HEADER: llvm.atomicrmw add

module attributes {profiler.capacity = 16 : i64, profiler.loops = [], profiler.mode = "auto", profiler.regions = [{category = "entry"}, {category = "barrier"}, {category = "other"}, {category = "other"}], profiler.roles = [], "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
llvm.func @kernel(%arg0: i32, %arg1: i1, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<1>) {
  profiler.record 1
  %0 = llvm.add %arg0, %arg0 : i32
  profiler.record 2
  llvm.cond_br %arg1, ^bb1, ^bb2
^bb1:
  profiler.record 3
  llvm.return
^bb2:
  llvm.return
}
}
