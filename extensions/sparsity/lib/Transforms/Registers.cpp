#include "tritonext_sparsity/Transforms/Registers.h"
#include "tritonext_sparsity/IR/Layouts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Tools/LinearLayout.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::sparsity {

/// Returns the struct that a tensor is after the conversion to LLVM.
static LLVM::LLVMStructType structOf(RankedTensorType type) {
  Type element = type.getElementType();
  if (isFp8(element))
    element = IntegerType::get(type.getContext(), 8);
  SmallVector<Type> fields(ttg::getTotalElemsPerThread(type), element);
  return LLVM::LLVMStructType::getLiteral(type.getContext(), fields);
}

Registers::Registers(OpBuilder &builder, TypedValue<RankedTensorType> tensor)
    : type(tensor.getType()) {
  Location loc = tensor.getLoc();
  Value fields =
      UnrealizedConversionCastOp::create(builder, loc, structOf(type), ValueRange(tensor))
          .getResult(0);
  auto name = [&](StringRef text) { return builder.getStringAttr(text); };
  triton::LinearLayout layout = ttg::toLinearLayout(type);
  for (int32_t i = 0, end = int32_t(ttg::getTotalElemsPerThread(type)); i < end; ++i) {
    auto place = layout.apply(
        {{name("register"), i}, {name("lane"), 0}, {name("warp"), 0}, {name("block"), 0}});
    all.push_back({place[0].second, place[1].second});
    registers.try_emplace(all.back(), i);
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, fields, ArrayRef<int64_t>{i}));
  }
}

Value Registers::word(OpBuilder &builder, Location loc, ArrayRef<Place> where) {
  SmallVector<Value, 4> elements;
  for (auto [row, column] : where)
    elements.push_back(at(row, column));
  Value packed = elements.size() == 1 ? elements[0] : vectorOf(builder, loc, elements);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), packed);
}

Value Registers::pack(OpBuilder &builder, Location loc) {
  Value fields = LLVM::UndefOp::create(builder, loc, structOf(type));
  for (auto [index, place] : llvm::enumerate(all))
    fields = LLVM::InsertValueOp::create(builder, loc, fields, at(place.first, place.second),
                                         ArrayRef<int64_t>{int64_t(index)});
  return UnrealizedConversionCastOp::create(builder, loc, type, fields).getResult(0);
}

Value vectorOf(OpBuilder &builder, Location loc, ArrayRef<Value> elements) {
  auto type = VectorType::get(int64_t(elements.size()), elements[0].getType());
  Value vector = LLVM::UndefOp::create(builder, loc, type);
  for (auto [index, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(
        builder, loc, vector, element,
        LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), int32_t(index)));
  return vector;
}

} // namespace tritonext::sparsity
