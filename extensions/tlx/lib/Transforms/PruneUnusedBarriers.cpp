#include "tritonext/Remarks.h"
#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"

#define DEBUG_TYPE "tlx-prune-unused-barriers"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_PRUNEUNUSEDBARRIERSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// Returns whether `allocation` holds barriers that are made, perhaps invalidated, and nothing
/// else.
bool isUnused(ttg::LocalAllocOp allocation) {
  bool isBarrier = false;
  for (const ViewUse &use : usesOf(allocation)) {
    isBarrier |= isa<ttng::InitBarrierOp>(use.op());
    if (use.isMerged || !isa<ttng::InitBarrierOp, ttng::InvalBarrierOp>(use.op()))
      return false;
  }
  return isBarrier;
}

/// Erases what uses a view of an unused allocation, captures of tasks included.
void eraseUses(Value view) {
  while (!view.use_empty()) {
    OpOperand &use = *view.getUses().begin();
    Operation *user = use.getOwner();
    if (auto partitions = dyn_cast<ttg::WarpSpecializePartitionsOp>(user)) {
      unsigned number = use.getOperandNumber();
      for (Region &region : partitions.getPartitionRegions()) {
        eraseUses(region.getArgument(number));
        region.eraseArgument(number);
      }
      partitions.getExplicitCapturesMutable().erase(number);
      continue;
    }
    for (Value result : user->getResults())
      eraseUses(result);
    user->erase();
  }
}

class PruneUnusedBarriersPass : public impl::PruneUnusedBarriersPassBase<PruneUnusedBarriersPass> {
public:
  using impl::PruneUnusedBarriersPassBase<PruneUnusedBarriersPass>::PruneUnusedBarriersPassBase;

  void runOnOperation() override {
    SmallVector<ttg::LocalAllocOp> unused;
    getOperation().walk([&](ttg::LocalAllocOp allocation) {
      if (isUnused(allocation))
        unused.push_back(allocation);
    });
    for (ttg::LocalAllocOp allocation : unused) {
      emitRemark(RemarkKind::Applied, allocation, DEBUG_TYPE,
                 "left out the barriers: nothing waits for them or arrives at them");
      eraseUses(allocation.getResult());
      allocation.erase();
    }
  }
};

} // namespace
} // namespace tritonext::tlx
