#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "tlx-lower-cluster-barriers"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LOWERCLUSTERBARRIERSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class LowerClusterBarriersPass
    : public impl::LowerClusterBarriersPassBase<LowerClusterBarriersPass> {
public:
  using impl::LowerClusterBarriersPassBase<LowerClusterBarriersPass>::LowerClusterBarriersPassBase;

  void runOnOperation() override {
    SmallVector<ClusterBarrierOp> barriers;
    getOperation().walk([&](ClusterBarrierOp op) { barriers.push_back(op); });
    for (ClusterBarrierOp barrier : barriers) {
      if (auto tasks = barrier->getParentOfType<ttg::WarpSpecializeOp>()) {
        InFlightDiagnostic error = barrier.emitError(
            "expected a cluster barrier outside of tasks, because all warps of the block have to "
            "meet there; use barriers of tlx.alloc_barriers between tasks");
        error.attachNote(tasks.getLoc()) << "it is in one of these tasks";
        return signalPassFailure();
      }
      lower(barrier);
    }
  }

private:
  static void meet(OpBuilder &builder, Location loc, bool relaxed) {
    StringRef arrive = relaxed ? "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned"
                               : "llvm.nvvm.barrier.cluster.arrive.aligned";
    for (StringRef name : {arrive, StringRef("llvm.nvvm.barrier.cluster.wait.aligned")})
      LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(name), ValueRange());
  }

  /// Between blocks of tasks their warps wait for the next one, which here is one in which all
  /// warps meet the cluster.
  static void lower(ClusterBarrierOp barrier) {
    OpBuilder builder(barrier);
    Location loc = barrier.getLoc();
    int32_t own = ttg::lookupNumWarps(barrier), all = own;
    auto module = barrier->getParentOfType<ModuleOp>();
    if (auto total = module->getAttrOfType<IntegerAttr>("ttg.total-num-warps"))
      all = total.getInt();
    bool relaxed = barrier.getRelaxed();
    if (own == all) {
      meet(builder, loc, relaxed);
      barrier.erase();
      return;
    }

    // A task has a power of two warps.
    SmallVector<int32_t> warps, starts;
    for (int32_t start = own; start < all; start += warps.back()) {
      starts.push_back(start);
      warps.push_back(llvm::bit_floor(uint32_t(all - start)));
    }
    auto tasks = ttg::WarpSpecializeOp::create(builder, loc, TypeRange(), warps);
    tasks.setWarpGroupStartIds(starts);
    builder.createBlock(&tasks.getDefaultRegion());
    meet(builder, loc, relaxed);
    ttg::WarpYieldOp::create(builder, loc, TypeRange(), ValueRange());
    builder.createBlock(&tasks.getPartitionOpHolder());
    auto partitions =
        ttg::WarpSpecializePartitionsOp::create(builder, loc, ValueRange(), warps.size());
    for (Region &region : partitions.getPartitionRegions()) {
      builder.createBlock(&region);
      meet(builder, loc, relaxed);
      ttg::WarpReturnOp::create(builder, loc);
    }
    barrier.erase();
  }
};

} // namespace
} // namespace tritonext::tlx
