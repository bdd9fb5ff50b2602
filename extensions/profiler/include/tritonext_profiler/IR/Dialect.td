#ifndef TRITONEXT_PROFILER_IR_DIALECT_TD
#define TRITONEXT_PROFILER_IR_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Profiler_Dialect : Dialect {
  let name = "profiler";
  let cppNamespace = "::tritonext::profiler";
  let summary = "Where a profiled kernel records what its warps do";
}

#endif // TRITONEXT_PROFILER_IR_DIALECT_TD
