#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

namespace {

class Follower {
public:
  SmallVector<ViewUse> uses;

  void follow(Value view, ViewUse state) {
    if (!visited.insert(view).second)
      return;
    for (OpOperand &use : view.getUses()) {
      ViewUse next = state;
      next.operand = &use;
      Operation *op = use.getOwner();
      if (auto index = dyn_cast<ttg::MemDescIndexOp>(op)) {
        if (next.slot.isWhole())
          next.slot = {index.getIndex(), constantOf(index.getIndex())};
        else
          next.isPart = true;
        follow(index.getResult(), next);
      } else if (isa<ttg::MemDescTransOp, ttg::MemDescReshapeOp, ttg::MemDescReinterpretOp>(op)) {
        follow(op->getResult(0), next);
      } else if (isa<ttg::MemDescSubsliceOp>(op)) {
        next.isPart = true;
        follow(op->getResult(0), next);
      } else if (auto partitions = dyn_cast<ttg::WarpSpecializePartitionsOp>(op)) {
        for (Region &region : partitions.getPartitionRegions())
          follow(region.getArgument(use.getOperandNumber()), next);
      } else if (!followThroughControlFlow(use, next)) {
        uses.push_back(next);
      }
    }
  }

private:
  bool followThroughControlFlow(OpOperand &use, ViewUse state) {
    state.isMerged = true;
    Operation *op = use.getOwner();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      follow(loop.getTiedLoopRegionIterArg(&use), state);
      follow(loop.getTiedLoopResult(&use), state);
      return true;
    }
    if (!isa<scf::YieldOp>(op))
      return false;
    unsigned number = use.getOperandNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
      follow(loop.getRegionIterArg(number), state);
    else if (!isa<scf::IfOp>(op->getParentOp()))
      return false;
    follow(op->getParentOp()->getResult(number), state);
    return true;
  }

  DenseSet<Value> visited;
};

} // namespace

SmallVector<ViewUse> usesOf(ttg::LocalAllocOp allocation) {
  Follower follower;
  follower.follow(allocation.getResult(), ViewUse{nullptr, {}});
  return std::move(follower.uses);
}

std::optional<int64_t> constantOf(Value value) {
  IntegerAttr attr;
  if (!value || !matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  return attr.getType().isInteger(1) ? int64_t(attr.getValue().getZExtValue())
                                     : attr.getValue().getSExtValue();
}

bool isAlways(Value condition) { return !condition || constantOf(condition).value_or(0) == 1; }

Region *taskOf(Operation *op) {
  Region *region = op->getParentRegion();
  while (!isa<FunctionOpInterface, ttg::WarpSpecializeOp, ttg::WarpSpecializePartitionsOp>(
      region->getParentOp()))
    region = region->getParentRegion();
  return region;
}

std::optional<int64_t> warpsOf(Operation *op) {
  Region *task = taskOf(op);
  if (auto partitions = dyn_cast<ttg::WarpSpecializePartitionsOp>(task->getParentOp()))
    return partitions->getParentOfType<ttg::WarpSpecializeOp>()
        .getPartitionNumWarps()[task->getRegionNumber()];
  // The warps of the kernel are no business of the module yet, but each block of tasks has them.
  std::optional<int64_t> warps;
  op->getParentOfType<ModuleOp>().walk([&](ttg::WarpSpecializeOp block) {
    if (auto attr = block->getAttrOfType<IntegerAttr>("tlx.num_warps"))
      warps = attr.getInt();
  });
  return warps;
}

bool isInLoop(Operation *op) {
  for (; op && !isa<FunctionOpInterface>(op); op = op->getParentOp())
    if (isa<LoopLikeOpInterface>(op))
      return true;
  return false;
}

} // namespace tritonext::tlx
