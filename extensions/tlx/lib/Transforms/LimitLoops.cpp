#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "tlx-limit-loops"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LIMITLOOPSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral numStages = "tt.num_stages";

/// Whether an op is part of a schedule by hand. Right after the conversion to layouts a kernel of
/// `tl` has none of these by itself.
bool isScheduled(Operation *op) {
  llvm::StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "ttng" || dialect == "tlx" ||
         isa<ttg::AsyncCopyGlobalToLocalOp, ttg::AsyncCommitGroupOp, ttg::AsyncWaitOp,
             ttg::LocalStoreOp, ttg::LocalScatterOp>(op);
}

class LimitLoopsPass : public impl::LimitLoopsPassBase<LimitLoopsPass> {
public:
  void runOnOperation() override {
    getOperation()->walk([&](scf::ForOp loop) {
      Operation *scheduled = nullptr;
      loop->walk([&](Operation *op) {
        scheduled = isScheduled(op) ? op : nullptr;
        return scheduled ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (!scheduled)
        return;
      auto asked = loop->getAttrOfType<IntegerAttr>(numStages);
      if (asked && asked.getInt() > 1) {
        loop->emitError("expected at most one stage of a loop that is pipelined by hand, got ")
                .append(asked.getInt())
                .attachNote(scheduled->getLoc())
            << "this op is scheduled by hand";
        return signalPassFailure();
      }
      loop->setAttr(numStages, OpBuilder(loop).getI32IntegerAttr(1));
    });
  }
};

} // namespace
} // namespace tritonext::tlx
