#ifndef TRITONEXT_TLX_TRANSFORMS_PASSES_H
#define TRITONEXT_TLX_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "tritonext_tlx/IR/Dialect.h"

namespace tritonext::tlx {

#define GEN_PASS_DECL
#include "tritonext_tlx/Transforms/Passes.h.inc"

} // namespace tritonext::tlx

#endif // TRITONEXT_TLX_TRANSFORMS_PASSES_H
