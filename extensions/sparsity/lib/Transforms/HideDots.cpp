#include "tritonext_sparsity/Transforms/Passes.h"

#define DEBUG_TYPE "sparsity-hide-dots"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_HIDEDOTSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

void hide(WarpGroupDotOp dot) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  auto values = cast<ttg::MemDescType>(dot.getValues().getType());
  ttg::MemDescType b = dot.getB().getType();
  // Stock looks through views for the buffer, and checks that K of both operands is one.
  auto half = ttg::MemDescType::get({values.getShape()[1], b.getShape()[1]}, b.getElementType(),
                                    b.getEncoding(), b.getMemorySpace(), b.getMutableMemory(),
                                    b.getAllocShape());
  Value view =
      ttg::MemDescSubsliceOp::create(builder, loc, half, dot.getB(), ArrayRef<int32_t>{0, 0});
  Value flag = HoldMetadataOp::create(builder, loc, builder.getI1Type(), dot.getMeta(),
                                      dot.getUseC(), dot.getMaxNumImpreciseAcc(),
                                      dot.getUnsignedValues(), dot.getUnsignedB());
  // Partial sums of a dense product are not those of a sparse one.
  constexpr uint32_t never = 1 << 30;
  auto standIn = ttng::WarpGroupDotOp::create(
      builder, loc, dot.getD().getType(), dot.getValues(), view, dot.getAcc(), flag,
      values.getElementType().isF32() ? tt::InputPrecision::TF32 : tt::InputPrecision::IEEE, never,
      /*isAsync=*/false);
  dot.replaceAllUsesWith(standIn.getD());
  dot.erase();
}

class HideDotsPass : public impl::HideDotsPassBase<HideDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<WarpGroupDotOp> dots;
    getOperation()->walk([&](WarpGroupDotOp dot) {
      // Who made it asynchronous waits for it, and stock halves operands in registers along K.
      if (!dot.getIsAsync() && isa<ttg::MemDescType>(dot.getValues().getType()))
        dots.push_back(dot);
    });
    for (WarpGroupDotOp dot : dots)
      hide(dot);
  }
};

} // namespace
} // namespace tritonext::sparsity
