// RUN: %opt %s --pass "tlx-pingpong-tasks{limit=500}" --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s --input-file=%t

#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#mma8 = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 2], instrShape = [16, 32, 16]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// REMARK-COUNT-2: takes turns with the other task at 1 places

// Products are a turn up to the wait for them.
// CHECK-LABEL: tt.func public @attention
// CHECK: %[[WORDS:.*]] = ttg.local_alloc %{{.*}} -> !ttg.memdesc<8xi32
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: ttg.warp_specialize(%{{.*}}, %{{.*}}, %[[WORDS]])
// CHECK: default
// CHECK-NEXT: ttg.warp_yield
// CHECK: partition0
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{{.*}}ld.volatile.shared.b32 %theirs, [$1]{{.*}}setp.ge.s32 %over, %theirs, %mine;{{.*}}setp.gt.u32 %late, %now, 500;{{.*}}", "r,r,~{memory}"
// CHECK-NEXT: ttng.warp_group_dot 
// CHECK-NEXT: ttng.warp_group_dot 
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "{{.*}}add.s32 %mine, %mine, 1;{{.*}}", "r,~{memory}"
// CHECK-NEXT: ttng.warp_group_dot_wait
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "st.volatile.shared.b32 [$0], 0x7fffffff;"
// CHECK-NEXT: ttg.warp_return
// CHECK: partition1
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{{.*}}ld.volatile.shared.b32 %theirs, [$1]{{.*}}setp.gt.s32 %over, %theirs, %mine;{{.*}}setp.gt.u32 %late, %now, 500;{{.*}}", "r,r,~{memory}"
// CHECK-NEXT: ttng.warp_group_dot 
// CHECK-NEXT: ttng.warp_group_dot 
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "{{.*}}add.s32 %mine, %mine, 1;{{.*}}", "r,~{memory}"
// CHECK-NEXT: ttng.warp_group_dot_wait
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "st.volatile.shared.b32 [$0], 0x7fffffff;"
// CHECK-NEXT: ttg.warp_return
tt.func public @attention(%tile: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n: i32) {
  ttg.warp_specialize(%tile, %n)
  default {
    ttg.warp_yield
  }
  partition0(%t0: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n0: i32) num_warps(4) {
    %zero0 = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lo0 = arith.constant 0 : i32
    %one0 = arith.constant 1 : i32
    %sum0 = scf.for %i0 = %lo0 to %n0 step %one0 iter_args(%acc0 = %zero0) -> tensor<64x64xf32, #mma> : i32 {
      %d0 = ttng.warp_group_dot %t0, %t0, %acc0 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %f0 = ttng.warp_group_dot %t0, %t0, %d0 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %e0 = ttng.warp_group_dot_wait %f0 {pendings = 0 : i32} : tensor<64x64xf32, #mma>
      %x0 = math.exp2 %e0 : tensor<64x64xf32, #mma>
      scf.yield %x0 : tensor<64x64xf32, #mma>
    }
    ttg.warp_return
  }
  partition1(%t1: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n1: i32) num_warps(4) {
    %zero1 = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lo1 = arith.constant 0 : i32
    %one1 = arith.constant 1 : i32
    %sum1 = scf.for %i1 = %lo1 to %n1 step %one1 iter_args(%acc1 = %zero1) -> tensor<64x64xf32, #mma> : i32 {
      %d1 = ttng.warp_group_dot %t1, %t1, %acc1 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %f1 = ttng.warp_group_dot %t1, %t1, %d1 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %e1 = ttng.warp_group_dot_wait %f1 {pendings = 0 : i32} : tensor<64x64xf32, #mma>
      %x1 = math.exp2 %e1 : tensor<64x64xf32, #mma>
      scf.yield %x1 : tensor<64x64xf32, #mma>
    }
    ttg.warp_return
  } : (!ttg.memdesc<64x64xf16, #wide, #smem, mutable>, i32) -> ()
  tt.return
}

// REMARK-COUNT-2: takes turns with the other task at 1 places

