#ifndef TRITONEXT_{{cookiecutter.__guard}}_IR_DIALECT_H
#define TRITONEXT_{{cookiecutter.__guard}}_IR_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Dialect/Triton/IR/Dialect.h"

#include "tritonext_{{cookiecutter.id}}/IR/Dialect.h.inc"

#define GET_OP_CLASSES
#include "tritonext_{{cookiecutter.id}}/IR/Ops.h.inc"

#endif // TRITONEXT_{{cookiecutter.__guard}}_IR_DIALECT_H
