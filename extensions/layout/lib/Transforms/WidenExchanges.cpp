//===- WidenExchanges.cpp - Exchanges in one round where memory is free ---===//

#include "mlir/Pass/Pass.h"
#include "triton/Analysis/Allocation.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "tritonext/Remarks.h"
#include "tritonext_layout/Analysis/ConversionCost.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_WIDENEXCHANGESPASS
#define GEN_PASS_DEF_WIDENEXCHANGESPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-widen-exchanges"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// Returns the layout in which all rounds of an exchange are in shared memory at once.
ttg::SharedLinearEncodingAttr getWholeLayout(ttg::ConvertLayoutOp convert,
                                             const ConversionModel &model) {
  MLIRContext *ctx = convert.getContext();
  RankedTensorType source = convert.getSrc().getType();
  LinearLayout rounds =
      model.getSharedLayout(ttg::toLinearLayout(source), ttg::toLinearLayout(convert.getType()),
                            getExchangeBits(source.getElementType()));
  LinearLayout::BasesT bases;
  std::vector<std::vector<int32_t>> &offsets = bases[StringAttr::get(ctx, "offset")];
  for (StringRef part : {"vector", "bank", "segment", "reps"})
    llvm::append_range(offsets, rounds.getBases().lookup(StringAttr::get(ctx, part)));
  bases[StringAttr::get(ctx, "block")] = {};
  constexpr unsigned alignment = 128;
  LinearLayout layout(std::move(bases), rounds.getOutDims(), /*requireSurjective=*/true);
  return ttg::SharedLinearEncodingAttr::get(ctx, layout, alignment);
}

class WidenExchangesPass : public impl::WidenExchangesPassBase<WidenExchangesPass> {
public:
  using WidenExchangesPassBase::WidenExchangesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // The buffer of a cluster would be split among its CTAs.
    if (ttg::TritonGPUDialect::getNumCTAs(module) != 1)
      return;
    ConversionModel model(module);
    SmallVector<ttg::ConvertLayoutOp> candidates;
    module.walk([&](ttg::ConvertLayoutOp convert) {
      Type element = convert.getType().getElementType();
      if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() < 8)
        return;
      const ConversionCost &cost = model.getCost(convert);
      if (cost.path == ConversionPath::BlockShared && cost.rounds > 1)
        candidates.push_back(convert);
    });
    if (candidates.empty())
      return;
    size_t size = ModuleAllocation(module).getSharedMemorySize();
    for (ttg::ConvertLayoutOp convert : candidates)
      size = widen(module, convert, model, size);
  }

private:
  /// Widens `convert` unless the kernel then needs more than the `before` bytes that it needs now;
  /// returns what it needs afterwards.
  static size_t widen(ModuleOp module, ttg::ConvertLayoutOp convert, const ConversionModel &model,
                      size_t before) {
    unsigned rounds = model.getCost(convert).rounds;

    OpBuilder builder(convert);
    RankedTensorType type = convert.getType();
    auto space = ttg::SharedMemorySpaceAttr::get(builder.getContext());
    auto buffer = ttg::MemDescType::get(type.getShape(), type.getElementType(),
                                        getWholeLayout(convert, model), space);
    Location loc = convert.getLoc();
    Value source = convert.getSrc();
    auto store = ttg::LocalAllocOp::create(builder, loc, buffer, source);
    auto load = ttg::LocalLoadOp::create(builder, loc, type, store.getResult());
    convert.getResult().replaceAllUsesWith(load.getResult());
    convert->erase();
    size_t after = ModuleAllocation(module).getSharedMemorySize();
    if (after <= before) {
      emitRemark(RemarkKind::Applied, load, DEBUG_TYPE,
                 "the exchange takes one round instead of " + Twine(rounds) +
                     ", in memory that is free by then");
      return after;
    }
    builder.setInsertionPoint(load);
    auto restored = ttg::ConvertLayoutOp::create(builder, loc, type, source);
    load.getResult().replaceAllUsesWith(restored.getResult());
    load->erase();
    store->erase();
    emitRemark(RemarkKind::Missed, restored, DEBUG_TYPE,
               "one round instead of " + Twine(rounds) + " would need " + Twine(after) +
                   " bytes of shared memory, now the kernel needs " + Twine(before));
    return before;
  }
};

} // namespace
} // namespace tritonext::layout
