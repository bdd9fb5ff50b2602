#include "tritonext_sparsity/IR/Layouts.h"
#include "tritonext_sparsity/Transforms/Passes.h"
#include "tritonext_sparsity/Transforms/Registers.h"

#include "triton/Dialect/Triton/IR/Dialect.h"

#define DEBUG_TYPE "sparsity-lower-wave-dots"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_LOWERWAVEDOTSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

/// Returns the name of a type of operands in intrinsics.
StringRef nameOf(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType, Float8E4M3FNUZType>(type))
    return "fp8";
  return type.isInteger(8) ? "i8" : "bf8";
}

class Lowering {
public:
  Lowering(DotOp dot, ttg::AMDMfmaEncodingAttr mfma)
      : dot(dot), builder(dot), loc(dot.getLoc()), left(dot.getValues().getType().getElementType()),
        right(dot.getB().getType().getElementType()),
        total(dot.getAcc().getType().getElementType()), k(dot.getB().getType().getShape()[0]),
        step(columnsPerWaveStep(left, k, mfma.getVersion())), values(builder, dot.getValues()),
        b(builder, dot.getB()), meta(builder, dot.getMeta()), acc(builder, dot.getAcc()) {}

  void run() {
    std::set<int64_t> rows, columns;
    for (auto [row, column] : acc.places()) {
      rows.insert(row & ~15);
      columns.insert(column & ~15);
    }
    // A byte of metadata for two values, and four bytes of an index register.
    int64_t own = step / 8, stepsPerIndex = 16 / own;
    for (int64_t i = 0; i < k / step; ++i)
      for (int64_t row : rows) {
        Value where = index(row, i - i % stepsPerIndex, stepsPerIndex);
        SmallVector<Value> kept;
        for (int64_t j = 0; j < own; ++j)
          kept.push_back(values.at(row, i * step / 2 + j));
        Value first = operand(kept, left);
        for (int64_t column : columns)
          multiply(row, column, i, first, where, int32_t(i % stepsPerIndex));
      }
    // The stock analysis of axes takes the rank of a cast from what is cast, here a struct, and
    // fails where a loop carries the result. It knows nothing of bitcasts, which cost nothing.
    RankedTensorType type = dot.getAcc().getType();
    Type other = total.isF32() ? Type(builder.getI32Type()) : Type(builder.getF32Type());
    Value tensor = acc.pack(builder, loc);
    for (Type element : {other, total})
      tensor = triton::BitcastOp::create(builder, loc, type.clone(element), tensor);
    dot.replaceAllUsesWith(tensor);
    dot.erase();
  }

private:
  Value constant(int32_t number) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), number);
  }

  /// Returns elements as the intrinsic takes them: bytes in words, and bf16 as words of 16 bits
  /// where the instruction is as old as that.
  Value operand(ArrayRef<Value> elements, Type type) {
    Value vector = vectorOf(builder, loc, elements);
    int64_t number = int64_t(elements.size());
    if (type.getIntOrFloatBitWidth() == 8)
      return LLVM::BitcastOp::create(builder, loc,
                                     VectorType::get(number / 4, builder.getI32Type()), vector);
    if (type.isBF16() && step == columnsPerStep(left))
      return LLVM::BitcastOp::create(builder, loc, VectorType::get(number, builder.getI16Type()),
                                     vector);
    return vector;
  }

  /// Returns the index register of `count` steps from `first` on, zeros for those behind the last.
  Value index(int64_t row, int64_t first, int64_t count) {
    int64_t own = step / 32;
    SmallVector<Value, 4> bytes;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t byte = 0; byte < own; ++byte)
        bytes.push_back(
            first + i < k / step
                ? meta.at(row, (first + i) * step / 8 + byte)
                : LLVM::ConstantOp::create(builder, loc, builder.getI8Type(), 0).getResult());
    return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(),
                                   vectorOf(builder, loc, bytes));
  }

  void multiply(int64_t row, int64_t column, int64_t number, Value first, Value where,
                int32_t abid) {
    // What a thread has of the columns: runs of 16 bytes, by the four blocks of lanes.
    int64_t run = 128 / left.getIntOrFloatBitWidth();
    SmallVector<Value> elements;
    for (int64_t begin = 0; begin < step; begin += 4 * run)
      for (int64_t i = 0; i < run; ++i)
        elements.push_back(b.at(number * step + begin + i, column));
    SmallVector<Value> sums;
    for (int64_t i = 0; i < 4; ++i)
      sums.push_back(acc.at(row + i, column));
    std::string name = ("llvm.amdgcn.smfmac." + Twine(total.isF32() ? "f32" : "i32") + ".16x16x" +
                        Twine(step) + "." + nameOf(left))
                           .str();
    if (isFp8(left))
      name += ("." + nameOf(right)).str();
    Value result = LLVM::CallIntrinsicOp::create(
                       builder, loc, VectorType::get(4, total), builder.getStringAttr(name),
                       ValueRange{first, operand(elements, right), vectorOf(builder, loc, sums),
                                  where, constant(0), constant(abid)})
                       .getResult(0);
    for (int64_t i = 0; i < 4; ++i)
      acc.at(row + i, column) =
          LLVM::ExtractElementOp::create(builder, loc, result, constant(int32_t(i)));
  }

  DotOp dot;
  OpBuilder builder;
  Location loc;
  Type left, right, total;
  int64_t k, step;
  Registers values, b, meta, acc;
};

/// Returns the layout of the accumulator if the layouts are those that `sparsity-accelerate-dots`
/// gives a product of waves.
ttg::AMDMfmaEncodingAttr acceleratedLayout(DotOp dot) {
  RankedTensorType acc = dot.getAcc().getType(), values = dot.getValues().getType();
  auto mfma = dyn_cast_or_null<ttg::AMDMfmaEncodingAttr>(acc.getEncoding());
  if (!mfma || mfma.getIsTransposed() || mfma.getInstrShape().take_front(2) != ArrayRef{16u, 16u})
    return {};
  Type element = values.getElementType();
  int64_t step = columnsPerWaveStep(element, dot.getB().getType().getShape()[0], mfma.getVersion());
  auto isOperand = [&](RankedTensorType type, unsigned index, unsigned width) {
    return type.getEncoding() ==
           ttg::DotOperandEncodingAttr::get(dot.getContext(), index, mfma, width);
  };
  bool fits = isOperand(values, 0, unsigned(step / 8)) &&
              isOperand(dot.getB().getType(), 1, 128 / element.getIntOrFloatBitWidth()) &&
              dot.getMeta().getType().getEncoding() ==
                  waveMetadataLayout(acc, step, dot.getMeta().getType().getShape()[1]);
  return fits ? mfma : ttg::AMDMfmaEncodingAttr();
}

class LowerWaveDotsPass : public impl::LowerWaveDotsPassBase<LowerWaveDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation()->walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots) {
      ttg::AMDMfmaEncodingAttr mfma = acceleratedLayout(dot);
      if (!mfma) {
        dot->emitError("expected the layouts of a product of waves, got ")
            << dot.getValues().getType() << ", " << dot.getMeta().getType() << ", "
            << dot.getB().getType() << " and " << dot.getAcc().getType();
        return signalPassFailure();
      }
      Lowering(dot, mfma).run();
    }
  }
};

} // namespace
} // namespace tritonext::sparsity
