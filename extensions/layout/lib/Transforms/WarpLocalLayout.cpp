//===- WarpLocalLayout.cpp - Layouts that keep data in its warp -----------===//

#include "tritonext_layout/Transforms/WarpLocalLayout.h"

#include "triton/Analysis/Utility.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "triton/Tools/LayoutUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// A thread that holds this many elements leaves no registers for anything
/// else, and the kernel spills. Lanes that reach over a whole row then cost more
/// spills than lanes that reach over this many bits of it and take over a bit
/// of another dimension that the source keeps in registers: for a 128x256 tile
/// of f32 and 4 warps on sm_90, 473 spill stores against 363 (433 in blocked).
constexpr int crowdedRegisters = 256;
constexpr unsigned crowdedSpanBits = 256 * 8;

/// A position in the tensor as one word, the bits of the dimension that is
/// contiguous in memory lowest. Positions form a vector space over GF(2).
using Position = uint64_t;

/// Translates between the bases of a layout and positions.
class Coordinates {
public:
  Coordinates(const LinearLayout &layout, ArrayRef<unsigned> order)
      : names(llvm::to_vector(layout.getOutDimNames())), shifts(names.size()) {
    unsigned shift = 0;
    for (unsigned dim : order) {
      shifts[dim] = shift;
      shift += layout.getOutDimSizeLog2(names[dim]);
    }
  }

  SmallVector<Position> pack(const LinearLayout &layout, StringAttr in) const {
    SmallVector<Position> positions;
    for (const std::vector<int32_t> &basis : layout.getBases().lookup(in)) {
      Position position = 0;
      for (auto [component, shift] : llvm::zip_equal(basis, shifts))
        position |= static_cast<Position>(component) << shift;
      positions.push_back(position);
    }
    return positions;
  }

  std::vector<int32_t> unpack(const LinearLayout &layout, Position position) const {
    std::vector<int32_t> basis;
    for (auto [name, shift] : llvm::zip_equal(names, shifts))
      basis.push_back((position >> shift) & (layout.getOutDimSize(name) - 1));
    return basis;
  }

private:
  SmallVector<StringAttr> names;
  SmallVector<unsigned> shifts;
};

/// Returns the reduced basis of the space that `vectors` span, ascending. The
/// basis vectors below 2^k then span all of the space that lies below 2^k, for
/// every k: no other basis reaches nearby addresses with fewer vectors.
SmallVector<Position> reduceBasis(ArrayRef<Position> vectors) {
  SmallVector<Position> basis;
  for (Position vector : vectors) {
    for (Position other : basis)
      vector = std::min(vector, vector ^ other);
    if (vector == 0)
      continue;
    for (Position &other : basis)
      other = std::min(other, other ^ vector);
    basis.push_back(vector);
    llvm::sort(basis, std::greater<>());
  }
  std::reverse(basis.begin(), basis.end());
  return basis;
}

unsigned getRank(ArrayRef<Position> vectors) { return reduceBasis(vectors).size(); }

/// Returns how many of the leading `registers` walk along memory.
unsigned countVectorBits(ArrayRef<Position> registers) {
  unsigned bits = 0;
  while (bits < registers.size() && registers[bits] == Position(1) << bits)
    ++bits;
  return bits;
}

/// Sorts by `rank`, and by position where that is equal.
void sortByRank(SmallVectorImpl<Position> &positions, llvm::function_ref<int(Position)> rank) {
  llvm::sort(positions,
             [&](Position a, Position b) { return std::pair(rank(a), a) < std::pair(rank(b), b); });
}

/// Returns the number of segments of 2^`segmentBits` elements that the space
/// spanned by `vectors` touches.
uint64_t countSegments(ArrayRef<Position> vectors, unsigned segmentBits) {
  SmallVector<Position> basis = reduceBasis(vectors);
  auto inside = llvm::count_if(basis, [&](Position p) { return p < Position(1) << segmentBits; });
  return uint64_t(1) << (basis.size() - inside);
}

} // namespace

unsigned getAtomicVector(AtomicRMWOp atomic) {
  Type element = getElementTypeOrSelf(atomic.getType());
  if (atomic.getAtomicRmwOp() != RMWOp::FADD)
    return 1;
  unsigned bits = element.getIntOrFloatBitWidth();
  auto target = atomic->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(ttg::AttrTargetName);
  StringRef name = target ? target.getValue() : StringRef();
  int capability = 0;
  if (name.consume_front("cuda:"))
    name.getAsInteger(10, capability);
  if (isa<Float32Type, Float16Type, BFloat16Type>(element) && capability >= 90)
    return 128 / bits;
  return bits == 16 ? 2 : 1;
}

