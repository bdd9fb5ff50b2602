#include "tritonext/ForeignOps.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "triton/Conversion/TritonToTritonGPU/Passes.h"

#define DEBUG_TYPE "tlx-convert-partitions"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_CONVERTPARTITIONSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

template <typename From, typename To>
void replaceTerminators(Region &region) {
  for (Block &block : region) {
    auto terminator = dyn_cast<From>(block.getTerminator());
    if (!terminator)
      continue;
    OpBuilder builder(terminator);
    To::create(builder, terminator.getLoc());
    terminator.erase();
  }
}

class ConvertPartitionsPass : public impl::ConvertPartitionsPassBase<ConvertPartitionsPass> {
public:
  using impl::ConvertPartitionsPassBase<ConvertPartitionsPass>::ConvertPartitionsPassBase;

  void runOnOperation() override {
    SmallVector<ttg::WarpSpecializeOp> ops;
    getOperation().walk([&](ttg::WarpSpecializeOp op) {
      if (op->hasAttr("tlx.target"))
        ops.push_back(op);
    });
    for (ttg::WarpSpecializeOp op : ops)
      if (failed(checkExclusive(op, ops)) || failed(convert(op)))
        return signalPassFailure();
  }

private:
  static LogicalResult checkExclusive(ttg::WarpSpecializeOp op,
                                      ArrayRef<ttg::WarpSpecializeOp> ops) {
    if (!op->removeAttr("tlx.exclusive") || ops.size() == 1)
      return success();
    InFlightDiagnostic error =
        op->emitError("expected no other block of tasks beside an exclusive one, got ")
        << ops.size() - 1;
    error.attachNote(ops[ops.front() == op]->getLoc()) << "another one is here";
    return error;
  }

  LogicalResult convert(ttg::WarpSpecializeOp op) {
    auto take = [&](StringRef name) {
      auto attr = dyn_cast_or_null<IntegerAttr>(op->removeAttr(name));
      return attr ? int32_t(attr.getInt()) : 0;
    };
    auto target = dyn_cast_or_null<StringAttr>(op->removeAttr("tlx.target"));
    int32_t numWarps = take("tlx.num_warps");
    int32_t threadsPerWarp = take("tlx.threads_per_warp");
    int32_t numCTAs = take("tlx.num_ctas");
    if (!target || numWarps <= 0 || threadsPerWarp <= 0 || numCTAs <= 0)
      return op->emitError("expected the attributes tlx.target, tlx.num_warps, "
                           "tlx.threads_per_warp and tlx.num_ctas together");

    for (auto [region, warps] :
         llvm::zip_equal(op.getPartitionRegions(), op.getPartitionNumWarps())) {
      WalkResult calls = region->walk([&](tt::CallOp call) {
        call.emitError("expected a function that is inlined into the task, got a call of '")
            << call.getCallee() << "'";
        return WalkResult::interrupt();
      });
      if (calls.wasInterrupted())
        return failure();
      if (warps != numWarps &&
          failed(convert(*region, {target.str(), warps, threadsPerWarp, numCTAs})))
        return failure();
    }
    return success();
  }

  LogicalResult convert(Region &region, const tt::ConvertTritonToTritonGPUOptions &options) {
    // Layouts are verified against the warps around them, and the conversion leaves alone tensors
    // that have one, so the region is away while it is converted and done when it is back.
    Location loc = region.getLoc();
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto module = ModuleOp::create(builder, loc);
    builder.setInsertionPointToStart(module.getBody());
    auto type = builder.getFunctionType(region.getArgumentTypes(), {});
    auto function = tt::FuncOp::create(builder, loc, "task", type);
    function.getBody().takeBody(region);
    replaceTerminators<ttg::WarpReturnOp, tt::ReturnOp>(function.getBody());

    OpPassManager pipeline(ModuleOp::getOperationName());
    pipeline.addPass(tt::createConvertTritonToTritonGPU(options));
    LogicalResult result =
        success(succeeded(carryForeignOps(module)) && succeeded(runPipeline(pipeline, module)) &&
                succeeded(restoreForeignOps(module)));

    replaceTerminators<tt::ReturnOp, ttg::WarpReturnOp>(function.getBody());
    region.takeBody(function.getBody());
    module.erase();
    return result;
  }
};

} // namespace
} // namespace tritonext::tlx
