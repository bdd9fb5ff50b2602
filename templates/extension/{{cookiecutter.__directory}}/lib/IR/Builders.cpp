#include "tritonext_{{cookiecutter.id}}/IR/Builders.h"
#include "tritonext_{{cookiecutter.id}}/IR/Dialect.h"

#include "python/src/ir.h"

using namespace mlir;

void tritonext::{{cookiecutter.id}}::build{{cookiecutter.__op_stem}}(TritonOpBuilder &builder, std::vector<Value> &values) {
  values[0] = builder.create<{{cookiecutter.__op_stem}}Op>(values[1]);
}
