//===- Recompute.h - Recompute tensors in another layout --------*- C++ -*-===//

#ifndef TRITONEXT_LAYOUT_TRANSFORMS_RECOMPUTE_H
#define TRITONEXT_LAYOUT_TRANSFORMS_RECOMPUTE_H

#include "mlir/IR/Builders.h"
#include "tritonext_layout/Transforms/WarpLocalLayout.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace tritonext::layout {

/// A tensor and the layout it is wanted in.
using Request = std::pair<mlir::Value, mlir::Attribute>;

/// How a request is met.
enum class Method {
  /// The tensor has the layout already.
  Keep,
  /// Clone the defining op with its operands recomputed.
  Clone,
  /// Take the operand of the defining conversion, recomputed.
  Bypass,
  /// Replace the defining conversion by one to the wanted layout.
  Exchange,
};

/// A way to have some tensors in other layouts, decided without touching the IR.
struct RecomputePlan {
  explicit RecomputePlan(const ConversionModel &model) : model(&model) {}

  llvm::MapVector<Request, Method> methods;
  /// Ops that must lose their last user through the rewrite, since the plan
  /// repeats their work: conversions, loads and costly arithmetic.
  llvm::SetVector<mlir::Operation *> replaced;
  /// All ops whose results the plan recomputes.
  llvm::SetVector<mlir::Operation *> covered;

  /// Adds what is needed to have `value` in `encoding`. On failure returns the
  /// reason and leaves the plan unusable. A conversion on the way is replaced by
  /// one that needs no more barriers: at once if `isData`, else only where
  /// nothing can be recomputed in its place, and never for pointers.
  std::optional<std::string> add(mlir::Value value, mlir::Attribute encoding, bool isData);

private:
  const ConversionModel *model;
};

/// Creates the tensors of plans. Loads and conversions are placed beside the
/// ones they repeat, since those see the same memory. Anything else goes to the
/// block of the one it repeats, right before what needs it: it does not enter
/// loops, and takes no registers across those in between. Plans that ask for
/// the same tensor share it.
class Recomputer {
public:
  /// Returns `value` in `encoding`, at a place that dominates `user`.
  mlir::Value get(const RecomputePlan &plan, mlir::Value value, mlir::Attribute encoding,
                  mlir::Operation *user);

private:
  llvm::DenseMap<Request, mlir::Value> created;
};

} // namespace tritonext::layout

#endif // TRITONEXT_LAYOUT_TRANSFORMS_RECOMPUTE_H
