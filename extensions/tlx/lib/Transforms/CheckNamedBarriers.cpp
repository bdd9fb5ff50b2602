#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

#define DEBUG_TYPE "tlx-check-named-barriers"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_CHECKNAMEDBARRIERSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class CheckNamedBarriersPass : public impl::CheckNamedBarriersPassBase<CheckNamedBarriersPass> {
public:
  using impl::CheckNamedBarriersPassBase<CheckNamedBarriersPass>::CheckNamedBarriersPassBase;

  void runOnOperation() override {
    // The kernel's warps meet at 0. With tasks, all warps meet at 1 and those of each task at one
    // more.
    ttg::WarpSpecializeOp largest;
    getOperation().walk([&](ttg::WarpSpecializeOp op) {
      if (!largest || op.getPartitionRegions().size() > largest.getPartitionRegions().size())
        largest = op;
    });
    int64_t taken = largest ? 2 + int64_t(largest.getPartitionRegions().size()) : 1;
    getOperation().walk([&](LLVM::CallIntrinsicOp op) {
      IntegerAttr id;
      if (!op.getIntrin().starts_with("llvm.nvvm.barrier.cta.") ||
          !matchPattern(op.getArgs().front(), m_Constant(&id)) ||
          id.getValue().getSExtValue() >= taken)
        return;
      InFlightDiagnostic error = op->emitError("expected a named barrier from ")
                                 << taken << " to 15, got " << id.getValue().getSExtValue()
                                 << ", which the compiler uses itself";
      if (largest)
        error.attachNote(largest->getLoc()) << "one for each of these tasks";
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace tritonext::tlx
