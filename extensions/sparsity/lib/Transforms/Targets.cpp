#include "tritonext_sparsity/Transforms/Targets.h"
#include "tritonext_sparsity/IR/Layouts.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tritonext::sparsity {

Target targetOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto attribute = module->getAttrOfType<StringAttr>(triton::gpu::AttrTargetName);
  StringRef name = attribute ? attribute.getValue() : "";
  Target target = {name.str()};
  target.numBlocks = triton::gpu::lookupNumCTAs(op);
  if (name == "hip:gfx942")
    target.mfmaVersion = 3;
  else if (name == "hip:gfx950")
    target.mfmaVersion = 4;
  else if (name.consume_front("cuda:"))
    name.getAsInteger(10, target.capability);
  return target;
}

StringRef instructionType(Type type, bool isUnsigned) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  return type.isF32() ? "tf32" : isUnsigned ? "u8" : "s8";
}

std::string whyNotWarpGroups(const Product &product) {
  if (product.target.capability / 10 != 9)
    return "the target has no warp-group MMA";
  if (product.numWarps % 4)
    return llvm::itostr(product.numWarps) + " warps are no warp groups of 4";
  if (product.m % 64)
    return llvm::itostr(product.m) + " rows are no multiple of 64";
  // Without a swizzle the hardware reads columns in another order. Other types have K contiguous.
  if (product.values.getIntOrFloatBitWidth() == 16 && product.n < 16)
    return "rows of 8 columns of 16 bits are shorter than a swizzle of shared memory";
  return {};
}

static std::string noMultiples(const Product &product, int64_t columns, int64_t step) {
  return "M, N and K are " + llvm::itostr(product.m) + ", " + llvm::itostr(product.n) + " and " +
         llvm::itostr(product.k) + ", no multiples of 16, " + llvm::itostr(columns) + " and " +
         llvm::itostr(step);
}

static std::string whyNoWaveInstruction(const Product &product) {
  const std::string &target = product.target.name;
  Type element = product.values;
  bool areOcp = product.target.mfmaVersion >= 4;
  if (element.isF32() ||
      (isFp8(element) && isa<Float8E4M3FNType, Float8E5M2Type>(element) != areOcp))
    return target + " multiplies f16, bf16, i8, and of 8-bit floats " +
           (areOcp ? "f8E4M3FN and f8E5M2" : "f8E4M3FNUZ and f8E5M2FNUZ");
  if (product.hasUnsigned)
    return target + " multiplies signed integers";
  if (product.acc.getIntOrFloatBitWidth() != 32)
    return target + " adds products in 32 bits";
  int64_t step = columnsPerStep(element);
  if (product.m % 16 || product.n % 16 || product.k % step)
    return noMultiples(product, 16, step);
  return {};
}

std::string whyNoInstruction(const Product &product) {
  const std::string &target = product.target.name;
  if (product.target.numBlocks > 1)
    return "its tensors are spread over " + llvm::itostr(product.target.numBlocks) + " blocks";
  if (product.target.mfmaVersion)
    return whyNoWaveInstruction(product);
  if (product.target.capability < 80)
    return target + " has no sparse tensor cores";
  if (isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(product.values))
    return target + " multiplies of 8-bit floats f8E4M3FN and f8E5M2";
  int64_t step = columnsPerStep(product.values);
  if (product.m % 16 || product.n % 8 || product.k % step)
    return noMultiples(product, 8, step);
  std::string noGroups = whyNotWarpGroups(product);
  if (!isFp8(product.values) || noGroups.empty())
    return {};
  if (product.target.capability / 10 == 9)
    return target + " multiplies 8-bit floats by warp groups, but " + noGroups;
  if (product.target.capability != 89 && product.target.capability / 10 != 12)
    return target + " converts 8-bit floats to f16 first";
  if (!product.acc.isF32())
    return "warps add products of 8-bit floats in f32";
  return {};
}

} // namespace tritonext::sparsity
