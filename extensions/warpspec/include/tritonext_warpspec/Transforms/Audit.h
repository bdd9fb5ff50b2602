//===- Audit.h - Whether tasks wait for each other as they must -*- C++ -*-===//
//
// The tasks of a kernel run here on what decides the order of things alone: positions in rings,
// lengths of loops, barriers, copies and products. Loops get several lengths. Copies land as late
// as a wait allows, and products end when they are waited for.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_AUDIT_H
#define TRITONEXT_WARPSPEC_TRANSFORMS_AUDIT_H

#include "triton/Dialect/Triton/IR/Dialect.h"

#include <string>

namespace tritonext::warpspec {

/// What is wrong, and where.
struct Finding {
  mlir::Operation *at;
  std::string text;
};

/// Returns the first thing that is wrong with the tasks of `kernel`, if any is.
std::optional<Finding> audit(mlir::triton::FuncOp kernel);

} // namespace tritonext::warpspec

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_AUDIT_H
