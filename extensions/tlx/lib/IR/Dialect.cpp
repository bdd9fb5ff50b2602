#include "tritonext_tlx/IR/Dialect.h"

#include "mlir/IR/DialectImplementation.h"

#include "tritonext_tlx/IR/Dialect.cpp.inc"

#define GET_OP_CLASSES
#include "tritonext_tlx/IR/Ops.cpp.inc"

void tritonext::tlx::TlxDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tritonext_tlx/IR/Ops.cpp.inc"
      >();
}