// A loop of products is a turn of the loop around it; the default task may be the first.
// CHECK-LABEL: tt.func public @products
// CHECK: default
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{{.*}}ld.volatile.shared.b32 %theirs, [$1]{{.*}}setp.ge.s32 %over, %theirs, %mine;{{.*}}setp.gt.u32 %late, %now, 500;{{.*}}", "r,r,~{memory}"
// CHECK-NEXT: scf.for
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "{{.*}}add.s32 %mine, %mine, 1;{{.*}}", "r,~{memory}"
// CHECK: ttg.warp_yield
// CHECK: partition1
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "{{.*}}ld.volatile.shared.b32 %theirs, [$1]{{.*}}setp.gt.s32 %over, %theirs, %mine;{{.*}}setp.gt.u32 %late, %now, 500;{{.*}}", "r,r,~{memory}"
// CHECK-NEXT: scf.for
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: llvm.inline_asm has_side_effects asm_dialect = att "{{.*}}add.s32 %mine, %mine, 1;{{.*}}", "r,~{memory}"
tt.func public @products(%tile: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n: i32) {
  ttg.warp_specialize(%tile, %n)
  default {
    %zerod = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lod = arith.constant 0 : i32
    %oned = arith.constant 1 : i32
    scf.for %jd = %lod to %n step %oned : i32 {
      %sumd = scf.for %id = %lod to %n step %oned iter_args(%accd = %zerod) -> tensor<64x64xf32, #mma> : i32 {
        %dd = ttng.warp_group_dot %tile, %tile, %accd {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
        %ed = ttng.warp_group_dot_wait %dd {pendings = 0 : i32} : tensor<64x64xf32, #mma>
        scf.yield %ed : tensor<64x64xf32, #mma>
      }
      %xd = arith.truncf %sumd : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
      ttg.local_store %xd, %tile : tensor<64x64xf16, #mma> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    }
    ttg.warp_yield
  }
  partition0(%t0: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n0: i32) num_warps(4) {
    ttg.warp_return
  }
  partition1(%t1: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n1: i32) num_warps(4) {
    %zero1 = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lo1 = arith.constant 0 : i32
    %one1 = arith.constant 1 : i32
    scf.for %j1 = %lo1 to %n1 step %one1 : i32 {
      %sum1 = scf.for %i1 = %lo1 to %n1 step %one1 iter_args(%acc1 = %zero1) -> tensor<64x64xf32, #mma> : i32 {
        %d1 = ttng.warp_group_dot %t1, %t1, %acc1 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
        %e1 = ttng.warp_group_dot_wait %d1 {pendings = 0 : i32} : tensor<64x64xf32, #mma>
        scf.yield %e1 : tensor<64x64xf32, #mma>
      }
      %x1 = arith.truncf %sum1 : tensor<64x64xf32, #mma> to tensor<64x64xf16, #mma>
      ttg.local_store %x1, %t1 : tensor<64x64xf16, #mma> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    }
    ttg.warp_return
  } : (!ttg.memdesc<64x64xf16, #wide, #smem, mutable>, i32) -> ()
  tt.return
}

// REMARK: left the tasks alone: expected two that multiply and compute in a loop, got 1

// Without a loop there is nothing to do meanwhile.
// CHECK-LABEL: tt.func public @alone
// CHECK-NOT: llvm.inline_asm
// CHECK: tt.return
tt.func public @alone(%tile: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n: i32) {
  ttg.warp_specialize(%tile, %n)
  default {
    ttg.warp_yield
  }
  partition0(%t0: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n0: i32) num_warps(4) {
    %zero0 = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lo0 = arith.constant 0 : i32
    %one0 = arith.constant 1 : i32
    %sum0 = scf.for %i0 = %lo0 to %n0 step %one0 iter_args(%acc0 = %zero0) -> tensor<64x64xf32, #mma> : i32 {
      %d0 = ttng.warp_group_dot %t0, %t0, %acc0 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %f0 = ttng.warp_group_dot %t0, %t0, %d0 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %e0 = ttng.warp_group_dot_wait %f0 {pendings = 0 : i32} : tensor<64x64xf32, #mma>
      %x0 = math.exp2 %e0 : tensor<64x64xf32, #mma>
      scf.yield %x0 : tensor<64x64xf32, #mma>
    }
    ttg.warp_return
  }
  partition1(%t1: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n1: i32) num_warps(4) {
    %acc1 = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %d1 = ttng.warp_group_dot %t1, %t1, %acc1 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
    %e1 = ttng.warp_group_dot_wait %d1 {pendings = 0 : i32} : tensor<64x64xf32, #mma>
    %x1 = math.exp2 %e1 : tensor<64x64xf32, #mma>
    ttg.warp_return
  } : (!ttg.memdesc<64x64xf16, #wide, #smem, mutable>, i32) -> ()
  tt.return
}

// REMARK: left the tasks alone: expected two that multiply and compute in a loop, got 3

// CHECK-LABEL: tt.func public @three
// CHECK-NOT: llvm.inline_asm
// CHECK: tt.return
tt.func public @three(%tile: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n: i32) {
  ttg.warp_specialize(%tile, %n)
  default {
    %zerod = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lod = arith.constant 0 : i32
    %oned = arith.constant 1 : i32
    %sumd = scf.for %id = %lod to %n step %oned iter_args(%accd = %zerod) -> tensor<64x64xf32, #mma> : i32 {
      %dd = ttng.warp_group_dot %tile, %tile, %accd {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %fd = ttng.warp_group_dot %tile, %tile, %dd {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %ed = ttng.warp_group_dot_wait %fd {pendings = 0 : i32} : tensor<64x64xf32, #mma>
      %xd = math.exp2 %ed : tensor<64x64xf32, #mma>
      scf.yield %xd : tensor<64x64xf32, #mma>
    }
    ttg.warp_yield
  }
  partition0(%t0: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n0: i32) num_warps(4) {
    %zero0 = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lo0 = arith.constant 0 : i32
    %one0 = arith.constant 1 : i32
    %sum0 = scf.for %i0 = %lo0 to %n0 step %one0 iter_args(%acc0 = %zero0) -> tensor<64x64xf32, #mma> : i32 {
      %d0 = ttng.warp_group_dot %t0, %t0, %acc0 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %f0 = ttng.warp_group_dot %t0, %t0, %d0 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %e0 = ttng.warp_group_dot_wait %f0 {pendings = 0 : i32} : tensor<64x64xf32, #mma>
      %x0 = math.exp2 %e0 : tensor<64x64xf32, #mma>
      scf.yield %x0 : tensor<64x64xf32, #mma>
    }
    ttg.warp_return
  }
  partition1(%t1: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n1: i32) num_warps(4) {
    %zero1 = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lo1 = arith.constant 0 : i32
    %one1 = arith.constant 1 : i32
    %sum1 = scf.for %i1 = %lo1 to %n1 step %one1 iter_args(%acc1 = %zero1) -> tensor<64x64xf32, #mma> : i32 {
      %d1 = ttng.warp_group_dot %t1, %t1, %acc1 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %f1 = ttng.warp_group_dot %t1, %t1, %d1 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %e1 = ttng.warp_group_dot_wait %f1 {pendings = 0 : i32} : tensor<64x64xf32, #mma>
      %x1 = math.exp2 %e1 : tensor<64x64xf32, #mma>
      scf.yield %x1 : tensor<64x64xf32, #mma>
    }
    ttg.warp_return
  } : (!ttg.memdesc<64x64xf16, #wide, #smem, mutable>, i32) -> ()
  tt.return
}

// REMARK: left the tasks alone: expected the same number of warps, got 4 and 8

// CHECK-LABEL: tt.func public @unlike
// CHECK-NOT: llvm.inline_asm
// CHECK: tt.return
tt.func public @unlike(%tile: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n: i32) {
  ttg.warp_specialize(%tile, %n)
  default {
    ttg.warp_yield
  }
  partition0(%t0: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n0: i32) num_warps(4) {
    %zero0 = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %lo0 = arith.constant 0 : i32
    %one0 = arith.constant 1 : i32
    %sum0 = scf.for %i0 = %lo0 to %n0 step %one0 iter_args(%acc0 = %zero0) -> tensor<64x64xf32, #mma> : i32 {
      %d0 = ttng.warp_group_dot %t0, %t0, %acc0 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %f0 = ttng.warp_group_dot %t0, %t0, %d0 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma>
      %e0 = ttng.warp_group_dot_wait %f0 {pendings = 0 : i32} : tensor<64x64xf32, #mma>
      %x0 = math.exp2 %e0 : tensor<64x64xf32, #mma>
      scf.yield %x0 : tensor<64x64xf32, #mma>
    }
    ttg.warp_return
  }
  partition1(%t1: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>, %n1: i32) num_warps(8) {
    %zero1 = arith.constant dense<0.0> : tensor<64x64xf32, #mma8>
    %lo1 = arith.constant 0 : i32
    %one1 = arith.constant 1 : i32
    %sum1 = scf.for %i1 = %lo1 to %n1 step %one1 iter_args(%acc1 = %zero1) -> tensor<64x64xf32, #mma8> : i32 {
      %d1 = ttng.warp_group_dot %t1, %t1, %acc1 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma8>
      %f1 = ttng.warp_group_dot %t1, %t1, %d1 {inputPrecision = 0 : i32, isAsync = true} : !ttg.memdesc<64x64xf16, #wide, #smem, mutable> * !ttg.memdesc<64x64xf16, #wide, #smem, mutable> -> tensor<64x64xf32, #mma8>
      %e1 = ttng.warp_group_dot_wait %f1 {pendings = 0 : i32} : tensor<64x64xf32, #mma8>
      %x1 = math.exp2 %e1 : tensor<64x64xf32, #mma8>
      scf.yield %x1 : tensor<64x64xf32, #mma8>
    }
    ttg.warp_return
  } : (!ttg.memdesc<64x64xf16, #wide, #smem, mutable>, i32) -> ()
  tt.return
}
}
