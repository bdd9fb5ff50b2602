#ifndef TRITONEXT_TLX_TRANSFORMS_PASSES_TD
#define TRITONEXT_TLX_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CarryForeignOpsPass : Pass<"tlx-carry-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Take ops with tensors past the stock conversion to layouts";
  let description = [{
    A TLX kernel has ops of the GPU dialects, and of `tlx`, before its tensors have layouts. The stock conversion fails
    on those, so each becomes a call of a private function with the op's types, which the conversion knows.
    `tlx-restore-foreign-ops` rebuilds the op from the call right after the conversion.
  }];
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::ub::UBDialect"];
}

def RestoreForeignOpsPass : Pass<"tlx-restore-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Rebuild the ops that were taken past the conversion to layouts";
  let description = [{
    The other half of `tlx-carry-foreign-ops`: each op gets the operands and result types that its call got.
  }];
}

#endif // TRITONEXT_TLX_TRANSFORMS_PASSES_TD
