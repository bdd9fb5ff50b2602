#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "tlx-show-local-loads"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_SHOWLOCALLOADSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class ShowLocalLoadsPass : public impl::ShowLocalLoadsPassBase<ShowLocalLoadsPass> {
public:
  void runOnOperation() override {
    getOperation()->walk([](LocalLoadOp hidden) {
      OpBuilder builder(hidden);
      auto load =
          ttg::LocalLoadOp::create(builder, hidden.getLoc(), hidden.getType(), hidden.getSrc());
      load->setDiscardableAttrs(hidden->getDiscardableAttrDictionary());
      hidden.replaceAllUsesWith(load.getResult());
      hidden.erase();
    });
  }
};

} // namespace
} // namespace tritonext::tlx
