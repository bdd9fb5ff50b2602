#ifndef TRITONEXT_{{cookiecutter.__guard}}_IR_OPS_TD
#define TRITONEXT_{{cookiecutter.__guard}}_IR_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "triton/Dialect/Triton/IR/TritonTypes.td"
include "tritonext_{{cookiecutter.id}}/IR/Dialect.td"

def {{cookiecutter.__class}}_{{cookiecutter.__op_stem}}Op : Op<{{cookiecutter.__class}}_Dialect, "{{cookiecutter.__op}}", [
    Pure, Elementwise, SameOperandsAndResultType
  ]> {
  let summary = "zero in place of elements that are not greater than zero";
  let description = [{
    An element that is NaN gives zero.
  }];
  let arguments = (ins TT_Tensor:$x);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif // TRITONEXT_{{cookiecutter.__guard}}_IR_OPS_TD
