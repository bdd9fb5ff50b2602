//===- Describe.h - Tensor descriptors for loads by pointers ----*- C++ -*-===//
//
// A tile that is loaded through pointers is a block of a matrix if its addresses are
// `base + row * stride + column` and its mask holds inside of the matrix alone.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_DESCRIBE_H
#define TRITONEXT_WARPSPEC_TRANSFORMS_DESCRIBE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "triton/Dialect/Triton/IR/Dialect.h"

namespace tritonext::warpspec {

/// Lets the operands of products in `loop` be loaded through descriptors that the kernel makes,
/// where they are provably blocks of a matrix. `trustsStrides` takes strides not to be negative.
/// Returns whether a load has none because that is not known of its stride.
bool describeLoads(mlir::scf::ForOp loop, bool trustsStrides);

} // namespace tritonext::warpspec

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_DESCRIBE_H
