#include "tritonext_sparsity/IR/Layouts.h"

#include "triton/Tools/LinearLayout.h"

using namespace mlir;
using mlir::triton::LinearLayout;
namespace ttg = mlir::triton::gpu;

ttg::LinearEncodingAttr tritonext::sparsity::metadataLayout(RankedTensorType acc, Type element,
                                                            int64_t bytes) {
  MLIRContext *context = acc.getContext();
  auto name = [&](StringRef text) { return StringAttr::get(context, text); };
  LinearLayout rows = ttg::toLinearLayout(acc);
  // A byte that a small matrix lacks is a copy of one that it has.
  auto column = [&](int32_t byte) { return std::vector<int32_t>{0, byte < bytes ? byte : 0}; };
  auto rowsOf = [&](StringRef dimension, int32_t above) {
    std::vector<std::vector<int32_t>> bases;
    for (const std::vector<int32_t> &basis : rows.getBases().lookup(name(dimension)))
      if (basis[0] > above || above < 0)
        bases.push_back({basis[0], 0});
    return bases;
  };
  std::vector<int32_t> lowerHalf = {8, 0};
  bool isWide = element.getIntOrFloatBitWidth() > 8;

  std::vector<std::vector<int32_t>> registers = {column(1), isWide ? lowerHalf : column(2)};
  std::vector<std::vector<int32_t>> lanes = {isWide ? column(2) : lowerHalf, column(4)};
  for (int32_t row : {1, 2, 4})
    lanes.push_back({row, 0});
  for (int32_t byte = 8; byte < bytes; byte *= 2)
    registers.push_back(column(byte));
  llvm::append_range(registers, rowsOf("register", 8));

  LinearLayout layout({{name("register"), registers},
                       {name("lane"), lanes},
                       {name("warp"), rowsOf("warp", -1)},
                       {name("block"), rowsOf("block", -1)}},
                      {{name("dim0"), acc.getShape()[0]}, {name("dim1"), bytes}},
                      /*requireSurjective=*/true);
  return ttg::LinearEncodingAttr::get(context, layout);
}

ttg::LinearEncodingAttr tritonext::sparsity::waveMetadataLayout(RankedTensorType acc, int64_t step,
                                                                int64_t bytes) {
  MLIRContext *context = acc.getContext();
  auto name = [&](StringRef text) { return StringAttr::get(context, text); };
  LinearLayout rows = ttg::toLinearLayout(acc);
  auto rowsOf = [&](StringRef dimension, int32_t above) {
    std::vector<std::vector<int32_t>> bases;
    for (const std::vector<int32_t> &basis : rows.getBases().lookup(name(dimension)))
      if (basis[0] > above || above < 0)
        bases.push_back({basis[0], 0});
    return bases;
  };
  // Four blocks of 16 lanes share the columns of an instruction.
  auto perStep = int32_t(step / 8), own = perStep / 4;
  std::vector<std::vector<int32_t>> registers, lanes = {{1, 0}, {2, 0}, {4, 0}, {8, 0}};
  for (int32_t byte = 1; byte < own; byte *= 2)
    registers.push_back({0, byte});
  lanes.push_back({0, own});
  lanes.push_back({0, 2 * own});
  for (int32_t byte = perStep; byte < bytes; byte *= 2)
    registers.push_back({0, byte});
  llvm::append_range(registers, rowsOf("register", 8));

  LinearLayout layout({{name("register"), registers},
                       {name("lane"), lanes},
                       {name("warp"), rowsOf("warp", -1)},
                       {name("block"), rowsOf("block", -1)}},
                      {{name("dim0"), acc.getShape()[0]}, {name("dim1"), bytes}},
                      /*requireSurjective=*/true);
  return ttg::LinearEncodingAttr::get(context, layout);
}
