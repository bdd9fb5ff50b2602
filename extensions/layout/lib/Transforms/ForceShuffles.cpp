//===- ForceShuffles.cpp - Conversions by shuffles where those are cheaper ===//

#include "mlir/Pass/Pass.h"
#include "tritonext/Remarks.h"
#include "tritonext_layout/Analysis/ConversionCost.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_FORCESHUFFLESPASS
#define GEN_PASS_DEF_FORCESHUFFLESPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-force-shuffles"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

class ForceShufflesPass : public impl::ForceShufflesPassBase<ForceShufflesPass> {
public:
  using ForceShufflesPassBase::ForceShufflesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto &model = getAnalysis<ConversionModel>();
    markAnalysesPreserved<ConversionModel>();
    module.walk([&](ttg::ConvertLayoutOp convert) { consider(convert, model); });
  }

private:
  static void consider(ttg::ConvertLayoutOp convert, const ConversionModel &model) {
    RankedTensorType source = convert.getSrc().getType();
    Attribute encoding = convert.getType().getEncoding();
    if (convert.getForceWarpShuffle() || !model.canShuffle(source, encoding))
      return;
    const ConversionCost &was = model.getCost(source, encoding);
    if (was.path == ConversionPath::Shuffle)
      return;
    const ConversionCost &is = model.getCost(source, encoding, /*forceShuffle=*/true);
    auto describe = [&](const ConversionCost &cost) {
      return (Twine(static_cast<int64_t>(cost.cycles)) + " cycles, " +
              Twine(static_cast<int64_t>(cost.busyCycles)) + " of them busy")
          .str();
    };
    std::string shuffles = (Twine(is.shuffles) + " shuffles take " + describe(is)).str();
    std::string memory = ("shared memory takes " + describe(was));
    // Waiting can overlap with another CTA; instructions cannot.
    if (is.cycles >= was.cycles || is.busyCycles > was.busyCycles) {
      emitRemark(RemarkKind::Missed, convert, DEBUG_TYPE, shuffles + "; " + memory);
      return;
    }
    emitRemark(RemarkKind::Applied, convert, DEBUG_TYPE, shuffles + "; " + memory);
    convert.setForceWarpShuffle(true);
  }
};

} // namespace
} // namespace tritonext::layout
