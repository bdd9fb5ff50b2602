#include "tritonext_probe/IR/Dialect.h"
#include "tritonext_probe/IR/Builders.h"

#include "mlir/IR/DialectImplementation.h"
#include "python/src/ir.h"

using namespace mlir;

#include "tritonext_probe/IR/Dialect.cpp.inc"

#define GET_OP_CLASSES
#include "tritonext_probe/IR/Ops.cpp.inc"

void tritonext::probe::ProbeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tritonext_probe/IR/Ops.cpp.inc"
      >();
}

void tritonext::probe::buildTwice(TritonOpBuilder &builder, std::vector<Value> &values) {
  if (values.size() == 2 && isa<RankedTensorType>(values[1].getType()))
    values[0] = builder.create<TwiceOp>(values[1]);
}
