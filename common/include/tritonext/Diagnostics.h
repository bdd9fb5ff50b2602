//===- Diagnostics.h - Errors of passes that carry more than text -*- C++ -*-===//
//
// A pass reports a mistake in a kernel as any MLIR pass does: an error at the op, a note at each
// other place involved or with the remedy, and then `signalPassFailure()`. In a kernel that
// compiles under a pipeline the SDK raises that as `tritonext.errors.KernelError`, with the lines
// of the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_DIAGNOSTICS_H
#define TRITONEXT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <cstdint>

namespace tritonext {

/// Says that the error is about a resource that ran out. The exception then also is Triton's
/// `OutOfResources`, with which an autotuner passes over a configuration. `name` is a literal.
void setExhaustedResource(mlir::InFlightDiagnostic &error, llvm::StringRef name, int64_t required,
                          int64_t limit);

} // namespace tritonext

#endif // TRITONEXT_DIAGNOSTICS_H
