//===- WarpLocalLayout.cpp - Layouts that keep data in its warp -----------===//

#include "tritonext_layout/Transforms/WarpLocalLayout.h"

#include "triton/Analysis/Allocation.h"
#include "triton/Analysis/Utility.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "triton/Tools/GenericSwizzling.h"
#include "triton/Tools/LayoutUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

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

  std::vector<int32_t> unpack(const LinearLayout &layout,
                              Position position) const {
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

unsigned getRank(ArrayRef<Position> vectors) {
  return reduceBasis(vectors).size();
}

/// Returns how many of the leading `registers` walk along memory.
unsigned countVectorBits(ArrayRef<Position> registers) {
  unsigned bits = 0;
  while (bits < registers.size() && registers[bits] == Position(1) << bits)
    ++bits;
  return bits;
}

/// Returns the number of segments of 2^`segmentBits` elements that the space
/// spanned by `vectors` touches.
uint64_t countSegments(ArrayRef<Position> vectors, unsigned segmentBits) {
  SmallVector<Position> basis = reduceBasis(vectors);
  auto inside = llvm::count_if(
      basis, [&](Position p) { return p < Position(1) << segmentBits; });
  return uint64_t(1) << (basis.size() - inside);
}

} // namespace

std::optional<LinearLayout> chooseWarpLocalLayout(const LinearLayout &source,
                                                  const MemoryShape &memory) {
  MLIRContext *ctx = source.getInDimNames().begin()->getContext();
  auto kRegister = StringAttr::get(ctx, "register");
  auto kLane = StringAttr::get(ctx, "lane");
  Coordinates coordinates(source, memory.order);

  SmallVector<Position> owned = coordinates.pack(source, kRegister);
  llvm::append_range(owned, coordinates.pack(source, kLane));
  SmallVector<Position> basis = reduceBasis(owned);
  if (!llvm::all_of(basis, llvm::isPowerOf2_64))
    return std::nullopt;

  unsigned vectorBits = std::min<unsigned>(countVectorBits(basis),
                                           llvm::Log2_32(memory.maxVector));
  unsigned laneBits = source.getInDimSizeLog2(kLane);
  ArrayRef<Position> vector = ArrayRef(basis).take_front(vectorBits);
  ArrayRef<Position> rest = ArrayRef(basis).drop_front(vectorBits);
  SmallVector<Position> lanes = llvm::to_vector(rest.take_front(laneBits));
  lanes.resize(laneBits, 0);
  SmallVector<Position> registers = llvm::to_vector(vector);
  llvm::append_range(registers,
                     rest.drop_front(std::min<size_t>(laneBits, rest.size())));

  LinearLayout::BasesT bases = source.getBases();
  auto unpackAll = [&](ArrayRef<Position> positions) {
    std::vector<std::vector<int32_t>> unpacked;
    for (Position position : positions)
      unpacked.push_back(coordinates.unpack(source, position));
    return unpacked;
  };
  bases[kRegister] = unpackAll(registers);
  bases[kLane] = unpackAll(lanes);
  return LinearLayout::tryCreate(std::move(bases), source.getOutDims(),
                                 /*requireSurjective=*/true);
}

AccessCost getAccessCost(const LinearLayout &layout,
                         const MemoryShape &memory) {
  MLIRContext *ctx = layout.getInDimNames().begin()->getContext();
  Coordinates coordinates(layout, memory.order);
  SmallVector<Position> registers =
      coordinates.pack(layout, StringAttr::get(ctx, "register"));
  unsigned vectorBits = std::min<unsigned>(countVectorBits(registers),
                                           llvm::Log2_32(memory.maxVector));

  SmallVector<Position> once = llvm::to_vector(
      ArrayRef(registers).take_front(vectorBits));
  llvm::append_range(once, coordinates.pack(layout, StringAttr::get(ctx, "lane")));
  auto segments = [&](unsigned bytes) {
    unsigned elements = std::max(1u, bytes * 8 / memory.elementBits);
    return countSegments(once,
                         llvm::Log2_32(std::min(elements, memory.contiguity)));
  };

  AccessCost cost;
  cost.vector = 1u << vectorBits;
  cost.instructions = 1u << (getRank(registers) - vectorBits);
  uint64_t warps = uint64_t(1)
                   << getRank(coordinates.pack(layout, StringAttr::get(ctx, "warp")));
  cost.lines = segments(128) * cost.instructions * warps;
  cost.sectors = segments(32) * cost.instructions * warps;
  return cost;
}

ExchangeCost getExchangeCost(Value value, Attribute encoding) {
  auto sourceType = cast<RankedTensorType>(value.getType());
  auto type = sourceType.cloneWithEncoding(encoding);
  MLIRContext *ctx = value.getContext();
  OpBuilder builder(ctx);
  auto probe = ttg::ConvertLayoutOp::create(builder, value.getLoc(), type, value);
  bool shared = cvtNeedsSharedMemory(probe);
  probe->erase();
  if (!shared)
    return {};

  LinearLayout source = ttg::toLinearLayout(sourceType);
  LinearLayout target = ttg::toLinearLayout(type);
  Type element = sourceType.getElementType();
  unsigned bits = isa<PointerType>(element)
                      ? 64
                      : std::max(8u, element.getIntOrFloatBitWidth());
  unsigned scratch = getNumScratchElemsSwizzledCvt(source, target, bits);
  ExchangeCost cost;
  cost.scratchBytes = scratch * bits / 8;
  if (!isCvtDimSync(source, target, StringAttr::get(ctx, "warp"))) {
    uint64_t elements = ttg::getLayoutWithinBlock(target).getTotalOutDimSize();
    unsigned rounds = std::max<uint64_t>(1, elements / scratch);
    cost.barriers = 2 * rounds - 1;
  }
  return cost;
}

} // namespace tritonext::layout
