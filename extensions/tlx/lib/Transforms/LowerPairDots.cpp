#include "tritonext/Remarks.h"
#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tlx-lower-pair-dots"

using namespace mlir;
using mlir::triton::LinearLayout;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LOWERPAIRDOTSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

// PTX ISA, tcgen05.mma with .cta_group::2: each block has half of 256 rows of an accumulator, and N
// goes up in steps of 32. With half of 128 rows its right half of columns lies in the lanes from 64
// on (data path layout B), as a buffer of 128 rows has it.
constexpr int64_t lanes = 128, rowsPerBlock = 128, foldedRows = 64, columnStep = 32,
                  maxColumns = 256;
// Bits of an operand that one instruction consumes along K.
constexpr int64_t bitsPerStep = 256;
// Elements along K with one scale.
constexpr int64_t scaleBlock = 32;

/// What an instruction descriptor says of a type, and the kind of the instruction.
struct Operand {
  StringRef kind;
  uint32_t code;
};

std::optional<Operand> operandOf(Type type) {
  if (type.isF16())
    return Operand{"f16", 0};
  if (type.isBF16())
    return Operand{"f16", 1};
  if (type.isF32())
    return Operand{"tf32", 2};
  if (isa<Float8E4M3FNType>(type))
    return Operand{"f8f6f4", 0};
  if (isa<Float8E5M2Type>(type))
    return Operand{"f8f6f4", 1};
  if (type.isInteger(8))
    return Operand{"i8", 1};
  return std::nullopt;
}

/// What an instruction descriptor says of the type of an accumulator.
std::optional<uint32_t> accumulatorOf(Type type) {
  if (type.isF16())
    return 0;
  if (type.isF32())
    return 1;
  if (type.isInteger(32))
    return 2;
  return std::nullopt;
}

/// Returns the layout of an operand in shared memory that the instruction reads, or none.
ttg::NVMMASharedEncodingAttr swizzledLayout(ttg::MemDescType type) {
  auto layout = dyn_cast<ttg::NVMMASharedEncodingAttr>(type.getEncoding());
  return layout && layout.getSwizzlingByteWidth() ? layout : ttg::NVMMASharedEncodingAttr();
}

/// How an operand in shared memory is described to the instruction (PTX ISA, shared memory
/// descriptor of tcgen05).
class SharedOperand {
public:
  /// `depth` is the dimension that is K.
  SharedOperand(OpBuilder &builder, Location loc, Value buffer, unsigned depth)
      : builder(builder), loc(loc), type(cast<ttg::MemDescType>(buffer.getType())),
        elements(elementsOf(type)), depth(depth) {
    SharedView view = viewOf(builder, loc, buffer);
    Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), view.base);
    Value begin = beginOf(builder, loc, view, elements);
    begin = arith::MulIOp::create(builder, loc, begin,
                                  arith::ConstantIntOp::create(builder, loc, bytes(1), 32));
    address = arith::AddIOp::create(builder, loc, address, begin);
    address = arith::ShRUIOp::create(builder, loc, address,
                                     arith::ConstantIntOp::create(builder, loc, 4, 32));
    base = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), address);
  }

  /// Whether the other dimension, and not K, lies contiguously in memory.
  bool isTransposed() const { return swizzledLayout(type).getTransposed() != (depth == 0); }

  /// Returns the descriptor of what starts `k` elements along K.
  Value at(int64_t k) const {
    uint64_t text = fixed() + bytesAt(0, k) / 16;
    return arith::AddIOp::create(builder, loc, base,
                                 arith::ConstantIntOp::create(builder, loc, int64_t(text), 64));
  }

