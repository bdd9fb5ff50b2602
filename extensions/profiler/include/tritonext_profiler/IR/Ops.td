#ifndef TRITONEXT_PROFILER_IR_OPS_TD
#define TRITONEXT_PROFILER_IR_OPS_TD

include "mlir/IR/OpBase.td"
include "tritonext_profiler/IR/Dialect.td"

def Profiler_RecordOp : Op<Profiler_Dialect, "record"> {
  let summary = "record that the warp enters a region of the kernel's table";
  let description = [{
    States no effects, so that passes move nothing with effects across it. Has neither operands nor results, so that it
    crosses the conversions to LLVM as it is.
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$region);
  let assemblyFormat = "$region attr-dict";
}

#endif // TRITONEXT_PROFILER_IR_OPS_TD
