//===- Targets.h - Which products a target has ------------------*- C++ -*-===//

#ifndef TRITONEXT_SPARSITY_TRANSFORMS_TARGETS_H
#define TRITONEXT_SPARSITY_TRANSFORMS_TARGETS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace tritonext::sparsity {

/// A target as far as it matters here: of NVIDIA its compute capability, of AMD the version of its
/// MFMA, 0 where it has no sparse ones; and over how many blocks of a cluster a tensor is spread.
struct Target {
  std::string name;
  int capability = 0;
  unsigned mfmaVersion = 0;
  int numBlocks = 1;
};

/// Returns the target that the module of an op is compiled for.
Target targetOf(mlir::Operation *op);

/// A sparse product, as far as it matters to which instructions multiply it.
struct Product {
  mlir::Type values, acc;
  int64_t m, n, k;
  int numWarps;
  Target target;
  bool hasUnsigned = false;
};

/// Returns the name that a type of operands has in instructions of NVIDIA.
llvm::StringRef instructionType(mlir::Type type, bool isUnsigned);

/// Returns why warp groups do not multiply this, or nothing.
std::string whyNotWarpGroups(const Product &product);

/// Returns why no instruction of the target multiplies this, or nothing. 8-bit floats that hardware
/// would convert to f16 first count as not multiplied.
std::string whyNoInstruction(const Product &product);

} // namespace tritonext::sparsity

#endif // TRITONEXT_SPARSITY_TRANSFORMS_TARGETS_H