private:
  int64_t bytes(int64_t count) const { return count * type.getElementTypeBitWidth() / 8; }

  /// Returns at which byte an element lies; below whole rows of swizzle that is one that no swizzle
  /// moves.
  int64_t bytesAt(int64_t other, int64_t k) const {
    SmallVector<int64_t> place = {other, k};
    if (depth == 0)
      std::swap(place[0], place[1]);
    return bytes(elementAt(elements, place));
  }

  /// Returns all but the address.
  uint64_t fixed() const {
    int64_t swizzle = swizzledLayout(type).getSwizzlingByteWidth();
    uint64_t mode = swizzle == 128 ? 2 : swizzle == 64 ? 4 : 6;
    int64_t others = type.getShape()[1 - depth];
    uint64_t leading = 0, stride;
    if (isTransposed()) {
      // From one row of swizzle to the next along the other dimension, and from 8 of K to the next.
      int64_t row = swizzle * 8 / type.getElementTypeBitWidth();
      leading = others > row ? bytesAt(row, 0) / 16 : 0;
      stride = bytesAt(0, 8) / 16;
    } else {
      stride = bytesAt(8, 0) / 16;
    }
    constexpr uint64_t version = 1;
    return leading << 16 | stride << 32 | version << 46 | mode << 61;
  }

  OpBuilder &builder;
  Location loc;
  ttg::MemDescType type;
  LinearLayout elements;
  unsigned depth;
  Value base;
};

/// Returns the address of a buffer in tensor memory.
Value tensorMemoryAddress(OpBuilder &builder, Location loc, Value buffer) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  Value converted = UnrealizedConversionCastOp::create(builder, loc, pointer, buffer).getResult(0);
  return LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), converted);
}

/// Returns the condition, and that the warp is the first one of its task in the block that acts for
/// the pair.
Value inLeader(OpBuilder &builder, Location loc, Value rank, Value condition) {
  Value one = arith::ConstantIntOp::create(builder, loc, 1, 32);
  Value odd = arith::AndIOp::create(builder, loc, rank, one);
  Value even = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, odd,
                                     arith::ConstantIntOp::create(builder, loc, 0, 32));
  return arith::AndIOp::create(builder, loc, even, inFirstWarp(builder, loc, condition));
}

/// Builds the signal to a barrier of both blocks, if `leads` is true in one thread of the warp.
void signalBoth(OpBuilder &builder, Location loc, Value rank, Value leads, Value barrier) {
  // The bits of both blocks, of which the first has an even rank.
  Value first =
      arith::AndIOp::create(builder, loc, rank, arith::ConstantIntOp::create(builder, loc, -2, 32));
  Value mask =
      arith::ShLIOp::create(builder, loc, arith::ConstantIntOp::create(builder, loc, 3, 32), first);
  mask = arith::TruncIOp::create(builder, loc, builder.getI16Type(), mask);
  buildAsm(builder, loc, TypeRange(), {leads, viewOf(builder, loc, barrier).base, mask},
           "{ .reg .pred p; elect.sync _|p, -1; and.pred p, p, $0; @p "
           "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster."
           "b64 [$1], $2; }",
           "b,r,h,~{memory}");
}

void lower(PairCommitOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value rank = specialRegister(builder, loc, "cluster.ctarank");
  signalBoth(builder, loc, rank, inLeader(builder, loc, rank, op.getPred()), op.getBarrier());
  op.erase();
}

void lower(PairCopyOp op) {
  OpBuilder builder(op);
  // One thread starts the copy for all, so all have to be there.
  ttg::BarrierOp::create(builder, op.getLoc(), ttg::AddrSpace::Local);
  ttng::TMEMCopyOp::create(builder, op.getLoc(), op.getSrc(), op.getDst());
  op.erase();
}

bool isInTensorMemory(ttg::MemDescType type) {
  return isa<ttng::TensorMemoryEncodingAttr>(type.getEncoding());
}

/// Returns the field of an instruction descriptor with the columns of the sum (PTX ISA, instruction
/// descriptor of tcgen05); each block has half of those of `b`.
uint32_t sizeField(ttg::MemDescType b) { return uint32_t(2 * b.getShape()[1] / 8) << 17; }

/// The instructions of a product, one for each step along K, which one thread of the pair runs.
class Instructions {
public:
  Instructions(OpBuilder &builder, Location loc, Value total, Value useTotal, Value condition)
      : builder(builder), loc(loc) {
    // One thread starts the product for all, so all have to be there.
    ttg::BarrierOp::create(builder, loc, ttg::AddrSpace::Local);
    rank = specialRegister(builder, loc, "cluster.ctarank");
    leads = inLeader(builder, loc, rank, condition);
    operands = {leads, tensorMemoryAddress(builder, loc, total), useTotal};
  }

