// RUN: %opt %s --pass probe-lower-twice | FileCheck %s --check-prefixes=CHECK,ADD
// RUN: %opt %s --pass "probe-lower-twice{mode=mul count=3}" | FileCheck %s --check-prefixes=CHECK,MUL
// RUN: %opt %s --pass probe-lower-twice --remarks -o %t 2>&1 | FileCheck %s --check-prefixes=REMARK,REMARK-ADD
// RUN: %opt %s --pass "probe-lower-twice{mode=mul}" --remarks -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefixes=REMARK,REMARK-MUL

// CHECK-LABEL: @float
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
tt.func @float(%x: tensor<4xf32>) -> tensor<4xf32> {
  // ADD: %[[R:.*]] = arith.addf %[[X]], %[[X]]
  // MUL: %[[C:.*]] = arith.constant dense<3.000000e+00>
  // MUL: %[[R:.*]] = arith.mulf %[[X]], %[[C]]
  // REMARK: lower_twice.mlir:[[#@LINE+3]]:8: %0 = probe.twice %x : tensor<4xf32>
  // REMARK-ADD-NEXT: applied: replaced by additions [probe-lower-twice]
  // REMARK-MUL-NEXT: applied: replaced by a multiplication [probe-lower-twice]
  %0 = probe.twice %x : tensor<4xf32>
  // CHECK: tt.return %[[R]]
  tt.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @integer
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
tt.func @integer(%x: tensor<4xi32>) -> tensor<4xi32> {
  // ADD: %[[R:.*]] = arith.addi %[[X]], %[[X]]
  // MUL: %[[C:.*]] = arith.constant dense<3>
  // MUL: %[[R:.*]] = arith.muli %[[X]], %[[C]]
  %0 = probe.twice %x : tensor<4xi32>
  // CHECK: tt.return %[[R]]
  tt.return %0 : tensor<4xi32>
}
