#include "tritonext/ForeignOps.h"
#include "tritonext_probe/Transforms/Passes.h"

#define DEBUG_TYPE "probe-carry-foreign-ops"

namespace tritonext::probe {

#define GEN_PASS_DEF_CARRYFOREIGNOPSPASS
#include "tritonext_probe/Transforms/Passes.h.inc"

namespace {

class CarryForeignOpsPass : public impl::CarryForeignOpsPassBase<CarryForeignOpsPass> {
public:
  void runOnOperation() override {
    if (failed(carryForeignOps(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::probe