  /// Returns the name of an operand.
  std::string add(Value value, StringRef constraint) {
    constraints += ("," + constraint).str();
    operands.push_back(value);
    return "$" + llvm::utostr(operands.size() - 1);
  }

  /// Adds the product of one step along K; from the second one on it is added to the accumulator.
  void step(StringRef kind, StringRef rows, StringRef columns, uint32_t descriptor,
            StringRef scales = "") {
    if (steps++ == 1)
      text += "setp.eq.u32 q, 0, 0; ";
    llvm::raw_string_ostream(text)
        << "@p tcgen05.mma.cta_group::2.kind::" << kind << " [$1], " << rows << ", " << columns
        << ", " << descriptor << ", " << scales << "q; ";
  }

  void build(ValueRange barriers) {
    buildAsm(builder, loc, TypeRange(), operands, text + "}", constraints + ",~{memory}");
    for (Value barrier : barriers)
      signalBoth(builder, loc, rank, leads, barrier);
  }

private:
  OpBuilder &builder;
  Location loc;
  Value rank, leads;
  SmallVector<Value> operands;
  std::string constraints = "b,r,b";
  std::string text =
      "{ .reg .pred p, q; elect.sync _|p, -1; and.pred p, p, $0; and.pred q, $2, $2; ";
  unsigned steps = 0;
};

/// Whether the sizes are those of a product of two blocks with so many rows in each; elements of an
/// operand along K may share one of its type.
bool haveSizes(ttg::MemDescType a, ttg::MemDescType b, ttg::MemDescType d, int64_t rows,
               int64_t inA = 1, int64_t inB = 1) {
  if (a.getRank() != 2 || b.getRank() != 2 || d.getRank() != 2)
    return false;
  int64_t columns = 2 * b.getShape()[1];
  return a.getShape()[0] == rows && b.getShape()[0] * inB == a.getShape()[1] * inA &&
         d.getShape() == ArrayRef<int64_t>{lanes, rows * columns / lanes} &&
         columns % columnStep == 0 && columns <= maxColumns;
}

LogicalResult lower(PairDotOp op) {
  auto a = cast<ttg::MemDescType>(op.getA().getType()),
       b = cast<ttg::MemDescType>(op.getB().getType()),
       d = cast<ttg::MemDescType>(op.getD().getType());
  bool isFolded = haveSizes(a, b, d, foldedRows);
  if (!isFolded && !haveSizes(a, b, d, rowsPerBlock))
    return op->emitError("expected operands of 128 x K and K x N / 2 for an accumulator of 128 x "
                         "N, or of 64 x K for one of 128 x N / 2, N a multiple of 32 up to 256, "
                         "got ")
           << a << ", " << b << " and " << d;
  std::optional<Operand> left = operandOf(a.getElementType()),
                         right = operandOf(b.getElementType());
  std::optional<uint32_t> total = accumulatorOf(d.getElementType());
  int64_t step = bitsPerStep / std::max(a.getElementTypeBitWidth(), 1u);
  if (!left || !right || !total || left->kind != right->kind || a.getShape()[1] % step)
    return op->emitError("expected types that the tensor cores multiply, and whole steps of 256 "
                         "bits along K, got ")
           << a << ", " << b << " and " << d;
  bool mayBeInTensorMemory = !isFolded && isInTensorMemory(a);
  if ((!mayBeInTensorMemory && !swizzledLayout(a)) || !swizzledLayout(b) || !isInTensorMemory(d))
    return op->emitError("expected operands in a swizzled layout of shared memory, and an "
                         "accumulator in tensor memory, got ")
           << a << ", " << b << " and " << d;

  OpBuilder builder(op);
  Location loc = op.getLoc();
  Instructions instructions(builder, loc, op.getD(), op.getUseD(), op.getPred());
  SharedOperand columns(builder, loc, op.getB(), /*depth=*/0);
  std::optional<SharedOperand> rows;
  std::string packed;
  if (isInTensorMemory(a))
    packed = instructions.add(tensorMemoryAddress(builder, loc, op.getA()), "r");
  else
    rows.emplace(builder, loc, op.getA(), /*depth=*/1);
  // PTX ISA, instruction descriptor of tcgen05.
  uint32_t descriptor = *total << 4 | left->code << 7 | right->code << 10 |
                        uint32_t(rows && rows->isTransposed()) << 15 |
                        uint32_t(columns.isTransposed()) << 16 | sizeField(b) |
                        uint32_t(2 * a.getShape()[0] / 16) << 24;
  for (int64_t k = 0; k < a.getShape()[1]; k += step) {
    std::string first =
        rows ? instructions.add(rows->at(k), "l")
             : "[" + packed + " + " + llvm::itostr(k / step * bitsPerStep / 32) + "]";
    std::string second = instructions.add(columns.at(k), "l");
    instructions.step(left->kind, first, second, descriptor);
  }
  instructions.build(op.getBarriers());
  op.erase();
  return success();
}

