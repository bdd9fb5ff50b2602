// Operands that pointers address, in a loop over tiles.
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=single}" | FileCheck %s
// RUN: %opt %s --pass "warpspec-specialize-loops{schedule=single pointers=copy}" | FileCheck %s --check-prefix=COPY
// RUN: %opt %s --pass warpspec-specialize-loops | %opt - --pass warpspec-audit-barriers -o %t
// RUN: %opt %s --pass "warpspec-specialize-loops{pointers=copy}" | %opt - --pass warpspec-audit-barriers -o %t

// Rows `64 * tile` and on of a matrix of `rows` x `size` with a stride of `size`: what lies behind is zero, the bound
// of the columns is written as `rk < size - k`, and the loop moves the pointers on.
// CHECK-LABEL: @blocks
// CHECK-SAME: (%[[A:[a-z0-9]+]]: !tt.ptr<f16> {{.+}}, %[[M:[a-z0-9]+]]: i32, %[[N:[a-z0-9]+]]: i32 {
// CHECK: %[[ROWS:.+]] = arith.maxsi %[[M]], %{{.+}} : i32
// CHECK: %[[COLUMNS:.+]] = arith.maxsi %[[N]], %{{.+}} : i32
// CHECK: %[[GIVEN:.+]] = arith.extsi %[[N]] : i32 to i64
// CHECK: %[[STRIDE:.+]] = arith.maxsi %[[GIVEN]], %{{.+}} : i64
// CHECK: tt.make_tensor_descriptor %[[A]], [%[[ROWS]], %[[COLUMNS]]], [%[[STRIDE]], %{{.+}}] : <f16>, <64x64xf16, #shared>
// CHECK: ttg.warp_specialize
// CHECK: default
// CHECK-NOT: ttng.fence_async_shared
// CHECK: ttng.warp_group_dot
// CHECK: partition0
// CHECK-SAME: num_warps(1)
// CHECK: ttng.barrier_expect %{{.+}}, 16384
// CHECK-COUNT-2: ttng.async_tma_copy_global_to_local
// CHECK-NOT: tensor<
// CHECK: ttg.warp_return

