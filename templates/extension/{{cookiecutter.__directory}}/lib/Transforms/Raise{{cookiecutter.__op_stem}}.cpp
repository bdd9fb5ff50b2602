#include "tritonext/Remarks.h"
#include "tritonext_{{cookiecutter.id}}/IR/Dialect.h"
#include "tritonext_{{cookiecutter.id}}/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#define DEBUG_TYPE "{{cookiecutter.__flag}}-raise-{{cookiecutter.__op.replace('_', '-')}}"

using namespace mlir;

namespace tritonext::{{cookiecutter.id}} {

#define GEN_PASS_DEF_RAISE{{cookiecutter.__op_stem.upper()}}PASS
#include "tritonext_{{cookiecutter.id}}/Transforms/Passes.h.inc"

namespace {

class Raise{{cookiecutter.__op_stem}}Pass : public impl::Raise{{cookiecutter.__op_stem}}PassBase<Raise{{cookiecutter.__op_stem}}Pass> {
public:
  void runOnOperation() override {
    getOperation()->walk([&](arith::SelectOp select) { visit(select); });
  }

private:
  static void visit(arith::SelectOp select) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    Value x = select.getTrueValue();
    // A zero of the other sign would be a change of the result.
    if (!compare || !isa<RankedTensorType>(x.getType()) || compare.getLhs() != x ||
        !matchPattern(compare.getRhs(), m_AnyZeroFloat()) ||
        !matchPattern(select.getFalseValue(), m_PosZeroFloat()))
      return;
    if (compare.getPredicate() != arith::CmpFPredicate::OGT) {
      emitRemark(RemarkKind::Missed, select, DEBUG_TYPE,
                 "the comparison treats NaN or zero differently");
      return;
    }
    OpBuilder builder(select);
    auto op = {{cookiecutter.__op_stem}}Op::create(builder, select.getLoc(), x.getType(), x);
    emitRemark(RemarkKind::Applied, op, DEBUG_TYPE, "the selection is {{cookiecutter.id}}.{{cookiecutter.__op}}");
    select.replaceAllUsesWith(op.getResult());
    select.erase();
    if (compare->use_empty())
      compare.erase();
  }
};

} // namespace
} // namespace tritonext::{{cookiecutter.id}}
