#include "tritonext/ForeignOps.h"
#include "tritonext_sparsity/Transforms/Passes.h"

#define DEBUG_TYPE "sparsity-restore-foreign-ops"

namespace tritonext::sparsity {

#define GEN_PASS_DEF_RESTOREFOREIGNOPSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

class RestoreForeignOpsPass : public impl::RestoreForeignOpsPassBase<RestoreForeignOpsPass> {
public:
  void runOnOperation() override {
    if (failed(restoreForeignOps(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::sparsity