// Without the descriptor of A, threads copy it, and B comes by TMA still.
// COPY-LABEL: @blocks
// COPY-NOT: tt.make_tensor_descriptor
// COPY: %[[FULL:.+]] = ttg.local_alloc : () -> !ttg.memdesc<{{.+}}x1xi64,
// COPY: ttng.init_barrier %{{.+}}, 129
// COPY: ttng.init_barrier %{{.+}}, 1 :
// COPY: ttg.warp_specialize
// COPY: default
// COPY: ttng.wait_barrier
// COPY-NEXT: ttng.fence_async_shared
// COPY: ttng.warp_group_dot {{.+}} isAsync = true
// COPY: partition0
// COPY-SAME: num_warps(4)
// COPY: tt.addptr
// COPY: scf.for
// COPY: ttng.wait_barrier
// COPY: ttng.barrier_expect %{{.+}}, 8192
// COPY: ttg.async_copy_global_to_local {{.+}} mask %{{.+}} other %{{.+}} {contiguity = 8 : i32}
// COPY: ttng.async_tma_copy_global_to_local
// COPY: ttng.async_copy_mbarrier_arrive %{{.+}} {noIncrement}
// COPY: tt.addptr
// COPY: ttg.warp_return

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#rows = #ttg.slice<{dim = 1, parent = #blocked}>
#columns = #ttg.slice<{dim = 0, parent = #blocked}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @blocks(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %db: !tt.tensordesc<64x64xf16, #shared>, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %rows: i32, %size: i32 {tt.divisibility = 16 : i32}) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #mma>
  %other = arith.constant dense<0.000000e+00> : tensor<64x64xf16, #blocked>
  %move = arith.constant dense<64> : tensor<64x64xi32, #blocked>
  %first = tt.get_program_id x : i32
  %step = tt.get_num_programs x : i32
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #rows>
  %rr = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32, #rows> -> tensor<64x1xi32, #blocked>
  %k1 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #columns>
  %rk = tt.expand_dims %k1 {axis = 0 : i32} : tensor<64xi32, #columns> -> tensor<1x64xi32, #blocked>
  %rkb = tt.broadcast %rk : tensor<1x64xi32, #blocked> -> tensor<64x64xi32, #blocked>
  %limit = tt.splat %rows : i32 -> tensor<64x1xi32, #blocked>
  %strides = tt.splat %size : i32 -> tensor<64x1xi32, #blocked>
  %base = tt.splat %a : !tt.ptr<f16> -> tensor<64x1x!tt.ptr<f16>, #blocked>
  scf.for %tile = %first to %rows step %step : i32 {
    %row = arith.muli %tile, %c64 : i32
    %rowb = tt.splat %row : i32 -> tensor<64x1xi32, #blocked>
    %rm = arith.addi %rowb, %rr : tensor<64x1xi32, #blocked>
    %inside = arith.cmpi slt, %rm, %limit : tensor<64x1xi32, #blocked>
    %insideb = tt.broadcast %inside : tensor<64x1xi1, #blocked> -> tensor<64x64xi1, #blocked>
    %offset = arith.muli %rm, %strides : tensor<64x1xi32, #blocked>
    %at0 = tt.addptr %base, %offset : tensor<64x1x!tt.ptr<f16>, #blocked>, tensor<64x1xi32, #blocked>
    %at1 = tt.broadcast %at0 : tensor<64x1x!tt.ptr<f16>, #blocked> -> tensor<64x64x!tt.ptr<f16>, #blocked>
    %at2 = tt.addptr %at1, %rkb : tensor<64x64x!tt.ptr<f16>, #blocked>, tensor<64x64xi32, #blocked>
    %s:2 = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero, %at = %at2) -> (tensor<64x64xf32, #mma>, tensor<64x64x!tt.ptr<f16>, #blocked>) : i32 {
      %left = arith.subi %size, %k : i32
      %leftb = tt.splat %left : i32 -> tensor<1x64xi32, #blocked>
      %there = arith.cmpi slt, %rk, %leftb : tensor<1x64xi32, #blocked>
      %thereb = tt.broadcast %there : tensor<1x64xi1, #blocked> -> tensor<64x64xi1, #blocked>
      %mask = arith.andi %insideb, %thereb : tensor<64x64xi1, #blocked>
      %va = tt.load %at, %mask, %other : tensor<64x64x!tt.ptr<f16>, #blocked>
      %sa = ttg.local_alloc %va : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %vb = tt.descriptor_load %db[%k, %c0] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %vb : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf32, #mma>
      %next = tt.addptr %at, %move : tensor<64x64x!tt.ptr<f16>, #blocked>, tensor<64x64xi32, #blocked>
      scf.yield %d, %next : tensor<64x64xf32, #mma>, tensor<64x64x!tt.ptr<f16>, #blocked>
    }
    tt.store %out, %s#0 : tensor<64x64x!tt.ptr<f32>, #mma>
  } {tt.warp_specialize}
  tt.return
}
}

// -----

