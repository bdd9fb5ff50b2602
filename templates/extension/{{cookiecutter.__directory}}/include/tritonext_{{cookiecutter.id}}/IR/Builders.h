#ifndef TRITONEXT_{{cookiecutter.__guard}}_IR_BUILDERS_H
#define TRITONEXT_{{cookiecutter.__guard}}_IR_BUILDERS_H

#include "mlir/IR/Value.h"

#include <vector>

class TritonOpBuilder;

// Each function builds an op of the operands `values[1]`, `values[2]`, … into `values[0]`.
namespace tritonext::{{cookiecutter.id}} {

void build{{cookiecutter.__op_stem}}(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

} // namespace tritonext::{{cookiecutter.id}}

#endif // TRITONEXT_{{cookiecutter.__guard}}_IR_BUILDERS_H
