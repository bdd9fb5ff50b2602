#ifndef TRITONEXT_PROBE_IR_DIALECT_H
#define TRITONEXT_PROBE_IR_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Dialect/Triton/IR/Dialect.h"

#include "tritonext_probe/IR/Dialect.h.inc"

#define GET_OP_CLASSES
#include "tritonext_probe/IR/Ops.h.inc"

#endif // TRITONEXT_PROBE_IR_DIALECT_H
