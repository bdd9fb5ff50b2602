//===- LowerRingBarriers.cpp - Barriers of a ring, warp by warp -----------===//

#include "tritonext/SharedMemory.h"
#include "tritonext_warpspec/Transforms/Passes.h"

#define DEBUG_TYPE "warpspec-lower-ring-barriers"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {

#define GEN_PASS_DEF_LOWERRINGBARRIERSPASS
#include "tritonext_warpspec/Transforms/Passes.h.inc"

namespace {

class LowerRingBarriersPass : public impl::LowerRingBarriersPassBase<LowerRingBarriersPass> {
public:
  void runOnOperation() override {
    SmallVector<Operation *> marked;
    getOperation()->walk([&](Operation *op) {
      if (op->hasAttr(perWarpName))
        marked.push_back(op);
    });
    for (Operation *op : marked)
      if (failed(lower(op)))
        return signalPassFailure();
  }

private:
  static LogicalResult lower(Operation *op) {
    auto wait = dyn_cast<ttng::WaitBarrierOp>(op);
    if (wait && !wait.getPred()) {
      lower(wait);
      return success();
    }
    auto arrive = dyn_cast<ttng::ArriveBarrierOp>(op);
    if (!arrive)
      return op->emitError("expected a wait without a condition or an arrival to be lowered for "
                           "each warp, got another op");
    int warps = ttg::lookupNumWarps(arrive);
    if (arrive.getCount() != unsigned(warps))
      return arrive->emitError("expected one arrival for each of the ")
             << warps << " warps of the task, got " << arrive.getCount();
    lower(arrive);
    return success();
  }

  static void lower(ttng::WaitBarrierOp wait) {
    OpBuilder builder(wait);
    Value address = tritonext::viewOf(builder, wait.getLoc(), wait.getAlloc()).base;
    buildAsm(builder, wait.getLoc(), TypeRange(), {address, wait.getPhase()},
             "{ .reg .pred done; again: "
             "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; @!done bra.uni again; }",
             "r,r,~{memory}");
    wait.erase();
  }

  static void lower(ttng::ArriveBarrierOp arrive) {
    Location loc = arrive.getLoc();
    OpBuilder builder(arrive);
    Value address = tritonext::viewOf(builder, loc, arrive.getAlloc()).base;
    Value condition = arrive.getPred();
    if (!condition)
      condition = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    // The lanes of a warp come here together, and each has seen the products of its warp end.
    buildAsm(builder, loc, TypeRange(), {address, condition},
             "{ .reg .pred one; elect.sync _|one, -1; and.pred one, one, $1; "
             "@one mbarrier.arrive.shared::cta.b64 _, [$0]; }",
             "r,b,~{memory}");
    arrive.erase();
  }
};

} // namespace
} // namespace tritonext::warpspec
