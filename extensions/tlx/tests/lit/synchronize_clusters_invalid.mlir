// RUN: not %opt %s --pass 'tlx-synchronize-clusters{none=1}' 2>&1 | FileCheck %s

// CHECK: no such option
module {}
