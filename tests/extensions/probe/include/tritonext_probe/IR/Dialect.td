#ifndef TRITONEXT_PROBE_IR_DIALECT_TD
#define TRITONEXT_PROBE_IR_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Probe_Dialect : Dialect {
  let name = "probe";
  let cppNamespace = "::tritonext::probe";
  let summary = "Ops that only the SDK's tests use";
  let dependentDialects = ["::mlir::triton::TritonDialect"];
}

#endif // TRITONEXT_PROBE_IR_DIALECT_TD
