//===- SharedMemory.h - Addresses and instructions as assembly -*- C++ -*-===//
//
// What has no stock op is inline assembly on the address of a view. The type of a view after the
// conversion to LLVM is known, so a cast to it stands for the converted value before.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_SHAREDMEMORY_H
#define TRITONEXT_SHAREDMEMORY_H

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Tools/LinearLayout.h"

namespace tritonext {

/// Returns the resource that effects on shared memory name for stock passes to see them:
/// libtriton's, which it compares by address. `SharedMemory::get()` in an extension is another
/// instance.
mlir::SideEffects::Resource *sharedMemoryResource(mlir::triton::gpu::MemDescType type);

/// The place of a view in shared memory: a pointer to what it is part of, and at which element of
/// that it begins.
struct SharedView {
  mlir::Value base;
  llvm::SmallVector<mlir::Value> begin;
};

/// Returns the place of a view.
SharedView viewOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value view);

/// Returns the map from the coordinates in a buffer to the number of an element in memory.
mlir::triton::LinearLayout elementsOf(mlir::triton::gpu::MemDescType buffer);

/// Returns the number that a map from coordinates gives for constant ones.
int32_t elementAt(const mlir::triton::LinearLayout &elements, llvm::ArrayRef<int64_t> coordinates);

/// Returns the number of the element at which a view begins.
mlir::Value beginOf(mlir::OpBuilder &builder, mlir::Location loc, const SharedView &view,
                    const mlir::triton::LinearLayout &elements);

/// Returns the exclusive or of the bases whose bits a value has set.
mlir::Value selectBases(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits,
                        llvm::ArrayRef<int32_t> bases);

/// Returns the condition, and that the warp is the first one of its task.
mlir::Value inFirstWarp(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition);

/// Returns the address, among those of the cluster, at which another block has what the own one
/// has at `address`.
mlir::Value remoteAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                          mlir::Value rank);

/// Returns a special register of 32 bits, such as `cluster.ctarank`.
mlir::Value specialRegister(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name);

/// Builds an instruction with side effects, and returns its results.
mlir::ResultRange buildAsm(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypeRange results,
                           mlir::ValueRange operands, llvm::StringRef text,
                           llvm::StringRef constraints);

/// Lets other blocks of the cluster see initialised barriers.
void buildBarrierInitFence(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace tritonext

#endif // TRITONEXT_SHAREDMEMORY_H
