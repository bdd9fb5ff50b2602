#include "tritonext_tlx/IR/Dialect.h"
#include "tritonext_tlx/IR/Builders.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "python/src/ir.h"

using namespace mlir;

#include "tritonext_tlx/IR/Dialect.cpp.inc"

#define GET_OP_CLASSES
#include "tritonext_tlx/IR/Ops.cpp.inc"

namespace {

/// Without it no function that uses an op of the dialect would be inlined.
struct TlxInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};

} // namespace

void tritonext::tlx::TlxDialect::initialize() {
  addInterfaces<TlxInlinerInterface>();
  addOperations<
#define GET_OP_LIST
#include "tritonext_tlx/IR/Ops.cpp.inc"
      >();
}

void tritonext::tlx::buildAsyncDot(TritonOpBuilder &builder, std::vector<Value> &values) {
  if (values.size() != 4 && values.size() != 5)
    return;
  Value useC = values.size() == 5 ? values[4] : Value();
  values[0] =
      builder.create<AsyncDotOp>(values[3].getType(), values[1], values[2], values[3], useC);
}
