#include "tritonext/ForeignOps.h"
#include "tritonext_tlx/Transforms/Passes.h"

#define DEBUG_TYPE "tlx-restore-foreign-ops"

namespace tritonext::tlx {

#define GEN_PASS_DEF_RESTOREFOREIGNOPSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class RestoreForeignOpsPass : public impl::RestoreForeignOpsPassBase<RestoreForeignOpsPass> {
public:
  void runOnOperation() override {
    if (failed(restoreForeignOps(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::tlx
