#include "tritonext_sparsity/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#define DEBUG_TYPE "sparsity-hoist-transpositions"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_HOISTTRANSPOSITIONSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

Value convert(OpBuilder &builder, Value value, Type type) {
  return type == value.getType()
             ? value
             : Value(ttg::ConvertLayoutOp::create(builder, value.getLoc(), type, value));
}

Value skipConversions(Value value) {
  while (auto conversion = value.getDefiningOp<ttg::ConvertLayoutOp>())
    value = conversion.getSrc();
  return value;
}

/// Collects the transpositions of a value of two dimensions, and returns whether it has no other
/// uses.
bool collectTranspositions(Value value, SmallVectorImpl<tt::TransOp> &found) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<ttg::ConvertLayoutOp>(user))
      return collectTranspositions(user->getResult(0), found);
    auto transposition = dyn_cast<tt::TransOp>(user);
    if (transposition)
      found.push_back(transposition);
    return bool(transposition);
  });
}

/// Returns whether a value is the sum of a sparse product.
bool isProduct(Value value) { return skipConversions(value).getDefiningOp<DotOp>(); }

/// Carries a value transposed that a loop transposes before it reads it and before it carries it.
void hoist(scf::ForOp loop, unsigned index) {
  BlockArgument carried = loop.getRegionIterArg(index);
  auto type = dyn_cast<RankedTensorType>(carried.getType());
  OpOperand &yielded = loop.getBody()->getTerminator()->getOpOperand(index);
  auto last = skipConversions(yielded.get()).getDefiningOp<tt::TransOp>();
  SmallVector<tt::TransOp> transpositions;
  if (!type || type.getRank() != 2 || !last || !isProduct(last.getSrc()) ||
      !collectTranspositions(carried, transpositions) || transpositions.empty())
    return;

  Location loc = loop.getLoc();
  Type transposed = transpositions.front().getType();
  OpBuilder builder(loop);
  OpOperand &initial = loop.getInitArgsMutable()[index];
  Value start = tt::TransOp::create(builder, loc, initial.get(), ArrayRef<int32_t>{1, 0});
  initial.set(convert(builder, start, transposed));

  builder.setInsertionPoint(yielded.getOwner());
  yielded.set(convert(builder, last.getSrc(), transposed));

  carried.setType(transposed);
  for (tt::TransOp transposition : transpositions) {
    builder.setInsertionPoint(transposition);
    transposition.replaceAllUsesWith(convert(builder, carried, transposition.getType()));
  }
  // What stood between the value and its transpositions has none left that reads it.
  SmallVector<Operation *> dead(transpositions.begin(), transpositions.end());
  while (!dead.empty()) {
    Operation *op = dead.pop_back_val();
    auto conversion = op->getOperand(0).getDefiningOp<ttg::ConvertLayoutOp>();
    op->erase();
    if (conversion && conversion->use_empty())
      dead.push_back(conversion);
  }

  Value result = loop.getResult(index);
  result.setType(transposed);
  builder.setInsertionPointAfter(loop);
  auto end = tt::TransOp::create(builder, loc, result, ArrayRef<int32_t>{1, 0});
  result.replaceAllUsesExcept(convert(builder, end, type), end);
}

class HoistTranspositionsPass : public impl::HoistTranspositionsPassBase<HoistTranspositionsPass> {
public:
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
        hoist(loop, i);
    });
  }
};

} // namespace
} // namespace tritonext::sparsity
