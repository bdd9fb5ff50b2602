#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "tlx-synchronize-clusters"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_SYNCHRONIZECLUSTERSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class SynchronizeClustersPass : public impl::SynchronizeClustersPassBase<SynchronizeClustersPass> {
public:
  using impl::SynchronizeClustersPassBase<SynchronizeClustersPass>::SynchronizeClustersPassBase;

  void runOnOperation() override {
    SmallVector<tt::FuncOp> kernels;
    bool others = false;
    plain = getOperation()
                ->walk([](Operation *op) {
                  auto store = dyn_cast<RemoteStoreOp>(op);
                  return stopIf(isa<RemoteLoadOp>(op) || (store && !store.getBarrier()));
                })
                .wasInterrupted();
    for (auto function : getOperation().getOps<tt::FuncOp>()) {
      if (function.isPublic())
        kernels.push_back(function);
      else
        others |=
            function.walk([](Operation *op) { return stopIf(isRemote(op)); }).wasInterrupted();
    }
    callsAreRemote = others;
    asksForAll =
        getOperation()->walk([](Operation *op) { return stopIf(isRemote(op)); }).wasInterrupted();
    for (tt::FuncOp kernel : kernels)
      if (!kernel.isDeclaration() && reaches(kernel))
        synchronize(kernel);
  }

private:
  static WalkResult stopIf(bool condition) {
    return condition ? WalkResult::interrupt() : WalkResult::advance();
  }

  /// Whether an op accesses, or lets others access, the memory of another block.
  static bool isRemote(Operation *op) {
    if (auto load = dyn_cast<AsyncDescriptorLoadOp>(op))
      return load.getTargets() || load.getInPair();
    return isa<RemoteArriveOp, RemoteStoreOp, RemoteLoadOp, PairDotOp, PairDotScaledOp, PairCopyOp,
               PairCommitOp>(op);
  }

  bool reaches(Operation *op) const {
    return op
        ->walk([&](Operation *inner) {
          return stopIf(isRemote(inner) || (callsAreRemote && isa<tt::CallOp>(inner)) ||
                        (asksForAll && isa<ttng::CLCTryCancelOp>(inner)));
        })
        .wasInterrupted();
  }

  void synchronize(tt::FuncOp kernel) const {
    // The first op in a block of the kernel's own that reaches other blocks.
    Operation *first = nullptr;
    for (Block &block : kernel.getBody())
      for (Operation &op : block)
        if (!first && reaches(&op))
          first = &op;
    bool met = false;
    for (Operation &op : llvm::make_range(first->getBlock()->begin(), first->getIterator())) {
      if (isa<ClusterBarrierOp>(op))
        met = true;
      else if (op.walk([](ttng::InitBarrierOp) {
                   return WalkResult::interrupt();
                 }).wasInterrupted())
        met = false;
    }
    if (!met) {
      OpBuilder builder(first);
      buildBarrierInitFence(builder, first->getLoc());
      // The fence tells of barriers, and what else the block has stored only plain accesses can
      // see.
      ClusterBarrierOp::create(builder, first->getLoc(), /*relaxed=*/!plain);
    }

    for (Block &block : kernel.getBody()) {
      if (!isa<tt::ReturnOp>(block.getTerminator()))
        continue;
      bool ended = false;
      for (Operation &op : block) {
        if (isa<ClusterBarrierOp>(op) || op.hasAttr("tlx.no_ending_cluster_sync"))
          ended = true;
        else if (reaches(&op))
          ended = false;
      }
      if (ended)
        continue;
      OpBuilder builder(block.getTerminator());
      ClusterBarrierOp::create(builder, block.getTerminator()->getLoc());
    }
  }

  /// Functions that are not inlined may be remote too.
  bool callsAreRemote = false;
  /// Whether a request for work is answered to other blocks too. Its readers then tell the one that
  /// asked, so a kernel without other remote ops asks for itself alone.
  bool asksForAll = false;
  /// Whether there are loads or stores that no barrier tells of.
  bool plain = false;
};

} // namespace
} // namespace tritonext::tlx
