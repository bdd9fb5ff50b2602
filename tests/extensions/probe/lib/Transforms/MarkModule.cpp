#include "tritonext_probe/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#define DEBUG_TYPE "probe-mark-module"

using namespace mlir;

namespace tritonext::probe {

#define GEN_PASS_DEF_MARKMODULEPASS
#include "tritonext_probe/Transforms/Passes.h.inc"

namespace {

class MarkModulePass : public impl::MarkModulePassBase<MarkModulePass> {
public:
  using impl::MarkModulePassBase<MarkModulePass>::MarkModulePassBase;

  void runOnOperation() override {
    getOperation()->setAttr("probe.mark", StringAttr::get(&getContext(), mark.getValue()));
  }
};

} // namespace
} // namespace tritonext::probe
