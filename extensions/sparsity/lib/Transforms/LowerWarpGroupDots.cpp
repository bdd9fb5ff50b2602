#include "tritonext/Remarks.h"
#include "tritonext/SharedMemory.h"
#include "tritonext_sparsity/IR/Dialect.h"
#include "tritonext_sparsity/IR/Layouts.h"
#include "tritonext_sparsity/Transforms/Passes.h"
#include "tritonext_sparsity/Transforms/Registers.h"
#include "tritonext_sparsity/Transforms/Targets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "sparsity-lower-warp-group-dots"

using namespace mlir;
using mlir::triton::LinearLayout;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_LOWERWARPGROUPDOTSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

// Rows of one instruction, those of one warp in it, and the warps and threads of a group.
constexpr int64_t rowsPerInstruction = 64, rowsPerWarp = 16;
constexpr int64_t warpsPerGroup = 4, threadsPerGroup = 128;

bool isWide(Type type) { return type.getIntOrFloatBitWidth() == 16; }

bool isTransposed(ttg::MemDescType type, unsigned depth) {
  return cast<ttg::NVMMASharedEncodingAttr>(type.getEncoding()).getTransposed() != (depth == 0);
}

/// Returns whether there is an instruction with so many columns (PTX ISA, wgmma.mma_async.sp).
bool isInstructionWidth(int64_t columns, Type element) {
  if (columns % 8 || columns < 8 || columns > 256)
    return false;
  return !element.isInteger(8) || columns == 8 || columns == 24 || columns % 16 == 0;
}

Value constant(OpBuilder &builder, Location loc, int64_t value, unsigned width = 32) {
  return arith::ConstantIntOp::create(builder, loc, value, width);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// How an operand in shared memory is described to the instruction (PTX ISA, matrix descriptor of
/// wgmma).
class SharedOperand {
public:
  /// `depth` is the dimension that is K, and `begins` says where along the other one the rows or
  /// columns of a warp group begin, for each bit of the number of the warp.
  SharedOperand(OpBuilder &builder, Location loc, Value buffer, unsigned depth, Value warp,
                ArrayRef<int32_t> begins)
      : builder(builder), loc(loc), type(cast<ttg::MemDescType>(buffer.getType())),
        elements(elementsOf(type)), depth(depth) {
    SharedView view = viewOf(builder, loc, buffer);
    Value begin = beginOf(builder, loc, view, elements);
    SmallVector<int32_t> bases;
    for (int32_t at : begins)
      bases.push_back(elementAtPlace(at, 0));
    begin = arith::XOrIOp::create(builder, loc, begin, selectBases(builder, loc, warp, bases));
    begin = arith::MulIOp::create(builder, loc, begin, constant(builder, loc, bytes(1)));
    Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), view.base);
    address = arith::AddIOp::create(builder, loc, address, begin);
    address = arith::ShRUIOp::create(builder, loc, address, constant(builder, loc, 4));
    // What is known of the address fits into the field; the mask keeps the other fields clean.
    address = arith::AndIOp::create(builder, loc, address, constant(builder, loc, 0x3fff));
    base = arith::OrIOp::create(builder, loc,
                                arith::ExtUIOp::create(builder, loc, builder.getI64Type(), address),
                                constant(builder, loc, int64_t(fixed()), 64));
  }

  /// Returns the descriptor of what starts `other` elements along rows or columns and `k` along K.
  Value at(int64_t other, int64_t k) const {
    return arith::AddIOp::create(builder, loc, base,
                                 constant(builder, loc, bytesAt(other, k) / 16, 64));
  }

private:
  int64_t bytes(int64_t count) const { return count * type.getElementTypeBitWidth() / 8; }

  int32_t elementAtPlace(int64_t other, int64_t k) const {
    SmallVector<int64_t> place = {other, k};
    if (depth == 0)
      std::swap(place[0], place[1]);
    return elementAt(elements, place);
  }

  /// Returns at which byte an element lies; below whole rows of swizzle that is one that no swizzle
  /// moves.
  int64_t bytesAt(int64_t other, int64_t k) const { return bytes(elementAtPlace(other, k)); }

  /// Returns all but the address.
  uint64_t fixed() const {
    auto layout = cast<ttg::NVMMASharedEncodingAttr>(type.getEncoding());
    uint64_t swizzle = layout.getSwizzlingByteWidth();
    uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
    int64_t others = type.getShape()[1 - depth];
    uint64_t leading = 1, stride;
    if (isTransposed(type, depth)) {
      // From one row of swizzle to the next along the other dimension, and from 8 of K to the next.
      int64_t row = swizzle * 8 / type.getElementTypeBitWidth();
      leading = others > row ? bytesAt(row, 0) / 16 : 1;
      stride = bytesAt(0, 8) / 16;
    } else {
      stride = bytesAt(8, 0) / 16;
    }
    return leading << 16 | stride << 32 | mode << 62;
  }

  OpBuilder &builder;
  Location loc;
  ttg::MemDescType type;
  LinearLayout elements;
  unsigned depth;
  Value base;
};

