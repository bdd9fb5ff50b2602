#include "tritonext_{{cookiecutter.id}}/IR/Dialect.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "tritonext_{{cookiecutter.id}}/IR/Dialect.cpp.inc"

#define GET_OP_CLASSES
#include "tritonext_{{cookiecutter.id}}/IR/Ops.cpp.inc"

void tritonext::{{cookiecutter.id}}::{{cookiecutter.__class}}Dialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tritonext_{{cookiecutter.id}}/IR/Ops.cpp.inc"
      >();
}
