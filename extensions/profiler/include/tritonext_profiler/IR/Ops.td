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

class Profiler_NoteOp<string mnemonic> : Op<Profiler_Dialect, mnemonic> {
  let arguments = (ins StrAttr:$name);
  let assemblyFormat = "$name attr-dict";
}

def Profiler_EnterOp : Profiler_NoteOp<"enter"> {
  let summary = "enter a scope of the user";
  let description = [{
    What is executed until the matching `profiler.exit` is in the scope. `profiler-place-records` makes records of both.
  }];
}

def Profiler_ExitOp : Profiler_NoteOp<"exit"> {
  let summary = "leave the innermost scope of the user";
}

def Profiler_MarkOp : Op<Profiler_Dialect, "mark"> {
  let summary = "record a moment, and a value";
  let description = [{
    The value is an integer, or with `is_float` a float in the low half.
  }];
  let arguments = (ins StrAttr:$name, Optional<I64>:$value, UnitAttr:$is_float);
  let assemblyFormat = "$name (`,` $value^)? attr-dict";
}

#endif // TRITONEXT_PROFILER_IR_OPS_TD
