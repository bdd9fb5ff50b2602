#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
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
      IntegerAttr id;
      if (!op.getIntrin().starts_with("llvm.nvvm.barrier.cta.") ||
          !matchPattern(op.getArgs().front(), m_Constant(&id)) ||
          id.getValue().getSExtValue() >= taken)
        return;
      InFlightDiagnostic error = op->emitError("expected a named barrier from ")
                                 << taken << " to 15, got " << id.getValue().getSExtValue()
                                 << ", which the compiler uses itself";
      if (largest)
        error.attachNote(largest->getLoc()) << "one for each of these tasks";
      signalPassFailure();
    });
    if (largest && failed(checkThreads()))
      signalPassFailure();
  }

private:
  struct Site {
    LLVM::CallIntrinsicOp op;
    bool isWait;
  };

  /// Refuses barriers that want more threads than ever come. A thread that waits comes once in a
  /// phase, and one that only arrives as often as it gets there.
  LogicalResult checkThreads() {
    llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<Site>> barriers;
    bool isKnown = true;
    getOperation().walk([&](LLVM::CallIntrinsicOp op) {
      if (!op.getIntrin().starts_with("llvm.nvvm.barrier.cta."))
        return;
      std::optional<int64_t> id = constantOf(op.getArgs()[0]);
      std::optional<int64_t> threads =
          op.getArgs().size() > 1 ? constantOf(op.getArgs()[1]) : std::nullopt;
      isKnown &= id && threads;
      if (id && threads)
        barriers[{*id, *threads}].push_back({op, op.getIntrin().contains(".sync.")});
    });
    if (!isKnown)
      return success();
    for (const auto &[barrier, sites] : barriers)
      if (std::optional<int64_t> coming = threadsOf(sites); coming && *coming < barrier.second) {
        InFlightDiagnostic error = sites.front().op->emitError("expected ")
                                   << barrier.second << " threads to come to named barrier "
                                   << barrier.first << ", got " << *coming
                                   << " in all tasks that use it with that number";
        for (const Site &site : ArrayRef(sites).drop_front())
          error.attachNote(site.op->getLoc()) << "used here too";
        error.attachNote() << "pass the threads of all tasks that wait or arrive, 32 for each warp";
        return error;
      }
    return success();
  }

  static std::optional<int64_t> threadsOf(ArrayRef<Site> sites) {
    DenseSet<Region *> waiting;
    int64_t sum = 0;
    for (const Site &site : sites) {
      std::optional<int64_t> warps = warpsOf(site.op);
      if (!warps || (!site.isWait && isInLoop(site.op)))
        return std::nullopt;
      if (!site.isWait || waiting.insert(taskOf(site.op)).second)
        sum += *warps * 32;
    }
    return sum;
  }
};

} // namespace
} // namespace tritonext::tlx
