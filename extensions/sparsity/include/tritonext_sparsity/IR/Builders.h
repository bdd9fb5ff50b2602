//===- Builders.h - Ops of the dialect for Python ---------------*- C++ -*-===//
//
// Python passes values only.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_SPARSITY_IR_BUILDERS_H
#define TRITONEXT_SPARSITY_IR_BUILDERS_H

#include "mlir/IR/Value.h"

#include <vector>

class TritonOpBuilder;

namespace tritonext::sparsity {

/// Builds `sparsity.dot` of values, meta, b and acc into `values[0]`.
void buildDot(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `sparsity.expand` of dense, values and meta into `values[0]`.
void buildExpand(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `sparsity.async_dot` of values, meta, b, acc and, when there is a fifth value, useC into
/// `values[0]`.
void buildAsyncDot(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `sparsity.warp_group_dot` of values, meta, b, acc and, when there is a fifth value, useC
/// into `values[0]`.
void buildWarpGroupDot(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

} // namespace tritonext::sparsity

#endif // TRITONEXT_SPARSITY_IR_BUILDERS_H
