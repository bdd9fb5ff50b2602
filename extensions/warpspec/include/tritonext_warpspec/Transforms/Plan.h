//===- Plan.h - How a loop of products is split into tasks ------*- C++ -*-===//
//
// The analysis decides everything before anything is changed, and says why where it declines.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_PLAN_H
#define TRITONEXT_WARPSPEC_TRANSFORMS_PLAN_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace tritonext::warpspec {

/// A load that the producer starts.
struct RingLoad {
  /// By a descriptor or through pointers.
  mlir::Operation *load;
  /// The buffer it is put into for the products; none if the consumers need it in registers.
  mlir::triton::gpu::LocalAllocOp buffer;
  /// The op that gives it in the layout that is wanted in registers.
  mlir::Operation *inRegisters = nullptr;
  /// Elements that a thread copies at once through pointers; 0 for a descriptor.
  unsigned width = 0;
  /// The number of the ring whose slots hold it.
  unsigned ring = 0;

  /// Returns the type of the tile in shared memory.
  mlir::triton::gpu::MemDescType tile() const;
  int64_t bytes() const;
  bool isByThreads() const { return width != 0; }
};

/// How the consumers share the work.
enum class Schedule {
  /// One task has all of it.
  Single,
  /// Each of two warp groups has half of the rows of every tile.
  Cooperative,
  /// Two warp groups compute tiles in turns.
  PingPong,
};

/// Returns the name of a schedule, as the option has it.
llvm::StringRef nameOf(Schedule schedule);

/// What is in the way of a schedule.
struct Obstacle {
  mlir::Location at;
  std::string text;
};

/// An innermost loop with products.
struct ProductLoop {
  mlir::scf::ForOp loop;
  /// In the order in which they come.
  llvm::SmallVector<RingLoad> loads;
  llvm::SmallVector<mlir::triton::nvidia_gpu::WarpGroupDotOp> dots;
  /// Whether products end in the iteration that starts them: it uses what they give.
  bool isAwaited = false;
  /// Buffers of operands that the consumers compute.
  llvm::SmallVector<mlir::triton::gpu::LocalAllocOp> staged;
  /// Loads through pointers that are no operands. The consumers start them an iteration ahead, and
  /// in a chain in front of the iteration's products.
  llvm::SmallVector<mlir::triton::LoadOp> ahead;
  /// The last product of a chain, whose operand the loop computes from other products. It is put
  /// off to the next iteration, where it goes on beside the first. None where no product needs
  /// another.
  mlir::triton::nvidia_gpu::WarpGroupDotOp delayed;
  /// Whether those products of a chain that need nothing of the iteration start where they come,
  /// but for the first: threads have no registers for the results of all.
  bool isInOrder = false;
  /// Whether two warp groups start products in turns, so that one computes while those of the other
  /// go on.
  bool hasTurns = false;

  /// Returns the load of the tile that a view is of, if it is in a ring.
  const RingLoad *loadOf(mlir::Value view) const;
  /// Whether the product that is put off, or any other, reads tiles of a ring.
  bool isRead(unsigned ring, bool byDelayed) const;
};

/// How to split loops, and what is around them, into a producer and consumers.
struct Plan {
  /// The loops with products, in the order in which they run. Their tiles pass through the same
  /// rings.
  llvm::SmallVector<ProductLoop, 2> loops;
  /// Tiles that a chain of products reads in all of its iterations, and that a loop around it
  /// loads. Each has a ring of its own, behind those of the loops.
  llvm::SmallVector<RingLoad, 1> outer;
  /// The loops and conditionals in the kernel's block that have these in them, and they.
  llvm::SmallSetVector<mlir::Operation *, 4> path;
  /// The first and the last op of the kernel's block that become tasks.
  mlir::Operation *first = nullptr, *last = nullptr;
  /// Ops between these that go in front of the tasks.
  llvm::SetVector<mlir::Operation *> hoisted;
  /// Ops that the producer repeats for addresses, lengths of loops and conditions.
  llvm::SetVector<mlir::Operation *> repeated;
  /// Values inside the path that the producer needs, the carried ones of its loops included.
  llvm::DenseSet<mlir::Value> needed;
  /// Ops outside of the path that the producer repeats, since a task cannot take tensors over, in
  /// an order in which they can run.
  llvm::SetVector<mlir::Operation *> rebuilt;