MemoryShape getMemoryShape(Value pointer, Value mask, RankedTensorType type,
                           ModuleAxisInfoAnalysis &axisInfo) {
  // The analysis leaves out code that never runs, where nothing is known.
  auto getInfo = [&](Value value) -> AxisInfo * {
    AxisInfo *info = axisInfo.getAxisInfo(value);
    return info && info->getRank() == type.getRank() ? info : nullptr;
  };
  AxisInfo *addresses = getInfo(pointer);
  auto getContiguity = [&](unsigned dim) -> int64_t {
    return addresses ? std::max<int64_t>(1, addresses->getContiguity(dim)) : 1;
  };

  MemoryShape memory;
  auto blocked = dyn_cast<ttg::BlockedEncodingAttr>(type.getEncoding());
  memory.order = blocked ? llvm::to_vector(blocked.getOrder())
                         : llvm::to_vector(ttg::toGenericLinearEncoding(type).getOrder());
  llvm::stable_sort(memory.order,
                    [&](unsigned a, unsigned b) { return getContiguity(a) > getContiguity(b); });
  unsigned dim = memory.order.front();
  memory.elementBits = getExchangeBits(type.getElementType());
  memory.contiguity = getContiguity(dim);
  int64_t aligned = addresses ? addresses->getDivisibility(dim) * 8 / memory.elementBits : 1;
  int64_t vector = std::min<int64_t>({aligned, memory.contiguity, 128 / memory.elementBits});
  if (mask) {
    AxisInfo *info = getInfo(mask);
    vector = std::min<int64_t>(vector, info ? info->getConstancy(dim) : 1);
  }
  memory.maxVector = llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, vector)));
  return memory;
}

std::optional<LinearLayout> chooseWarpLocalLayout(const LinearLayout &source,
                                                  const MemoryShape &memory,
                                                  const ConversionModel &model,
                                                  unsigned exchangeBits) {
  MLIRContext *ctx = source.getInDimNames().begin()->getContext();
  auto kRegister = StringAttr::get(ctx, "register");
  auto kLane = StringAttr::get(ctx, "lane");
  Coordinates coordinates(source, memory.order);

  SmallVector<Position> owned = coordinates.pack(source, kRegister);
  llvm::append_range(owned, coordinates.pack(source, kLane));
  SmallVector<Position> basis = reduceBasis(owned);

  unsigned vectorBits = std::min<unsigned>(countVectorBits(basis), llvm::Log2_32(memory.maxVector));
  SmallVector<Position> rest = llvm::to_vector(ArrayRef(basis).drop_front(vectorBits));
  if (source.getInDimSize(kRegister) >= crowdedRegisters) {
    unsigned span = llvm::Log2_32(std::max(1u, crowdedSpanBits / memory.elementBits));
    SmallVector<Position> held = coordinates.pack(source, kRegister);
    unsigned row =
        source.getOutDimSizeLog2(*std::next(source.getOutDimNames().begin(), memory.order.front()));
    auto rank = [&](Position position) {
      if (position < Position(1) << span)
        return 0;
      bool another = position >= Position(1) << row;
      return another && llvm::is_contained(held, position) ? 1 : 2;
    };
    sortByRank(rest, rank);
  }
  unsigned laneBits = source.getInDimSizeLog2(kLane);
  SmallVector<Position> lanes = llvm::to_vector(ArrayRef(rest).take_front(laneBits));
  rest.erase(rest.begin(), rest.begin() + lanes.size());
  llvm::sort(rest);
  lanes.resize(laneBits, 0);

  auto build = [&](ArrayRef<Position> outer) {
    auto unpackAll = [&](auto &&...groups) {
      std::vector<std::vector<int32_t>> unpacked;
      for (ArrayRef<Position> group : {ArrayRef<Position>(groups)...})
        for (Position position : group)
          unpacked.push_back(coordinates.unpack(source, position));
      return unpacked;
    };
    LinearLayout::BasesT bases = source.getBases();
    bases[kRegister] = unpackAll(ArrayRef(basis).take_front(vectorBits), outer);
    bases[kLane] = unpackAll(lanes);
    return LinearLayout::tryCreate(std::move(bases), source.getOutDims(),
                                   /*requireSurjective=*/true);
  };
  std::optional<LinearLayout> layout = build(rest);
  if (!layout || !ttg::isPermutationMatrixLayout(*layout))
    return std::nullopt;

  // Accesses are issued in the order of the registers. Let those come first
  // whose data an exchange delivers together, and those of a later round last,
  // so that accesses overlap the rest of the exchange.
  LinearLayout shared = model.getSharedLayout(source, *layout, exchangeBits);
  auto rank = [&](Position position) {
    auto isIn = [&](StringRef name) {
      return llvm::is_contained(coordinates.pack(shared, StringAttr::get(ctx, name)), position);
    };
    return isIn("vector") ? 0 : isIn("reps") ? 2 : 1;
  };
  sortByRank(rest, rank);
  return build(rest);
}

AccessCost getAccessCost(const LinearLayout &layout, const MemoryShape &memory) {
  MLIRContext *ctx = layout.getInDimNames().begin()->getContext();
  Coordinates coordinates(layout, memory.order);
  SmallVector<Position> registers = coordinates.pack(layout, StringAttr::get(ctx, "register"));
  unsigned vectorBits =
      std::min<unsigned>(countVectorBits(registers), llvm::Log2_32(memory.maxVector));

  SmallVector<Position> once = llvm::to_vector(ArrayRef(registers).take_front(vectorBits));
  llvm::append_range(once, coordinates.pack(layout, StringAttr::get(ctx, "lane")));
  auto segments = [&](unsigned bytes) {
    unsigned elements = std::max(1u, bytes * 8 / memory.elementBits);
    return countSegments(once, llvm::Log2_32(std::min(elements, memory.contiguity)));
  };

  AccessCost cost;
  cost.vectorBits = memory.elementBits << vectorBits;
  cost.instructions = 1u << (getRank(registers) - vectorBits);
  uint64_t warps = uint64_t(1) << getRank(coordinates.pack(layout, StringAttr::get(ctx, "warp")));
  cost.lines = segments(128) * cost.instructions * warps;
  cost.sectors = segments(32) * cost.instructions * warps;
  return cost;
}

} // namespace tritonext::layout
