#ifndef TRITONEXT_SPARSITY_TRANSFORMS_PASSES_TD
#define TRITONEXT_SPARSITY_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CarryForeignOpsPass : Pass<"sparsity-carry-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Take sparse products past the stock conversion to layouts";
  let description = [{
    The stock conversion fails on ops with tensors that it has no patterns for, so each becomes a call of a private
    function with the op's types, which the conversion knows. `sparsity-restore-foreign-ops` rebuilds the op from the call
    right after the conversion.
  }];
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::ub::UBDialect"];
}

def RestoreForeignOpsPass : Pass<"sparsity-restore-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Rebuild the ops that were taken past the conversion to layouts";
  let description = [{
    The other half of `sparsity-carry-foreign-ops`: each op gets the operands and result types that its call got.
  }];
}

#endif // TRITONEXT_SPARSITY_TRANSFORMS_PASSES_TD
