//===- TensorMemoryBuilders.h - Builders of ops on tensor memory -*- C++ -*-===//
//
// What kernels call through Triton's builder for tensor memory.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_TLX_IR_TENSORMEMORYBUILDERS_H
#define TRITONEXT_TLX_IR_TENSORMEMORYBUILDERS_H

#include "mlir/IR/Value.h"

#include <vector>

class TritonOpBuilder;

namespace tritonext::tlx {

/// Loads the buffer `values[1]` in tensor memory into a tensor.
void buildTmemLoad(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Stores the tensor `values[2]` to the buffer `values[1]` in tensor memory.
void buildTmemStore(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Lets the matrix product that was built last, right in front of the insertion point, go on
/// without anything that tells of its end. `values[1]` is any value and becomes the result.
void buildUntrackMma(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Starts a product of the pair of blocks: of `values[1]` and `values[2]` into `values[3]`, which
/// is added to when `values[4]` is true, if `values[5]` is true. It signals all further values.
void buildPairDot(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// As `buildPairDot`, with the scales `values[4]` and `values[5]` of both operands, their formats
/// `values[6]` and `values[7]` (0 for e4m3, 1 for e5m2, 2 for e2m1), and the other values behind.
void buildPairDotScaled(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Copies `values[1]` in shared memory to `values[2]` in tensor memory in both blocks of the pair.
void buildPairCopy(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Signals the barrier `values[1]` of both blocks of the pair, if `values[2]` is true, when their
/// products are over.
void buildPairCommit(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

} // namespace tritonext::tlx

#endif // TRITONEXT_TLX_IR_TENSORMEMORYBUILDERS_H
