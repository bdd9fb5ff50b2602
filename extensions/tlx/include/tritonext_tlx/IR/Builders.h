//===- Builders.h - Ops of the dialect for Python ---------------*- C++ -*-===//
//
// Python passes values only. What else an op needs is an attribute, which Python sets on the op
// through its result.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_TLX_IR_BUILDERS_H
#define TRITONEXT_TLX_IR_BUILDERS_H

#include "mlir/IR/Value.h"

#include <vector>

class TritonOpBuilder;

namespace tritonext::tlx {

/// Builds `tlx.async_dot` of a, b, c and, when there is a fifth value, useC into `values[0]`.
void buildAsyncDot(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

} // namespace tritonext::tlx

#endif // TRITONEXT_TLX_IR_BUILDERS_H
