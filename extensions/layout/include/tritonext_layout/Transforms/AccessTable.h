//===- AccessTable.h - Which accesses may change their layout ---*- C++ -*-===//

#ifndef TRITONEXT_LAYOUT_TRANSFORMS_ACCESSTABLE_H
#define TRITONEXT_LAYOUT_TRANSFORMS_ACCESSTABLE_H

#include "tritonext_layout/Transforms/MemoryOrder.h"
#include "tritonext_layout/Transforms/WarpLocalLayout.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tritonext::layout {

/// The loads, stores and atomics of a module whose layout is not tied to the order in which memory
/// is accessed, and the memory they reach.
class AccessTable {
public:
  AccessTable(mlir::ModuleOp module, const MemoryAccesses &memory);

  /// Returns the memory that `access` reaches, or null if it must keep its layout.
  const MemoryShape *lookup(mlir::Operation *access) const;

  /// Whether another access may touch the memory of `access`. One thread then has to read or write
  /// each element, and once, so that what flows between them keeps them in order.
  bool isShared(mlir::Operation *access) const { return shared.contains(access); }

  /// Enters a copy of a load.
  void addCopy(mlir::Operation *load, mlir::Operation *copy);
  void erase(mlir::Operation *access) { shapes.erase(access); }

private:
  llvm::DenseMap<mlir::Operation *, MemoryShape> shapes;
  llvm::DenseSet<mlir::Operation *> shared;
};

} // namespace tritonext::layout

#endif // TRITONEXT_LAYOUT_TRANSFORMS_ACCESSTABLE_H
