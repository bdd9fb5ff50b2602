#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "tlx-lower-remote-accesses"

using namespace mlir;
using mlir::triton::LinearLayout;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LOWERREMOTEACCESSESPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// How the threads of a task share out the elements of a buffer: each has runs of `width` elements
/// that lie next to each other in memory, and next to those of its neighbours.
struct Sharing {
  int32_t width;
  /// Numbers of elements in memory, for each bit of the lane and of the warp, and for each run.
  SmallVector<int32_t> lanes, warps, runs;
  ttg::LinearEncodingAttr layout;
};

Sharing shareOut(ttg::MemDescType buffer, int32_t numWarps) {
  MLIRContext *context = buffer.getContext();
  LinearLayout elements = elementsOf(buffer);
  // One bit of a coordinate: its dimension, its value, and the element it leads to.
  struct Bit {
    unsigned dim;
    int32_t value, element;
  };
  SmallVector<Bit> bits;
  SmallVector<std::pair<StringAttr, int32_t>> sizes;
  for (auto [dim, size] : llvm::enumerate(buffer.getShape())) {
    auto name = StringAttr::get(context, "dim" + Twine(dim));
    sizes.push_back({name, int32_t(size)});
    for (int32_t bit = 0; (1 << bit) < size; ++bit)
      bits.push_back({unsigned(dim), 1 << bit, elements.getBasis(name, bit).front()});
  }
  // A swizzle adds lower bits to those of a row. By the highest one the order is that of memory.
  llvm::sort(bits, [](const Bit &a, const Bit &b) { return a.element < b.element; });

  int32_t bytes = buffer.getElementTypeBitWidth() / 8, width = 1;
  for (const Bit &bit : bits) {
    bool fits = bit.element == width && width * 2 * bytes <= 16;
    bool whole = llvm::all_of(bits, [&](const Bit &other) {
      return other.element <= width || (other.element & (2 * width - 1)) == 0;
    });
    if (!fits || !whole)
      break;
    width *= 2;
  }

  Sharing result{width, {}, {}, {0}, {}};
  std::vector<std::vector<int32_t>> registers, lanes, warps;
  ArrayRef<Bit> left = bits;
  auto take = [&](std::vector<std::vector<int32_t>> &bases) {
    std::vector<int32_t> basis(sizes.size(), 0);
    int32_t element = 0;
    if (!left.empty()) {
      basis[left.front().dim] = left.front().value;
      element = left.front().element;
      left = left.drop_front();
    }
    bases.push_back(basis);
    return element;
  };
  for (int32_t i = 1; i < width; i *= 2)
    take(registers);
  for (int32_t i = 1; i < 32; i *= 2)
    result.lanes.push_back(take(lanes));
  for (int32_t i = 1; i < numWarps; i *= 2)
    result.warps.push_back(take(warps));
  while (!left.empty()) {
    int32_t element = take(registers);
    for (size_t i = 0, n = result.runs.size(); i < n; ++i)
      result.runs.push_back(result.runs[i] ^ element);
  }
  auto name = [&](StringRef text) { return StringAttr::get(context, text); };
  SmallVector<std::pair<StringAttr, std::vector<std::vector<int32_t>>>> bases = {
      {name("register"), registers},
      {name("lane"), lanes},
      {name("warp"), warps},
      {name("block"), {}}};
  result.layout =
      ttg::LinearEncodingAttr::get(context, LinearLayout(bases, sizes, /*requireSurjective=*/true));
  return result;
}

