#ifndef TRITONEXT_PROBE_TRANSFORMS_PASSES_TD
#define TRITONEXT_PROBE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTwicePass : Pass<"probe-lower-twice", "::mlir::triton::FuncOp"> {
  let summary = "Replace probe.twice by arithmetic";
  let description = [{
    Replaces `probe.twice` by a chain of `count` additions of its operand, or by one multiplication. Elements other
    than integers and floats have no such arithmetic and are an error. With `late`, ops whose tensors have no layout yet
    are left for a run after the conversion to layouts.
  }];
  let options = [
    Option<"mode", "mode", "LowerMode", "::tritonext::probe::LowerMode::Add", "arithmetic to use",
           [{::llvm::cl::values(clEnumValN(::tritonext::probe::LowerMode::Add, "add", "additions"),
                                clEnumValN(::tritonext::probe::LowerMode::Mul, "mul", "one multiplication"))}]>,
    Option<"count", "count", "int64_t", "2", "how many times the operand is taken">,
    Option<"late", "late", "bool", "false", "wait until tensors have layouts">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def CarryForeignOpsPass : Pass<"probe-carry-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Replace ops that the conversion to layouts does not know by calls";
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::ub::UBDialect"];
}

def RestoreForeignOpsPass : Pass<"probe-restore-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Rebuild the ops that were replaced by calls";
}

def MarkModulePass : Pass<"probe-mark-module", "::mlir::ModuleOp"> {
  let summary = "Set the attribute probe.mark of the module";
  let options = [Option<"mark", "mark", "std::string", "\"seen\"", "value of the attribute">];
}

#endif // TRITONEXT_PROBE_TRANSFORMS_PASSES_TD
