//===- ForeignOps.h - Ops that the conversion to layouts does not know -*- C++ -*-===//
//
// `convert-triton-to-tritongpu` gives every tensor a layout, and fails on an op with tensors that
// is not of one of the dialects it has patterns for: ops of extensions, and ops of the GPU dialects
// that a kernel uses early. Triton does not export those patterns, and a copy would go stale.
//
// Instead such ops are carried across: before the conversion each becomes a call, which the
// conversion knows, of a private function with the op's types; after it the op is rebuilt with the
// operands and result types that the call got. What the op was stands in attributes of the call, so
// the module is valid, printable text in between. An extension with such ops declares two passes,
// `<id>-carry-foreign-ops` right before `ttir.convert_to_ttgpuir` and `<id>-restore-foreign-ops`
// right after it, which call these functions. Any number of extensions may: the first to run
// carries the ops of all.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_FOREIGNOPS_H
#define TRITONEXT_FOREIGNOPS_H

#include "mlir/IR/BuiltinOps.h"

namespace tritonext {

/// Replaces each foreign op that has a tensor without a layout by a call.
///
/// Fails, with an error at the op, when one has regions or successors, which no call can stand for.
mlir::LogicalResult carryForeignOps(mlir::ModuleOp module);

/// Rebuilds the ops that `carryForeignOps` replaced and erases its functions.
///
/// Fails, with an error at the call, when the attributes of one do not describe an op.
mlir::LogicalResult restoreForeignOps(mlir::ModuleOp module);

} // namespace tritonext

#endif // TRITONEXT_FOREIGNOPS_H
