//===- Views.h - Who uses an allocation of shared memory --------*- C++ -*-===//

#ifndef TRITONEXT_TLX_TRANSFORMS_VIEWS_H
#define TRITONEXT_TLX_TRANSFORMS_VIEWS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"

namespace tritonext::tlx {

/// Which slot of an allocation a view is in: all of it, a constant one, or one that a value
/// chooses.
struct Slot {
  mlir::Value index;
  std::optional<int64_t> constant;

  bool isWhole() const { return !index; }
  /// Returns whether two views are surely in one slot.
  bool isSame(const Slot &other) const {
    return constant ? constant == other.constant : index == other.index;
  }
};

/// An op that does something with a view of an allocation.
struct ViewUse {
  mlir::OpOperand *operand;
  Slot slot;
  /// The value came through a loop or a branch, where others may come too.
  bool isMerged = false;
  /// The view is less than a slot.
  bool isPart = false;

  mlir::Operation *op() const { return operand->getOwner(); }
};

/// Returns the uses of `allocation` and of views of it, also in tasks that capture one.
llvm::SmallVector<ViewUse> usesOf(mlir::triton::gpu::LocalAllocOp allocation);

/// Returns the constant a value is, if it is one.
std::optional<int64_t> constantOf(mlir::Value value);

/// Returns whether an op with this condition runs whenever it is reached; none is true.
bool isAlways(mlir::Value condition);

/// Returns the region of the task that `op` is in, or the body of the kernel.
mlir::Region *taskOf(mlir::Operation *op);

/// Returns the warps that run the task `op` is in. Those of the kernel are known in a block of
/// tasks, and of an op that carries them.
std::optional<int64_t> warpsOf(mlir::Operation *op);

/// A use of a hardware barrier of the block.
struct NamedBarrier {
  std::optional<int64_t> id, threads;
  bool isWait;
};

/// Returns what `op` does with a named barrier, or none.
std::optional<NamedBarrier> namedBarrierOf(mlir::LLVM::CallIntrinsicOp op);

/// Lets tasks capture a value, each as its last argument.
void addCapture(mlir::triton::gpu::WarpSpecializePartitionsOp tasks, mlir::Value value);

/// Returns whether a loop is around `op`.
bool isInLoop(mlir::Operation *op);

/// Returns whether every run of the kernel gets to `op`, with loops that run: no condition and no
/// return stands before it.
bool isAlwaysReached(mlir::Operation *op);

/// Returns whether anything that may wait for others stands before `op` in its block.
bool waitsBefore(mlir::Operation *op);

/// Returns the integer that a value is when it is computed for the first time, in the first
/// iteration of the loops around it, if that is known.
std::optional<int64_t> firstValueOf(mlir::Value value);

} // namespace tritonext::tlx

#endif // TRITONEXT_TLX_TRANSFORMS_VIEWS_H
