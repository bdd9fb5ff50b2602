#include "tritonext/Remarks.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "triton/Analysis/AxisInfo.h"

#define DEBUG_TYPE "tlx-widen-async-copies"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_WIDENASYNCCOPIESPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

constexpr int64_t leastBits = 32;

class WidenAsyncCopiesPass : public impl::WidenAsyncCopiesPassBase<WidenAsyncCopiesPass> {
public:
  using impl::WidenAsyncCopiesPassBase<WidenAsyncCopiesPass>::WidenAsyncCopiesPassBase;

  void runOnOperation() override {
    SmallVector<ttg::AsyncCopyGlobalToLocalOp> copies;
    getOperation().walk([&](ttg::AsyncCopyGlobalToLocalOp copy) {
      if (copy.getResult().getType().getElementTypeBitWidth() < leastBits)
        copies.push_back(copy);
    });
    if (copies.empty())
      return;
    tt::ModuleAxisInfoAnalysis axisInfo(getOperation());
    for (ttg::AsyncCopyGlobalToLocalOp copy : copies)
      widen(copy, axisInfo);
  }

private:
  static void widen(ttg::AsyncCopyGlobalToLocalOp copy, tt::ModuleAxisInfoAnalysis &axisInfo) {
    RankedTensorType type = copy.getSrc().getType();
    auto layout = dyn_cast<ttg::BlockedEncodingAttr>(type.getEncoding());
    if (!layout)
      return;
    int64_t width = leastBits / copy.getResult().getType().getElementTypeBitWidth();
    unsigned inner = layout.getOrder().front();
    if (layout.getSizePerThread()[inner] >= width || type.getShape()[inner] < width)
      return;
    tt::AxisInfo *pointers = axisInfo.getAxisInfo(copy.getSrc());
    bool isStated = copy.getContiguity() >= width;
    bool isContiguous = pointers && pointers->getContiguity(inner) >= width &&
                        pointers->getDivisibility(inner) * 8 >= leastBits;
    if (!isStated && !isContiguous)
      return;
    if (copy.getMask() && axisInfo.getMaskAlignment(copy.getMask()) < width)
      return;

    auto sizePerThread = llvm::to_vector(layout.getSizePerThread());
    sizePerThread[inner] = width;
    OpBuilder builder(copy);
    auto wide = ttg::BlockedEncodingAttr::get(
        copy.getContext(), type.getShape(), sizePerThread, layout.getOrder(),
        ttg::lookupNumWarps(copy), ttg::lookupThreadsPerWarp(builder), ttg::getCGALayout(layout));
    for (OpOperand &operand : copy->getOpOperands())
      if (auto tensor = dyn_cast<RankedTensorType>(operand.get().getType()))
        operand.set(ttg::ConvertLayoutOp::create(builder, copy.getLoc(),
                                                 tensor.cloneWithEncoding(wide), operand.get()));
    emitRemark(RemarkKind::Applied, copy, DEBUG_TYPE,
               "gave each thread 4 bytes to copy: all threads would get less");
  }
};

} // namespace
} // namespace tritonext::tlx
