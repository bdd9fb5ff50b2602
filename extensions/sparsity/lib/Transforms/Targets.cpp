#include "tritonext_sparsity/Transforms/Targets.h"
#include "tritonext_sparsity/IR/Layouts.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tritonext::sparsity {

std::string whyNotWarpGroups(const Product &product) {
  if (product.capability / 10 != 9)
    return "the target has no warp-group MMA";
  if (product.numWarps % 4)
    return llvm::itostr(product.numWarps) + " warps are no warp groups of 4";
  if (product.m % 64)
    return llvm::itostr(product.m) + " rows are no multiple of 64";
  return {};
}

std::string whyNoInstruction(const Product &product) {
  std::string target = "cuda:" + llvm::itostr(product.capability);
  if (product.capability < 80)
    return target + " has no sparse tensor cores";
  int64_t step = columnsPerStep(product.values);
  if (product.m % 16 || product.n % 8 || product.k % step)
    return "M, N and K are " + llvm::itostr(product.m) + ", " + llvm::itostr(product.n) + " and " +
           llvm::itostr(product.k) + ", no multiples of 16, 8 and " + llvm::itostr(step);
  std::string noGroups = whyNotWarpGroups(product);
  if (!isFp8(product.values) || noGroups.empty())
    return {};
  if (product.capability / 10 == 9)
    return target + " multiplies 8-bit floats by warp groups, but " + noGroups;
  if (product.capability != 89 && product.capability / 10 != 12)
    return target + " converts 8-bit floats to f16 first";
  if (!product.acc.isF32())
    return "warps add products of 8-bit floats in f32";
  return {};
}

} // namespace tritonext::sparsity
