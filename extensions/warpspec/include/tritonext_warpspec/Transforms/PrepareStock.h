//===- PrepareStock.h - Annotations that the stock pass can take *- C++ -*-===//

#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_PREPARESTOCK_H
#define TRITONEXT_WARPSPEC_TRANSFORMS_PREPARESTOCK_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "triton/Dialect/Triton/IR/Dialect.h"

namespace tritonext::warpspec {

/// Moves or removes annotations of a kernel for sm_100 on which the stock pass fails, and says so.
void prepareForStock(mlir::triton::FuncOp kernel);

} // namespace tritonext::warpspec

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_PREPARESTOCK_H
