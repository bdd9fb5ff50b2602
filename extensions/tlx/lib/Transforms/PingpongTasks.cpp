#include "tritonext/Remarks.h"
#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"

#define DEBUG_TYPE "tlx-pingpong-tasks"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_PINGPONGTASKSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

constexpr int64_t wordBytes = 4;

/// Waits until the other task has had as many turns as this one ($0 and $1 are the words of the two
/// warps), or for a limit of cycles, after which neither waits for the other again. The largest
/// number says so. Lanes need no vote: they read one address at once.
constexpr llvm::StringLiteral takeTurn = "{ "
                                         ".reg .pred %over, %late; "
                                         ".reg .b32 %mine, %theirs, %begin, %now; "
                                         "mov.u32 %begin, %clock; "
                                         "again: "
                                         "ld.volatile.shared.b32 %mine, [$0]; "
                                         "ld.volatile.shared.b32 %theirs, [$1]; "
                                         "setp.COMPARE.s32 %over, %theirs, %mine; "
                                         "@%over bra done; "
                                         "setp.eq.s32 %over, %mine, 0x7fffffff; "
                                         "@%over bra done; "
                                         "mov.u32 %now, %clock; "
                                         "sub.u32 %now, %now, %begin; "
                                         "setp.gt.u32 %late, %now, LIMIT; "
                                         "@!%late bra again; "
                                         "st.volatile.shared.b32 [$0], 0x7fffffff; "
                                         "done: "
                                         "}";

/// Counts a turn of the warp.
constexpr llvm::StringLiteral passTurn = "{ "
                                         ".reg .pred %first, %counts; "
                                         ".reg .b32 %lane, %mine; "
                                         "mov.u32 %lane, %laneid; "
                                         "setp.eq.s32 %first, %lane, 0; "
                                         "ld.volatile.shared.b32 %mine, [$0]; "
                                         "setp.ne.and.s32 %counts, %mine, 0x7fffffff, %first; "
                                         "add.s32 %mine, %mine, 1; "
                                         "@%counts st.volatile.shared.b32 [$0], %mine; "
                                         "}";

/// Leaves all turns to the other task.
constexpr llvm::StringLiteral leaveTurns = "st.volatile.shared.b32 [$0], 0x7fffffff;";

/// Products that a task starts without looking at any of them.
struct Turn {
  Operation *first, *last;
};

struct Task {
  Region *region;
  int64_t warps;
  SmallVector<Turn> turns;
};

bool hasTensor(Operation *op) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor);
}

/// Returns whether `op` is a product, or a loop that computes products and no other tensors.
bool isProduct(Operation *op) {
  if (isa<ttng::WarpGroupDotOp>(op))
    return true;
  if (!isa<scf::ForOp>(op))
    return false;
  bool multiplies = false;
  bool isPure = !op->walk([&](Operation *inner) {
                     multiplies |= isa<ttng::WarpGroupDotOp>(inner);
                     bool isOther = hasTensor(inner) &&
                                    !isa<ttng::WarpGroupDotOp, ttng::WarpGroupDotWaitOp, scf::ForOp,
                                         scf::YieldOp, arith::ConstantOp>(inner);
                     return isOther ? WalkResult::interrupt() : WalkResult::advance();
                   }).wasInterrupted();
  return isPure && multiplies;
}

/// Adds the turns in `region`. Only in a loop is there something else to do meanwhile.
void addTurns(Region &region, bool isInLoop, SmallVector<Turn> &turns) {
  for (Block &block : region) {
    bool isOpen = false;
    for (Operation &op : block) {
      if (isProduct(&op)) {
        if (isOpen)
          turns.back().last = &op;
        else if (isInLoop)
          turns.push_back({&op, &op});
        isOpen = isInLoop;
      } else if (isa<ttng::WarpGroupDotWaitOp>(op) || op.getNumRegions() != 0) {
        isOpen = false;
        for (Region &inner : op.getRegions())
          addTurns(inner, isInLoop || isa<LoopLikeOpInterface>(op), turns);
      }
    }
  }
}

class PingpongTasksPass : public impl::PingpongTasksPassBase<PingpongTasksPass> {
public:
  using impl::PingpongTasksPassBase<PingpongTasksPass>::PingpongTasksPassBase;

