// RUN: not %opt %s --pass "tlx-hide-async-ops{waits=false}" 2>&1 | FileCheck %s

// CHECK: the pass tlx_hide_async_ops does not accept its options
// CHECK: no such option waits
module {
}
