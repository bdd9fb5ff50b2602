#include "tritonext/Remarks.h"
#include "tritonext_probe/IR/Dialect.h"
#include "tritonext_probe/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#define DEBUG_TYPE "probe-lower-twice"

using namespace mlir;

namespace tritonext::probe {

#define GEN_PASS_DEF_LOWERTWICEPASS
#include "tritonext_probe/Transforms/Passes.h.inc"

namespace {

class LowerTwicePass : public impl::LowerTwicePassBase<LowerTwicePass> {
public:
  using impl::LowerTwicePassBase<LowerTwicePass>::LowerTwicePassBase;

  void runOnOperation() override {
    if (count < 1) {
      getOperation()->emitError("expected a count of at least 1, got ") << count.getValue();
      return signalPassFailure();
    }
    getOperation()->walk([&](TwiceOp op) {
      bool hasLayout = bool(cast<RankedTensorType>(op.getType()).getEncoding());
      if ((hasLayout || !late) && failed(lower(op)))
        signalPassFailure();
    });
  }

private:
  LogicalResult lower(TwiceOp op) {
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isIntOrFloat())
      return op->emitError("expected elements that are integers or floats, got ") << element;
    OpBuilder builder(op);
    Value result = mode == LowerMode::Add ? addUp(builder, op) : multiply(builder, op);
    emitRemark(RemarkKind::Applied, op, DEBUG_TYPE,
               "replaced by " + Twine(mode == LowerMode::Add ? "additions" : "a multiplication"));
    op.replaceAllUsesWith(result);
    op.erase();
    return success();
  }

  Value addUp(OpBuilder &builder, TwiceOp op) {
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(op.getType()));
    Value sum = op.getX();
    for (int64_t i = 1; i < count; ++i)
      sum = isFloat ? Value(arith::AddFOp::create(builder, op.getLoc(), sum, op.getX()))
                    : Value(arith::AddIOp::create(builder, op.getLoc(), sum, op.getX()));
    return sum;
  }

  Value multiply(OpBuilder &builder, TwiceOp op) {
    auto type = cast<RankedTensorType>(op.getType());
    if (auto floatType = dyn_cast<FloatType>(type.getElementType())) {
      Value factor = arith::ConstantOp::create(
          builder, op.getLoc(),
          DenseElementsAttr::get(type, builder.getFloatAttr(floatType, double(count)).getValue()));
      return arith::MulFOp::create(builder, op.getLoc(), op.getX(), factor);
    }
    Value factor = arith::ConstantOp::create(
        builder, op.getLoc(),
        DenseElementsAttr::get(type,
                               builder.getIntegerAttr(type.getElementType(), count).getValue()));
    return arith::MulIOp::create(builder, op.getLoc(), op.getX(), factor);
  }
};

} // namespace
} // namespace tritonext::probe
