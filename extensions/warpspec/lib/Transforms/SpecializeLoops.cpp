//===- SpecializeLoops.cpp - Producer and consumers from plain loops ------===//

#include "tritonext/Remarks.h"
#include "tritonext_warpspec/Transforms/Audit.h"
#include "tritonext_warpspec/Transforms/Passes.h"
#include "tritonext_warpspec/Transforms/Tasks.h"

#define DEBUG_TYPE "warpspec-specialize-loops"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::warpspec {

#define GEN_PASS_DEF_SPECIALIZELOOPSPASS
#include "tritonext_warpspec/Transforms/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral annotation = "tt.warp_specialize";
constexpr llvm::StringLiteral target = "cuda:90";

class SpecializeLoopsPass : public impl::SpecializeLoopsPassBase<SpecializeLoopsPass> {
public:
  using impl::SpecializeLoopsPassBase<SpecializeLoopsPass>::SpecializeLoopsPassBase;

  void runOnOperation() override {
    auto name = getOperation()->getAttrOfType<StringAttr>(ttg::AttrTargetName);
    if (!name || name.getValue() != target)
      return;
    SmallVector<tt::FuncOp> kernels(getOperation().getOps<tt::FuncOp>());
    for (tt::FuncOp kernel : kernels)
      run(kernel);
  }

private:
  /// A loop that is asked to be specialized, with the products in it.
  static SmallVector<scf::ForOp> annotatedLoops(tt::FuncOp kernel) {
    SmallVector<scf::ForOp> annotated;
    kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (loop->hasAttr(annotation))
        annotated.push_back(loop);
    });
    return annotated;
  }

  void run(tt::FuncOp kernel) {
    llvm::SmallSetVector<Operation *, 2> wanted;
    for (scf::ForOp loop : annotatedLoops(kernel)) {
      // A loop that is left alone keeps the schedule it has without the annotation; the stock pass
      // that reads it fails on some.
      loop->removeAttr(annotation);
      SmallVector<scf::ForOp> inner = findProductLoops(loop);
      if (inner.empty())
        emitRemark(RemarkKind::Missed, loop, DEBUG_TYPE,
                   "left to the stock schedule: the loop has no product of warp groups");
      wanted.insert(inner.begin(), inner.end());
    }
    if (allLoops)
      for (scf::ForOp loop : findProductLoops(kernel))
        wanted.insert(loop);
    for (Operation *op : wanted)
      if (specializeLoop(cast<scf::ForOp>(op)))
        return;
  }

  /// Specializes a loop if it can be, and returns whether it was.
  bool specializeLoop(scf::ForOp loop) {
    PlanOptions options;
    options.slots = slots;
    options.stages = numStages;
    Verdict verdict = makePlan(loop, options);
    if (!verdict.plan) {
      emitRemark(RemarkKind::Missed, verdict.at, DEBUG_TYPE,
                 "left to the stock schedule: " + verdict.reason);
      return false;
    }
    auto kernel = loop->getParentOfType<tt::FuncOp>();
    OwningOpRef<tt::FuncOp> before(kernel.clone());
    Location loc = loop.getLoc();
    std::string description = verdict.plan->describe();
    unsigned registers = verdict.plan->launchRegisters;
    specialize(*verdict.plan);
    if (std::optional<Finding> finding = audit(kernel)) {
      kernel.getBody().takeBody(before->getBody());
      emitRemark(RemarkKind::Missed, kernel, DEBUG_TYPE,
                 "left to the stock schedule: the audit found that " + finding->text);
      return false;
    }
    getOperation()->setAttr(ttg::AttrMaxRegistersName,
                            Builder(&getContext()).getI32IntegerAttr(registers));
    ttg::WarpSpecializeOp tasks;
    kernel.walk([&](ttg::WarpSpecializeOp op) { tasks = op; });
    emitRemark(RemarkKind::Applied, tasks, DEBUG_TYPE, "specialized: " + description);
    return true;
  }
};

} // namespace
} // namespace tritonext::warpspec