Value number(OpBuilder &builder, Location loc, int32_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

/// Code for one access of all threads of a task.
class Access {
public:
  Access(Operation *op, Value buffer, Value rank)
      : builder(op), loc(op->getLoc()), type(cast<ttg::MemDescType>(buffer.getType())),
        sharing(shareOut(type, ttg::lookupNumWarps(op))), bytes(type.getElementTypeBitWidth() / 8) {
    SharedView view = viewOf(builder, loc, buffer);
    warp = ttg::WarpIdOp::create(builder, loc, /*omitUniformHint=*/false);
    lane = specialRegister(builder, loc, "laneid");
    element = beginOf(builder, loc, view, elementsOf(type));
    element = arith::XOrIOp::create(builder, loc, element,
                                    selectBases(builder, loc, lane, sharing.lanes));
    element = arith::XOrIOp::create(builder, loc, element,
                                    selectBases(builder, loc, warp, sharing.warps));
    base = remoteAddress(builder, loc, view.base, rank);
  }

  int32_t runBytes() const { return sharing.width * bytes; }
  Attribute layout() const { return sharing.layout; }

  /// Returns the address of a run.
  Value address(int32_t run) {
    Value at = arith::XOrIOp::create(builder, loc, element, number(builder, loc, run));
    at = arith::MulIOp::create(builder, loc, at, number(builder, loc, bytes));
    return arith::AddIOp::create(builder, loc, base, at);
  }

  /// Returns whether this thread is the one among those with the same elements that stores them.
  Value isFirst() {
    Value mine = arith::ConstantIntOp::create(builder, loc, true, 1);
    for (auto [id, bases] :
         {std::pair(lane, ArrayRef(sharing.lanes)), std::pair(warp, ArrayRef(sharing.warps))}) {
      int32_t idle = 0;
      for (auto [bit, basis] : llvm::enumerate(bases))
        idle |= basis == 0 ? 1 << bit : 0;
      if (idle == 0)
        continue;
      Value rest = arith::AndIOp::create(builder, loc, id, number(builder, loc, idle));
      Value none = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                                         number(builder, loc, 0));
      mine = arith::AndIOp::create(builder, loc, mine, none);
    }
    return mine;
  }

  /// The words of a run: of 32 bits, but for runs that are smaller.
  int32_t numWords() const { return std::max(runBytes() / 4, 1); }
  Type wordType() { return builder.getIntegerType(std::min(runBytes(), 4) * 8); }

  /// Returns the name of the type of a run in an instruction, such as `.v4.b32`.
  std::string suffix() const {
    std::string text = numWords() > 1 ? ".v" + llvm::itostr(numWords()) : "";
    return text + ".b" + llvm::itostr(int64_t{8} * std::min(runBytes(), 4));
  }

  /// Returns placeholders from `first` on, in braces when there are several.
  std::string list(int32_t first) const {
    std::string text;
    for (int32_t i = 0; i < numWords(); ++i)
      text += (i ? ", $" : "$") + llvm::itostr(first + i);
    return numWords() > 1 ? "{" + text + "}" : text;
  }

  /// Returns the type that elements of the buffer have in registers.
  Type elementType() {
    Type element = type.getElementType();
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8
               ? builder.getIntegerType(8)
               : element;
  }

  Type registersType() {
    SmallVector<Type> fields(sharing.runs.size() * sharing.width, elementType());
    return LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  }

  RankedTensorType tensorType() {
    return RankedTensorType::get(type.getShape(), type.getElementType(), sharing.layout);
  }

  /// Returns the words of a run of registers.
  SmallVector<Value> words(Value registers, int32_t run) {
    auto vector = VectorType::get(sharing.width, elementType());
    Value packed = LLVM::UndefOp::create(builder, loc, vector);
    for (int32_t i = 0; i < sharing.width; ++i) {
      Value item = LLVM::ExtractValueOp::create(builder, loc, registers,
                                                ArrayRef<int64_t>{run * sharing.width + i});
      packed = LLVM::InsertElementOp::create(builder, loc, packed, item, number(builder, loc, i));
    }
    packed = LLVM::BitcastOp::create(builder, loc, VectorType::get(numWords(), wordType()), packed);
    SmallVector<Value> result;
    for (int32_t i = 0; i < numWords(); ++i) {
      Value word = LLVM::ExtractElementOp::create(builder, loc, packed, number(builder, loc, i));
      // Registers have 16 bits at least, and an instruction takes wider ones.
      if (wordType() != builder.getI32Type())
        word = LLVM::ZExtOp::create(builder, loc, builder.getI32Type(), word);
      result.push_back(word);
    }
    return result;
  }

  /// Returns the registers with the words of a run put in.
  Value insert(Value registers, int32_t run, ArrayRef<Value> words) {
    Value packed = LLVM::UndefOp::create(builder, loc, VectorType::get(numWords(), wordType()));
    for (int32_t i = 0; i < numWords(); ++i) {
      Value word = words[i];
      if (wordType() != builder.getI32Type())
        word = LLVM::TruncOp::create(builder, loc, wordType(), word);
      packed = LLVM::InsertElementOp::create(builder, loc, packed, word, number(builder, loc, i));
    }
    packed = LLVM::BitcastOp::create(builder, loc, VectorType::get(sharing.width, elementType()),
                                     packed);
    for (int32_t i = 0; i < sharing.width; ++i) {
      Value item = LLVM::ExtractElementOp::create(builder, loc, packed, number(builder, loc, i));
      registers = LLVM::InsertValueOp::create(builder, loc, registers, item,
                                              ArrayRef<int64_t>{run * sharing.width + i});
    }
    return registers;
  }

  OpBuilder builder;
  Location loc;
  ttg::MemDescType type;
  Sharing sharing;
  int32_t bytes;

private:
  Value base, element, lane, warp;
};

