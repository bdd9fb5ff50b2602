#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "triton/Dialect/Triton/IR/Dialect.h"

#define DEBUG_TYPE "tlx-check-slots"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_CHECKSLOTSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

struct Range {
  int64_t first, last;
};

/// Returns the first and last value of the counter of a loop that surely runs.
std::optional<Range> counterOf(scf::ForOp loop) {
  std::optional<int64_t> lower = constantOf(loop.getLowerBound());
  std::optional<int64_t> upper = constantOf(loop.getUpperBound());
  std::optional<int64_t> step = constantOf(loop.getStep());
  if (!lower || !upper || !step || *step <= 0 || *lower >= *upper)
    return std::nullopt;
  return Range{*lower, *lower + (*upper - *lower - 1) / *step * *step};
}

/// Returns the first and last number of a view that is taken in each iteration of a loop, or a
/// constant number twice.
std::optional<Range> numbersOf(ttg::MemDescIndexOp view) {
  Value index = view.getIndex();
  if (std::optional<int64_t> constant = constantOf(index))
    return Range{*constant, *constant};
  int64_t shift = 0;
  if (auto sum = index.getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> constant = constantOf(sum.getRhs())) {
      shift = *constant;
      index = sum.getLhs();
    }
  auto loop = dyn_cast<scf::ForOp>(view->getParentOp());
  if (!loop || index != loop.getInductionVar())
    return std::nullopt;
  std::optional<Range> counter = counterOf(loop);
  if (counter)
    counter = Range{counter->first + shift, counter->last + shift};
  return counter;
}

/// Returns whether `op` may do nothing to a view although it is reached: it has a condition, is
/// code that may have one, or only passes the view on.
bool isConditional(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() || op->getNumRegions() != 0 ||
         isa<triton::CallOp, UnrealizedConversionCastOp>(op) ||
         llvm::any_of(op->getOperands(), [](Value operand) {
           return operand.getType().isInteger(1) && !isAlways(operand);
         });
}

/// Returns whether the slot of `view` is accessed each time that it is taken. One that only a
/// branch or a condition accesses may be a slot that does not exist: nothing is done to it.
bool isAccessed(ttg::MemDescIndexOp view) {
  SmallVector<Operation *> work(view->getUsers());
  while (!work.empty()) {
    Operation *user = work.pop_back_val();
    if (user->getBlock() != view->getBlock())
      continue;
    if (user->hasTrait<OpTrait::MemDescViewTrait>())
      work.append(user->user_begin(), user->user_end());
    else if (!isConditional(user))
      return true;
  }
  return false;
}

class CheckSlotsPass : public impl::CheckSlotsPassBase<CheckSlotsPass> {
public:
  using impl::CheckSlotsPassBase<CheckSlotsPass>::CheckSlotsPassBase;

  void runOnOperation() override {
    getOperation().walk([&](ttg::MemDescIndexOp view) {
      std::optional<Range> numbers = numbersOf(view);
      int64_t slots = view.getSrc().getType().getDimSize(0);
      if (!numbers || (numbers->first >= 0 && numbers->last < slots) || !isAccessed(view))
        return;
      InFlightDiagnostic error = view->emitError("expected a slot from 0 to ")
                                 << slots - 1 << ", got "
                                 << (numbers->first < 0 ? numbers->first : numbers->last);
      if (numbers->first != numbers->last)
        error << " in the " << (numbers->first < 0 ? "first" : "last") << " iteration of the loop";
      error.attachNote() << "take the number modulo the number of slots, or allocate more";
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace tritonext::tlx
