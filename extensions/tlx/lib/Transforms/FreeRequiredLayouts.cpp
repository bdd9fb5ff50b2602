#include "tritonext_tlx/Transforms/Passes.h"

#define DEBUG_TYPE "tlx-free-required-layouts"

using namespace mlir;

namespace tritonext::tlx {

#define GEN_PASS_DEF_FREEREQUIREDLAYOUTSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class FreeRequiredLayoutsPass : public impl::FreeRequiredLayoutsPassBase<FreeRequiredLayoutsPass> {
public:
  void runOnOperation() override {
    getOperation()->walk([&](RequireLayoutOp require) {
      Attribute layout = cast<RankedTensorType>(require.getType()).getEncoding();
      if (layout != require.getLayout()) {
        require->emitError("expected a tensor in the required layout ")
            << require.getLayout() << ", got one in " << layout;
        return signalPassFailure();
      }
      require.getResult().replaceAllUsesWith(require.getSrc());
      require.erase();
    });
  }
};

} // namespace
} // namespace tritonext::tlx
