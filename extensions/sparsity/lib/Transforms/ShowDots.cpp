#include "tritonext/Remarks.h"
#include "tritonext_sparsity/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"

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
  auto dot = WarpGroupDotOp::create(
      builder, standIn.getLoc(), standIn.getD().getType(), standIn.getA(), view.getSrc(),
      standIn.getC(), hold.getMeta(), hold.getUseC(), hold.getMaxNumImpreciseAcc(),
      standIn.getIsAsync(), hold.getUnsignedValues(), hold.getUnsignedB());
  if (dot.getIsAsync())
    emitRemark(RemarkKind::Applied, dot, DEBUG_TYPE,
               "the product goes on while operands of later ones are copied");
  standIn.replaceAllUsesWith(dot.getD());
  standIn.erase();
}

/// Returns the first op in the block of a wait that reads what registers it waits for, or the end.
Operation *firstReader(ttng::WarpGroupDotWaitOp wait) {
  Block *block = wait->getBlock();
  Operation *first = block->getTerminator();
  for (Value result : wait->getResults())
    for (Operation *user : result.getUsers())
      if (Operation *here = block->findAncestorOpInBlock(*user);
          here && here->isBeforeInBlock(first))
        first = here;
  return first;
}

/// Waits for all products that a wait would let go on. The instruction reads its metadata until it
/// is over, and the next iteration loads its own into the same registers.
void waitForAll(ttng::WarpGroupDotWaitOp wait) {
  if (wait.getPendings() == 0)
    return;
  wait.setPendings(0);
  wait->moveBefore(firstReader(wait));
}

class ShowDotsPass : public impl::ShowDotsPassBase<ShowDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<HoldMetadataOp> holds;
    getOperation()->walk([&](HoldMetadataOp hold) { holds.push_back(hold); });
    llvm::SetVector<Block *> blocks;
    for (HoldMetadataOp hold : holds) {
      for (OpOperand &use : llvm::make_early_inc_range(hold.getFlag().getUses())) {
        ttng::WarpGroupDotOp standIn = standInOf(use);
        if (!standIn) {
          InFlightDiagnostic error = hold->emitError(
              "expected held metadata to be used by products of warp groups alone, got ");
          error << use.getOwner()->getName();
          return signalPassFailure();
        }
        if (standIn.getIsAsync())
          blocks.insert(standIn->getBlock());
        show(standIn, hold);
      }
      hold.erase();
    }
    for (Block *block : blocks)
      for (auto wait : llvm::make_early_inc_range(block->getOps<ttng::WarpGroupDotWaitOp>()))
        waitForAll(wait);
  }
};

} // namespace
} // namespace tritonext::sparsity
