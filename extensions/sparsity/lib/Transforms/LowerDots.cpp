#include "tritonext_sparsity/IR/Layouts.h"
#include "tritonext_sparsity/Transforms/Passes.h"
#include "tritonext_sparsity/Transforms/Registers.h"
#include "tritonext_sparsity/Transforms/Targets.h"

#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "sparsity-lower-dots"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_LOWERDOTSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

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
  Type left = dot.getValues().getType().getElementType(),
       right = dot.getB().getType().getElementType(),
       total = dot.getAcc().getType().getElementType();
  Registers values(builder, dot.getValues()), b(builder, dot.getB()), meta(builder, dot.getMeta()),
      sums(builder, dot.getAcc());

  // The tiles of 16 x 8 that the warp has, each by its first element.
  std::set<int64_t> rows, columns;
  for (auto [row, column] : sums.places()) {
    rows.insert(row & ~15);
    columns.insert(column & ~7);
  }

  // Elements in 32 bits, which a thread has consecutively along K.
  int64_t packed = 32 / left.getIntOrFloatBitWidth();
  int64_t step = columnsPerStep(left), bytesPerStep = step / columnsPerByte(left);
  bool isNarrow = packed == 4, isHalf = total.isF16();
  auto run = [&](int64_t row, int64_t column, bool isAlongRow) {
    SmallVector<Registers::Place, 4> places;
    for (int64_t i = 0; i < packed; ++i)
      places.push_back(isAlongRow ? Registers::Place(row, column + i)
                                  : Registers::Place(row + i, column));
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

  for (int64_t k = 0; k < dot.getB().getType().getShape()[0]; k += step) {
    int64_t selector = isNarrow ? 0 : k / step % 2;
    // What one register of the metadata describes begins with the even step.
    int64_t byte = (k / step - selector) * bytesPerStep;
    std::string sumName = total.isF32() ? "f32" : isHalf ? "f16" : "s32";
    std::string text = ("mma.sp::ordered_metadata.sync.aligned.m16n8k" + Twine(step) + ".row.col." +
                        sumName + "." + instructionType(left, dot.getUnsignedValues()) + "." +
                        instructionType(right, dot.getUnsignedB()) + "." + sumName + " {" + names +
                        "}, {" + operandNames(0) + "}, {" + operandNames(4) + "}, {" + names +
                        "}, $" + Twine(2 * numSums + 8) + ", " + Twine(selector) + ";")
                           .str();
    for (int64_t row : rows) {
      SmallVector<Value> first;
      for (int64_t column : {int64_t(0), 4 * packed})
        for (int64_t half : {0, 8})
          first.push_back(
              values.word(builder, loc, run(row + half, k / 2 + column, /*isAlongRow=*/true)));
      SmallVector<Registers::Place, 4> codes;
      for (int64_t half : {0, 8})
        for (int64_t i : {0, 1})
          codes.push_back(isNarrow ? Registers::Place(row, byte + half / 4 + i)
                                   : Registers::Place(row + half, byte + i));
      Value where = meta.word(builder, loc, codes);
      for (int64_t column : columns) {
        std::array<Registers::Place, 4> places = {
            {{row, column}, {row, column + 1}, {row + 8, column}, {row + 8, column + 1}}};
        auto sumAt = [&](int64_t i) -> Value & {
          return sums.at(places[i].first, places[i].second);
        };
        SmallVector<Value> operands;
        for (int64_t i = 0; i < numSums; ++i)
          operands.push_back(isHalf ? sums.word(builder, loc, ArrayRef(places).slice(2 * i, 2))
                                    : sumAt(i));
        llvm::append_range(operands, first);
        for (int64_t i = 0; i < 4; ++i)
          operands.push_back(
              b.word(builder, loc, run(k + 4 * packed * i, column, /*isAlongRow=*/false)));
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
            sumAt(i) = sum;
            continue;
          }
          sum = LLVM::BitcastOp::create(builder, loc, VectorType::get(2, total), sum);
          for (int64_t j : {0, 1})
            sumAt(2 * i + j) = LLVM::ExtractElementOp::create(
                builder, loc, sum,
                LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), int32_t(j)));
        }
      }
    }
  }

  dot.replaceAllUsesWith(sums.pack(builder, loc));
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
