//===- MemoryOrder.h - Reads that an exchange's barrier may order -*- C++ -*-===//
//
// Triton orders the accesses of a program to global memory only by the data that flows between
// them. A barrier inside a layout conversion orders more than that, and kernels that work in place
// can come to depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_LAYOUT_TRANSFORMS_MEMORYORDER_H
#define TRITONEXT_LAYOUT_TRANSFORMS_MEMORYORDER_H

#include "mlir/IR/BuiltinOps.h"
#include "triton/Dialect/Triton/IR/Dialect.h"

namespace tritonext::layout {

/// The accesses of a module to global memory, and what is between them. Two different pointer
/// arguments of a kernel are taken to address different memory.
class MemoryAccesses {
public:
  explicit MemoryAccesses(mlir::ModuleOp module);

  /// Returns an op of the function of `store` that may read, into registers, an element that
  /// `store` overwrites without depending on what was read there; null if there is none.
  mlir::Operation *findUnorderedRead(mlir::triton::StoreOp store) const;

  /// Returns a write that may not depend on what `load` reads before it; null if there is none.
  mlir::Operation *findUnorderedWrite(mlir::triton::LoadOp load) const;

  /// Returns a write of `function` to what another thread may have yet to read, so that the barrier
  /// of some op may be what keeps them in order; null if there is none.
  mlir::Operation *findOrderedWrite(mlir::triton::FuncOp function) const;

  /// Returns another read, or write, that may touch the memory of `access`; null if there is none.
  mlir::Operation *findRead(mlir::Operation *access) const;
  mlir::Operation *findWrite(mlir::Operation *access) const;

  /// All `tt.load`, `tt.store`, atomics and `tt.call`, by what they do.
  llvm::SmallVector<mlir::Operation *> readers, writers;
};

} // namespace tritonext::layout

#endif // TRITONEXT_LAYOUT_TRANSFORMS_MEMORYORDER_H
