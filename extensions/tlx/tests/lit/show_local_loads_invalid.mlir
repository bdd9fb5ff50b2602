// RUN: not %opt %s --pass "tlx-show-local-loads{all=true}" 2>&1 | FileCheck %s

// CHECK: the pass tlx_show_local_loads does not accept its options
// CHECK: no such option all
module {
}