/// Returns for each bit of the number of a warp at which row or column its group begins.
SmallVector<int32_t> beginsOfGroups(RankedTensorType acc, unsigned dimension) {
  SmallVector<int32_t> begins;
  auto warps = StringAttr::get(acc.getContext(), "warp");
  for (auto [bit, basis] : llvm::enumerate(ttg::toLinearLayout(acc).getBases().lookup(warps)))
    begins.push_back((int64_t(1) << bit) < warpsPerGroup ? 0 : basis[dimension]);
  return begins;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Assembly whose accumulators are read and written.
class Assembly {
public:
  explicit Assembly(StringRef constraint, size_t accumulators) : count(accumulators) {
    for (size_t i = 0; i < count; ++i)
      constraints.push_back(("=" + constraint).str());
    for (size_t i = 0; i < count; ++i)
      constraints.push_back(llvm::utostr(i));
  }

  std::string accumulators() const { return "{" + registers(0, count) + "}"; }

  /// Adds operands, and returns how the text names them.
  std::string add(ArrayRef<Value> values, StringRef constraint) {
    size_t begin = 2 * count + operands.size();
    llvm::append_range(operands, values);
    constraints.append(values.size(), constraint.str());
    return registers(begin, values.size());
  }

  SmallVector<Value> build(OpBuilder &builder, Location loc, ArrayRef<Value> acc, StringRef text) {
    SmallVector<Value> all(acc);
    llvm::append_range(all, operands);
    SmallVector<Type> fields(count, acc.front().getType());
    auto structure = LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
    Value whole =
        buildAsm(builder, loc, structure, all, text, llvm::join(constraints, ",")).front();
    SmallVector<Value> results;
    for (int64_t i = 0; i < int64_t(count); ++i)
      results.push_back(LLVM::ExtractValueOp::create(builder, loc, whole, ArrayRef<int64_t>{i}));
    return results;
  }

private:
  static std::string registers(size_t begin, size_t number) {
    std::string text;
    for (size_t i = 0; i < number; ++i)
      text += (i ? ", $" : "$") + llvm::utostr(begin + i);
    return text;
  }

  size_t count;
  SmallVector<std::string> constraints;
  SmallVector<Value> operands;
};

/// The instructions of one product.
class Product {
public:
  Product(WarpGroupDotOp op, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()), acc(op.getAcc().getType()),
        values(cast<ShapedType>(op.getValues().getType())), b(op.getB().getType()) {
    ArrayRef<unsigned> warps = cast<ttg::NvidiaMmaEncodingAttr>(acc.getEncoding()).getWarpsPerCTA();
    SmallVector<int64_t> shape = ttg::getShapePerCTA(acc);
    columns = instructionShape()[1];
    rowStride = rowsPerWarp * warps[0];
    rowRepeats = std::max<int64_t>(1, shape[0] / rowStride);
    columnStride = columns * warps[1];
    columnRepeats = std::max<int64_t>(1, shape[1] / columnStride);
    step = columnsPerStep(values.getElementType());
    steps = b.getShape()[0] / step;
  }

  LogicalResult check();
  /// `wait` is the op that covers an asynchronous product.
  void lower(Operation *wait);

private:
  ArrayRef<unsigned> instructionShape() const {
    return cast<ttg::NvidiaMmaEncodingAttr>(acc.getEncoding()).getInstrShape();
  }

  /// Adds up to `count` steps from `first` on to the registers of one accumulator.
  SmallVector<Value> multiply(ArrayRef<Value> old, int64_t row, int64_t column, int64_t first,
                              int64_t count, Value useC);

  WarpGroupDotOp op;
  OpBuilder &builder;
  Location loc;
  RankedTensorType acc;
  ShapedType values;
  ttg::MemDescType b;
  int64_t columns, rowRepeats, columnRepeats, rowStride, columnStride, step, steps;
  std::optional<SharedOperand> left, right;
  SmallVector<Value> registers, metadata;
};

LogicalResult Product::check() {
  Type element = values.getElementType();
  if (!isInstructionWidth(columns, b.getElementType()))
    return op->emitError("expected a layout of the accumulator with columns that an instruction "
                         "has for ")
           << element << ", got " << columns;
  auto isRead = [&](ttg::MemDescType type, unsigned depth) -> LogicalResult {
    auto layout = cast<ttg::NVMMASharedEncodingAttr>(type.getEncoding());
    if (layout.getSwizzlingByteWidth() == 0)
      return op->emitError("expected operands in swizzled shared memory, got ") << type;
    if (!isWide(type.getElementType()) && isTransposed(type, depth))
      return op->emitError("expected K as the contiguous dimension of operands that have not 16 "
                           "bits, got ")
             << type;
    return success();
  };
  auto memory = dyn_cast<ttg::MemDescType>(op.getValues().getType());
  if ((memory && failed(isRead(memory, 1))) || failed(isRead(b, 0)))
    return failure();
  return success();
}

SmallVector<Value> Product::multiply(ArrayRef<Value> old, int64_t row, int64_t column,
                                     int64_t first, int64_t count, Value useC) {
  Type element = values.getElementType();
  StringRef accType = acc.getElementType().isInteger(32) ? "s32"
                      : acc.getElementType().isF16()     ? "f16"
                                                         : "f32";
  Assembly assembly(accType == "f32" ? "f" : "r", old.size());
  std::string text = "{ .reg .pred p; ";
  llvm::raw_string_ostream stream(text);
  if (useC)
    stream << "setp.ne.u32 p, " << assembly.add(useC, "r") << ", 0; ";
  else
    stream << "setp.eq.u32 p, 0, 0; ";
  for (int64_t k = first; k < first + count; ++k) {
    std::string a;
    if (left) {
      a = assembly.add(left->at(row * rowStride, k * step / 2), "l");
    } else {
      auto four = ArrayRef(registers).slice((row * steps + k) * 4, 4);
      a = "{" + assembly.add(four, "r") + "}";
    }
    std::string other = assembly.add(right->at(column * columnStride, k * step), "l");
    // A word of metadata serves two steps of types other than those of 8 bits.
    int64_t share = element.getIntOrFloatBitWidth() == 8 ? 1 : 2;
    int64_t words = std::max<int64_t>(1, steps / share);
    std::string meta = assembly.add(metadata[row * words + k / share], "r");
    stream << "wgmma.mma_async.sp.sync.aligned.m64n" << columns << "k" << step << "." << accType
           << "." << instructionType(element, op.getUnsignedValues()) << "."
           << instructionType(b.getElementType(), op.getUnsignedB()) << " "
           << assembly.accumulators() << ", " << a << ", " << other << ", " << meta << ", "
           << k % share << ", p";
    if (accType != "s32")
      stream << ", 1, 1";
    if (isWide(element)) {
      if (left)
        stream << ", "
               << int(isTransposed(cast<ttg::MemDescType>(op.getValues().getType()), /*depth=*/1));
      stream << ", " << int(isTransposed(b, /*depth=*/0));
    }
    stream << "; ";
    if (k == first && useC)
      stream << "setp.eq.u32 p, 0, 0; ";
  }
  stream << "}";
  return assembly.build(builder, loc, old, text);
}

void Product::lower(Operation *wait) {
  Value warp = ttg::WarpIdOp::create(builder, loc, /*omitUniformHint=*/false);
  Value source = op.getValues();
  if (isa<ttg::MemDescType>(source.getType()))
    left.emplace(builder, loc, source, /*depth=*/1, warp, beginsOfGroups(acc, 0));
  else
    registers =
        packed(builder, loc, registersOf(builder, loc, cast<TypedValue<RankedTensorType>>(source)));
  right.emplace(builder, loc, op.getB(), /*depth=*/0, warp, beginsOfGroups(acc, 1));
  metadata = packed(builder, loc, registersOf(builder, loc, op.getMeta()));
  Type element = acc.getElementType();
  SmallVector<Value> sums = packed(builder, loc, registersOf(builder, loc, op.getAcc()));
  Value useC;
  if (op.getUseC())
    useC = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), op.getUseC());

  // Stock counts elements of K that one partial sum has, zero for all of them.
  int64_t limit = op.getMaxNumImpreciseAcc();
  bool isPartial =
      isFp8(values.getElementType()) && element.isF32() && limit && limit < steps * step;
  int64_t chunk = isPartial ? std::max<int64_t>(1, limit / step) : steps;
  size_t size =
      columns * rowsPerInstruction / threadsPerGroup * element.getIntOrFloatBitWidth() / 32;
  auto fence = [&] {
    buildAsm(builder, loc, TypeRange(), ValueRange(), "wgmma.fence.sync.aligned;", "~{memory}");
  };
  auto commit = [&] {
    buildAsm(builder, loc, TypeRange(), ValueRange(), "wgmma.commit_group.sync.aligned;",
             "~{memory}");
  };
  auto each = [&](auto &&function) {
    for (int64_t row = 0; row < rowRepeats; ++row)
      for (int64_t column = 0; column < columnRepeats; ++column)
        function(row, column, (row * columnRepeats + column) * size);
  };
  auto store = [&](SmallVector<Value> &target, size_t begin, ArrayRef<Value> results) {
    llvm::copy(results, target.begin() + begin);
  };
  if (!isPartial) {
    fence();
    each([&](int64_t row, int64_t column, size_t begin) {
      store(sums, begin, multiply(ArrayRef(sums).slice(begin, size), row, column, 0, steps, useC));
    });
    commit();
  } else {
    Value zero = LLVM::ConstantOp::create(builder, loc, element, builder.getF32FloatAttr(0));
    Value never = constant(builder, loc, 0);
    if (useC) {
      Value used = op.getUseC();
      for (Value &sum : sums)
        sum = arith::SelectOp::create(builder, loc, used, sum, zero);
    }
    for (int64_t first = 0; first < steps; first += chunk) {
      SmallVector<Value> part(sums.size(), zero);
      fence();
      each([&](int64_t row, int64_t column, size_t begin) {
        store(part, begin,
              multiply(ArrayRef(part).slice(begin, size), row, column, first,
                       std::min(chunk, steps - first), never));
      });
      commit();
      Assembly wait("f", part.size());
      part = wait.build(builder, loc, part, "wgmma.wait_group.sync.aligned 0;");
      for (auto [sum, more] : llvm::zip_equal(sums, part))
        sum = arith::AddFOp::create(builder, loc, sum, more);
    }
  }
  Value result = tensorOf(builder, loc, unpacked(builder, loc, sums, element), acc);
  if (!op.getIsAsync()) {
    result = ttng::WarpGroupDotWaitOp::create(builder, loc, ValueRange{result}, /*pendings=*/0)
                 .getResult(0);
  } else {
    builder.setInsertionPointAfter(wait);
  }
  SmallVector<Value> held(metadata);
  llvm::append_range(held, registers);
  SmallVector<StringRef> constraints(held.size(), "r");
  buildAsm(builder, loc, TypeRange(), held, "// the registers are read until here",
           llvm::join(constraints, ","));
  op.getD().replaceAllUsesWith(result);
  op.erase();
}

