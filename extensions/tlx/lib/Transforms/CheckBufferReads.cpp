#include "tritonext_tlx/IR/Dialect.h"
#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"

#define DEBUG_TYPE "tlx-check-buffer-reads"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_CHECKBUFFERREADSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

std::optional<int64_t> pendingsOf(Operation *op) {
  if (auto wait = dyn_cast<ttg::AsyncWaitOp>(op))
    return wait.getNum();
  if (auto wait = dyn_cast<AsyncLoadWaitOp>(op))
    return wait.getPendings();
  return std::nullopt;
}

/// Returns whether `op` may wait for something that is not understood here. By an atomic another
/// task may say that it has waited.
bool isOpaque(Operation *op) {
  return isa<tt::CallOp, tt::ElementwiseInlineAsmOp, LLVM::InlineAsmOp, LLVM::CallIntrinsicOp,
             tt::AtomicRMWOp, tt::AtomicCASOp, ttng::WaitBarrierOp,
             ttng::AsyncCopyMbarrierArriveOp>(op);
}

/// Returns whether `op` has a part in the groups of asynchronous copies.
bool isAboutGroups(Operation *op) { return pendingsOf(op) || isa<ttg::AsyncCommitGroupOp>(op); }

bool isRead(const ViewUse &use) {
  Operation *op = use.op();
  if (isa<ttg::LocalLoadOp, LocalLoadOp, ttg::LocalGatherOp, AsyncDescriptorStoreOp>(op))
    return true;
  if (auto dot = dyn_cast<AsyncDotOp>(op))
    return use.operand->get() == dot.getA() || use.operand->get() == dot.getB();
  return false;
}

class CheckBufferReadsPass : public impl::CheckBufferReadsPassBase<CheckBufferReadsPass> {
public:
  using impl::CheckBufferReadsPassBase<CheckBufferReadsPass>::CheckBufferReadsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool hasWait = false;
    module.walk([&](Operation *op) {
      hasWait |= pendingsOf(op).has_value() ||
                 isa<tt::ElementwiseInlineAsmOp, ttng::AsyncCopyMbarrierArriveOp>(op);
    });
    module.walk([&](ttg::LocalAllocOp allocation) {
      SmallVector<ViewUse> uses = usesOf(allocation);
      if (failed(checkOrder(uses)) || (!hasWait && failed(checkPresence(allocation, uses))))
        signalPassFailure();
    });
  }

