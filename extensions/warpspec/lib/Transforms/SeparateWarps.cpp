//===- SeparateWarps.cpp - Warps of a task that wait each for itself ------===//
//
// The stock lowering lets one thread arrive for all warps of a task, so they meet before. Where a
// task has two warp groups, these then never compute one beside the products of the other. Left to
// themselves they start products at the same time, so they take turns.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Passes.h"
#include "tritonext_warpspec/Transforms/Tasks.h"

#define DEBUG_TYPE "warpspec-separate-warps"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {

#define GEN_PASS_DEF_SEPARATEWARPSPASS
#include "tritonext_warpspec/Transforms/Passes.h.inc"

namespace {

// PTX ISA, mbarrier.try_wait: it may return before the phase is complete.
constexpr llvm::StringLiteral waitText = "{ .reg .pred done; "
                                         "again: "
                                         "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
                                         "@!done bra.uni again; }";

// One thread of each warp arrives.
constexpr llvm::StringLiteral arriveText = "{ .reg .pred first; .reg .b32 lane; "
                                           "mov.u32 lane, %laneid; "
                                           "setp.eq.u32 first, lane, 0; "
                                           "@first mbarrier.arrive.shared::cta.b64 _, [$0]; }";

// The turn of warp group 0 is named barrier 14, that of group 1 barrier 15, which the stock
// lowering gives to the fourteenth task at the earliest. Both groups of a task have the same turns,
// as they run the same code.
constexpr llvm::StringLiteral takeText = "{ .reg .b32 turn; mov.u32 turn, %tid.x; "
                                         "shr.u32 turn, turn, 7; add.u32 turn, turn, 14; "
                                         "bar.sync turn, 256; }";
constexpr llvm::StringLiteral passText = "{ .reg .b32 turn; mov.u32 turn, %tid.x; "
                                         "shr.u32 turn, turn, 7; sub.u32 turn, 15, turn; "
                                         "bar.arrive turn, 256; }";

// The first turn is that of group 0, and so is the one behind the last, which is taken to leave the
// barrier as it was.
constexpr llvm::StringLiteral firstText = "{ .reg .pred second; .reg .b32 thread; "
                                          "mov.u32 thread, %tid.x; "
                                          "setp.ge.u32 second, thread, 128; "
                                          "@second bar.arrive 14, 256; }";
constexpr llvm::StringLiteral lastText = "{ .reg .pred first; .reg .b32 thread; "
                                         "mov.u32 thread, %tid.x; "
                                         "setp.lt.u32 first, thread, 128; "
                                         "@first bar.sync 14, 256; }";

void buildText(OpBuilder &builder, Location loc, StringRef text, StringRef constraints,
               ValueRange operands) {
  ttg::InlineAsmOp::create(builder, loc, TypeRange(), text, constraints, /*pure=*/false, operands);
}

// The mode of `instrumentation_mode` that inserts the concurrency sanitizer of stock behind the
// pass.
constexpr llvm::StringLiteral sanitizer = "consan";

class SeparateWarpsPass : public impl::SeparateWarpsPassBase<SeparateWarpsPass> {
public:
  using impl::SeparateWarpsPassBase<SeparateWarpsPass>::SeparateWarpsPassBase;

  void runOnOperation() override {
    SmallVector<StringRef> modes;
    StringRef(instrumentation).split(modes, ',');
    if (llvm::any_of(modes, [](StringRef mode) { return mode.trim() == sanitizer; }))
      return;
    SmallVector<Operation *> marked;
    llvm::SmallSetVector<Region *, 1> withTurns;
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr(takesTurn))
        withTurns.insert(taskOf(op));
      if (op->hasAttr(separateWarps) || op->hasAttr(passesTurn))
        marked.push_back(op);
    });
    for (Operation *op : marked)
      if (failed(replace(op)))
        return signalPassFailure();
    for (Region *task : withTurns) {
      OpBuilder builder = OpBuilder::atBlockBegin(&task->front());
      buildText(builder, task->getLoc(), firstText, "~{memory}", {});
      for (Block &block : *task)
        if (isa<ttg::WarpYieldOp>(block.getTerminator())) {
          builder.setInsertionPoint(block.getTerminator());
          buildText(builder, task->getLoc(), lastText, "~{memory}", {});
        }
    }
  }

private:
  /// Returns the first of the tasks around an op.
  static Region *taskOf(Operation *op) {
    auto tasks = op->getParentOfType<ttg::WarpSpecializeOp>();
    return tasks ? &tasks.getDefaultRegion() : op->getParentRegion();
  }

  static LogicalResult replace(Operation *op) {
    OpBuilder builder(op);
    if (op->removeAttr(passesTurn)) {
      buildText(builder, op->getLoc(), passText, "~{memory}", {});
      return success();
    }
    auto wait = dyn_cast<ttng::WaitBarrierOp>(op);
    auto arrive = dyn_cast<ttng::ArriveBarrierOp>(op);
    if (wait && !wait.getPred()) {
      buildText(builder, op->getLoc(), waitText, "r,r,~{memory}",
                {wait.getAlloc(), wait.getPhase()});
      if (op->hasAttr(takesTurn))
        buildText(builder, op->getLoc(), takeText, "~{memory}", {});
    } else if (arrive && !arrive.getPred() &&
               arrive.getCount() == uint32_t(ttg::lookupNumWarps(op))) {
      buildText(builder, op->getLoc(), arriveText, "r,~{memory}", {arrive.getAlloc()});
    } else {
      return op->emitError("expected an unconditional wait, or as many arrivals as the task has "
                           "warps, to be separate by warps");
    }
    op->erase();
    return success();
  }
};

} // namespace
} // namespace tritonext::warpspec