  Schedule schedule = Schedule::Single;
  unsigned slots = 0;
  /// Slots of the rings of tiles that are loaded around a chain.
  unsigned outerSlots = 2;
  unsigned consumerWarps = 0;
  /// Registers that each thread starts with, before the producer gives its own away.
  unsigned launchRegisters = 0;

  /// Registers that a thread of the producer keeps. The least is 24 (PTX ISA, setmaxnreg), which is
  /// short for the divisions that find a tile.
  int32_t producerRegisters = 40;

  /// Returns how many rings the loops have.
  unsigned numRings() const;
  /// Bytes of a slot of one ring, and of all.
  int64_t slotBytes(unsigned ring) const;
  int64_t slotBytes() const;
  /// Registers of a consumer's thread when the producer has given its own away.
  int32_t consumerRegisters() const;
  /// Bytes of a slot that TMA copies.
  int64_t bulkBytes() const;
  /// Warps of the producer: one starts copies by descriptors, a group copies through pointers.
  unsigned producerWarps() const;
  /// How often a slot's barrier is arrived at before it counts as full.
  unsigned fullArrivals() const;
  /// Whether an op is in the part of the kernel that becomes tasks.
  bool contains(mlir::Operation *op) const;
  /// Whether loops are around those with products.
  bool isPersistent() const;
  /// Returns what was decided, for a remark.
  std::string describe() const;

  /// Lets a loop of this plan carry another value, and returns it. `next` builds that of the next
  /// iteration from it, at the end of the loop.
  mlir::Value carry(mlir::RewriterBase &rewriter, ProductLoop &products, mlir::Value start,
                    llvm::function_ref<mlir::Value(mlir::BlockArgument)> next);
};

/// What the user may choose.
struct PlanOptions {
  /// Whether threads may copy operands that pointers address.
  bool pointers = true;
  /// Slots of the ring; 0 lets the plan choose.
  unsigned slots = 0;
  /// Least slots of a ring that the plan chooses, where the loop says none.
  unsigned stages = 0;
  Schedule schedule = Schedule::Single;
};

/// A plan, or the reason against one and the op that it is about.
struct Verdict {
  std::optional<Plan> plan;
  std::string reason;
  mlir::Operation *at = nullptr;
};

/// The annotation of a loop that is asked to be specialized.
inline constexpr llvm::StringLiteral annotation = "tt.warp_specialize";

/// Returns the annotated loops of a kernel, outer ones before those in them.
llvm::SmallVector<mlir::scf::ForOp> findAnnotated(mlir::triton::FuncOp kernel);

/// Returns the innermost loops with products inside of `root`, which may be one.
llvm::SmallVector<mlir::scf::ForOp> findProductLoops(mlir::Operation *root);

/// Whether an op adds to memory in floating point, where the order of parts decides on the sum.
bool isSum(mlir::Operation *op);

/// Returns a store in a loop over tiles that two warp groups may do in another order than the
/// kernel says: one that writes where another tile is, or adds different tiles in one place. Null
/// if there is none.
mlir::Operation *findSharedPlace(mlir::scf::ForOp tiles, Schedule schedule);

/// Returns the buffer behind views of it.
mlir::Value throughViews(mlir::Value value);

/// Whether a value is a constant of which all elements are zero, and positive.
bool isZero(mlir::Value value);

/// Whether an op is `tl.assume`, which does nothing.
bool isAssumption(mlir::Operation *op);

/// Returns an op of the kernel that may write what is read through `addresses`, or one of those if
/// that is not known. Triton takes two pointer arguments of a kernel to address different memory;
/// so are two tables of pointers taken here.
mlir::Operation *findWriter(mlir::triton::FuncOp kernel,
                            llvm::ArrayRef<mlir::OpOperand *> addresses);

/// Returns the schedules that are worth trying for `loops`, the best first. The last is `Single`.
llvm::SmallVector<Schedule> schedulesFor(llvm::ArrayRef<mlir::scf::ForOp> loops);

/// Decides how to specialize `loops`, innermost loops with products of one kernel.
Verdict makePlan(llvm::ArrayRef<mlir::scf::ForOp> loops, const PlanOptions &options);

} // namespace tritonext::warpspec

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_PLAN_H
