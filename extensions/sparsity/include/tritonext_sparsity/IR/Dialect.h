#ifndef TRITONEXT_SPARSITY_IR_DIALECT_H
#define TRITONEXT_SPARSITY_IR_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"

#include "tritonext_sparsity/IR/Dialect.h.inc"

#define GET_OP_CLASSES
#include "tritonext_sparsity/IR/Ops.h.inc"

#endif // TRITONEXT_SPARSITY_IR_DIALECT_H
