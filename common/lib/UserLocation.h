//===- UserLocation.h - Where the user wrote an op --------------*- C++ -*-===//

#ifndef TRITONEXT_LIB_USERLOCATION_H
#define TRITONEXT_LIB_USERLOCATION_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"

namespace tritonext::detail {

/// Returns the source lines inside `loc`, the innermost call first. Functions of Triton's own
/// library are left out, unless nothing else is there: they are not what the user wrote.
llvm::SmallVector<mlir::FileLineColLoc> userFrames(mlir::Location loc);

} // namespace tritonext::detail

#endif // TRITONEXT_LIB_USERLOCATION_H
