#ifndef TRITONEXT_PROFILER_TRANSFORMS_CATEGORIES_H
#define TRITONEXT_PROFILER_TRANSFORMS_CATEGORIES_H

#include "mlir/IR/Operation.h"

#include <cstdint>
#include <optional>

namespace tritonext::profiler {

/// What a warp does, in the order of `categoryNames()`.
enum class Category {
  CopyIssue,
  CopyWait,
  MmaIssue,
  MmaWait,
  GlobalLoad,
  GlobalStore,
  SharedLoad,
  SharedStore,
  LayoutConversion,
  Barrier,
  MbarrierWait,
  Reduction,
  Atomic,
  Elementwise,
  Epilogue,
  Idle,
  Scope,
  Other,
};

/// Returns the names of all categories in tables.
llvm::ArrayRef<llvm::StringLiteral> categoryNames();

/// Returns the name of a category in tables.
llvm::StringRef nameOf(Category category);

/// Returns the category of an op, or none for one that belongs to whatever surrounds it.
std::optional<Category> categoryOf(mlir::Operation *op);

/// What all threads that execute an op do together, once.
struct Work {
  int64_t flops = 0;
  int64_t bytes = 0;
};

/// Returns the floating-point operations of an op and the bytes that it moves between memories,
/// masks aside.
Work workOf(mlir::Operation *op, Category category);

} // namespace tritonext::profiler

#endif // TRITONEXT_PROFILER_TRANSFORMS_CATEGORIES_H
