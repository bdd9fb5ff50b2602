#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "triton/Analysis/AxisInfo.h"

#include <algorithm>

#define DEBUG_TYPE "tlx-check-async-copies"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_CHECKASYNCCOPIESPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

constexpr unsigned leastBytes = 4;
constexpr unsigned widestBytes = 16;

class CheckAsyncCopiesPass : public impl::CheckAsyncCopiesPassBase<CheckAsyncCopiesPass> {
public:
  void runOnOperation() override {
    bool failed = false;
    tt::ModuleAxisInfoAnalysis axisInfo(getOperation());
    getOperation()->walk(
        [&](ttg::AsyncCopyGlobalToLocalOp copy) { failed |= mlir::failed(check(copy, axisInfo)); });
    if (failed)
      signalPassFailure();
  }

private:
  /// Returns the bytes below which there is no copy. On AMD the threads of a warp write one row of
  /// bytes, to which each adds some.
  static unsigned leastTotal(ttg::AsyncCopyGlobalToLocalOp copy) {
    auto target = copy->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(ttg::AttrTargetName);
    if (!target || !target.getValue().starts_with("hip"))
      return leastBytes;
    OpBuilder builder(copy);
    return leastBytes * ttg::lookupThreadsPerWarp(builder);
  }

  /// Returns whether `width` elements from each multiple of it on, along a dimension, are so in
  /// memory.
  static bool isInMemoryOrder(ttg::MemDescType slot, unsigned dim, unsigned width) {
    tt::LinearLayout elements = elementsOf(slot);
    auto name = StringAttr::get(slot.getContext(), "dim" + Twine(dim));
    for (int32_t bit = 0; (1U << bit) < width; ++bit)
      if (bit >= elements.getInDimSizeLog2(name) ||
          elements.getBasis(name, bit).front() != 1 << bit)
        return false;
    return true;
  }

  static LogicalResult check(ttg::AsyncCopyGlobalToLocalOp copy,
                             tt::ModuleAxisInfoAnalysis &axisInfo) {
    unsigned bits = copy.getResult().getType().getElementTypeBitWidth();
    auto bytes = [&](unsigned elements) { return elements * bits / 8; };
    if (unsigned total = bytes(copy.getResult().getType().getNumElements()),
        least = leastTotal(copy);
        total < least) {
      InFlightDiagnostic error = copy->emitError("expected at least ")
                                 << least << " bytes to copy, 4 for each thread that copies, got "
                                 << total;
      error.attachNote() << "copy into a larger slot, or fill the slot with tl.load and "
                            "tlx.local_store";
      return error;
    }
    unsigned pointers =
        bytes(std::max<unsigned>(axisInfo.getContiguity(copy.getSrc()), copy.getContiguity()));
    if (pointers < leastBytes) {
      InFlightDiagnostic error =
          copy->emitError("expected pointers that let a thread copy at least ")
          << leastBytes << " bytes at once, got " << pointers;
      error.attachNote() << "pass pointers and strides that are known to be divisible by 16, or "
                            "say so with tl.multiple_of and tl.max_contiguous";
      return error;
    }
    unsigned inner = ttg::getOrder(copy.getSrc().getType()).front();
    if (!isInMemoryOrder(copy.getResult().getType(), inner, leastBytes * 8 / bits)) {
      InFlightDiagnostic error =
          copy->emitError("expected a slot in which neighbours of dimension ")
          << inner << " lie next to each other, as those of the pointers do";
      error.attachNote() << "let the pointers follow one another along the last dimension of the "
                            "slot, and use tlx.local_trans of it";
      return error;
    }
    unsigned masked = pointers;
    if (Value mask = copy.getMask()) {
      masked = bytes(axisInfo.getMaskAlignment(mask));
      if (masked < leastBytes) {
        InFlightDiagnostic error =
            copy->emitError("expected a mask that is constant over at least ")
            << leastBytes << " bytes, got " << masked;
        error.attachNote() << "pass sizes in the mask that are known to be divisible by 16";
        return error;
      }
    }
    // Lowering would drop the modifier, which only copies of 16 bytes can have.
    auto policy = dyn_cast_or_null<tt::CachePolicyAttr>(copy.getCachePolicyAttr());
    unsigned narrower = std::min(pointers, masked);
    if (policy && policy.getCacheModifier() == tt::CacheModifier::CG && narrower < widestBytes)
      return copy->emitError("expected copies of ")
             << widestBytes << " bytes for the cache modifier .cg, got " << narrower;
    return success();
  }
};

} // namespace
} // namespace tritonext::tlx
