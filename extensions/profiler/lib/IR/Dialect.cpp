#include "tritonext_profiler/IR/Dialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

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

uint64_t tritonext::profiler::digestOf(llvm::StringRef text) {
  uint64_t digest = 0xcbf29ce484222325;
  for (unsigned char byte : text)
    digest = (digest ^ byte) * 0x100000001b3;
  return digest;
}
