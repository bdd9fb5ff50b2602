#include "tritonext_sparsity/IR/Layouts.h"

#include "triton/Dialect/TritonGPU/Transforms/Utility.h"
#include "triton/Tools/LinearLayout.h"

using namespace mlir;
using mlir::triton::LinearLayout;
namespace ttg = mlir::triton::gpu;

namespace {

using Bases = std::vector<std::vector<int32_t>>;

/// Returns the layout with these registers and lanes in the first 16 rows of a warp. All other rows
/// are where the accumulator has them.
ttg::LinearEncodingAttr layoutOf(RankedTensorType acc, Bases registers, const Bases &lanes,
                                 int64_t bytes) {
  MLIRContext *context = acc.getContext();
  auto name = [&](StringRef text) { return StringAttr::get(context, text); };
  LinearLayout sums = ttg::toLinearLayout(acc);
  auto rowsOf = [&](StringRef dimension, int32_t least) {
    Bases rows;
    for (const std::vector<int32_t> &basis : sums.getBases().lookup(name(dimension)))
      if (basis[0] >= least)
        rows.push_back({basis[0], 0});
    return rows;
  };
  llvm::append_range(registers, rowsOf("register", 16));
  LinearLayout layout({{name("register"), registers},
                       {name("lane"), lanes},
                       {name("warp"), rowsOf("warp", 0)},
                       {name("block"), rowsOf("block", 0)}},
                      {{name("dim0"), acc.getShape()[0]}, {name("dim1"), bytes}},
                      /*requireSurjective=*/true);
  return ttg::LinearEncodingAttr::get(context, layout);
}

} // namespace

ttg::NvidiaMmaEncodingAttr tritonext::sparsity::warpGroupLayout(RankedTensorType acc, Type element,
                                                                int numWarps) {
  ArrayRef<int64_t> shape = acc.getShape();
  SmallVector<unsigned, 2> warps = {4, 1};
  while (warps[0] * warps[1] < unsigned(numWarps))
    warps[shape[0] > 16 * int64_t(warps[0]) ? 0 : 1] *= 2;
  return ttg::NvidiaMmaEncodingAttr::get(acc.getContext(), /*versionMajor=*/3, /*versionMinor=*/0,
                                         warps, ttg::getCGALayout(acc.getEncoding()),
                                         mmaVersionToInstrShape(3, shape, element, numWarps));
}

Value tritonext::sparsity::inLayout(OpBuilder &builder, Value tensor, Attribute layout) {
  auto type = cast<RankedTensorType>(tensor.getType()).cloneWithEncoding(layout);
  return type == tensor.getType()
             ? tensor
             : Value(ttg::ConvertLayoutOp::create(builder, tensor.getLoc(), type, tensor));
}

ttg::LinearEncodingAttr tritonext::sparsity::metadataLayout(RankedTensorType acc, Type element,
                                                            int64_t bytes) {
  // A byte that a small matrix lacks is a copy of one that it has.
  auto column = [&](int32_t byte) { return std::vector<int32_t>{0, byte < bytes ? byte : 0}; };
  std::vector<int32_t> lowerHalf = {8, 0};
  bool isWide = element.getIntOrFloatBitWidth() > 8;
  Bases registers = {column(1), isWide ? lowerHalf : column(2)};
  Bases lanes = {isWide ? column(2) : lowerHalf, column(4), {1, 0}, {2, 0}, {4, 0}};
  for (int32_t byte = 8; byte < bytes; byte *= 2)
    registers.push_back(column(byte));
  return layoutOf(acc, std::move(registers), lanes, bytes);
}

ttg::LinearEncodingAttr tritonext::sparsity::waveMetadataLayout(RankedTensorType acc, int64_t step,
                                                                int64_t bytes) {
  // Four blocks of 16 lanes share the columns of an instruction.
  auto perStep = int32_t(step / 8), own = perStep / 4;
  Bases registers, lanes = {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {0, own}, {0, 2 * own}};
  for (int32_t byte = 1; byte < own; byte *= 2)
    registers.push_back({0, byte});
  for (int32_t byte = perStep; byte < bytes; byte *= 2)
    registers.push_back({0, byte});
  return layoutOf(acc, std::move(registers), lanes, bytes);
}