  void runOnOperation() override {
    if (limit < 1 || limit > std::numeric_limits<int32_t>::max()) {
      getOperation().emitError("expected a limit from 1 to 2147483647 cycles, got ")
          << limit.getValue();
      return signalPassFailure();
    }
    SmallVector<ttg::WarpSpecializeOp> blocks;
    getOperation().walk([&](ttg::WarpSpecializeOp block) { blocks.push_back(block); });
    for (ttg::WarpSpecializeOp block : blocks)
      alternate(block);
  }

private:
  void alternate(ttg::WarpSpecializeOp block) {
    SmallVector<Task> tasks;
    auto add = [&](Region &region, int64_t warps) {
      Task task{&region, warps, {}};
      addTurns(region, /*isInLoop=*/false, task.turns);
      if (!task.turns.empty())
        tasks.push_back(std::move(task));
    };
    add(block.getDefaultRegion(), ttg::lookupNumWarps(block));
    for (auto [region, warps] : llvm::zip_equal(block.getPartitionOp().getPartitionRegions(),
                                                block.getPartitionNumWarps()))
      add(region, warps);
    if (tasks.size() != 2) {
      emitRemark(RemarkKind::Missed, block, DEBUG_TYPE,
                 "left the tasks alone: expected two that multiply and compute in a loop, got " +
                     Twine(tasks.size()));
      return;
    }
    if (tasks[0].warps != tasks[1].warps) {
      emitRemark(RemarkKind::Missed, block, DEBUG_TYPE,
                 "left the tasks alone: expected the same number of warps, got " +
                     Twine(tasks[0].warps) + " and " + Twine(tasks[1].warps));
      return;
    }

    Value words = allocate(block, tasks[0].warps);
    addCapture(block.getPartitionOp(), words);
    for (auto [number, task] : llvm::enumerate(tasks)) {
      Value own = task.region->getNumArguments() == 0 ? words : task.region->getArguments().back();
      order(task, own, /*isFirst=*/number == 0);
      emitRemark(RemarkKind::Applied, task.turns.front().first, DEBUG_TYPE,
                 "takes turns with the other task at " + Twine(task.turns.size()) + " places");
    }
  }

  /// Makes a word for each warp of the two tasks, which counts its turns.
  static Value allocate(ttg::WarpSpecializeOp block, int64_t warps) {
    OpBuilder builder(block);
    MLIRContext *context = block.getContext();
    SmallVector<int64_t> shape = {2 * warps};
    auto layout = ttg::BlockedEncodingAttr::get(
        context, shape, /*sizePerThread=*/{1}, /*order=*/{0}, ttg::lookupNumWarps(block),
        ttg::lookupThreadsPerWarp(builder), ttg::CGAEncodingAttr::get1CTALayout(context, 1));
    auto tensor = RankedTensorType::get(shape, builder.getI32Type(), layout);
    auto plain = ttg::SwizzledSharedEncodingAttr::get(
        context, 1, 1, 1, {0}, ttg::CGAEncodingAttr::get1CTALayout(context, 1));
    auto type = ttg::MemDescType::get(shape, builder.getI32Type(), plain,
                                      ttg::SharedMemorySpaceAttr::get(context),
                                      /*mutableMemory=*/true);
    Value zeros = arith::ConstantOp::create(
        builder, block.getLoc(), DenseElementsAttr::get(tensor, builder.getI32IntegerAttr(0)));
    Value words = ttg::LocalAllocOp::create(builder, block.getLoc(), type, zeros);
    ttg::BarrierOp::create(builder, block.getLoc(), ttg::AddrSpace::Local);
    return words;
  }

  void order(const Task &task, Value words, bool isFirst) {
    std::string take = takeTurn.str();
    auto replace = [&](StringRef name, const Twine &text) {
      take.replace(take.find(name), name.size(), text.str());
    };
    replace("COMPARE", isFirst ? "ge" : "gt");
    replace("LIMIT", Twine(limit));

    OpBuilder builder(&task.region->front(), task.region->front().begin());
    Location loc = task.turns.front().first->getLoc();
    auto number = [&](int64_t value) {
      return arith::ConstantIntOp::create(builder, loc, value, 32);
    };
    Value base = viewOf(builder, loc, words).base;
    Value warp = ttg::WarpIdOp::create(builder, loc, /*omitUniformHint=*/false);
    auto wordOf = [&](bool first) -> Value {
      Value at = arith::AddIOp::create(builder, loc, warp, number(first ? 0 : task.warps));
      at = arith::MulIOp::create(builder, loc, at, number(wordBytes));
      return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), base, at);
    };
    Value mine = wordOf(isFirst), theirs = wordOf(!isFirst);
    for (auto [first, last] : task.turns) {
      builder.setInsertionPoint(first);
      buildAsm(builder, first->getLoc(), TypeRange(), {mine, theirs}, take, "r,r,~{memory}");
      builder.setInsertionPointAfter(last);
      buildAsm(builder, last->getLoc(), TypeRange(), {mine}, passTurn, "r,~{memory}");
    }
    Operation *end = task.region->back().getTerminator();
    builder.setInsertionPoint(end);
    buildAsm(builder, end->getLoc(), TypeRange(), {mine}, leaveTurns, "r,~{memory}");
  }
};

} // namespace
} // namespace tritonext::tlx