private:
  static InFlightDiagnostic report(Operation *read, Operation *copy, const Twine &message) {
    InFlightDiagnostic error = read->emitError(message);
    error.attachNote(copy->getLoc()) << "copied here";
    return error;
  }

  /// Refuses a read of what is only ever filled by copies, when nothing waits for any copy.
  static LogicalResult checkPresence(ttg::LocalAllocOp allocation, ArrayRef<ViewUse> uses) {
    if (allocation.getSrc())
      return success();
    Operation *copy = nullptr, *read = nullptr;
    for (const ViewUse &use : uses) {
      if (isa<ttg::AsyncCopyGlobalToLocalOp>(use.op()))
        copy = copy ? copy : use.op();
      else if (isRead(use))
        read = read ? read : use.op();
      else
        return success();
    }
    if (!copy || !read)
      return success();
    InFlightDiagnostic error = report(
        read, copy, "expected a wait for the copies into the buffer, got none in the whole kernel");
    error.attachNote() << "call tlx.async_load_commit_group behind the copies, and "
                          "tlx.async_load_wait_group before the read";
    return error;
  }

  /// Follows each copy through its block to the first read of the same slot.
  static LogicalResult checkOrder(ArrayRef<ViewUse> uses) {
    for (const ViewUse &use : uses) {
      if (use.isMerged)
        continue;
      Operation *op = use.op();
      if (isa<ttg::AsyncCopyGlobalToLocalOp>(op)) {
        if (failed(checkGroups(use, uses)))
          return failure();
      } else if (auto copy = dyn_cast<AsyncDescriptorLoadOp>(op)) {
        if (use.operand->get() == copy.getBuffer() && isAlways(copy.getPred()) &&
            failed(checkBarriers(use, uses)))
          return failure();
      }
    }
    return success();
  }

  /// Returns the first op inside `op`, or `op` itself, that reads the slot of `copy` or may wait,
  /// with `isRelevant` for what waits that are understood are.
  static Operation *firstEvent(Operation *op, const ViewUse &copy, ArrayRef<ViewUse> uses,
                               llvm::function_ref<bool(Operation *)> isRelevant) {
    Operation *found = nullptr;
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      bool isEvent = isOpaque(inner) || isRelevant(inner) || readsSlot(inner, copy, uses);
      if (isEvent)
        found = inner;
      return isEvent ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found;
  }

  /// Returns whether a loop may get to `event`, which is inside `op`, in a later iteration only,
  /// behind waits that come after it in the loop: a branch in the loop leads to it.
  static bool mayComeLater(Operation *event, Operation *op) {
    bool isInBranch = false;
    for (; event != op; event = event->getParentOp()) {
      isInBranch |= isa<scf::IfOp>(event->getParentOp());
      if (isInBranch && isa<LoopLikeOpInterface>(event->getParentOp()))
        return true;
    }
    return false;
  }

  static bool readsSlot(Operation *op, const ViewUse &copy, ArrayRef<ViewUse> uses) {
    return llvm::any_of(uses, [&](const ViewUse &use) {
      return use.op() == op && isRead(use) && !use.isMerged && !use.isPart && !copy.isPart &&
             use.slot.isSame(copy.slot);
    });
  }

  static LogicalResult checkBarriers(const ViewUse &copy, ArrayRef<ViewUse> uses) {
    for (Operation *op = copy.op()->getNextNode(); op; op = op->getNextNode()) {
      Operation *event = firstEvent(op, copy, uses, [](Operation *) { return false; });
      if (!event)
        continue;
      if (!readsSlot(event, copy, uses) || mayComeLater(event, op))
        return success();
      InFlightDiagnostic error = report(
          event, copy.op(), "expected a wait for the copy before its buffer is read, got none");
      error.attachNote() << "call tlx.barrier_wait on the barrier of the copy before the read";
      return error;
    }
    return success();
  }

  /// A wait that does not cover the copy.
  struct Wait {
    Operation *op = nullptr;
    bool isCommitted = false;
    int64_t groupsBehind = 0;
  };

  static LogicalResult checkGroups(const ViewUse &copy, ArrayRef<ViewUse> uses) {
    bool isCommitted = false;
    int64_t groupsBehind = 0;
    Wait last;
    for (Operation *op = copy.op()->getNextNode(); op; op = op->getNextNode()) {
      Operation *event = firstEvent(op, copy, uses, isAboutGroups);
      if (!event)
        continue;
      if (readsSlot(event, copy, uses))
        return mayComeLater(event, op) ? success() : reportGroups(event, copy.op(), last);
      // What a loop or a branch commits and waits for is not counted.
      if (event != op || isOpaque(event))
        return success();
      if (std::optional<int64_t> pendings = pendingsOf(event)) {
        if (isCommitted && groupsBehind >= *pendings)
          return success();
        last = {event, isCommitted, groupsBehind};
      } else if (isCommitted) {
        ++groupsBehind;
      } else {
        isCommitted = true;
      }
    }
    return success();
  }

  static LogicalResult reportGroups(Operation *read, Operation *copy, const Wait &wait) {
    if (!wait.op) {
      InFlightDiagnostic error =
          report(read, copy, "expected a wait for the copy before its buffer is read, got none");
      error.attachNote() << "call tlx.async_load_commit_group behind the copy, and "
                            "tlx.async_load_wait_group before the read";
      return error;
    }
    InFlightDiagnostic error = wait.op->emitError("expected a wait that covers the copy, got one ");
    if (wait.isCommitted)
      error << "that leaves " << *pendingsOf(wait.op) << " groups where " << wait.groupsBehind
            << " are newer than that of the copy";
    else
      error << "before the copy is in a group";
    error.attachNote(copy->getLoc()) << "copied here";
    error.attachNote(read->getLoc()) << "read here";
    if (wait.isCommitted)
      error.attachNote() << "call tlx.async_load_wait_group(" << wait.groupsBehind << ")";
    else
      error.attachNote() << "call tlx.async_load_commit_group between the copy and the wait";
    return error;
  }
};

} // namespace
} // namespace tritonext::tlx
