#include "tritonext_sparsity/IR/Layouts.h"
#include "tritonext_sparsity/Transforms/Passes.h"

#include "triton/Tools/LinearLayout.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "sparsity-lower-dots"

using namespace mlir;
using mlir::triton::LinearLayout;
namespace ttg = mlir::triton::gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_LOWERDOTSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

/// Returns the type that an element has after the conversion to LLVM.
Type elementInRegister(Type element) {
  return isFp8(element) ? IntegerType::get(element.getContext(), 8) : element;
}

LLVM::LLVMStructType structOf(RankedTensorType type) {
  SmallVector<Type> fields(ttg::getTotalElemsPerThread(type),
                           elementInRegister(type.getElementType()));
  return LLVM::LLVMStructType::getLiteral(type.getContext(), fields);
}

/// The registers of a tensor in the first thread, by the coordinates of what they hold. Another
/// thread has what lies as far away in each of its registers.
class Fragment {
public:
  explicit Fragment(RankedTensorType type) {
    MLIRContext *context = type.getContext();
    auto name = [&](StringRef text) { return StringAttr::get(context, text); };
    LinearLayout layout = ttg::toLinearLayout(type);
    for (int32_t i = 0, end = int32_t(ttg::getTotalElemsPerThread(type)); i < end; ++i) {
      auto place = layout.apply(
          {{name("register"), i}, {name("lane"), 0}, {name("warp"), 0}, {name("block"), 0}});
      places.push_back({place[0].second, place[1].second});
      registers.try_emplace(places.back(), i);
    }
  }

  using Place = std::pair<int32_t, int32_t>;

  /// Where each register stands; several may hold the same.
  ArrayRef<Place> all() const { return places; }

  int64_t at(int32_t row, int32_t column) const { return registers.at({row, column}); }

private:
  std::vector<Place> places;
  std::map<Place, int64_t> registers;
};

/// Reads the registers of an operand, as 32-bit operands of instructions.
class Operand {
public:
  Operand(OpBuilder &builder, Location loc, TypedValue<RankedTensorType> tensor)
      : builder(builder), loc(loc), fragment(tensor.getType()),
        element(elementInRegister(tensor.getType().getElementType())),
        registers(UnrealizedConversionCastOp::create(builder, loc, structOf(tensor.getType()),
                                                     ValueRange(tensor))
                      .getResult(0)) {}

  Value element32(ArrayRef<Fragment::Place> places) {
    auto read = [&](Fragment::Place place) -> Value {
      return LLVM::ExtractValueOp::create(
          builder, loc, registers, ArrayRef<int64_t>{fragment.at(place.first, place.second)});
    };
    if (places.size() == 1)
      return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), read(places[0]));
    auto type = VectorType::get(int64_t(places.size()), element);
    Value packed = LLVM::UndefOp::create(builder, loc, type);
    for (auto [index, place] : llvm::enumerate(places))
      packed = LLVM::InsertElementOp::create(
          builder, loc, packed, read(place),
          LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), int32_t(index)));
    return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), packed);
  }

private:
  OpBuilder &builder;
  Location loc;
  Fragment fragment;
  Type element;
  Value registers;
};

/// Returns the name of a type in instructions.
StringRef nameOf(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  return type.isInteger(8) ? "s8" : "tf32";
}

/// Returns whether the layouts are those that `sparsity-accelerate-dots` gives a product of warps.
bool isAccelerated(DotOp dot) {
  RankedTensorType acc = dot.getAcc().getType(), values = dot.getValues().getType();
  auto mma = dyn_cast_or_null<ttg::NvidiaMmaEncodingAttr>(acc.getEncoding());
  if (!mma || !mma.isAmpere())
    return false;
  Type element = values.getElementType();
  auto isOperand = [&](RankedTensorType type, unsigned index) {
    return type.getEncoding() ==
           ttg::DotOperandEncodingAttr::get(dot.getContext(), index, mma, element);
  };
  return isOperand(values, 0) && isOperand(dot.getB().getType(), 1) &&
         dot.getMeta().getType().getEncoding() ==
             metadataLayout(acc, element, dot.getMeta().getType().getShape()[1]);
}

