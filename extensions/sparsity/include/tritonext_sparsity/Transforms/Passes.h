#ifndef TRITONEXT_SPARSITY_TRANSFORMS_PASSES_H
#define TRITONEXT_SPARSITY_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "tritonext_sparsity/IR/Dialect.h"

namespace tritonext::sparsity {

#define GEN_PASS_DECL
#include "tritonext_sparsity/Transforms/Passes.h.inc"

} // namespace tritonext::sparsity

#endif // TRITONEXT_SPARSITY_TRANSFORMS_PASSES_H
