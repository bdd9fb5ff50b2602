//===- WarpLocalLayout.h - Layouts that keep data in its warp ---*- C++ -*-===//
//
// The algebra behind the passes: which layout an access should have so that no
// element changes its warp, and what an access and an exchange cost.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_LAYOUT_TRANSFORMS_WARPLOCALLAYOUT_H
#define TRITONEXT_LAYOUT_TRANSFORMS_WARPLOCALLAYOUT_H

#include "triton/Analysis/AxisInfo.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Tools/LinearLayout.h"
#include "tritonext_layout/Analysis/ConversionCost.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace tritonext::layout {

/// How the elements of a tensor follow each other in memory, as far as it is
/// known at compile time.
struct MemoryShape {
  /// Dimensions of the tensor, the one that is contiguous in memory first.
  llvm::SmallVector<unsigned> order;
  /// Size of an element in memory.
  unsigned elementBits;
  /// Length of the runs of adjacent elements along `order[0]`.
  unsigned contiguity;
  /// Elements a thread may move at once: contiguous, aligned, under one mask.
  unsigned maxVector;
};

/// What a load or store does in one CTA.
struct AccessCost {
  /// Bits that a thread moves at once.
  unsigned vectorBits = 0;
  /// Instructions that each warp issues.
  unsigned instructions = 0;
  /// Memory segments of 128 and of 32 bytes touched, summed over instructions.
  uint64_t lines = 0;
  uint64_t sectors = 0;
};

/// What conversions of one rewrite do in one CTA.
struct ExchangeCost {
  /// Barriers over the CTA (or the cluster) inside the conversions.
  unsigned barriers = 0;
  /// Shared memory for one round of any of them.
  unsigned scratchBytes = 0;

  /// Adds a conversion that runs before or after the others.
  ExchangeCost &operator+=(const ConversionCost &other) {
    barriers += other.barriers();
    scratchBytes = std::max(scratchBytes, other.scratchBytes);
    return *this;
  }
};

/// Describes the memory that an access of the layout of `type` reaches through
/// `pointer` under `mask`.
MemoryShape getMemoryShape(mlir::Value pointer, mlir::Value mask, mlir::RankedTensorType type,
                           mlir::triton::ModuleAxisInfoAnalysis &axisInfo);

/// Returns how many adjacent elements one instruction of `atomic` combines on the target.
unsigned getAtomicVector(mlir::triton::AtomicRMWOp atomic);

/// Returns the layout that gives every warp and CTA the elements it has in
/// `source`, spread over the warp so that threads move vectors of up to
/// `memory.maxVector` elements and neighbouring lanes touch neighbouring
/// addresses. The elements come from `source` by an exchange of `exchangeBits`
/// each, or go there. Returns nothing if `source` swizzles over warps, which
/// `#ttg.linear` cannot express.
std::optional<mlir::triton::LinearLayout>
chooseWarpLocalLayout(const mlir::triton::LinearLayout &source, const MemoryShape &memory,
                      const ConversionModel &model, unsigned exchangeBits);

/// Returns the cost of accessing `memory` with `layout`.
AccessCost getAccessCost(const mlir::triton::LinearLayout &layout, const MemoryShape &memory);

} // namespace tritonext::layout

#endif // TRITONEXT_LAYOUT_TRANSFORMS_WARPLOCALLAYOUT_H
