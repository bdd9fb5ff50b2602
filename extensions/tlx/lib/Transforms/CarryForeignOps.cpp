#include "tritonext/ForeignOps.h"
#include "tritonext_tlx/Transforms/Passes.h"

#define DEBUG_TYPE "tlx-carry-foreign-ops"

namespace tritonext::tlx {

#define GEN_PASS_DEF_CARRYFOREIGNOPSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class CarryForeignOpsPass : public impl::CarryForeignOpsPassBase<CarryForeignOpsPass> {
public:
  void runOnOperation() override {
    if (failed(carryForeignOps(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::tlx
