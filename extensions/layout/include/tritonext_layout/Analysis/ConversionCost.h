//===- ConversionCost.h - What a layout conversion costs --------*- C++ -*-===//
//
// How stock Triton lowers a conversion between two layouts, in numbers that can be compared:
// barriers, shared memory, instructions, bank conflicts, and cycles estimated from them. The
// decisions are those of Triton's own layout algebra, so the counts are those of the machine code.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_LAYOUT_ANALYSIS_CONVERSIONCOST_H
#define TRITONEXT_LAYOUT_ANALYSIS_CONVERSIONCOST_H

#include "triton/Conversion/TritonGPUToLLVM/TargetInfoBase.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Tools/LinearLayout.h"

#include <memory>
#include <string>

namespace tritonext::layout {

/// The means by which a conversion moves elements, from cheap to dear.
enum class ConversionPath {
  /// Every thread has its elements in the registers where they should be.
  None,
  /// Threads rename registers, for which there is no instruction.
  Registers,
  /// Lanes of a warp exchange registers.
  Shuffle,
  /// Lanes of a warp exchange elements through shared memory.
  WarpShared,
  /// Warps of a CTA exchange elements through shared memory.
  BlockShared,
  /// CTAs of a cluster exchange elements through each other's shared memory.
  ClusterShared,
};

llvm::StringRef stringify(ConversionPath path);

/// The accesses of a warp to shared memory in one direction.
struct SharedAccess {
  /// Instructions that the warp issues.
  unsigned instructions = 0;
  /// Bits that an instruction moves for each lane.
  unsigned vectorBits = 0;
  /// Whether the instruction is `ldmatrix` or `stmatrix`.
  bool isMatrix = false;
  /// Passes over the banks that the instructions take together.
  unsigned wavefronts = 0;
  /// Those of them that conflicts between banks add.
  unsigned conflicts = 0;
};

/// What a conversion does. Instructions are counted for one warp, memory for one CTA.
struct ConversionCost {
  ConversionPath path = ConversionPath::None;
  /// Shared memory that the conversion needs while it runs.
  unsigned scratchBytes = 0;
  /// Exchanges through that memory, one after the other.
  unsigned rounds = 0;
  /// Barriers inside the conversion: over the CTA, over the cluster, and within warps. One more
  /// stands in front of it if other data was in the memory before.
  unsigned blockBarriers = 0;
  unsigned clusterBarriers = 0;
  unsigned warpBarriers = 0;
  SharedAccess stores, loads;
  /// Exchanges of a register between lanes.
  unsigned shuffles = 0;
  /// Selections between registers, before and behind the shuffles.
  unsigned selects = 0;
  /// Byte permutations that put elements of less than 32 bits together in other registers,
  /// estimated: what produced the elements may have left them so already.
  unsigned permutes = 0;
  /// Warps of a CTA.
  unsigned warps = 1;
  /// Cycles from the first to the last instruction for a CTA that is alone on its multiprocessor.
  double cycles = 0;
  /// Those of them in which the busier pipe serves this CTA, so that no other can have it.
  double busyCycles = 0;

  /// Barriers at which warps wait for each other.
  unsigned barriers() const { return blockBarriers + clusterBarriers; }
};

/// Prices conversions for the target of a module. Prices are kept, since a search asks for the same
/// pair of layouts many times.
class ConversionModel {
public:
  explicit ConversionModel(mlir::ModuleOp module);

  /// Returns the cost of converting a tensor of type `source` to `encoding`, by shuffles if
  /// `forceShuffle`, which `canShuffle` must allow.
  const ConversionCost &getCost(mlir::RankedTensorType source, mlir::Attribute encoding,
                                bool forceShuffle = false) const;

  /// Returns the cost of `convert` as it is.
  const ConversionCost &getCost(mlir::triton::gpu::ConvertLayoutOp convert) const;

  /// Whether `force_warp_shuffle` can lower the conversion: elements stay in their warp, and change
  /// more than the register.
  bool canShuffle(mlir::RankedTensorType source, mlir::Attribute encoding) const;

  /// Returns where a conversion of elements of `bits` bits through shared memory puts them: a map
  /// from `vector`, `bank`, `segment` and `reps` (the rounds) to the elements of the tensor.
  mlir::triton::LinearLayout getSharedLayout(const mlir::triton::LinearLayout &source,
                                             const mlir::triton::LinearLayout &target,
                                             unsigned bits) const;

  /// Returns the cycles of a gather whose lanes ask each other for elements: every register along
  /// `axis` that an element may be in is shuffled and selected from.
  double getShuffledGatherCycles(mlir::RankedTensorType source, mlir::RankedTensorType result,
                                 unsigned axis) const;

  /// Returns the cycles of a gather through shared memory, by indices that are taken to be random.
  double getSharedGatherCycles(mlir::RankedTensorType source, mlir::RankedTensorType result,
                               unsigned axis) const;

private:
  ConversionCost compute(mlir::RankedTensorType source, mlir::RankedTensorType target,
                         bool forceShuffle) const;
  void addShuffles(ConversionCost &cost, const mlir::triton::LinearLayout &source,
                   const mlir::triton::LinearLayout &target, unsigned bits) const;
  void addExchange(ConversionCost &cost, mlir::triton::LinearLayout source,
                   mlir::triton::LinearLayout target, unsigned bits) const;

  struct SharedPlan;
  SharedPlan planExchange(const mlir::triton::LinearLayout &source,
                          const mlir::triton::LinearLayout &target, unsigned bits) const;

  std::unique_ptr<mlir::triton::TargetInfoBase> target;
  /// Row of the table of prices.
  const struct InstructionPrices *prices;
  using Key = std::tuple<mlir::RankedTensorType, mlir::Attribute, unsigned>;
  mutable llvm::DenseMap<Key, std::unique_ptr<ConversionCost>> known;
};

/// Returns the size of an element in an exchange.
unsigned getExchangeBits(mlir::Type element);

/// Cycles on one multiprocessor.
struct InstructionPrices {
  /// Prefix of the target, such as `cuda:90`.
  llvm::StringLiteral target;
  /// What a conversion through shared memory or by shuffles takes in addition if nothing hides it.
  double sharedLatency;
  double shuffleLatency;
  /// What the warps of a CTA, and of a cluster, lose at a barrier.
  double blockBarrier;
  double clusterBarrier;
  /// Of one warp, in the pipe of memory: a pass over the banks, and a shuffle.
  double wavefront;
  double shuffle;
  /// Of one warp, in the pipe of arithmetic: a selection or byte permutation.
  double select;
};

} // namespace tritonext::layout

#endif // TRITONEXT_LAYOUT_ANALYSIS_CONVERSIONCOST_H