/// Returns what an instruction descriptor says of a format beside one of 8 bits, or none.
std::optional<uint32_t> codeOf(tt::ScaleDotElemType type) {
  switch (type) {
  case tt::ScaleDotElemType::E4M3:
    return 0;
  case tt::ScaleDotElemType::E5M2:
    return 1;
  case tt::ScaleDotElemType::E2M1:
    return 5;
  default:
    return std::nullopt;
  }
}

/// Returns in which column of 32 bits, counted from the first one of a buffer of scales, those of
/// the elements from `k` along K on lie.
int64_t scalesColumn(ttg::MemDescType scales, int64_t k) {
  MLIRContext *context = scales.getContext();
  LinearLayout places = ttg::toLinearLayout(scales).pseudoinvert();
  auto column = StringAttr::get(context, "col");
  SmallVector<StringAttr> inputs = llvm::to_vector(places.getInDimNames());
  for (auto [name, at] : places.apply({{inputs[0], 0}, {inputs[1], int32_t(k / scaleBlock)}}))
    if (name == column)
      return at * scales.getElementTypeBitWidth() / 32;
  llvm_unreachable("tensor memory has columns");
}

LogicalResult lower(PairDotScaledOp op) {
  auto a = cast<ttg::MemDescType>(op.getA().getType()),
       b = cast<ttg::MemDescType>(op.getB().getType()),
       d = cast<ttg::MemDescType>(op.getD().getType()),
       aScale = cast<ttg::MemDescType>(op.getAScale().getType()),
       bScale = cast<ttg::MemDescType>(op.getBScale().getType());
  bool isA4 = op.getAType() == tt::ScaleDotElemType::E2M1,
       isB4 = op.getBType() == tt::ScaleDotElemType::E2M1;
  // Two operands of 4 bits have instructions of their own, of twice as many elements.
  bool bothPacked = isA4 && isB4;
  int64_t step = bitsPerStep / (bothPacked ? 4 : 8), depth = a.getShape().back() * (isA4 ? 2 : 1);
  if (!haveSizes(a, b, d, rowsPerBlock, isA4 ? 2 : 1, isB4 ? 2 : 1) || depth % step)
    return op->emitError("expected operands of 128 x K and K x N / 2 for an accumulator of 128 x "
                         "N, N a multiple of 32 up to 256 and K one of ")
           << step << ", got " << a << ", " << b << " and " << d;
  auto areScales = [&](ttg::MemDescType type, int64_t rows) {
    return isa<ttng::TensorMemoryScalesEncodingAttr>(type.getEncoding()) &&
           type.getElementType().isInteger(8) &&
           type.getShape() == ArrayRef<int64_t>{rows, depth / scaleBlock};
  };
  if (!areScales(aScale, rowsPerBlock) || !areScales(bScale, d.getShape()[1]))
    return op->emitError("expected scales in tensor memory, of 8 bits for each row of A, each "
                         "column of the accumulator and each 32 elements along K, got ")
           << aScale << " and " << bScale;
  std::optional<uint32_t> left = codeOf(op.getAType()), right = codeOf(op.getBType());
  auto isOperand = [&](ttg::MemDescType type, bool is4) {
    ttg::NVMMASharedEncodingAttr layout = swizzledLayout(type);
    return layout && type.getElementTypeBitWidth() == 8 &&
           layout.getFp4Padded() == (is4 && !bothPacked);
  };
  if (!left || !right || !isOperand(a, isA4) || !isOperand(b, isB4) || !isInTensorMemory(d) ||
      !d.getElementType().isF32() || swizzledLayout(a).getTransposed() ||
      !swizzledLayout(b).getTransposed())
    return op->emitError("expected operands of e4m3, e5m2 or e2m1 in a swizzled layout of shared "
                         "memory with K contiguous, those of 4 bits padded beside others, and an "
                         "accumulator of f32 in tensor memory, got ")
           << a << ", " << b << " and " << d;

  OpBuilder builder(op);
  Location loc = op.getLoc();
  Instructions instructions(builder, loc, op.getD(), op.getUseD(), op.getPred());
  std::string aScales = instructions.add(tensorMemoryAddress(builder, loc, op.getAScale()), "r"),
              bScales = instructions.add(tensorMemoryAddress(builder, loc, op.getBScale()), "r");
  SharedOperand rows(builder, loc, op.getA(), /*depth=*/1),
      columns(builder, loc, op.getB(), /*depth=*/0);
  // PTX ISA, instruction descriptor of tcgen05 with block scaling; scales are e8m0.
  uint32_t descriptor = (bothPacked ? 1 : *left) << 7 | (bothPacked ? 1 : *right) << 10 |
                        sizeField(b) | 1u << 23 | uint32_t(2 * rowsPerBlock / 128) << 27;
  for (int64_t k = 0; k < depth; k += step) {
    // Which of the four scales in a column are those of the first elements.
    uint32_t first = k / scaleBlock % 4;
    std::string scales = llvm::formatv("[{0} + {1}], [{2} + {3}], ", aScales,
                                       scalesColumn(aScale, k), bScales, scalesColumn(bScale, k));
    std::string from = instructions.add(rows.at(k / (isA4 ? 2 : 1)), "l"),
                by = instructions.add(columns.at(k / (isB4 ? 2 : 1)), "l");
    instructions.step(bothPacked ? "mxf4.block_scale.block32" : "mxf8f6f4.block_scale.block32",
                      from, by, descriptor | first << 4 | first << 29, scales);
  }
  instructions.build(op.getBarriers());
  op.erase();
  return success();
}

