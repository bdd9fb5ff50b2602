//===- Tasks.h - Split a loop of products into tasks ------------*- C++ -*-===//

#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_TASKS_H
#define TRITONEXT_WARPSPEC_TRANSFORMS_TASKS_H

#include "tritonext_warpspec/Transforms/Plan.h"

namespace tritonext::warpspec {

/// Marks waits and arrivals that each warp of a task does for itself.
inline constexpr llvm::StringLiteral separateWarps = "warpspec.separate_warps";

/// Marks the wait behind which a warp group needs its turn on the tensor cores, and the wait for
/// products in front of which it leaves them to the other.
inline constexpr llvm::StringLiteral takesTurn = "warpspec.takes_turn";
inline constexpr llvm::StringLiteral passesTurn = "warpspec.passes_turn";

/// Position in a ring: the slot and the parity of its phase, 32-bit values that loops carry.
struct RingState {
  mlir::Value slot, phase;
};

/// Positions in all rings.
using RingStates = llvm::SmallVector<RingState>;

/// Returns the values of positions, and the positions of which these are the values.
llvm::SmallVector<mlir::Value> valuesOf(const RingStates &states);
RingStates statesOf(mlir::ValueRange values);

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
  /// Arrivals that give a slot back.
  unsigned arrivals = 1;

  /// Returns the ring as `lookup` sees it, such as in a task that captures it.
  Ring mapped(llvm::function_ref<mlir::Value(mlir::Value)> lookup) const;

  /// Returns the position behind `state`.
  RingState next(mlir::OpBuilder &builder, mlir::Location loc, RingState state) const;
};

/// Allocates the rings of a plan and initialises their barriers.
llvm::SmallVector<Ring> createRings(mlir::OpBuilder &builder, mlir::Location loc, Plan &plan);

/// Returns the view of the element `index` of an array in shared memory.
mlir::Value viewOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                   mlir::Value index, bool isMutable);

/// Creates barriers whose phases take so many arrivals.
mlir::Value createBarriers(mlir::OpBuilder &builder, mlir::Location loc, unsigned number,
                           unsigned arrivals);

/// Builds the task that fills the rings, in a region that captures what it needs.
void buildProducer(Plan &plan, llvm::ArrayRef<Ring> rings,
                   mlir::triton::gpu::WarpSpecializePartitionsOp tasks);

/// Turns the loops of the plan and those around them into the task that empties the rings. They are
/// replaced.
void rewriteConsumer(Plan &plan, llvm::ArrayRef<Ring> rings, RingStates start);

/// Replaces a loop whose last product is put off to the next iteration, and returns the positions
/// behind it.
RingStates rewriteChain(ProductLoop &products, llvm::ArrayRef<Ring> rings, const RingStates &start);

/// Whether what a load of a loop needs can be computed an iteration ahead.
bool canLoadAhead(mlir::scf::ForOp loop, mlir::triton::LoadOp load);

/// Moves loads of a few bytes from behind a loop of the plan in front of it.
void loadEarly(ProductLoop &products);

/// Moves the loads of a chain, and what they need, to the start of its loop.
void loadFirst(ProductLoop &products);

/// Lets a loop of the plan, which it replaces, start the loads that are to be ahead.
void loadAhead(Plan &plan, ProductLoop &products);

/// Gives operands that a loop of the plan, which it replaces, computes buffers in shared memory.
void stageOperands(Plan &plan, ProductLoop &products);

/// Splits the kernel into a task that loads and one that multiplies, as planned.
mlir::triton::gpu::WarpSpecializeOp specialize(Plan &plan);

} // namespace tritonext::warpspec

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_TASKS_H