class LowerRemoteAccessesPass : public impl::LowerRemoteAccessesPassBase<LowerRemoteAccessesPass> {
public:
  using impl::LowerRemoteAccessesPassBase<LowerRemoteAccessesPass>::LowerRemoteAccessesPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> accesses;
    SmallVector<ttng::WaitBarrierOp> waits;
    SmallVector<ttng::FenceAsyncSharedOp> fences;
    bool plain = false;
    getOperation().walk([&](Operation *op) {
      if (isa<RemoteArriveOp, RemoteStoreOp, RemoteLoadOp>(op))
        accesses.push_back(op);
      else if (auto wait = dyn_cast<ttng::WaitBarrierOp>(op))
        waits.push_back(wait);
      else if (auto fence = dyn_cast<ttng::FenceAsyncSharedOp>(op))
        fences.push_back(fence);
      auto store = dyn_cast<RemoteStoreOp>(op);
      plain |= isa<RemoteLoadOp>(op) || (store && !store.getBarrier());
    });
    for (Operation *access : accesses) {
      LogicalResult result = success();
      if (auto arrive = dyn_cast<RemoteArriveOp>(access))
        lower(arrive, plain);
      else if (auto store = dyn_cast<RemoteStoreOp>(access))
        result = lower(store);
      else
        lower(cast<RemoteLoadOp>(access));
      if (failed(result))
        return signalPassFailure();
      access->erase();
    }
    // Of a cluster's blocks that store nothing to each other, each has its own memory to fence
    // alone, and the wider fence waits for global memory too. Where no accesses are left to lower
    // nothing tells which kind there were.
    if (!accesses.empty() && !plain && ttg::lookupNumCTAs(getOperation()) == 1)
      for (ttng::FenceAsyncSharedOp fence : fences)
        fence.setBCluster(false);
    // A stock wait acquires what the own block did. Plain accesses of other blocks need more.
    if (plain)
      for (ttng::WaitBarrierOp wait : waits) {
        OpBuilder builder(wait->getContext());
        builder.setInsertionPointAfter(wait);
        LLVM::FenceOp::create(builder, wait.getLoc(), LLVM::AtomicOrdering::acq_rel, "cluster");
      }
  }

