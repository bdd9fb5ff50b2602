//===- DiagnosticCollection.h - The collecting side of errors ---*- C++ -*-===//

#ifndef TRITONEXT_LIB_DIAGNOSTICCOLLECTION_H
#define TRITONEXT_LIB_DIAGNOSTICCOLLECTION_H

namespace mlir {
class PassManager;
} // namespace mlir

namespace tritonext::detail {

/// The implementations behind the fields of the same names in `ExtensionInfo`.
void beginDiagnostics();
const char *endDiagnostics();

/// Lets `manager` report to the innermost collection of this thread, if there is one.
void collectFrom(mlir::PassManager &manager);

} // namespace tritonext::detail

#endif // TRITONEXT_LIB_DIAGNOSTICCOLLECTION_H
