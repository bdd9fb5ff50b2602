#include "tritonext/Remarks.h"
#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "tlx-lower-pair-dots"

using namespace mlir;
using mlir::triton::LinearLayout;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LOWERPAIRDOTSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

// PTX ISA, tcgen05.mma with .cta_group::2 and an accumulator of 256 rows: each block has half of
// them, and N goes up in steps of 32.
constexpr int64_t rowsPerBlock = 128, columnStep = 32, maxColumns = 256;
// Bits of an operand that one instruction consumes along K.
constexpr int64_t bitsPerStep = 256;

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

LogicalResult lower(PairDotOp op) {
  auto a = cast<ttg::MemDescType>(op.getA().getType()),
       b = cast<ttg::MemDescType>(op.getB().getType()),
       d = cast<ttg::MemDescType>(op.getD().getType());
  auto isInTensorMemory = [](ttg::MemDescType type) {
    return isa<ttng::TensorMemoryEncodingAttr>(type.getEncoding());
  };
  bool isMatrix = a.getRank() == 2 && b.getRank() == 2 && d.getRank() == 2;
  if (!isMatrix || a.getShape()[0] != rowsPerBlock || d.getShape()[0] != rowsPerBlock ||
      b.getShape()[0] != a.getShape()[1] || d.getShape()[1] != 2 * b.getShape()[1] ||
      d.getShape()[1] % columnStep || d.getShape()[1] > maxColumns)
    return op->emitError("expected operands of 128 x K and K x N / 2 for an accumulator of 128 x "
                         "N, N a multiple of 32 up to 256, got ")
           << a << ", " << b << " and " << d;
  std::optional<Operand> left = operandOf(a.getElementType()),
                         right = operandOf(b.getElementType());
  std::optional<uint32_t> total = accumulatorOf(d.getElementType());
  int64_t step = bitsPerStep / std::max(a.getElementTypeBitWidth(), 1u);
  if (!left || !right || !total || left->kind != right->kind || a.getShape()[1] % step)
    return op->emitError("expected types that the tensor cores multiply, and whole steps of 256 "
                         "bits along K, got ")
           << a << ", " << b << " and " << d;
  if ((!isInTensorMemory(a) && !swizzledLayout(a)) || !swizzledLayout(b) || !isInTensorMemory(d))
    return op->emitError("expected operands in a swizzled layout of shared memory, and an "
                         "accumulator in tensor memory, got ")
           << a << ", " << b << " and " << d;

  OpBuilder builder(op);
  Location loc = op.getLoc();
  // One thread starts the product for all, so all have to be there.
  ttg::BarrierOp::create(builder, loc, ttg::AddrSpace::Local);
  Value rank = specialRegister(builder, loc, "cluster.ctarank");
  Value leads = inLeader(builder, loc, rank, op.getPred());

  SharedOperand columns(builder, loc, op.getB(), /*depth=*/0);
  std::optional<SharedOperand> rows;
  if (!isInTensorMemory(a))
    rows.emplace(builder, loc, op.getA(), /*depth=*/1);
  // PTX ISA, instruction descriptor of tcgen05.
  uint32_t descriptor = *total << 4 | left->code << 7 | right->code << 10 |
                        uint32_t(rows && rows->isTransposed()) << 15 |
                        uint32_t(columns.isTransposed()) << 16 |
                        uint32_t(d.getShape()[1] / 8) << 17 | uint32_t(2 * rowsPerBlock / 16) << 24;
  SmallVector<Value> operands = {leads, tensorMemoryAddress(builder, loc, op.getD()), op.getUseD()};
  std::string constraints = "b,r,b", text = "{ .reg .pred p, q; elect.sync _|p, -1; "
                                            "and.pred p, p, $0; and.pred q, $2, $2; ";
  auto add = [&](Value value, StringRef constraint) {
    constraints += ("," + constraint).str();
    operands.push_back(value);
    return "$" + llvm::utostr(operands.size() - 1);
  };
  std::string packed;
  if (!rows)
    packed = add(tensorMemoryAddress(builder, loc, op.getA()), "r");
  for (int64_t k = 0; k < a.getShape()[1]; k += step) {
    std::string first =
        rows ? add(rows->at(k), "l")
             : "[" + packed + " + " + llvm::itostr(k / step * bitsPerStep / 32) + "]";
    std::string second = add(columns.at(k), "l");
    if (k == step)
      text += "setp.eq.u32 q, 0, 0; ";
    llvm::raw_string_ostream(text)
        << "@p tcgen05.mma.cta_group::2.kind::" << left->kind << " [$1], " << first << ", "
        << second << ", " << descriptor << ", q; ";
  }
  buildAsm(builder, loc, TypeRange(), operands, text + "}", constraints + ",~{memory}");
  for (Value barrier : op.getBarriers())
    signalBoth(builder, loc, rank, leads, barrier);
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
      if (isa<PairDotOp, PairCommitOp>(op))
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
      error.attachNote() << "pass two_ctas=True to all products and commits, or to none";
      return signalPassFailure();
    }
    // Stock allocates tensor memory by it.
    getOperation()->setAttr(ttng::AttrTwoCTAsName, BoolAttr::get(&getContext(), true));
    for (Operation *op : ops) {
      if (auto commit = dyn_cast<PairCommitOp>(op)) {
        lower(commit);
        continue;
      }
      emitRemark(RemarkKind::Applied, op, DEBUG_TYPE, "lowered to an MMA of two blocks");
      if (failed(lower(cast<PairDotOp>(op))))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace tritonext::tlx
