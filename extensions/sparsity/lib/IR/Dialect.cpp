#include "tritonext_sparsity/IR/Dialect.h"
#include "tritonext_sparsity/IR/Builders.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "python/src/ir.h"

using namespace mlir;

#include "tritonext_sparsity/IR/Dialect.cpp.inc"

namespace {

/// Without it no function that uses an op of the dialect would be inlined.
struct SparsityInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};

} // namespace

void tritonext::sparsity::SparsityDialect::initialize() {
  addInterfaces<SparsityInlinerInterface>();
  addOperations<
#define GET_OP_LIST
#include "tritonext_sparsity/IR/Ops.cpp.inc"
      >();
}

void tritonext::sparsity::buildDot(TritonOpBuilder &builder, std::vector<Value> &values) {
  if (values.size() != 5)
    return;
  values[0] = builder.create<DotOp>(values[4].getType(), values[1], values[3], values[4], values[2],
                                    /*maxNumImpreciseAcc=*/0);
}

void tritonext::sparsity::buildExpand(TritonOpBuilder &builder, std::vector<Value> &values) {
  if (values.size() != 4)
    return;
  values[0] = builder.create<ExpandOp>(values[1].getType(), values[1], values[2], values[3]);
}

void tritonext::sparsity::buildAsyncDot(TritonOpBuilder &builder, std::vector<Value> &values) {
  if (values.size() != 5 && values.size() != 6)
    return;
  values[0] = builder.create<AsyncDotOp>(values[4].getType(), values[1], values[3], values[4],
                                         values[2], values.size() == 6 ? values[5] : Value(),
                                         /*maxNumImpreciseAcc=*/0);
}

void tritonext::sparsity::buildWarpGroupDot(TritonOpBuilder &builder, std::vector<Value> &values) {
  if (values.size() != 5 && values.size() != 6)
    return;
  values[0] = builder.create<WarpGroupDotOp>(values[4].getType(), values[1], values[3], values[4],
                                             values[2], values.size() == 6 ? values[5] : Value(),
                                             /*maxNumImpreciseAcc=*/0, /*isAsync=*/false);
}
