#ifndef TRITONEXT_TLX_IR_DIALECT_H
#define TRITONEXT_TLX_IR_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"

#include "tritonext_tlx/IR/Dialect.h.inc"

#define GET_OP_CLASSES
#include "tritonext_tlx/IR/Ops.h.inc"

namespace tritonext::tlx {

/// Attribute of ops that carry the warps of the kernel, which the module has later.
inline constexpr llvm::StringLiteral kernelWarpsName = "tlx.num_warps";

} // namespace tritonext::tlx

#endif // TRITONEXT_TLX_IR_DIALECT_H
