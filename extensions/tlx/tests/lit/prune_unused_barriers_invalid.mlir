// RUN: not %opt %s --pass "tlx-prune-unused-barriers{slots=true}" 2>&1 | FileCheck %s

// CHECK: the pass tlx_prune_unused_barriers does not accept its options
// CHECK: no such option slots
module {
}
