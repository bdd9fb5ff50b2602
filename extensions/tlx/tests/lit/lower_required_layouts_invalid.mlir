// RUN: not %opt %s --pass tlx-lower-required-layouts 2>&1 | FileCheck %s

// CHECK: requires attribute 'layout'
tt.func @without_layout(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = tlx.require_layout %x : tensor<64xf32>
  tt.return %0 : tensor<64xf32>
}
