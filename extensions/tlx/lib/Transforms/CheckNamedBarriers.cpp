#include "tritonext_tlx/IR/Dialect.h"
#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "tlx-check-named-barriers"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_CHECKNAMEDBARRIERSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class CheckNamedBarriersPass : public impl::CheckNamedBarriersPassBase<CheckNamedBarriersPass> {
public:
  using impl::CheckNamedBarriersPassBase<CheckNamedBarriersPass>::CheckNamedBarriersPassBase;

  void runOnOperation() override {
    // The kernel's warps meet at 0. With tasks, all warps meet at 1 and those of each task at one
    // more.
    ttg::WarpSpecializeOp largest;
    getOperation().walk([&](ttg::WarpSpecializeOp op) {
      if (!largest || op.getPartitionRegions().size() > largest.getPartitionRegions().size())
        largest = op;
    });
    int64_t taken = largest ? 2 + int64_t(largest.getPartitionRegions().size()) : 1;
    getOperation().walk([&](LLVM::CallIntrinsicOp op) {
      std::optional<NamedBarrier> barrier = namedBarrierOf(op);
      if (!barrier || !barrier->id || *barrier->id >= taken)
        return;
      InFlightDiagnostic error = op->emitError("expected a named barrier from ")
                                 << taken << " to 15, got " << *barrier->id
                                 << ", which the compiler uses itself";
      if (largest)
        error.attachNote(largest->getLoc()) << "one for each of these tasks";
      signalPassFailure();
    });
    if (failed(checkThreads()))
      signalPassFailure();
    getOperation().walk([](LLVM::CallIntrinsicOp op) { op->removeAttr(kernelWarpsName); });
  }

private:
  struct Site {
    LLVM::CallIntrinsicOp op;
    bool isWait;
    std::optional<int64_t> threads;
  };

  static constexpr int64_t threadsPerWarp = 32;

  LogicalResult checkThreads() {
    llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<Site>> barriers;
    bool isKnown = true;
    getOperation().walk([&](LLVM::CallIntrinsicOp op) {
      std::optional<NamedBarrier> barrier = namedBarrierOf(op);
      if (!barrier)
        return;
      bool hasNumbers = barrier->id && barrier->threads;
      isKnown &= hasNumbers;
      if (!hasNumbers)
        return;
      std::optional<int64_t> warps;
      // A function that is not inlined may be called by any task.
      if (op->getParentOfType<FunctionOpInterface>().isPublic())
        warps = warpsOf(op);
      std::optional<int64_t> threads =
          warps ? std::optional(*warps * threadsPerWarp) : std::nullopt;
      barriers[{*barrier->id, *barrier->threads}].push_back({op, barrier->isWait, threads});
    });
    for (const auto &[barrier, sites] : barriers)
      if (failed(checkTasks(barrier.second, sites)) ||
          (isKnown && failed(checkSum(barrier.first, barrier.second, sites))))
        return failure();
    return success();
  }

  /// Refuses barriers for fewer threads than one task brings: some of its warps would meet without
  /// the others.
  static LogicalResult checkTasks(int64_t count, ArrayRef<Site> sites) {
    for (const Site &site : sites)
      if (site.threads && *site.threads > count) {
        InFlightDiagnostic error = site.op->emitError("expected a named barrier for at least ")
                                   << *site.threads << " threads, those of the task, got " << count;
        noteRemedy(error);
        return error;
      }
    return success();
  }

  /// Refuses barriers that want more threads than ever come, or that get more than they want while
  /// some wait: who is left over waits for ever.
  static LogicalResult checkSum(int64_t id, int64_t count, ArrayRef<Site> sites) {
    auto isWait = [](const Site &site) { return site.isWait && isAlwaysReached(site.op); };
    const Site *wait = llvm::find_if(sites, isWait);
    if (wait == sites.end())
      return success();
    std::optional<int64_t> coming = threadsOf(sites);
    bool isShort = coming && *coming < count;
    if (!isShort) {
      coming = threadsAtOnce(sites);
      if (!coming || *coming % count == 0)
        return success();
    }
    InFlightDiagnostic error = wait->op->emitError("expected ")
                               << count << " threads to come to named barrier " << id << ", got "
                               << *coming << " in all tasks that use it with that number";
    for (const Site &site : sites)
      if (&site != wait)
        error.attachNote(site.op->getLoc()) << "used here too";
    noteRemedy(error);
    return error;
  }

  static void noteRemedy(InFlightDiagnostic &error) {
    error.attachNote() << "pass the threads of all tasks that wait or arrive, 32 for each warp";
  }

  /// Returns the most threads that come in one phase. A thread that waits comes once in a phase,
  /// and one that only arrives as often as it gets there.
  static std::optional<int64_t> threadsOf(ArrayRef<Site> sites) {
    DenseSet<Region *> waiting;
    int64_t sum = 0;
    for (const Site &site : sites) {
      if (!site.threads || (!site.isWait && isInLoop(site.op)))
        return std::nullopt;
      if (!site.isWait || waiting.insert(taskOf(site.op)).second)
        sum += *site.threads;
    }
    return sum;
  }

  /// Returns the threads that come when each task comes once and for all, in whatever order.
  static std::optional<int64_t> threadsAtOnce(ArrayRef<Site> sites) {
    DenseSet<Region *> tasks;
    int64_t sum = 0;
    auto block = sites.front().op->getParentOfType<ttg::WarpSpecializeOp>();
    for (const Site &site : sites) {
      Region *task = taskOf(site.op);
      if (!site.threads || !block || site.op->getParentRegion() != task ||
          site.op->getParentOfType<ttg::WarpSpecializeOp>() != block || isInLoop(site.op) ||
          waitsBefore(site.op) || !tasks.insert(task).second)
        return std::nullopt;
      sum += *site.threads;
    }
    return sum;
  }
};

} // namespace
} // namespace tritonext::tlx