// A condition hands pointers on to a second loop, and a tensor between the two is made again by the threads that copy.
// COPY-LABEL: @handed_on
// COPY: ttg.warp_specialize
// COPY: partition0
// COPY-SAME: num_warps(4)
// COPY: tt.splat %{{.+}} : i32 -> tensor<128x64xi32, #[[FOUR:.+]]>
// COPY: scf.if %{{.+}} -> (tensor<128x64x!tt.ptr<f16>, #[[FOUR]]>, i32, i32)
// COPY: scf.for
// COPY: ttg.async_copy_global_to_local
// COPY: scf.for
// COPY: ttg.async_copy_global_to_local
// COPY: ttg.warp_return

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [8, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#rows = #ttg.slice<{dim = 1, parent = #blocked}>
#columns = #ttg.slice<{dim = 0, parent = #blocked}>
!sum = tensor<128x64xf32, #mma>
!pointers = tensor<128x64x!tt.ptr<f16>, #blocked>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @handed_on(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %db: !tt.tensordesc<64x64xf16, #shared>, %out: tensor<128x64x!tt.ptr<f32>, #mma>, %flag: i1, %middle: i32, %size: i32 {tt.divisibility = 16 : i32}) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : !sum
  %move = arith.constant dense<64> : tensor<128x64xi32, #blocked>
  %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #rows>
  %rr = tt.expand_dims %r {axis = 1 : i32} : tensor<128xi32, #rows> -> tensor<128x1xi32, #blocked>
  %k1 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #columns>
  %rk = tt.expand_dims %k1 {axis = 0 : i32} : tensor<64xi32, #columns> -> tensor<1x64xi32, #blocked>
  %rkb = tt.broadcast %rk : tensor<1x64xi32, #blocked> -> tensor<128x64xi32, #blocked>
  %strides = tt.splat %size : i32 -> tensor<128x1xi32, #blocked>
  %base = tt.splat %a : !tt.ptr<f16> -> tensor<128x1x!tt.ptr<f16>, #blocked>
  %offset = arith.muli %rr, %strides : tensor<128x1xi32, #blocked>
  %at0 = tt.addptr %base, %offset : tensor<128x1x!tt.ptr<f16>, #blocked>, tensor<128x1xi32, #blocked>
  %at1 = tt.broadcast %at0 : tensor<128x1x!tt.ptr<f16>, #blocked> -> !pointers
  %at2 = tt.addptr %at1, %rkb : !pointers, tensor<128x64xi32, #blocked>
  %x:2 = scf.if %flag -> (!sum, !pointers) {
    %s:2 = scf.for %k = %c0 to %middle step %c64 iter_args(%c = %zero, %at = %at2) -> (!sum, !pointers) : i32 {
      %va = tt.load %at : !pointers
      %sa = ttg.local_alloc %va : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
      %vb = tt.descriptor_load %db[%k, %c0] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
      %sb = ttg.local_alloc %vb : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
      %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> !sum
      %next = tt.addptr %at, %move : !pointers, tensor<128x64xi32, #blocked>
      scf.yield %d, %next : !sum, !pointers
    } {tt.warp_specialize}
    scf.yield %s#0, %s#1 : !sum, !pointers
  } else {
    scf.yield %zero, %at2 : !sum, !pointers
  }
  %moves = tt.splat %size : i32 -> tensor<128x64xi32, #blocked>
  %y:2 = scf.for %k = %middle to %size step %c64 iter_args(%c = %x#0, %at = %x#1) -> (!sum, !pointers) : i32 {
    %va = tt.load %at : !pointers
    %sa = ttg.local_alloc %va : (tensor<128x64xf16, #blocked>) -> !ttg.memdesc<128x64xf16, #shared, #smem>
    %vb = tt.descriptor_load %db[%k, %c0] : !tt.tensordesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
    %sb = ttg.local_alloc %vb : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> !sum
    %next = tt.addptr %at, %moves : !pointers, tensor<128x64xi32, #blocked>
    scf.yield %d, %next : !sum, !pointers
  } {tt.warp_specialize}
  tt.store %out, %y#0 : tensor<128x64x!tt.ptr<f32>, #mma>
  tt.return
}
}

// -----

