#include "tritonext_{{cookiecutter.id}}/IR/Dialect.h"
#include "tritonext_{{cookiecutter.id}}/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#define DEBUG_TYPE "{{cookiecutter.__flag}}-lower-{{cookiecutter.__op.replace('_', '-')}}"

using namespace mlir;

namespace tritonext::{{cookiecutter.id}} {

#define GEN_PASS_DEF_LOWER{{cookiecutter.__op_stem.upper()}}PASS
#include "tritonext_{{cookiecutter.id}}/Transforms/Passes.h.inc"

namespace {

class Lower{{cookiecutter.__op_stem}}Pass : public impl::Lower{{cookiecutter.__op_stem}}PassBase<Lower{{cookiecutter.__op_stem}}Pass> {
public:
  void runOnOperation() override {
    getOperation()->walk([&]({{cookiecutter.__op_stem}}Op op) {
      if (failed(lower(op)))
        signalPassFailure();
    });
  }

private:
  static LogicalResult lower({{cookiecutter.__op_stem}}Op op) {
    auto type = cast<RankedTensorType>(op.getType());
    if (!isa<FloatType>(type.getElementType()))
      return op->emitError("expected elements that are floats, got ") << type.getElementType();
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    op.replaceAllUsesWith(arith::MaxNumFOp::create(builder, loc, op.getX(), zero).getResult());
    op.erase();
    return success();
  }
};

} // namespace
} // namespace tritonext::{{cookiecutter.id}}
