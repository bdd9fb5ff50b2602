#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "tlx-hide-async-ops"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_HIDEASYNCOPSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class HideAsyncOpsPass : public impl::HideAsyncOpsPassBase<HideAsyncOpsPass> {
public:
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto wait = dyn_cast<ttg::AsyncWaitOp>(op))
        hide(wait);
      else if (auto dot = dyn_cast<ttng::WarpGroupDotOp>(op))
        hide(dot);
      else if (auto load = dyn_cast<ttg::LocalLoadOp>(op))
        hide(load);
    });
  }

private:
  static void hide(ttg::AsyncWaitOp wait) {
    // Waits with tokens are not of TLX, and their counts are the pipeliner's.
    if (!wait.getAsyncToken().empty())
      return;
    OpBuilder builder(wait);
    auto hidden =
        AsyncLoadWaitOp::create(builder, wait.getLoc(), wait.getResult().getType(), wait.getNum());
    wait.replaceAllUsesWith(hidden.getToken());
    wait.erase();
  }

  static void hide(ttg::LocalLoadOp load) {
    if (load.getToken())
      return;
    OpBuilder builder(load);
    auto hidden = LocalLoadOp::create(builder, load.getLoc(), load.getType(), load.getSrc());
    hidden->setDiscardableAttrs(load->getDiscardableAttrDictionary());
    load.replaceAllUsesWith(hidden.getResult());
    load.erase();
  }

  static void hide(ttng::WarpGroupDotOp dot) {
    if (!dot.getIsAsync())
      return;
    OpBuilder builder(dot);
    auto hidden = AsyncDotOp::create(builder, dot.getLoc(), dot.getD().getType(), dot.getA(),
                                     dot.getB(), dot.getC(), dot.getUseC(),
                                     tt::stringifyInputPrecision(dot.getInputPrecision()),
                                     dot.getMaxNumImpreciseAcc());
    dot.replaceAllUsesWith(hidden.getD());
    dot.erase();
  }
};

} // namespace
} // namespace tritonext::tlx
