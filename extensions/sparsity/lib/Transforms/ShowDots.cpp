#include "tritonext/Remarks.h"
#include "tritonext_sparsity/Transforms/Passes.h"

#define DEBUG_TYPE "sparsity-show-dots"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_SHOWDOTSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

/// Returns the product that a hidden one is the flag of, or none.
ttng::WarpGroupDotOp standInOf(OpOperand &use) {
  auto standIn = dyn_cast<ttng::WarpGroupDotOp>(use.getOwner());
  return standIn && standIn.getUseC() == use.get() &&
                 standIn.getB().getDefiningOp<ttg::MemDescSubsliceOp>()
             ? standIn
             : ttng::WarpGroupDotOp();
}

void show(ttng::WarpGroupDotOp standIn, HoldMetadataOp hold) {
  OpBuilder builder(standIn);
  auto view = standIn.getB().getDefiningOp<ttg::MemDescSubsliceOp>();
  auto dot =
      WarpGroupDotOp::create(builder, standIn.getLoc(), standIn.getD().getType(), standIn.getA(),
                             view.getSrc(), standIn.getC(), hold.getMeta(), hold.getUseC(),
                             hold.getMaxNumImpreciseAcc(), standIn.getIsAsync());
  if (dot.getIsAsync())
    emitRemark(RemarkKind::Applied, dot, DEBUG_TYPE, "the product goes on beside the next one");
  standIn.replaceAllUsesWith(dot.getD());
  standIn.erase();
}

class ShowDotsPass : public impl::ShowDotsPassBase<ShowDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<HoldMetadataOp> holds;
    getOperation()->walk([&](HoldMetadataOp hold) { holds.push_back(hold); });
    for (HoldMetadataOp hold : holds) {
      for (OpOperand &use : llvm::make_early_inc_range(hold.getFlag().getUses())) {
        ttng::WarpGroupDotOp standIn = standInOf(use);
        if (!standIn) {
          InFlightDiagnostic error = hold->emitError(
              "expected held metadata to be used by products of warp groups alone, got ");
          error << use.getOwner()->getName();
          return signalPassFailure();
        }
        show(standIn, hold);
      }
      hold.erase();
    }
  }
};

} // namespace
} // namespace tritonext::sparsity
