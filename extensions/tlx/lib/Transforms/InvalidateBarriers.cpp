#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#define DEBUG_TYPE "tlx-invalidate-barriers"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_INVALIDATEBARRIERSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// Returns what a view of shared memory is a view of.
Value allocationOf(Value view) {
  while (auto index = view.getDefiningOp<ttg::MemDescIndexOp>())
    view = index.getSrc();
  return view;
}

class InvalidateBarriersPass : public impl::InvalidateBarriersPassBase<InvalidateBarriersPass> {
public:
  using impl::InvalidateBarriersPassBase<InvalidateBarriersPass>::InvalidateBarriersPassBase;

  void runOnOperation() override {
    DenseSet<Value> invalidated;
    getOperation().walk(
        [&](ttng::InvalBarrierOp op) { invalidated.insert(allocationOf(op.getAlloc())); });
    SmallVector<ttng::InitBarrierOp> inits;
    getOperation().walk([&](ttng::InitBarrierOp op) { inits.push_back(op); });
    for (ttng::InitBarrierOp init : inits) {
      Value allocation = allocationOf(init.getAlloc());
      // What another function allocates ends there.
      bool isArgument = isa<BlockArgument>(allocation) &&
                        isa<FunctionOpInterface>(allocation.getParentBlock()->getParentOp());
      if (isArgument || invalidated.contains(allocation))
        continue;
      if (failed(invalidate(init, allocation.getDefiningOp<ttg::LocalAllocOp>())))
        return signalPassFailure();
    }
  }

private:
  /// Invalidates a barrier at the end of the block that allocates it, where nothing uses it more.
  static LogicalResult invalidate(ttng::InitBarrierOp init, ttg::LocalAllocOp allocation) {
    auto refuse = [&] {
      return init->emitError("expected a barrier at a constant place of one allocation, whose end "
                             "is known");
    };
    if (!allocation)
      return refuse();
    Block *block = allocation->getBlock();
    OpBuilder builder(block->getTerminator());
    Value barrier = init.getAlloc();
    if (auto view = barrier.getDefiningOp<ttg::MemDescIndexOp>();
        view && view->getBlock() != block) {
      // The view, and the number in it, end with a block inside.
      IntegerAttr index;
      if (view.getSrc() != allocation || !matchPattern(view.getIndex(), m_Constant(&index)))
        return refuse();
      Value number = arith::ConstantOp::create(builder, init.getLoc(), index);
      barrier = ttg::MemDescIndexOp::create(builder, init.getLoc(), view.getType(), view.getSrc(),
                                            number);
    }
    ttng::InvalBarrierOp::create(builder, init.getLoc(), barrier);
    return success();
  }
};

} // namespace
} // namespace tritonext::tlx
