//===- MemoryOrder.h - Reads that an exchange's barrier may order -*- C++ -*-===//
//
// Triton orders the accesses of a program to global memory only by the data that flows between
// them. A barrier inside a layout conversion orders more than that, and kernels that work in place
// can come to depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_LAYOUT_TRANSFORMS_MEMORYORDER_H
#define TRITONEXT_LAYOUT_TRANSFORMS_MEMORYORDER_H

#include "triton/Dialect/Triton/IR/Dialect.h"

namespace tritonext::layout {

/// Returns an op of the function of `store` that may read, into registers, an element that `store`
/// overwrites without depending on what was read there; null if there is none. `readers` holds the
/// candidates, which are `tt.load`, `tt.atomic_rmw`, `tt.atomic_cas` and `tt.call`.
///
/// Two different pointer arguments of a kernel are taken to address different memory.
mlir::Operation *findUnorderedRead(mlir::triton::StoreOp store,
                                   llvm::ArrayRef<mlir::Operation *> readers);

/// Returns true if the two ops, which have pointers as operands, may touch the same memory.
bool mayTouchSameMemory(mlir::Operation *first, mlir::Operation *second);

} // namespace tritonext::layout

#endif // TRITONEXT_LAYOUT_TRANSFORMS_MEMORYORDER_H
