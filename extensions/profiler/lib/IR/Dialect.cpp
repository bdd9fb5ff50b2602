#include "tritonext_profiler/IR/Dialect.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "tritonext_profiler/IR/Dialect.cpp.inc"

#define GET_OP_CLASSES
#include "tritonext_profiler/IR/Ops.cpp.inc"

void tritonext::profiler::ProfilerDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tritonext_profiler/IR/Ops.cpp.inc"
      >();
}
