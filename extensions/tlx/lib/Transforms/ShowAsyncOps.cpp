#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "tlx-show-async-ops"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_SHOWASYNCOPSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class ShowAsyncOpsPass : public impl::ShowAsyncOpsPassBase<ShowAsyncOpsPass> {
public:
  void runOnOperation() override {
    WalkResult shown = getOperation()->walk([](Operation *op) {
      if (auto wait = dyn_cast<AsyncLoadWaitOp>(op))
        show(wait);
      else if (auto dot = dyn_cast<AsyncDotOp>(op))
        return WalkResult(show(dot));
      return WalkResult::advance();
    });
    if (shown.wasInterrupted())
      signalPassFailure();
  }

private:
  static void show(AsyncLoadWaitOp hidden) {
    OpBuilder builder(hidden);
    auto wait =
        ttg::AsyncWaitOp::create(builder, hidden.getLoc(), ValueRange(), int(hidden.getPendings()));
    hidden.replaceAllUsesWith(wait.getResult());
    hidden.erase();
  }

  static LogicalResult show(AsyncDotOp hidden) {
    RankedTensorType type = hidden.getD().getType();
    std::optional<tt::InputPrecision> precision =
        tt::symbolizeInputPrecision(hidden.getInputPrecision());
    if (!isa_and_nonnull<ttg::NvidiaMmaEncodingAttr>(type.getEncoding()) || !precision)
      return hidden->emitError("expected an asynchronous dot that was lowered before, got ")
             << type;
    OpBuilder builder(hidden);
    auto dot = ttng::WarpGroupDotOp::create(
        builder, hidden.getLoc(), type, hidden.getA(), hidden.getB(), hidden.getC(),
        hidden.getUseC(), *precision, hidden.getMaxNumImpreciseAcc(), /*isAsync=*/true);
    hidden.replaceAllUsesWith(dot.getD());
    hidden.erase();
    return success();
  }
};

} // namespace
} // namespace tritonext::tlx
