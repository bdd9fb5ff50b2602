#include "tritonext/Remarks.h"
#include "tritonext_sparsity/IR/Layouts.h"
#include "tritonext_sparsity/Transforms/Passes.h"
#include "tritonext_sparsity/Transforms/Targets.h"

#include "triton/Dialect/TritonGPU/Transforms/Utility.h"

#define DEBUG_TYPE "sparsity-fuse-expansions"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_FUSEEXPANSIONSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

/// A use of an expansion, behind conversions of its layout and maybe one transposition.
struct Use {
  Operation *user;
  unsigned index;
  bool isTransposed;
};

void collectUses(Value value, bool isTransposed, SmallVectorImpl<Use> &uses) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<ttg::ConvertLayoutOp>(user))
      collectUses(user->getResult(0), isTransposed, uses);
    else if (isa<tt::TransOp>(user) && !isTransposed)
      collectUses(user->getResult(0), /*isTransposed=*/true, uses);
    else
      uses.push_back({user, use.getOperandNumber(), isTransposed});
  }
}

/// Returns why a use is no product that the tensor cores have, or nothing.
std::string whyNotFused(const Use &use, RankedTensorType matrix) {
  auto dot = dyn_cast<tt::DotOp>(use.user);
  // On the left the matrix stands as it is, on the right transposed.
  if (!dot || use.index > 1 || use.isTransposed != (use.index == 1))
    return ("it is used by " + use.user->getName().getStringRef() +
            (dot && use.index < 2 ? ", summed along the other dimension" : ""))
        .str();
  RankedTensorType acc = dot.getD().getType();
  Type element = matrix.getElementType();
  if (element.isF32() && dot.getInputPrecision() != tt::InputPrecision::TF32)
    return "32-bit floats are not to be rounded to tf32";
  Type other = getElementTypeOrSelf((use.index == 0 ? dot.getB() : dot.getA()).getType());
  if (!areMultiplied(element, other) || !canAccumulate(element, acc.getElementType()))
    return "the sparse tensor cores do not multiply its type";
  return whyNoInstruction({element, acc.getElementType(), matrix.getShape()[0],
                           acc.getShape()[use.index == 0 ? 1 : 0], matrix.getShape()[1],
                           ttg::lookupNumWarps(dot), targetOf(dot)});
}

Value transpose(OpBuilder &builder, Value value) {
  return tt::TransOp::create(builder, value.getLoc(), value, ArrayRef<int32_t>{1, 0});
}

void fuse(tt::DotOp dot, ExpandOp expansion, bool isOnTheRight) {
  OpBuilder builder(dot);
  Value b = isOnTheRight ? transpose(builder, dot.getA()) : dot.getB();
  Value acc = isOnTheRight ? transpose(builder, dot.getC()) : dot.getC();
  Value product = DotOp::create(builder, dot.getLoc(), acc.getType(), expansion.getValues(), b, acc,
                                expansion.getMeta(), dot.getMaxNumImpreciseAcc())
                      .getD();
  if (isOnTheRight)
    product = inLayout(builder, transpose(builder, product), dot.getD().getType().getEncoding());
  dot.replaceAllUsesWith(product);
  dot.erase();
}

void lower(ExpandOp expansion) {
  SmallVector<Use> uses;
  collectUses(expansion.getResult(), /*isTransposed=*/false, uses);
  for (const Use &use : uses) {
    std::string reason = whyNotFused(use, expansion.getResult().getType());
    if (!reason.empty()) {
      emitRemark(RemarkKind::Missed, use.user, DEBUG_TYPE,
                 "expanded the sparse matrix in registers: " + reason);
      continue;
    }
    emitRemark(RemarkKind::Applied, use.user, DEBUG_TYPE, "multiplies the sparse matrix itself");
    fuse(cast<tt::DotOp>(use.user), expansion, /*isOnTheRight=*/use.index == 1);
  }
  expansion.replaceAllUsesWith(expansion.getDense());
  expansion.erase();
}

class FuseExpansionsPass : public impl::FuseExpansionsPassBase<FuseExpansionsPass> {
public:
  void runOnOperation() override {
    SmallVector<ExpandOp> expansions;
    getOperation()->walk([&](ExpandOp expansion) { expansions.push_back(expansion); });
    for (ExpandOp expansion : expansions)
      lower(expansion);
  }
};

} // namespace
} // namespace tritonext::sparsity
