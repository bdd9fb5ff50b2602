// RUN: not %opt %s --pass "probe-mark-module{color=red}" 2>&1 | FileCheck %s

// CHECK: the pass probe_mark_module does not accept its options
// CHECK: no such option color
module {
}
