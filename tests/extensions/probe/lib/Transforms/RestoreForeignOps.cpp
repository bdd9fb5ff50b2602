#include "tritonext/ForeignOps.h"
#include "tritonext_probe/Transforms/Passes.h"

#define DEBUG_TYPE "probe-restore-foreign-ops"

namespace tritonext::probe {

#define GEN_PASS_DEF_RESTOREFOREIGNOPSPASS
#include "tritonext_probe/Transforms/Passes.h.inc"

namespace {

class RestoreForeignOpsPass : public impl::RestoreForeignOpsPassBase<RestoreForeignOpsPass> {
public:
  void runOnOperation() override {
    if (failed(restoreForeignOps(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::probe
