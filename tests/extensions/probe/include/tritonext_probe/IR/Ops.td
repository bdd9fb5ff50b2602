#ifndef TRITONEXT_PROBE_IR_OPS_TD
#define TRITONEXT_PROBE_IR_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "triton/Dialect/Triton/IR/TritonTypes.td"
include "tritonext_probe/IR/Dialect.td"

def Probe_TwiceOp : Op<Probe_Dialect, "twice", [Pure, SameOperandsAndResultType]> {
  let summary = "twice a tensor";
  let arguments = (ins TT_Tensor:$x);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif // TRITONEXT_PROBE_IR_OPS_TD
