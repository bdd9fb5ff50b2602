#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_PASSES_H
#define TRITONEXT_WARPSPEC_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"

namespace tritonext::warpspec {

/// How operands are loaded that pointers address.
enum class PointerLoads { Automatic, Describe, Copy };

#define GEN_PASS_DECL
#include "tritonext_warpspec/Transforms/Passes.h.inc"

} // namespace tritonext::warpspec

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_PASSES_H