class LowerPairDotsPass : public impl::LowerPairDotsPassBase<LowerPairDotsPass> {
public:
  using impl::LowerPairDotsPassBase<LowerPairDotsPass>::LowerPairDotsPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    Operation *single = nullptr;
    getOperation().walk([&](Operation *op) {
      if (isa<PairDotOp, PairDotScaledOp, PairCopyOp, PairCommitOp>(op))
        ops.push_back(op);
      else if (isa<ttng::MMAv5OpInterface, ttng::TCGen5CommitOp, ttng::TMEMCopyOp>(op))
        single = op;
    });
    if (ops.empty())
      return;
    if (single) {
      InFlightDiagnostic error = single->emitError(
          "expected tensor core work of two blocks, as elsewhere in the kernel, got that of one");
      error.attachNote(ops.front()->getLoc()) << "two blocks work together here";
      error.attachNote() << "pass two_ctas=True to all products, copies and commits, or to none";
      return signalPassFailure();
    }
    // Stock allocates tensor memory by it.
    getOperation()->setAttr(ttng::AttrTwoCTAsName, BoolAttr::get(&getContext(), true));
    for (Operation *op : ops) {
      if (auto commit = dyn_cast<PairCommitOp>(op)) {
        lower(commit);
        continue;
      }
      if (auto copy = dyn_cast<PairCopyOp>(op)) {
        lower(copy);
        continue;
      }
      emitRemark(RemarkKind::Applied, op, DEBUG_TYPE, "lowered to an MMA of two blocks");
      auto scaled = dyn_cast<PairDotScaledOp>(op);
      if (failed(scaled ? lower(scaled) : lower(cast<PairDotOp>(op))))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace tritonext::tlx
