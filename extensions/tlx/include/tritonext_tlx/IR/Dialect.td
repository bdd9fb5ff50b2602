#ifndef TRITONEXT_TLX_IR_DIALECT_TD
#define TRITONEXT_TLX_IR_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Tlx_Dialect : Dialect {
  let name = "tlx";
  let cppNamespace = "::tritonext::tlx";
  let summary = "What a TLX kernel says and no stock dialect can";
  let description = [{
    Most of TLX is built from stock TritonGPU ops. This dialect holds what those cannot express before tensors have
    layouts, and what they lack.
  }];
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::triton::gpu::TritonGPUDialect"];
}

#endif // TRITONEXT_TLX_IR_DIALECT_TD
