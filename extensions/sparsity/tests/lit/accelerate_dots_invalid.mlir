// RUN: %opt %s --pass sparsity-accelerate-dots --verify-diagnostics

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
tt.func @few_rows(%v: tensor<8x32xf16, #blocked>, %m: tensor<8x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<8x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but M, N and K are 8, 32 and 64, no multiples of 16, 8 and 32}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<8x32xf16, #blocked>, tensor<8x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<8x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
tt.func @short(%v: tensor<16x16xi8, #blocked>, %m: tensor<16x4xi8, #blocked>, %b: tensor<32x32xi8, #blocked>, %c: tensor<16x32xi32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but M, N and K are 16, 32 and 32, no multiples of 16, 8 and 64}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<16x16xi8, #blocked>, tensor<16x4xi8, #blocked> * tensor<32x32xi8, #blocked> -> tensor<16x32xi32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:75", "ttg.threads-per-warp" = 32 : i32} {
tt.func @old(%v: tensor<32x32xf16, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<32x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but cuda:75 has no sparse tensor cores}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf16, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<32x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
tt.func @emulated(%v: tensor<32x32xf8E4M3FN, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xf8E4M3FN, #blocked>, %c: tensor<32x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but cuda:100 converts 8-bit floats to f16 first}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf8E4M3FN, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xf8E4M3FN, #blocked> -> tensor<32x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @emulated_on_hopper(%v: tensor<32x32xf8E4M3FN, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xf8E4M3FN, #blocked>, %c: tensor<32x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but cuda:90 multiplies 8-bit floats by warp groups, but 32 rows are no multiple of 64}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf8E4M3FN, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xf8E4M3FN, #blocked> -> tensor<32x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @few_warps(%v: tensor<64x32xf8E4M3FN, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf8E4M3FN, #blocked>, %c: tensor<64x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but cuda:90 multiplies 8-bit floats by warp groups, but 2 warps are no warp groups of 4}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf8E4M3FN, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x32xf8E4M3FN, #blocked> -> tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:89", "ttg.threads-per-warp" = 32 : i32} {
tt.func @half_sums(%v: tensor<32x32xf8E4M3FN, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xf8E4M3FN, #blocked>, %c: tensor<32x32xf16, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but warps add products of 8-bit floats in f32}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf8E4M3FN, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xf8E4M3FN, #blocked> -> tensor<32x32xf16, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx90a", "ttg.threads-per-warp" = 64 : i32} {
tt.func @old_waves(%v: tensor<32x32xf16, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<32x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but hip:gfx90a has no sparse tensor cores}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf16, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<32x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
tt.func @wide_elements(%v: tensor<32x32xf32, #blocked>, %m: tensor<32x16xi8, #blocked>, %b: tensor<64x32xf32, #blocked>, %c: tensor<32x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but hip:gfx942 multiplies f16, bf16, i8, and of 8-bit floats f8E4M3FNUZ and f8E5M2FNUZ}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf32, #blocked>, tensor<32x16xi8, #blocked> * tensor<64x32xf32, #blocked> -> tensor<32x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {
tt.func @floats_of_others(%v: tensor<32x32xf8E4M3FNUZ, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xf8E4M3FNUZ, #blocked>, %c: tensor<32x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but hip:gfx950 multiplies f16, bf16, i8, and of 8-bit floats f8E4M3FN and f8E5M2}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf8E4M3FNUZ, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xf8E4M3FNUZ, #blocked> -> tensor<32x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
tt.func @half_sums_of_waves(%v: tensor<32x32xf16, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<32x32xf16, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but hip:gfx942 adds products in 32 bits}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf16, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<32x32xf16, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
tt.func @few_columns(%v: tensor<32x32xf16, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x8xf16, #blocked>, %c: tensor<32x8xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but M, N and K are 32, 8 and 64, no multiples of 16, 16 and 32}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf16, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x8xf16, #blocked> -> tensor<32x8xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:89", "ttg.threads-per-warp" = 32 : i32} {
tt.func @floats_of_amd(%v: tensor<32x32xf8E4M3FNUZ, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xf8E4M3FNUZ, #blocked>, %c: tensor<32x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but cuda:89 multiplies of 8-bit floats f8E4M3FN and f8E5M2}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<32x32xf8E4M3FNUZ, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xf8E4M3FNUZ, #blocked> -> tensor<32x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>
module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
tt.func @cluster(%v: tensor<64x32xf16, #blocked>, %m: tensor<64x8xi8, #blocked>, %b: tensor<64x32xf16, #blocked>, %c: tensor<64x32xf32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but its tensors are spread over 2 blocks}}
  %d = sparsity.dot %v, %m, %b, %c : tensor<64x32xf16, #blocked>, tensor<64x8xi8, #blocked> * tensor<64x32xf16, #blocked> -> tensor<64x32xf32, #blocked>
  tt.return
}
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx950", "ttg.threads-per-warp" = 64 : i32} {
tt.func @unsigned_integers_of_waves(%v: tensor<32x32xi8, #blocked>, %m: tensor<32x8xi8, #blocked>, %b: tensor<64x32xi8, #blocked>, %c: tensor<32x32xi32, #blocked>) {
  // expected-error @below {{expected a product that the sparse tensor cores have, but hip:gfx950 multiplies signed integers}}
  %d = sparsity.dot %v, %m, %b, %c {unsignedValues} : tensor<32x32xi8, #blocked>, tensor<32x8xi8, #blocked> * tensor<64x32xi8, #blocked> -> tensor<32x32xi32, #blocked>
  tt.return
}
}