// A stride of which something is said under a condition alone is held to zero where the descriptor is made, in front of
// the condition, and not where it is said for all of the kernel.
// CHECK-LABEL: @said_inside
// CHECK-SAME: %[[INSIDE:[a-z0-9]+]]: i32 {{{.+}}}, %[[OUTSIDE:[a-z0-9]+]]: i32 {{{.+}}}, %{{.+}}: i1
// CHECK: %[[GIVEN:.+]] = arith.extsi %[[INSIDE]] : i32 to i64
// CHECK: %[[STRIDE:.+]] = arith.maxsi %[[GIVEN]], %{{.+}} : i64
// CHECK: tt.make_tensor_descriptor %{{.+}}, [%{{.+}}, %{{.+}}], [%[[STRIDE]], %{{.+}}]
// CHECK: %[[KNOWN:.+]] = arith.extsi %[[OUTSIDE]] : i32 to i64
// CHECK: tt.make_tensor_descriptor %{{.+}}, [%{{.+}}, %{{.+}}], [%[[KNOWN]], %{{.+}}]
// CHECK: ttg.warp_specialize

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#rows = #ttg.slice<{dim = 1, parent = #blocked}>
#columns = #ttg.slice<{dim = 0, parent = #blocked}>
!column = tensor<64x1xi32, #blocked>
!tile = tensor<64x64xf16, #blocked>
!pointers = tensor<64x64x!tt.ptr<f16>, #blocked>
!sum = tensor<64x64xf32, #mma>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func public @said_inside(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %out: tensor<64x64x!tt.ptr<f32>, #mma>, %inside: i32 {tt.divisibility = 16 : i32}, %outside: i32 {tt.divisibility = 16 : i32}, %flag: i1, %tiles: i32, %size: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.000000e+00> : !sum
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #rows>
  %rr = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32, #rows> -> !column
  %k1 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #columns>
  %rk = tt.expand_dims %k1 {axis = 0 : i32} : tensor<64xi32, #columns> -> tensor<1x64xi32, #blocked>
  %rkb = tt.broadcast %rk : tensor<1x64xi32, #blocked> -> tensor<64x64xi32, #blocked>
  %isKnown = arith.cmpi sge, %outside, %c0 : i32
  llvm.intr.assume %isKnown : i1
  scf.if %flag {
    %isSaid = arith.cmpi sge, %inside, %c0 : i32
    llvm.intr.assume %isSaid : i1
    scf.for %tile = %c0 to %tiles step %c1 : i32 {
      %s = scf.for %k = %c0 to %size step %c64 iter_args(%c = %zero) -> (!sum) : i32 {
        %row = tt.splat %k : i32 -> !column
        %rm = arith.addi %row, %rr : !column
        %as = tt.splat %inside : i32 -> !column
        %ao = arith.muli %rm, %as : !column
        %ap = tt.splat %a : !tt.ptr<f16> -> tensor<64x1x!tt.ptr<f16>, #blocked>
        %ar = tt.addptr %ap, %ao : tensor<64x1x!tt.ptr<f16>, #blocked>, !column
        %ab = tt.broadcast %ar : tensor<64x1x!tt.ptr<f16>, #blocked> -> !pointers
        %at = tt.addptr %ab, %rkb : !pointers, tensor<64x64xi32, #blocked>
        %va = tt.load %at : !pointers
        %sa = ttg.local_alloc %va : (!tile) -> !ttg.memdesc<64x64xf16, #shared, #smem>
        %bs = tt.splat %outside : i32 -> !column
        %bo = arith.muli %rm, %bs : !column
        %bp = tt.splat %b : !tt.ptr<f16> -> tensor<64x1x!tt.ptr<f16>, #blocked>
        %br = tt.addptr %bp, %bo : tensor<64x1x!tt.ptr<f16>, #blocked>, !column
        %bb = tt.broadcast %br : tensor<64x1x!tt.ptr<f16>, #blocked> -> !pointers
        %bt = tt.addptr %bb, %rkb : !pointers, tensor<64x64xi32, #blocked>
        %vb = tt.load %bt : !pointers
        %sb = ttg.local_alloc %vb : (!tile) -> !ttg.memdesc<64x64xf16, #shared, #smem>
        %d = ttng.warp_group_dot %sa, %sb, %c {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> !sum
        scf.yield %d : !sum
      }
      tt.store %out, %s : tensor<64x64x!tt.ptr<f32>, #mma>
    } {tt.warp_specialize}
  }
  tt.return
}
}
