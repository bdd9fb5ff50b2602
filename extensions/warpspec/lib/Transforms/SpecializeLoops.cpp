//===- SpecializeLoops.cpp - Producer and consumers from plain loops ------===//

#include "tritonext/Remarks.h"
#include "tritonext_warpspec/Transforms/Audit.h"
#include "tritonext_warpspec/Transforms/Describe.h"
#include "tritonext_warpspec/Transforms/Passes.h"
#include "tritonext_warpspec/Transforms/PrepareStock.h"
#include "tritonext_warpspec/Transforms/Split.h"
#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/IR/Verifier.h"

#define DEBUG_TYPE "warpspec-specialize-loops"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::warpspec {

#define GEN_PASS_DEF_SPECIALIZELOOPSPASS
#include "tritonext_warpspec/Transforms/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral target = "cuda:90", stockTarget = "cuda:100";
constexpr llvm::StringLiteral automatic = "auto";
constexpr Schedule everySchedule[] = {Schedule::Single, Schedule::Cooperative, Schedule::PingPong};

class SpecializeLoopsPass : public impl::SpecializeLoopsPassBase<SpecializeLoopsPass> {
public:
  using impl::SpecializeLoopsPassBase<SpecializeLoopsPass>::SpecializeLoopsPassBase;

  void runOnOperation() override {
    auto name = getOperation()->getAttrOfType<StringAttr>(ttg::AttrTargetName);
    if (name && name.getValue() == stockTarget)
      for (auto kernel : getOperation().getOps<tt::FuncOp>())
        prepareForStock(kernel);
    if (!name || name.getValue() != target)
      return;
    if (schedule != automatic &&
        llvm::none_of(everySchedule, [&](Schedule known) { return nameOf(known) == schedule; })) {
      getOperation().emitError("expected schedule=auto, single, cooperative or pingpong, got '")
          << schedule << "'";
      return signalPassFailure();
    }
    SmallVector<tt::FuncOp> kernels(getOperation().getOps<tt::FuncOp>());
    for (tt::FuncOp kernel : kernels)
      run(kernel);
  }

private:
  void run(tt::FuncOp kernel) {
    llvm::SmallSetVector<Operation *, 2> wanted;
    for (scf::ForOp loop : findAnnotated(kernel)) {
      // A loop that is left alone keeps the schedule it has without the annotation; the stock pass
      // that reads it fails on some.
      loop->removeAttr(annotation);
      SmallVector<scf::ForOp> inner = findProductLoops(loop);
      if (inner.empty())
        emitRemark(RemarkKind::Missed, loop, DEBUG_TYPE,
                   "left to the stock schedule: the loop has no product of warp groups");
      wanted.insert(inner.begin(), inner.end());
    }
    SmallVector<scf::ForOp> loops;
    for (scf::ForOp loop : findProductLoops(kernel))
      if (allLoops || wanted.contains(loop))
        loops.push_back(loop);
    if (!loops.empty())
      specializeLoops(kernel, loops);
  }

  /// What a kernel was, to put it back.
  struct Original {
    explicit Original(tt::FuncOp kernel)
        : kernel(kernel.clone()),
          attributes(kernel->getParentOfType<ModuleOp>()->getDiscardableAttrDictionary()) {}

    void putBack(tt::FuncOp changed) {
      OwningOpRef<tt::FuncOp> copy(kernel->clone());
      changed.getBody().takeBody(copy->getBody());
      changed.setFunctionType(copy->getFunctionType());
      changed->getParentOfType<ModuleOp>()->setDiscardableAttrs(attributes);
    }

    OwningOpRef<tt::FuncOp> kernel;
    DictionaryAttr attributes;
  };

  /// Specializes all loops of a kernel that are asked to be, if they can be.
  void specializeLoops(tt::FuncOp kernel, ArrayRef<scf::ForOp> asked) {
    // Where the kernel is put back, they are other ops.
    SmallVector<unsigned> numbers;
    for (auto [number, loop] : llvm::enumerate(findProductLoops(kernel)))
      if (llvm::is_contained(asked, loop))
        numbers.push_back(number);
    Original untouched(kernel);
    bool mayUsePointers = pointers != PointerLoads::Automatic ||
                          scf::ForOp(asked.front())->getParentOfType<scf::ForOp>();
    std::string because;
    if (mayUsePointers && pointers != PointerLoads::Copy)
      for (scf::ForOp loop : asked)
        if (describeLoads(loop, pointers == PointerLoads::Describe))
          because = "; not by TMA: a stride may be negative, for all that is known, and "
                    "tl.assume(stride >= 0) says that it is not";
    const std::string strides = because;
    Original original(kernel);
    SmallVector<Schedule> wanted = schedulesFor(asked);
    if (schedule != automatic) {
      wanted = {Schedule::Single};
      for (Schedule known : everySchedule)
        if (nameOf(known) == schedule && known != Schedule::Single)
          wanted.insert(wanted.begin(), known);
    }
    for (Schedule choice : wanted) {
      PlanOptions options;
      options.slots = slots;
      options.stages = numStages;
      options.schedule = choice;
      options.pointers = mayUsePointers;
      SmallVector<scf::ForOp> all = findProductLoops(kernel), loops;
      for (unsigned number : numbers)
        loops.push_back(all[number]);
      Verdict verdict = makePlan(loops, options);
      bool isLast = choice == Schedule::Single;
      // Warp groups of a chain take turns within a task. What copies by threads gain beside two
      // tasks of consumers is not measured.
      if (!isLast && verdict.plan &&
          (verdict.plan->loops.front().delayed || verdict.plan->producerWarps() != 1))
        continue;
      if (!verdict.plan) {
        if (!isLast) {
          because = (Twine("; not ") + nameOf(choice) + ": " + verdict.reason + strides).str();
          continue;
        }
        emitRemark(RemarkKind::Missed, verdict.at, DEBUG_TYPE,
                   "left to the stock schedule: " + verdict.reason + strides);
        break;
      }
      std::string description = verdict.plan->describe();
      unsigned registers = verdict.plan->launchRegisters;
      ttg::WarpSpecializeOp tasks = specialize(*verdict.plan);
      std::optional<std::string> problem;
      if (!isLast)
        if (std::optional<Obstacle> obstacle = splitConsumers(*verdict.plan, tasks))
          problem = obstacle->text;
      if (!problem && failed(verify(kernel)))
        problem = "a layout does not fit";
      if (!problem)
        if (std::optional<Finding> finding = audit(kernel))
          problem = "the audit found that " + finding->text;
      if (!problem) {
        getOperation()->setAttr(ttg::AttrMaxRegistersName,
                                Builder(&getContext()).getI32IntegerAttr(registers));
        kernel.walk([&](ttg::WarpSpecializeOp op) { tasks = op; });
        emitRemark(RemarkKind::Applied, tasks, DEBUG_TYPE,
                   (Twine("specialized: ") + description + because).str());
        return;
      }
      original.putBack(kernel);
      because = (Twine("; not ") + nameOf(choice) + ": " + *problem + strides).str();
      if (isLast)
        emitRemark(RemarkKind::Missed, kernel, DEBUG_TYPE,
                   "left to the stock schedule: " + *problem);
    }
    untouched.putBack(kernel);
  }
};

} // namespace
} // namespace tritonext::warpspec