LogicalResult lower(DotOp dot) {
  if (!isAccelerated(dot))
    return dot->emitError("expected the layouts of a product of warps, got ")
           << dot.getValues().getType() << ", " << dot.getMeta().getType() << ", "
           << dot.getB().getType() << " and " << dot.getAcc().getType();
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  RankedTensorType type = dot.getAcc().getType();
  Type left = dot.getValues().getType().getElementType(),
       right = dot.getB().getType().getElementType(), total = type.getElementType();
  Operand values(builder, loc, dot.getValues()), b(builder, loc, dot.getB()),
      meta(builder, loc, dot.getMeta());

  Fragment accumulator(type);
  Value initial =
      UnrealizedConversionCastOp::create(builder, loc, structOf(type), ValueRange(dot.getAcc()))
          .getResult(0);
  SmallVector<Value> sums;
  for (int64_t i = 0, end = int64_t(accumulator.all().size()); i < end; ++i)
    sums.push_back(LLVM::ExtractValueOp::create(builder, loc, initial, ArrayRef<int64_t>{i}));
  // The tiles of 16 x 8 that the warp has, each by its first element.
  std::set<int32_t> rows, columns;
  for (auto [row, column] : accumulator.all()) {
    rows.insert(row & ~15);
    columns.insert(column & ~7);
  }

  // Elements in 32 bits, which a thread has consecutively along K.
  auto packed = int32_t(32 / left.getIntOrFloatBitWidth());
  auto step = int32_t(columnsPerStep(left)), bytesPerStep = step / int32_t(columnsPerByte(left));
  bool isNarrow = packed == 4, isHalf = total.isF16();
  auto run = [&](int32_t row, int32_t column, bool isAlongRow) {
    SmallVector<Fragment::Place, 4> places;
    for (int32_t i = 0; i < packed; ++i)
      places.push_back(isAlongRow ? Fragment::Place(row, column + i)
                                  : Fragment::Place(row + i, column));
    return places;
  };
  Type sumType = isHalf ? builder.getI32Type() : total;
  int64_t numSums = isHalf ? 2 : 4;
  auto resultType =
      LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(numSums, sumType));
  std::string constraints, names;
  StringRef letter = total.isF32() ? "f" : "r";
  for (int64_t i = 0; i < numSums; ++i) {
    constraints += ("=" + letter + ",").str();
    names += (i ? ", $" : "$") + llvm::itostr(i);
  }
  for (int64_t i = 0; i < numSums; ++i)
    constraints += llvm::itostr(i) + ",";
  constraints += "r,r,r,r,r,r,r,r,r";
  auto operandNames = [&](int64_t first) {
    std::string text;
    for (int64_t i = first; i < first + 4; ++i)
      text += (i > first ? ", $" : "$") + llvm::itostr(2 * numSums + i);
    return text;
  };

  for (int32_t k = 0; k < dot.getB().getType().getShape()[0]; k += step) {
    int32_t selector = isNarrow ? 0 : k / step % 2;
    // What one register of the metadata describes begins with the even step.
    int32_t byte = (k / step - selector) * bytesPerStep;
    std::string sumName = total.isF32() ? "f32" : isHalf ? "f16" : "s32";
    std::string text = ("mma.sp::ordered_metadata.sync.aligned.m16n8k" + Twine(step) + ".row.col." +
                        sumName + "." + nameOf(left) + "." + nameOf(right) + "." + sumName + " {" +
                        names + "}, {" + operandNames(0) + "}, {" + operandNames(4) + "}, {" +
                        names + "}, $" + Twine(2 * numSums + 8) + ", " + Twine(selector) + ";")
                           .str();
    for (int32_t row : rows) {
      SmallVector<Value> first;
      for (int32_t column : {0, 4 * packed})
        for (int32_t half : {0, 8})
          first.push_back(values.element32(run(row + half, k / 2 + column, /*isAlongRow=*/true)));
      SmallVector<Fragment::Place, 4> places;
      for (int32_t half : {0, 8})
        for (int32_t i : {0, 1})
          places.push_back(isNarrow ? Fragment::Place(row, byte + half / 4 + i)
                                    : Fragment::Place(row + half, byte + i));
      Value where = meta.element32(places);
      for (int32_t column : columns) {
        std::array<int64_t, 4> places = {
            accumulator.at(row, column), accumulator.at(row, column + 1),
            accumulator.at(row + 8, column), accumulator.at(row + 8, column + 1)};
        SmallVector<Value> operands;
        for (int64_t i = 0; i < 4; i += isHalf ? 2 : 1) {
          if (!isHalf) {
            operands.push_back(sums[places[i]]);
            continue;
          }
          Value pair = LLVM::UndefOp::create(builder, loc, VectorType::get(2, total));
          for (int64_t j : {0, 1})
            pair = LLVM::InsertElementOp::create(
                builder, loc, pair, sums[places[i + j]],
                LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), int32_t(j)));
          operands.push_back(LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), pair));
        }
        llvm::append_range(operands, first);
        for (int32_t i = 0; i < 4; ++i)
          operands.push_back(b.element32(run(k + 4 * packed * i, column, /*isAlongRow=*/false)));
        operands.push_back(where);
        Value result =
            LLVM::InlineAsmOp::create(
                builder, loc, resultType, operands, text, constraints, /*has_side_effects=*/true,
                /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
                /*operand_attrs=*/ArrayAttr())
                .getResult(0);
        for (int64_t i = 0; i < numSums; ++i) {
          Value sum = LLVM::ExtractValueOp::create(builder, loc, result, ArrayRef<int64_t>{i});
          if (!isHalf) {
            sums[places[i]] = sum;
            continue;
          }
          sum = LLVM::BitcastOp::create(builder, loc, VectorType::get(2, total), sum);
          for (int64_t j : {0, 1})
            sums[places[2 * i + j]] = LLVM::ExtractElementOp::create(
                builder, loc, sum,
                LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), int32_t(j)));
        }
      }
    }
  }

  Value result = LLVM::UndefOp::create(builder, loc, structOf(type));
  for (auto [index, place] : llvm::enumerate(accumulator.all()))
    result = LLVM::InsertValueOp::create(builder, loc, result,
                                         sums[accumulator.at(place.first, place.second)],
                                         ArrayRef<int64_t>{int64_t(index)});
  dot.replaceAllUsesWith(
      UnrealizedConversionCastOp::create(builder, loc, type, result).getResult(0));
  dot.erase();
  return success();
}

class LowerDotsPass : public impl::LowerDotsPassBase<LowerDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation()->walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots)
      if (failed(lower(dot)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::sparsity
