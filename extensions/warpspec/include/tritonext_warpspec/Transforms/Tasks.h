//===- Tasks.h - Split a loop of products into tasks ------------*- C++ -*-===//

#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_TASKS_H
#define TRITONEXT_WARPSPEC_TRANSFORMS_TASKS_H

#include "tritonext_warpspec/Transforms/Plan.h"

namespace tritonext::warpspec {

/// Position in a ring: the slot and the parity of its phase, 32-bit values that loops carry.
struct RingState {
  mlir::Value slot, phase;
};

/// A ring of slots in shared memory, each with room for the tiles of one iteration, and its
/// barriers.
///
/// The producer arrives at `full`, where it expects the bytes of a slot, and the consumers at
/// `empty`. The producer waits for the phase before the one that it fills: that one counts as
/// complete on a fresh barrier, so the first round needs no condition.
struct Ring {
  llvm::SmallVector<mlir::Value> tiles;
  mlir::Value full, empty;
  unsigned slots;

  /// Allocates the ring and initialises its barriers.
  static Ring create(mlir::OpBuilder &builder, mlir::Location loc, Plan &plan);

  /// Returns the ring as `lookup` sees it, such as in a task that captures it.
  Ring mapped(llvm::function_ref<mlir::Value(mlir::Value)> lookup) const;

  /// Returns the position behind `state`.
  RingState next(mlir::OpBuilder &builder, mlir::Location loc, RingState state) const;
};

/// Returns the view of the element `index` of an array in shared memory.
mlir::Value viewOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                   mlir::Value index, bool isMutable);

/// Creates barriers whose phases take so many arrivals.
mlir::Value createBarriers(mlir::OpBuilder &builder, mlir::Location loc, unsigned number,
                           unsigned arrivals);

/// Builds the task that fills the ring, in a region that captures what it needs. `start` is the
/// position of the first tile.
void buildProducer(Plan &plan, const Ring &ring,
                   mlir::triton::gpu::WarpSpecializePartitionsOp tasks);

/// Turns the loop of the plan and those around it into the task that empties the ring. The loops of
/// the plan are replaced.
void rewriteConsumer(Plan &plan, const Ring &ring, RingState start);

/// Whether what a load of a loop needs can be computed an iteration ahead.
bool canLoadAhead(mlir::scf::ForOp loop, mlir::triton::LoadOp load);

/// Moves loads of a few bytes from behind the loop of the plan in front of it.
void loadEarly(Plan &plan);

/// Lets the loop of the plan, which it replaces, start the loads that are to be ahead.
void loadAhead(Plan &plan);

/// Gives operands that the loop of the plan, which it replaces, computes buffers in shared memory.
void stageOperands(Plan &plan);

/// Splits the kernel into a task that loads and one that multiplies, as planned.
mlir::triton::gpu::WarpSpecializeOp specialize(Plan &plan);

} // namespace tritonext::warpspec

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_TASKS_H
