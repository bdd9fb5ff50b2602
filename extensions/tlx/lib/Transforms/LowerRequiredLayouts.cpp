#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "tlx-lower-required-layouts"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LOWERREQUIREDLAYOUTSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class LowerRequiredLayoutsPass
    : public impl::LowerRequiredLayoutsPassBase<LowerRequiredLayoutsPass> {
public:
  void runOnOperation() override {
    getOperation()->walk([](RequireLayoutOp require) {
      auto type = cast<RankedTensorType>(require.getType());
      if (!type.getEncoding() || type.getEncoding() == require.getLayout())
        return;
      OpBuilder builder(require);
      Location loc = require.getLoc();
      auto required =
          RankedTensorType::get(type.getShape(), type.getElementType(), require.getLayout());
      auto load = require.getSrc().getDefiningOp<ttg::LocalLoadOp>();
      if (load && load->hasOneUse())
        // A conversion would move what was loaded once more.
        load.getResult().setType(required);
      else
        require.getSrcMutable().assign(
            ttg::ConvertLayoutOp::create(builder, loc, required, require.getSrc()));
      require.getResult().setType(required);
      builder.setInsertionPointAfter(require);
      auto back = ttg::ConvertLayoutOp::create(builder, loc, type, require.getResult());
      require.getResult().replaceAllUsesExcept(back, back);
    });
  }
};

} // namespace
} // namespace tritonext::tlx
