// RUN: %opt %s --pass layout-share-gathers | FileCheck %s
// RUN: %opt %s --pass layout-share-gathers --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// Lanes along the columns hit one bank with what they store, and the exchanges are longer still.
// CHECK-LABEL: @between_conversions
// CHECK-NOT: ttg.convert_layout
// CHECK: %[[Y:.+]] = tt.gather %arg0[%arg1] {axis = 0 : i32} : (tensor<128x64xf32, #blocked>, tensor<256x64xi32, #blocked>) -> tensor<256x64xf32, #blocked>
// CHECK-NEXT: tt.return %[[Y]]
// REMARK: applied: through shared memory the gather takes {{[0-9]+}} cycles, 1 barriers and 32768 bytes; by shuffles, with the exchanges around it, {{[0-9]+}}, {{[0-9]+}} and 65536 [layout-share-gathers]
tt.func public @between_conversions(%x: tensor<128x64xf32, #rows>, %i: tensor<256x64xi32, #rows>) -> tensor<256x64xf32, #rows> {
  %0 = ttg.convert_layout %x : tensor<128x64xf32, #rows> -> tensor<128x64xf32, #columns>
  %1 = ttg.convert_layout %i : tensor<256x64xi32, #rows> -> tensor<256x64xi32, #columns>
  %2 = tt.gather %0[%1] {axis = 0 : i32, efficient_layout} : (tensor<128x64xf32, #columns>, tensor<256x64xi32, #columns>) -> tensor<256x64xf32, #columns>
  %3 = ttg.convert_layout %2 : tensor<256x64xf32, #columns> -> tensor<256x64xf32, #rows>
  tt.return %3 : tensor<256x64xf32, #rows>
}

// Whoever uses the result in the old layout gets it converted, and the operands' other users keep theirs.
// CHECK-LABEL: @other_users
// CHECK: %[[X:.+]] = ttg.convert_layout %arg0
// CHECK: %[[Y:.+]] = tt.gather %arg0[%arg1] {{.*}} -> tensor<256x64xf32, #blocked>
// CHECK: %[[Z:.+]] = ttg.convert_layout %[[Y]] : tensor<256x64xf32, #blocked> -> tensor<256x64xf32, #blocked1>
// CHECK: tt.return %[[Y]], %[[Z]], %[[X]]
tt.func public @other_users(%x: tensor<128x64xf32, #rows>, %i: tensor<256x64xi32, #rows>) -> (tensor<256x64xf32, #rows>, tensor<256x64xf32, #columns>, tensor<128x64xf32, #columns>) {
  %0 = ttg.convert_layout %x : tensor<128x64xf32, #rows> -> tensor<128x64xf32, #columns>
  %1 = ttg.convert_layout %i : tensor<256x64xi32, #rows> -> tensor<256x64xi32, #columns>
  %2 = tt.gather %0[%1] {axis = 0 : i32, efficient_layout} : (tensor<128x64xf32, #columns>, tensor<256x64xi32, #columns>) -> tensor<256x64xf32, #columns>
  %3 = ttg.convert_layout %2 : tensor<256x64xf32, #columns> -> tensor<256x64xf32, #rows>
  tt.return %3, %2, %0 : tensor<256x64xf32, #rows>, tensor<256x64xf32, #columns>, tensor<128x64xf32, #columns>
}

// CHECK-LABEL: @from_itself
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.gather %arg0[%arg0] {axis = 0 : i32}
tt.func public @from_itself(%p: tensor<128x64xi32, #rows>) -> tensor<128x64xi32, #rows> {
  %0 = ttg.convert_layout %p : tensor<128x64xi32, #rows> -> tensor<128x64xi32, #columns>
  %1 = tt.gather %0[%0] {axis = 0 : i32, efficient_layout} : (tensor<128x64xi32, #columns>, tensor<128x64xi32, #columns>) -> tensor<128x64xi32, #columns>
  %2 = ttg.convert_layout %1 : tensor<128x64xi32, #columns> -> tensor<128x64xi32, #rows>
  tt.return %2 : tensor<128x64xi32, #rows>
}

}

// -----

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>
#across = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// Along rows all lanes of a warp that look at one row meet in one bank.
// CHECK-LABEL: @along_rows
// CHECK-COUNT-3: ttg.convert_layout
// CHECK: tt.gather %{{.+}}[%{{.+}}] {axis = 1 : i32, efficient_layout}
// CHECK: ttg.convert_layout
// REMARK: missed: through shared memory the gather takes {{[0-9]+}} cycles
tt.func public @along_rows(%x: tensor<128x64xf32, #columns>, %i: tensor<128x64xi32, #columns>) -> tensor<128x64xf32, #columns> {
  %0 = ttg.convert_layout %x : tensor<128x64xf32, #columns> -> tensor<128x64xf32, #across>
  %1 = ttg.convert_layout %i : tensor<128x64xi32, #columns> -> tensor<128x64xi32, #rows>
  %2 = ttg.convert_layout %1 : tensor<128x64xi32, #rows> -> tensor<128x64xi32, #across>
  %3 = tt.gather %0[%2] {axis = 1 : i32, efficient_layout} : (tensor<128x64xf32, #across>, tensor<128x64xi32, #across>) -> tensor<128x64xf32, #across>
  %4 = ttg.convert_layout %3 : tensor<128x64xf32, #across> -> tensor<128x64xf32, #columns>
  tt.return %4 : tensor<128x64xf32, #columns>
}

// What is in shared memory already needs no other way, and nothing is exchanged for a gather that has its layout.
// CHECK-LABEL: @as_it_is
// CHECK: tt.gather %arg0[%arg1] {axis = 0 : i32} : (tensor<128x64xf32, #blocked
// CHECK: tt.gather %arg2[%arg3] {axis = 0 : i32}
// REMARK-NOT: gather takes
tt.func public @as_it_is(%x: tensor<128x64xf32, #rows>, %i: tensor<256x64xi32, #rows>, %z: tensor<128x64xf32, #columns>, %j: tensor<256x64xi32, #columns>) -> (tensor<256x64xf32, #rows>, tensor<256x64xf32, #columns>) {
  %0 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<128x64xf32, #rows>, tensor<256x64xi32, #rows>) -> tensor<256x64xf32, #rows>
  %1 = tt.gather %z[%j] {axis = 0 : i32} : (tensor<128x64xf32, #columns>, tensor<256x64xi32, #columns>) -> tensor<256x64xf32, #columns>
  tt.return %0, %1 : tensor<256x64xf32, #rows>, tensor<256x64xf32, #columns>
}

}

// -----

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[0, 0]]}>
#columns = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1], CGALayout = [[0, 0]]}>

module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// CHECK-LABEL: @of_a_cluster
// CHECK-COUNT-3: ttg.convert_layout
// REMARK: missed: a CTA of a cluster has part of the source in its shared memory [layout-share-gathers]
tt.func public @of_a_cluster(%x: tensor<128x64xf32, #rows>, %i: tensor<256x64xi32, #rows>) -> tensor<256x64xf32, #rows> {
  %0 = ttg.convert_layout %x : tensor<128x64xf32, #rows> -> tensor<128x64xf32, #columns>
  %1 = ttg.convert_layout %i : tensor<256x64xi32, #rows> -> tensor<256x64xi32, #columns>
  %2 = tt.gather %0[%1] {axis = 0 : i32, efficient_layout} : (tensor<128x64xf32, #columns>, tensor<256x64xi32, #columns>) -> tensor<256x64xf32, #columns>
  %3 = ttg.convert_layout %2 : tensor<256x64xf32, #columns> -> tensor<256x64xf32, #rows>
  tt.return %3 : tensor<256x64xf32, #rows>
}

}

// -----

#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {

// The exchange of the indices is behind all reads of them, and the store overwrites their neighbours.
// CHECK-LABEL: @in_place
// CHECK-COUNT-3: ttg.convert_layout
// REMARK: missed: the barriers around it may keep a write behind a read of what it overwrites [layout-share-gathers]
tt.func public @in_place(%base: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %x: tensor<128x64xi32, #rows>, %places: tensor<256x64xi32, #rows>, %shifted: tensor<256x64xi32, #rows>) {
  %p = tt.splat %base : !tt.ptr<i32> -> tensor<256x64x!tt.ptr<i32>, #rows>
  %q = tt.addptr %p, %places : tensor<256x64x!tt.ptr<i32>, #rows>, tensor<256x64xi32, #rows>
  %i = tt.load %q : tensor<256x64x!tt.ptr<i32>, #rows>
  %0 = ttg.convert_layout %x : tensor<128x64xi32, #rows> -> tensor<128x64xi32, #columns>
  %1 = ttg.convert_layout %i : tensor<256x64xi32, #rows> -> tensor<256x64xi32, #columns>
  %2 = tt.gather %0[%1] {axis = 0 : i32, efficient_layout} : (tensor<128x64xi32, #columns>, tensor<256x64xi32, #columns>) -> tensor<256x64xi32, #columns>
  %3 = ttg.convert_layout %2 : tensor<256x64xi32, #columns> -> tensor<256x64xi32, #rows>
  %r = tt.addptr %p, %shifted : tensor<256x64x!tt.ptr<i32>, #rows>, tensor<256x64xi32, #rows>
  tt.store %r, %3 : tensor<256x64x!tt.ptr<i32>, #rows>
  tt.return
}

}
