#include "tritonext_tlx/Transforms/Views.h"
#include "tritonext_tlx/IR/Dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

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
  if (auto attr = op->getAttrOfType<IntegerAttr>(kernelWarpsName))
    return attr.getInt();
  // The warps of the kernel are no business of the module yet, but each block of tasks has them.
  std::optional<int64_t> warps;
  op->getParentOfType<ModuleOp>().walk([&](ttg::WarpSpecializeOp block) {
    if (auto attr = block->getAttrOfType<IntegerAttr>(kernelWarpsName))
      warps = attr.getInt();
  });
  return warps;
}

std::optional<NamedBarrier> namedBarrierOf(LLVM::CallIntrinsicOp op) {
  if (!op.getIntrin().starts_with("llvm.nvvm.barrier.cta."))
    return std::nullopt;
  NamedBarrier barrier{constantOf(op.getArgs()[0]), std::nullopt,
                       op.getIntrin().contains(".sync.")};
  if (op.getArgs().size() > 1)
    barrier.threads = constantOf(op.getArgs()[1]);
  return barrier;
}

void addCapture(ttg::WarpSpecializePartitionsOp tasks, Value value) {
  tasks.getExplicitCapturesMutable().append(value);
  for (Region &region : tasks.getPartitionRegions())
    region.addArgument(value.getType(), value.getLoc());
}

bool isAlwaysReached(Operation *op) {
  for (; !isa<FunctionOpInterface>(op); op = op->getParentOp())
    if (!op->getBlock()->isEntryBlock() ||
        !isa<FunctionOpInterface, scf::ForOp, ttg::WarpSpecializeOp,
             ttg::WarpSpecializePartitionsOp>(op->getParentOp()))
      return false;
  return cast<FunctionOpInterface>(op).isPublic();
}

bool waitsBefore(Operation *op) {
  for (Operation &other : *op->getBlock()) {
    if (&other == op)
      return false;
    bool waits =
        other
            .walk([](Operation *inner) {
              return isa<ttng::WaitBarrierOp, ttg::BarrierOp, LLVM::CallIntrinsicOp,
                         LLVM::InlineAsmOp, triton::CallOp, triton::AtomicRMWOp,
                         triton::AtomicCASOp, triton::ElementwiseInlineAsmOp, scf::WhileOp>(inner)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted();
    if (waits)
      return true;
  }
  return false;
}

std::optional<int64_t> firstValueOf(Value value) {
  if (std::optional<int64_t> constant = constantOf(value))
    return constant;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return std::nullopt;
    OpOperand *init = loop.getTiedLoopInit(argument);
    return firstValueOf(init ? init->get() : loop.getLowerBound());
  }
  Operation *op = value.getDefiningOp();
  if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumOperands() > 2)
    return std::nullopt;
  SmallVector<int64_t, 2> in;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> first = firstValueOf(operand);
    // What is neither negative nor large means the same in every width and sign.
    if (!first || *first < 0 || *first > std::numeric_limits<int16_t>::max())
      return std::nullopt;
    in.push_back(*first);
  }
  using Result = std::optional<int64_t>;
  auto divisor = [&] { return in[1] != 0; };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<arith::ExtUIOp, arith::IndexCastOp>([&](auto) { return in[0]; })
      .Case([&](arith::ExtSIOp extend) -> Result {
        return extend.getIn().getType().isInteger(1) ? -in[0] : in[0];
      })
      .Case([&](arith::TruncIOp truncate) -> Result {
        return truncate.getType().isInteger(1) ? in[0] & 1 : in[0];
      })
      .Case([&](arith::AddIOp) { return in[0] + in[1]; })
      .Case([&](arith::SubIOp) { return in[0] - in[1]; })
      .Case([&](arith::MulIOp) { return in[0] * in[1]; })
      .Case([&](arith::AndIOp) { return in[0] & in[1]; })
      .Case([&](arith::OrIOp) { return in[0] | in[1]; })
      .Case([&](arith::XOrIOp) { return in[0] ^ in[1]; })
      .Case<arith::DivSIOp, arith::DivUIOp>(
          [&](auto) { return divisor() ? Result(in[0] / in[1]) : std::nullopt; })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return divisor() ? Result(in[0] % in[1]) : std::nullopt; })
      .Default(Result());
}

bool isInLoop(Operation *op) {
  for (; op && !isa<FunctionOpInterface>(op); op = op->getParentOp())
    if (isa<LoopLikeOpInterface>(op))
      return true;
  return false;
}

} // namespace tritonext::tlx
