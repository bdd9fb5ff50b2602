#include "tritonext/ForeignOps.h"
#include "tritonext_sparsity/Transforms/Passes.h"

#define DEBUG_TYPE "sparsity-carry-foreign-ops"

namespace tritonext::sparsity {

#define GEN_PASS_DEF_CARRYFOREIGNOPSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

class CarryForeignOpsPass : public impl::CarryForeignOpsPassBase<CarryForeignOpsPass> {
public:
  void runOnOperation() override {
    if (failed(carryForeignOps(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::sparsity
