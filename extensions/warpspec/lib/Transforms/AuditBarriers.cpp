//===- AuditBarriers.cpp - The audit as a pass of its own -----------------===//

#include "tritonext_warpspec/Transforms/Audit.h"
#include "tritonext_warpspec/Transforms/Passes.h"

#define DEBUG_TYPE "warpspec-audit-barriers"

using namespace mlir;
namespace tt = mlir::triton;

namespace tritonext::warpspec {

#define GEN_PASS_DEF_AUDITBARRIERSPASS
#include "tritonext_warpspec/Transforms/Passes.h.inc"

namespace {

class AuditBarriersPass : public impl::AuditBarriersPassBase<AuditBarriersPass> {
public:
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tt::FuncOp>())
      if (std::optional<Finding> finding = audit(kernel)) {
        finding->at->emitError("expected tasks that wait for each other as they have to, got that ")
            << finding->text;
        return signalPassFailure();
      }
  }
};

} // namespace
} // namespace tritonext::warpspec