/// Returns the first wait in the block behind which a product is over, or null.
Operation *coveringWait(WarpGroupDotOp dot) {
  unsigned newer = 0;
  for (Operation *next = dot->getNextNode(); next; next = next->getNextNode()) {
    if (auto wait = dyn_cast<ttng::WarpGroupDotWaitOp>(next); wait && wait.getPendings() <= newer)
      return wait;
    newer += isa<WarpGroupDotOp, ttng::WarpGroupDotOp>(next);
  }
  return nullptr;
}

/// Builds such a wait where the block ends.
Operation *waitAtEnd(WarpGroupDotOp dot) {
  Block *block = dot->getBlock();
  Value latest = dot.getD();
  for (Operation *next = dot->getNextNode(); next; next = next->getNextNode()) {
    if (auto other = dyn_cast<WarpGroupDotOp>(next); other && other.getAcc() == latest)
      latest = other.getD();
    else if (auto wait = dyn_cast<ttng::WarpGroupDotWaitOp>(next))
      for (auto [input, output] : llvm::zip_equal(wait.getInputs(), wait.getOutputs()))
        if (input == latest)
          latest = output;
  }
  OpBuilder builder(block->getTerminator());
  auto wait = ttng::WarpGroupDotWaitOp::create(builder, dot.getLoc(), ValueRange{latest},
                                               /*pendings=*/0);
  latest.replaceUsesWithIf(wait.getResult(0), [&](OpOperand &use) {
    return use.getOwner() == block->getTerminator() || use.getOwner()->getBlock() != block;
  });
  emitRemark(RemarkKind::Applied, dot, DEBUG_TYPE,
             "ended the product with its block: its metadata stays in registers until then");
  return wait;
}

class LowerWarpGroupDotsPass : public impl::LowerWarpGroupDotsPassBase<LowerWarpGroupDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<WarpGroupDotOp> dots;
    getOperation()->walk([&](WarpGroupDotOp dot) { dots.push_back(dot); });
    // Found while all products are still there to be counted.
    SmallVector<Operation *> waits;
    for (WarpGroupDotOp dot : dots) {
      Operation *wait = dot.getIsAsync() ? coveringWait(dot) : nullptr;
      waits.push_back(dot.getIsAsync() && !wait ? waitAtEnd(dot) : wait);
    }
    for (auto [dot, wait] : llvm::zip_equal(dots, waits)) {
      OpBuilder builder(dot);
      Product product(dot, builder);
      if (failed(product.check()))
        return signalPassFailure();
      emitRemark(RemarkKind::Applied, dot, DEBUG_TYPE, "lowered to sparse warp-group MMA");
      product.lower(wait);
    }
  }
};

} // namespace
} // namespace tritonext::sparsity
