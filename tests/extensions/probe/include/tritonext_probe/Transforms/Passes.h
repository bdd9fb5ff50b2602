#ifndef TRITONEXT_PROBE_TRANSFORMS_PASSES_H
#define TRITONEXT_PROBE_TRANSFORMS_PASSES_H

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/Triton/IR/Dialect.h"

#include <memory>

namespace tritonext::probe {

enum class LowerMode { Add, Mul };

#define GEN_PASS_DECL
#include "tritonext_probe/Transforms/Passes.h.inc"

} // namespace tritonext::probe

#endif // TRITONEXT_PROBE_TRANSFORMS_PASSES_H
