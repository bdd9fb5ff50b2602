#ifndef TRITONEXT_{{cookiecutter.__guard}}_IR_DIALECT_TD
#define TRITONEXT_{{cookiecutter.__guard}}_IR_DIALECT_TD

include "mlir/IR/DialectBase.td"

def {{cookiecutter.__class}}_Dialect : Dialect {
  let name = "{{cookiecutter.id}}";
  let cppNamespace = "::tritonext::{{cookiecutter.id}}";
  let summary = "{{cookiecutter.description}}";
  let dependentDialects = ["::mlir::triton::TritonDialect"];
}

#endif // TRITONEXT_{{cookiecutter.__guard}}_IR_DIALECT_TD
