#ifndef TRITONEXT_TLX_IR_DIALECT_H
#define TRITONEXT_TLX_IR_DIALECT_H

#include "mlir/IR/Dialect.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"

#include "tritonext_tlx/IR/Dialect.h.inc"

#endif // TRITONEXT_TLX_IR_DIALECT_H
