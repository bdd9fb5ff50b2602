#include "tritonext/Remarks.h"
#include "tritonext_sparsity/IR/Layouts.h"
#include "tritonext_sparsity/Transforms/Passes.h"

#define DEBUG_TYPE "sparsity-lower-async-dots"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_LOWERASYNCDOTSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

/// Checks what hardware asks of a product.
LogicalResult checkOperands(AsyncDotOp dot) {
  int numWarps = ttg::lookupNumWarps(dot);
  if (numWarps % 4)
    return dot->emitError("expected whole warp groups of 4 warps, got ") << numWarps << " warps";
  RankedTensorType acc = dot.getD().getType();
  int64_t step = columnsPerStep(getElementTypeOrSelf(dot.getB().getType()));
  int64_t m = acc.getShape()[0], n = acc.getShape()[1], k = dot.getB().getType().getShape()[0];
  if (m % 64 || n % 8 || k % step)
    return dot->emitError("expected M a multiple of 64, N of 8 and K of ")
           << step << ", got " << m << ", " << n << " and " << k;
  for (Value operand : {dot.getValues(), Value(dot.getB())})
    if (auto memory = dyn_cast<ttg::MemDescType>(operand.getType());
        memory && !isa<ttg::NVMMASharedEncodingAttr>(memory.getEncoding()))
      return dot->emitError("expected operands in a layout of shared memory that MMA reads, got ")
             << memory;
  return success();
}

/// Returns how many products a block starts between two of its ops.
unsigned productsBetween(Operation *first, Operation *last) {
  unsigned count = 0;
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    count += isa<AsyncDotOp, WarpGroupDotOp, ttng::WarpGroupDotOp>(op);
  return count;
}

/// Checks that nothing reads what a product writes before a wait has covered it.
LogicalResult checkUses(AsyncDotOp dot) {
  if (dot->use_empty())
    return success();
  OpOperand &use = *dot->use_begin();
  Operation *user = use.getOwner();
  auto refuse = [&](Operation *op, const Twine &expected) {
    InFlightDiagnostic error = op->emitError("expected ");
    error << expected;
    error.attachNote(dot->getLoc()) << "the product starts here";
    return error;
  };
  if (!dot->hasOneUse())
    return refuse(dot, "one reader of the result, a wait or a product that adds to it, got ")
           << llvm::range_size(dot->getUses());
  auto wait = dyn_cast<ttng::WarpGroupDotWaitOp>(user);
  auto next = dyn_cast<AsyncDotOp>(user);
  bool isPassedOn = wait || (next && next.getAcc() == dot.getD());
  if (!isPassedOn || user->getBlock() != dot->getBlock())
    return refuse(user, "a wait in the block of an asynchronous product, before its result is used "
                        "or the block ends, got none");
  if (!wait)
    return success();
  unsigned newer = productsBetween(dot, wait);
  if (wait.getPendings() > newer)
    return refuse(wait, "a wait that covers the product, with at most ")
           << newer << " pending behind it, got " << wait.getPendings();
  return success();
}

LogicalResult lower(AsyncDotOp dot) {
  OpBuilder builder(dot);
  auto old = cast<RankedTensorType>(dot.getD().getType());
  Type element = cast<ShapedType>(dot.getValues().getType()).getElementType();
  auto mma = warpGroupLayout(old, element, ttg::lookupNumWarps(dot));
  RankedTensorType type = old.cloneWithEncoding(mma);
  Value acc = dot.getAcc(), values = dot.getValues();
  if (auto before = acc.getDefiningOp<WarpGroupDotOp>(); before && acc.getType() != type) {
    InFlightDiagnostic error =
        dot->emitError("expected operands like those of the product that it adds to, got ");
    error << element;
    error.attachNote(before->getLoc()) << "that product is here";
    return error;
  }
  if (isa<RankedTensorType>(values.getType()))
    values = inLayout(builder, values,
                      ttg::DotOperandEncodingAttr::get(dot.getContext(), 0, mma,
                                                       32 / element.getIntOrFloatBitWidth()));
  Value meta = inLayout(builder, dot.getMeta(),
                        metadataLayout(type, element, dot.getMeta().getType().getShape()[1]));
  auto product = WarpGroupDotOp::create(builder, dot.getLoc(), type, values, dot.getB(),
                                        inLayout(builder, acc, mma), meta, dot.getUseC(),
                                        dot.getMaxNumImpreciseAcc(), /*isAsync=*/true,
                                        dot.getUnsignedValues(), dot.getUnsignedB());
  emitRemark(RemarkKind::Applied, product, DEBUG_TYPE,
             "chose an asynchronous product of warp groups");
  for (OpOperand &use : llvm::make_early_inc_range(dot->getUses())) {
    auto wait = dyn_cast<ttng::WarpGroupDotWaitOp>(use.getOwner());
    unsigned number = use.getOperandNumber();
    use.set(product.getD());
    if (!wait)
      continue;
    Value over = wait->getResult(number);
    over.setType(type);
    builder.setInsertionPointAfter(wait);
    Value converted = inLayout(builder, over, old.getEncoding());
    over.replaceAllUsesExcept(converted, converted.getDefiningOp());
  }
  dot.erase();
  return success();
}

class LowerAsyncDotsPass : public impl::LowerAsyncDotsPassBase<LowerAsyncDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<AsyncDotOp> dots;
    getOperation()->walk([&](AsyncDotOp dot) { dots.push_back(dot); });
    // Products that add to another one stand behind it, and all are there while they are counted.
    for (AsyncDotOp dot : dots)
      if (failed(checkOperands(dot)) || failed(checkUses(dot)))
        return signalPassFailure();
    for (AsyncDotOp dot : dots)
      if (failed(lower(dot)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::sparsity
