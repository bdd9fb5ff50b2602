//===- Remarks.h - What a pass did, did not do, and why ---------*- C++ -*-===//
//
// `tritonext explain` collects remarks while it compiles; otherwise they cost one thread-local
// read.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_REMARKS_H
#define TRITONEXT_REMARKS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/Twine.h"

namespace tritonext {

enum class RemarkKind {
  /// The pass changed the op.
  Applied,
  /// The pass left the op alone although it looks for such ops; the message says why.
  Missed,
  /// A fact that explains a later decision.
  Analysis,
};

/// Returns whether this thread collects remarks. Ask before computing something only a remark
/// needs.
bool remarksEnabled();

/// Records a remark about `op`, or does nothing when this thread collects none.
///
/// `pass` is the flag of the pass. `message` is a lowercase phrase without a full stop, as in a
/// diagnostic.
void emitRemark(RemarkKind kind, mlir::Operation *op, llvm::StringRef pass,
                const llvm::Twine &message);

} // namespace tritonext

#endif // TRITONEXT_REMARKS_H
