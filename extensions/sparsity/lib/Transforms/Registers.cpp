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

static Value indexOf(OpBuilder &builder, Location loc, size_t index) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), int32_t(index));
}

Registers::Registers(OpBuilder &builder, TypedValue<RankedTensorType> tensor)
    : type(tensor.getType()), values(registersOf(builder, tensor.getLoc(), tensor)) {
  auto name = [&](StringRef text) { return builder.getStringAttr(text); };
  triton::LinearLayout layout = ttg::toLinearLayout(type);
  for (auto i : llvm::seq(int32_t(values.size()))) {
    auto place = layout.apply(
        {{name("register"), i}, {name("lane"), 0}, {name("warp"), 0}, {name("block"), 0}});
    all.push_back({place[0].second, place[1].second});
    registers.try_emplace(all.back(), i);
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
  SmallVector<Value> elements;
  for (auto [row, column] : all)
    elements.push_back(at(row, column));
  return tensorOf(builder, loc, elements, type);
}

SmallVector<Value> registersOf(OpBuilder &builder, Location loc,
                               TypedValue<RankedTensorType> tensor) {
  LLVM::LLVMStructType type = structOf(tensor.getType());
  Value fields =
      UnrealizedConversionCastOp::create(builder, loc, type, ValueRange(tensor)).getResult(0);
  SmallVector<Value> elements;
  for (auto i : llvm::seq(int64_t(type.getBody().size())))
    elements.push_back(LLVM::ExtractValueOp::create(builder, loc, fields, ArrayRef<int64_t>{i}));
  return elements;
}

Value tensorOf(OpBuilder &builder, Location loc, ArrayRef<Value> elements, RankedTensorType type) {
  Value fields = LLVM::UndefOp::create(builder, loc, structOf(type));
  for (auto [index, element] : llvm::enumerate(elements))
    fields = LLVM::InsertValueOp::create(builder, loc, fields, element,
                                         ArrayRef<int64_t>{int64_t(index)});
  return UnrealizedConversionCastOp::create(builder, loc, type, fields).getResult(0);
}

Value vectorOf(OpBuilder &builder, Location loc, ArrayRef<Value> elements) {
  auto type = VectorType::get(int64_t(elements.size()), elements[0].getType());
  Value vector = LLVM::UndefOp::create(builder, loc, type);
  for (auto [index, element] : llvm::enumerate(elements))
    vector =
        LLVM::InsertElementOp::create(builder, loc, vector, element, indexOf(builder, loc, index));
  return vector;
}

/// Returns how many elements a register of 32 bits has.
static size_t elementsPerWord(Type element) { return 32 / element.getIntOrFloatBitWidth(); }

SmallVector<Value> packed(OpBuilder &builder, Location loc, ArrayRef<Value> elements) {
  size_t count = elementsPerWord(elements.front().getType());
  if (count == 1)
    return SmallVector<Value>(elements);
  SmallVector<Value> words;
  for (size_t begin = 0; begin < elements.size(); begin += count)
    words.push_back(LLVM::BitcastOp::create(builder, loc, builder.getI32Type(),
                                            vectorOf(builder, loc, elements.slice(begin, count))));
  return words;
}

SmallVector<Value> unpacked(OpBuilder &builder, Location loc, ArrayRef<Value> words, Type element) {
  size_t count = elementsPerWord(element);
  if (count == 1)
    return SmallVector<Value>(words);
  SmallVector<Value> elements;
  for (Value word : words) {
    Value vector =
        LLVM::BitcastOp::create(builder, loc, VectorType::get(int64_t(count), element), word);
    for (size_t i = 0; i < count; ++i)
      elements.push_back(
          LLVM::ExtractElementOp::create(builder, loc, vector, indexOf(builder, loc, i)));
  }
  return elements;
}

} // namespace tritonext::sparsity
