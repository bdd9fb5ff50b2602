#ifndef TRITONEXT_PROFILER_IR_OPS_TD
#define TRITONEXT_PROFILER_IR_OPS_TD

include "mlir/IR/OpBase.td"
include "tritonext_profiler/IR/Dialect.td"

def Profiler_RecordOp : Op<Profiler_Dialect, "record"> {
  let summary = "record that the warp enters a region of the kernel's table";
  let description = [{
    States no effects, so that passes move nothing with effects across it. Has no types that the conversions to LLVM
    change, so that it crosses them as it is. A mark records a value too.
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$region, Optional<I64>:$value);
  let assemblyFormat = "$region (`,` $value^)? attr-dict";
}

#endif // TRITONEXT_PROFILER_IR_OPS_TD
