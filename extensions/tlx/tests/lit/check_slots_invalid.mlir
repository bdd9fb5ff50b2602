// RUN: %opt %s --pass tlx-check-slots --verify-diagnostics

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @above(%ring: !ttg.memdesc<3x64xf16, #bar, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  // expected-error @below {{expected a slot from 0 to 2, got 3}}
  // expected-note @below {{take the number modulo the number of slots, or allocate more}}
  %a = ttg.memdesc_index %ring[%c3] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  ttg.local_dealloc %a : !ttg.memdesc<64xf16, #bar, #smem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @below(%ring: !ttg.memdesc<3x64xf16, #bar, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  // expected-error @below {{expected a slot from 0 to 2, got -1}}
  // expected-note @below {{take the number modulo the number of slots, or allocate more}}
  %a = ttg.memdesc_index %ring[%minus] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  ttg.local_dealloc %a : !ttg.memdesc<64xf16, #bar, #smem, mutable>
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @last(%ring: !ttg.memdesc<3x64xf16, #bar, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  scf.for %i = %c0 to %c3 step %c1 : i32 {
    %k = arith.addi %i, %c1 : i32
  // expected-error @below {{expected a slot from 0 to 2, got 3 in the last iteration of the loop}}
  // expected-note @below {{take the number modulo the number of slots, or allocate more}}
  %a = ttg.memdesc_index %ring[%k] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  ttg.local_dealloc %a : !ttg.memdesc<64xf16, #bar, #smem, mutable>
  }
  tt.return
}

// -----

#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func @first(%ring: !ttg.memdesc<3x64xf16, #bar, #smem, mutable>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %minus = arith.constant -1 : i32
  scf.for %i = %c0 to %c3 step %c1 : i32 {
    %k = arith.addi %i, %minus : i32
  // expected-error @below {{expected a slot from 0 to 2, got -1 in the first iteration of the loop}}
  // expected-note @below {{take the number modulo the number of slots, or allocate more}}
  %a = ttg.memdesc_index %ring[%k] : !ttg.memdesc<3x64xf16, #bar, #smem, mutable> -> !ttg.memdesc<64xf16, #bar, #smem, mutable>
  ttg.local_dealloc %a : !ttg.memdesc<64xf16, #bar, #smem, mutable>
  }
  tt.return
}
