#ifndef TRITONEXT_{{cookiecutter.__guard}}_TRANSFORMS_PASSES_H
#define TRITONEXT_{{cookiecutter.__guard}}_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace tritonext::{{cookiecutter.id}} {

#define GEN_PASS_DECL
#include "tritonext_{{cookiecutter.id}}/Transforms/Passes.h.inc"

} // namespace tritonext::{{cookiecutter.id}}

#endif // TRITONEXT_{{cookiecutter.__guard}}_TRANSFORMS_PASSES_H
