#ifndef TRITONEXT_PROFILER_TRANSFORMS_PASSES_H
#define TRITONEXT_PROFILER_TRANSFORMS_PASSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tritonext_profiler/IR/Dialect.h"

namespace tritonext::profiler {

#define GEN_PASS_DECL
#include "tritonext_profiler/Transforms/Passes.h.inc"

} // namespace tritonext::profiler

#endif // TRITONEXT_PROFILER_TRANSFORMS_PASSES_H
