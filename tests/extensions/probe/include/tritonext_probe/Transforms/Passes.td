#ifndef TRITONEXT_PROBE_TRANSFORMS_PASSES_TD
#define TRITONEXT_PROBE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTwicePass : Pass<"probe-lower-twice", "::mlir::triton::FuncOp"> {
  let summary = "Replace probe.twice by arithmetic";
  let description = [{
    Replaces `probe.twice` by a chain of `count` additions of its operand, or by one multiplication. Elements other
    than integers and floats have no such arithmetic and are an error.
  }];
  let options = [
    Option<"mode", "mode", "LowerMode", "::tritonext::probe::LowerMode::Add", "arithmetic to use",
           [{::llvm::cl::values(clEnumValN(::tritonext::probe::LowerMode::Add, "add", "additions"),
                                clEnumValN(::tritonext::probe::LowerMode::Mul, "mul", "one multiplication"))}]>,
    Option<"count", "count", "int64_t", "2", "how many times the operand is taken">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MarkModulePass : Pass<"probe-mark-module", "::mlir::ModuleOp"> {
  let summary = "Set the attribute probe.mark of the module";
  let options = [Option<"mark", "mark", "std::string", "\"seen\"", "value of the attribute">];
}

#endif // TRITONEXT_PROBE_TRANSFORMS_PASSES_TD
