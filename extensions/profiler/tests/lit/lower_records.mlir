// RUN: %opt %s --pass profiler-lower-records | FileCheck %s
// RUN: sed 's/"cuda:90"/"hip:gfx942"/' %s > %t && %opt %t --pass profiler-lower-records | FileCheck %s --check-prefix=AMD
// RUN: sed 's/mode = "auto"/mode = "header"/; s/profiler.record .*//' %s > %t && %opt %t --pass profiler-lower-records | FileCheck %s --check-prefix=HEADER

// Two records and one make two units, and a mark one more: a batch has to begin two units before the end.
// CHECK: batch_limit
// CHECK-SAME: :17,
// CHECK-SAME: capacity
// CHECK-SAME: :19,
// CHECK-SAME: records
// CHECK-SAME: :16,
// CHECK-SAME: unit
// CHECK-SAME: :[1,2]
// CHECK-SAME: segment_bytes
// CHECK-SAME: :384,
// CHECK-SAME: ttg.profile_scratch_memory_alignment = 128 : i32
// CHECK-SAME: ttg.profile_scratch_memory_size = 1536 : i32
// CHECK-LABEL: llvm.func @kernel
// Which blocks record follows from the address of the slot and from the block; the others have a version of their own.
// CHECK: %[[MEMORY:.+]] = llvm.alloca
// CHECK-NOT: llvm.load
// CHECK: llvm.cond_br %{{.+}}, ^[[RECORDED:bb[0-9]+]], ^[[PLAIN:bb[0-9]+]]
// CHECK: ^[[PLAIN]]:
// CHECK-NOT: clock
// CHECK: llvm.store %{{.+}}, %[[MEMORY]]
// CHECK-NOT: clock
// CHECK: llvm.add %arg0, %arg0
// CHECK-NOT: clock
// CHECK: ^[[RECORDED]]:
// CHECK: llvm.load {{.*}} -> vector<2xi64>
// CHECK: llvm.load {{.*}} -> vector<4xi32>
// CHECK: "llvm.nvvm.read.ptx.sreg.clock64"
// CHECK-NOT: llvm.atomicrmw
// CHECK: %[[ADDRESS:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK: %[[LOW:.+]] = llvm.trunc %[[ADDRESS]]
// CHECK: %[[FITS:.+]] = llvm.icmp "ule" %[[LOW]], %
// CHECK: %[[WRITES:.+]] = llvm.and %{{.+}}, %[[FITS]]
// CHECK: %[[ONE:.+]] = llvm.inline_asm has_side_effects {{.*}}mov.u32 $0, %clock
// CHECK: llvm.store %{{.+}}, %[[MEMORY]]
// CHECK: llvm.add %arg0, %arg0
// CHECK: %[[TWO:.+]] = llvm.inline_asm has_side_effects {{.*}}mov.u32 $0, %clock
// A store comes where the warp does not wait for its clock any more.
// CHECK: llvm.inline_asm has_side_effects {{.*}}"@$0 st.global.v4.u32 [$1 + 0], {1, $2, $3, $3};", "b,l,r,r" %[[WRITES]], %[[ADDRESS]], %[[ONE]], %[[TWO]]
// CHECK: %[[MARK:.+]] = llvm.inline_asm has_side_effects {{.*}}mov.u32 $0, %clock
// CHECK: llvm.inline_asm has_side_effects {{.*}}[$1 + 16], {3, $2, $3, $4};", "b,l,r,r,r" %[[WRITES]], %[[ADDRESS]], %[[MARK]]
// CHECK: llvm.add %[[ADDRESS]], %{{.+}} : i64
// CHECK: ^{{bb.+}}:
// CHECK: "@$0 st.global.v2.u32 [$1 + 0], {4, $2};"
// CHECK: llvm.atomicrmw add
// CHECK: "exit;"
// CHECK-NEXT: llvm.unreachable
// CHECK: llvm.atomicrmw add
// CHECK: "exit;"
// CHECK-NEXT: llvm.unreachable

// AMD: "llvm.amdgcn.s.memtime"
// AMD: "llvm.amdgcn.s.memrealtime"
// AMD: "llvm.amdgcn.s.memtime"
// AMD-NEXT: llvm.trunc
// AMD: llvm.add %arg0, %arg0
// AMD: llvm.cond_br %{{.+}}, ^[[WRITE:bb.+]], ^[[AFTER:bb.+]]
// AMD: ^[[WRITE]]:
// AMD: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>
// AMD-NEXT: llvm.br ^[[AFTER]]

// Only one thread reads clocks, and the slot is read at the end, without branches for the sake of records.
// HEADER-LABEL: llvm.func @kernel
// HEADER: llvm.inline_asm has_side_effects {{.*}}@!$0 bra done; mov.u64 %c, %clock64; mov.u64 %t, %globaltimer; st.local
// HEADER-NOT: llvm.load
// HEADER: llvm.add %arg0, %arg0
// HEADER: "@!$0 exit;"
// HEADER: "@!$0 exit;"
// HEADER: llvm.load volatile
// HEADER: "@!$0 exit;"
// HEADER-NOT: llvm.br
// HEADER: llvm.atomicrmw add
// HEADER-NEXT: llvm.return

module attributes {profiler.capacity = 16 : i64, profiler.loops = [], profiler.mode = "auto", profiler.regions = [{category = "entry"}, {category = "barrier"}, {category = "other"}, {category = "other"}, {category = "other"}], profiler.roles = [], "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
llvm.func @kernel(%arg0: i32, %arg1: i1, %arg2: !llvm.ptr<1>, %arg3: !llvm.ptr<1>) {
  %size = llvm.mlir.constant(1 : i32) : i32
  %value = llvm.mlir.constant(7 : i64) : i64
  %memory = llvm.alloca %size x i32 : (i32) -> !llvm.ptr
  profiler.record 1
  llvm.store %size, %memory : i32, !llvm.ptr
  %0 = llvm.add %arg0, %arg0 : i32
  profiler.record 2
  profiler.record 3, %value
  llvm.cond_br %arg1, ^bb1, ^bb2
^bb1:
  profiler.record 4
  llvm.return
^bb2:
  llvm.return
}
}