private:
  /// Lowers an arrival, which tells of accesses to the memory of other blocks only when it has to
  /// `publish` them: a release of the cluster's scope waits for all memory accesses of the thread.
  static void lower(RemoteArriveOp op, bool publish) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    bool eachThread = op.getPerThread();
    // One thread arrives for all, so all have to be there.
    if (!eachThread)
      ttg::BarrierOp::create(builder, loc, ttg::AddrSpace::Local);
    Value condition = eachThread ? op.getPred() : inFirstWarp(builder, loc, op.getPred());
    Value barrier =
        remoteAddress(builder, loc, viewOf(builder, loc, op.getBarrier()).base, op.getRank());
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "{ .reg .pred p; ";
    if (eachThread)
      stream << "and.pred p, $1, $1; ";
    else
      stream << "elect.sync _|p, -1; and.pred p, p, $1; ";
    stream << "@p mbarrier.arrive." << (op.getBytes() ? "expect_tx." : "")
           << (publish ? "release.cluster." : "") << "shared::cluster.b64 _, [$0]";
    if (op.getBytes())
      stream << ", " << *op.getBytes();
    else if (op.getCount() > 1)
      stream << ", " << op.getCount();
    stream << "; }";
    buildAsm(builder, loc, TypeRange(), {barrier, condition}, text, "r,b,~{memory}");
  }

  static LogicalResult lower(RemoteStoreOp op) {
    Access access(op, op.getDst(), op.getRank());
    if (op.getBarrier() && access.runBytes() < 4)
      return op.emitError("expected 4 bytes next to each other in a row of the buffer, which an "
                          "asynchronous store needs, got ")
             << access.runBytes();
    OpBuilder &builder = access.builder;
    Location loc = op.getLoc();
    Value value = op.getSrc();
    if (value.getType() != access.tensorType())
      value = ttg::ConvertLayoutOp::create(builder, loc, access.tensorType(), value);
    Value registers =
        UnrealizedConversionCastOp::create(builder, loc, access.registersType(), value)
            .getResult(0);
    Value mine = access.isFirst();
    Value barrier;
    if (op.getBarrier())
      barrier =
          remoteAddress(builder, loc, viewOf(builder, loc, op.getBarrier()).base, op.getRank());
    std::string text = "@$0 st", constraints = "b,r";
    text += barrier ? ".async.shared::cluster.mbarrier::complete_tx::bytes" : ".shared::cluster";
    text += access.suffix() + " [$1], " + access.list(2);
    for (int32_t i = 0; i < access.numWords(); ++i)
      constraints += ",r";
    if (barrier) {
      text += ", [$" + llvm::itostr(2 + access.numWords()) + "]";
      constraints += ",r";
    }
    for (auto [index, run] : llvm::enumerate(access.sharing.runs)) {
      SmallVector<Value> operands = {mine, access.address(run)};
      llvm::append_range(operands, access.words(registers, index));
      if (barrier)
        operands.push_back(barrier);
      buildAsm(builder, loc, TypeRange(), operands, text + ";", constraints + ",~{memory}");
    }
    return success();
  }

  static void lower(RemoteLoadOp op) {
    Access access(op, op.getSrc(), op.getRank());
    OpBuilder &builder = access.builder;
    Location loc = op.getLoc();
    int32_t words = access.numWords();
    SmallVector<Type> fields(words, builder.getI32Type());
    Type result =
        words == 1 ? fields[0] : LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
    std::string text = "ld.shared::cluster" + access.suffix() + " " + access.list(0) + ", [$" +
                       llvm::itostr(words) + "];";
    std::string constraints;
    for (int32_t i = 0; i < words; ++i)
      constraints += "=r,";
    Value registers = LLVM::UndefOp::create(builder, loc, access.registersType());
    for (auto [index, run] : llvm::enumerate(access.sharing.runs)) {
      Value loaded =
          buildAsm(builder, loc, result, access.address(run), text, constraints + "r,~{memory}")
              .front();
      SmallVector<Value> parts = {loaded};
      if (words > 1) {
        parts.clear();
        for (int32_t i = 0; i < words; ++i)
          parts.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, ArrayRef<int64_t>{i}));
      }
      registers = access.insert(registers, index, parts);
    }
    Value value = UnrealizedConversionCastOp::create(builder, loc, access.tensorType(), registers)
                      .getResult(0);
    if (value.getType() != op.getType())
      value = ttg::ConvertLayoutOp::create(builder, loc, op.getType(), value);
    op.getResult().replaceAllUsesWith(value);
  }
};

} // namespace
} // namespace tritonext::tlx
