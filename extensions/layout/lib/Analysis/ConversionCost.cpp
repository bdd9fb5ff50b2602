//===- ConversionCost.cpp - What a layout conversion costs ----------------===//

#include "tritonext_layout/Analysis/ConversionCost.h"

#include "triton/Analysis/Utility.h"
#include "triton/Conversion/TritonGPUToLLVM/Utility.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "triton/Tools/GenericSwizzling.h"
#include "triton/Tools/LayoutUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

constexpr InstructionPrices allPrices[] = {
#define PRICES(...) {__VA_ARGS__},
#include "InstructionPrices.inc"
#undef PRICES
};

/// Bits that the banks of shared memory deliver in one pass.
constexpr unsigned wavefrontBits = 1024;
constexpr unsigned bankBits = 32;

StringAttr getName(const LinearLayout &layout, StringRef name) {
  return StringAttr::get(layout.getInDimNames().begin()->getContext(), name);
}

LinearLayout removeBroadcastRegisters(const LinearLayout &layout) {
  return actionRemoveBroadcastedRegs(layout).apply(layout);
}

/// Returns the dimension of the space that `vectors` span over GF(2).
unsigned getRank(ArrayRef<uint32_t> vectors) {
  SmallVector<uint32_t> basis;
  for (uint32_t vector : vectors) {
    for (uint32_t other : basis)
      vector = std::min(vector, vector ^ other);
    if (vector)
      basis.push_back(vector);
  }
  return basis.size();
}

/// Returns how many passes over the banks the lanes take whose words are the combinations of
/// `words`.
unsigned countPasses(SmallVector<uint32_t> words, unsigned banks) {
  unsigned distinct = getRank(words);
  for (uint32_t &word : words)
    word %= banks;
  return 1u << (distinct - getRank(words));
}

/// Returns where the lowering of a gather puts the elements of `type` in shared memory, as words of
/// 32 bits for each basis of `dim`: the first dimension of the tensor is the contiguous one. The
/// dimension `skipped` counts as 0.
SmallVector<uint32_t> getGatherWords(RankedTensorType type, StringRef dim, ArrayRef<int64_t> shape,
                                     std::optional<unsigned> skipped = std::nullopt) {
  LinearLayout layout = ttg::toLinearLayout(type);
  unsigned bits = getExchangeBits(type.getElementType());
  SmallVector<uint32_t> words;
  for (const std::vector<int32_t> &basis : layout.getBases().lookup(getName(layout, dim))) {
    uint64_t offset = 0, stride = 1;
    for (auto [index, size] : llvm::enumerate(shape)) {
      if (index != skipped)
        offset += basis[index] * stride;
      stride *= size;
    }
    words.push_back(offset * bits / bankBits);
  }
  return words;
}

/// Whether a conversion, less what stays in its place, has no other dimensions than these.
bool changesOnly(const LinearLayout &moved, ArrayRef<StringRef> dims) {
  return llvm::all_of(moved.getInDimNames(),
                      [&](StringAttr dim) { return llvm::is_contained(dims, dim.getValue()); });
}

/// Calls `ask` with an op that converts `source` to `target`, outside of any module: stock decides
/// on ops.
template <typename Function>
auto probe(RankedTensorType source, RankedTensorType target, bool forceShuffle, Function ask) {
  OpBuilder builder(source.getContext());
  Location loc = builder.getUnknownLoc();
  auto operand = UnrealizedConversionCastOp::create(builder, loc, source, ValueRange());
  auto convert = ttg::ConvertLayoutOp::create(builder, loc, target, operand.getResult(0));
  convert.setForceWarpShuffle(forceShuffle);
  auto answer = ask(convert);
  convert->erase();
  operand->erase();
  return answer;
}

/// Returns how many permutations of bytes it takes to have the elements of a thread in registers of
/// 32 bits, where they leave other elements than they meet: per register, as counted in the machine
/// code of single conversions. None where neighbours stay together.
unsigned countPermutes(const LinearLayout &source, const LinearLayout &destination, unsigned bits,
                       bool shuffles) {
  if (bits >= bankBits)
    return 0;
  StringAttr kRegister = getName(source, "register");
  unsigned elements = std::max(source.getInDimSize(kRegister), destination.getInDimSize(kRegister));
  unsigned words = std::max(1u, elements * bits / bankBits);
  const auto &from = source.getBases().lookup(kRegister),
             &to = destination.getBases().lookup(kRegister);
  unsigned packed = llvm::Log2_32(bankBits / bits), kept = 0;
  while (kept < packed && kept < from.size() && kept < to.size() && from[kept] == to[kept])
    ++kept;
  if (kept == packed)
    return 0;
  bool bytesPart = bits == 8 && kept == 0;
  return words * (bytesPart ? (shuffles ? 4 : 7) : (shuffles ? 3 : 2));
}

/// Whether `exchange` selects bytes, rather than whole registers, before or after the shuffle, in a
/// way that takes a lane's bytes from two registers at once.
bool mixesRegisters(const DecomposedWarpConversion::TranspositionInfo &exchange) {
  auto is = [&](uint16_t before, uint16_t after) {
    return exchange.topPreSel == before && exchange.topPostSel == after;
  };
  return exchange.topPreSel != exchange.topPostSel && !is(0x5140, 0x6240) && !is(0x6420, 0x5410) &&
         !is(0x3210, 0x3120);
}

} // namespace

/// Where an exchange through shared memory puts elements, and by which instructions.
struct ConversionModel::SharedPlan {
  LinearLayout memory;
  ttg::LocalMemOpTile storeTile, loadTile;
  bool storesMatrices, loadsMatrices;
};

StringRef stringify(ConversionPath path) {
  switch (path) {
  case ConversionPath::None:
    return "nothing";
  case ConversionPath::Registers:
    return "registers";
  case ConversionPath::Shuffle:
    return "shuffles";
  case ConversionPath::WarpShared:
    return "shared memory of a warp";
  case ConversionPath::BlockShared:
    return "shared memory of a CTA";
  case ConversionPath::ClusterShared:
    return "shared memory of a cluster";
  }
  llvm_unreachable("not a path");
}

unsigned getExchangeBits(Type element) {
  if (isa<PointerType>(element))
    return 64;
  return std::max(8u, element.getIntOrFloatBitWidth());
}

ConversionModel::ConversionModel(ModuleOp module) {
  auto attribute = module->getAttrOfType<StringAttr>(ttg::AttrTargetName);
  StringRef name = attribute ? attribute.getValue() : StringRef();
  if (attribute)
    target = TargetInfoBase::fromModuleOp(module);
  prices = llvm::find_if(
      allPrices, [&](const InstructionPrices &row) { return name.starts_with(row.target); });
}

ConversionModel::SharedPlan ConversionModel::planExchange(const LinearLayout &source,
                                                          const LinearLayout &destination,
                                                          unsigned bits) const {
  SmallVector<ttg::LocalMemOpTile> stores{{{}, {0, 1, 2}, {}}}, loads{{{}, {0, 1, 2}, {}}};
  StringAttr kBlock = getName(source, "block");
  bool acrossBlocks =
      source.getInDimSize(kBlock) != 1 && !isCvtDimSync(source, destination, kBlock);
  if (target)
    std::tie(stores, loads) = ttg::getSrcDstTiles(*target, bits, acrossBlocks);
  auto [memory, used] = ttg::optimalSwizzling(source, destination, stores, loads, bits);
  auto [store, load] = used;
  // The tiles behind the first are those of the matrix instructions, which only CUDA has.
  bool hasMatrices = target && target->isCuda();
  return {memory, stores[store], loads[load], hasMatrices && store > 0, hasMatrices && load > 0};
}

LinearLayout ConversionModel::getSharedLayout(const LinearLayout &source,
                                              const LinearLayout &target, unsigned bits) const {
  return planExchange(removeBroadcastRegisters(source), removeBroadcastRegisters(target), bits)
      .memory;
}

void ConversionModel::addShuffles(ConversionCost &cost, const LinearLayout &source,
                                  const LinearLayout &destination, unsigned bits) const {
  DecomposedWarpConversion factors = getWarpLayoutConvertDecomposition(
      removeBroadcastRegisters(source), removeBroadcastRegisters(destination), bits);
  StringAttr kRegister = getName(source, "register"), kLane = getName(source, "lane");
  unsigned registers = factors.pReg.getInDimSize(kRegister) >> factors.nPack;
  // Lanes exchange 32 bits at once.
  unsigned parts = std::max(1u, bits / 32);
  unsigned exchanges = factors.mixedTranspositions.size();

  // A register that every lane keeps needs no shuffle.
  const LinearLayout &map = factors.shuffleMap;
  unsigned fixed = 0;
  bool lanesStay = true;
  for (StringAttr dim : map.getInDimNames())
    for (auto [bit, basis] : llvm::enumerate(map.getBases().lookup(dim))) {
      if (dim == kRegister)
        fixed += basis.front() != 0;
      else
        lanesStay &= basis.front() == (dim == kLane ? 1 << bit : 0);
    }

  if (exchanges == 1 && lanesStay && !mixesRegisters(factors.mixedTranspositions.front())) {
    cost.shuffles = parts * registers / 2;
    cost.selects = parts * registers * 3 / 2;
    return;
  }
  cost.shuffles = parts * (lanesStay ? registers - (registers >> fixed) : registers);
  cost.selects = parts * registers * 2 * exchanges;
}

void ConversionModel::addExchange(ConversionCost &cost, LinearLayout source,
                                  LinearLayout destination, unsigned bits) const {
  source = removeBroadcastRegisters(source);
  destination = removeBroadcastRegisters(destination);
  SharedPlan plan = planExchange(source, destination, bits);
  MLIRContext *ctx = source.getInDimNames().begin()->getContext();
  StringAttr kRegister = StringAttr::get(ctx, "register"), kLane = StringAttr::get(ctx, "lane"),
             kReps = StringAttr::get(ctx, "reps"), kOffset = StringAttr::get(ctx, "offset");
  cost.rounds = plan.memory.getInDimSize(kReps);
  cost.scratchBytes = plan.memory.getTotalOutDimSize() / cost.rounds * bits / 8;
  unsigned barriers = 2 * cost.rounds - 1;
  if (cost.path == ConversionPath::WarpShared)
    cost.warpBarriers = barriers;
  else if (cost.path == ConversionPath::BlockShared)
    cost.blockBarriers = barriers;
  else
    cost.clusterBarriers = barriers;

  auto reps = LinearLayout::identity1D(cost.rounds, kRegister, kReps);
  unsigned banks = target ? target->getSharedMemoryBanks() : 32;
  auto getAccess = [&](const LinearLayout &layout, const ttg::LocalMemOpTile &tile, bool isMatrix) {
    LinearLayout whole = layout.invertAndCompose(plan.memory);
    // A warp of a layout that swizzles over warps can begin with another round than its neighbour.
    if (std::optional<ColumnAction> roundsLast = regPermForDivide(whole, reps, /*left=*/false))
      whole = roundsLast->apply(whole);
    SmallVector<StringAttr> places = llvm::to_vector(whole.getOutDimNames());
    llvm::erase(places, kReps);
    LinearLayout round = whole.sublayout(llvm::to_vector(whole.getInDimNames()), places)
                             .resizeInDim(kRegister, whole.getInDimSize(kRegister) / cost.rounds);
    round = round.reshapeOuts({{kOffset, round.getTotalOutDimSize()}});

    auto getWords = [&](StringAttr dim) {
      SmallVector<uint32_t> words;
      for (const std::vector<int32_t> &basis : round.getBases().lookup(dim))
        words.push_back(basis.front() * bits / bankBits);
      return words;
    };
    unsigned registers = round.getInDimSize(kRegister);
    SmallVector<uint32_t> lanes = getWords(kLane), phase;
    SharedAccess access;
    access.isMatrix = isMatrix;
    if (isMatrix) {
      access.vectorBits = std::min(128u, registers * bits);
      // A matrix is eight rows of 128 bits.
      for (uint32_t word : {1, 2})
        phase.push_back(word);
      for (int32_t lane : tile.laneAddr)
        phase.push_back(lanes[lane]);
      access.wavefronts = access.vectorBits / bankBits;
    } else {
      auto [elements, action] = largestVectorisation(ctx, round, bits);
      access.vectorBits = elements * bits;
      for (uint32_t word = 1; word < access.vectorBits / bankBits; word *= 2)
        phase.push_back(word);
      if (tile.laneMask.empty()) {
        unsigned together = wavefrontBits / std::max(bankBits, access.vectorBits);
        llvm::append_range(phase, ArrayRef(lanes).take_front(llvm::Log2_32(together)));
      }
      for (int32_t mask : tile.laneMask) {
        uint32_t word = 0;
        for (auto [bit, lane] : llvm::enumerate(lanes))
          word ^= (mask >> bit) & 1 ? lane : 0;
        phase.push_back(word);
      }
      unsigned lanesCount = 1u << lanes.size();
      access.wavefronts =
          std::max(1u, lanesCount * std::max(bankBits, access.vectorBits) / wavefrontBits);
    }
    access.instructions = std::max(1u, registers * bits / access.vectorBits) * cost.rounds;
    unsigned least = access.wavefronts * access.instructions;
    access.wavefronts = least * countPasses(phase, banks);
    access.conflicts = access.wavefronts - least;
    return access;
  };
  cost.stores = getAccess(source, plan.storeTile, plan.storesMatrices);
  cost.loads = getAccess(destination, plan.loadTile, plan.loadsMatrices);
}

ConversionCost ConversionModel::compute(RankedTensorType sourceType,
                                        RankedTensorType destinationType, bool forceShuffle) const {
  ConversionCost cost;
  LinearLayout source = ttg::toLinearLayout(sourceType);
  LinearLayout destination = ttg::toLinearLayout(destinationType);
  StringAttr kWarp = getName(source, "warp"), kBlock = getName(source, "block");
  cost.warps = source.getInDimSize(kWarp);
  unsigned bits = getExchangeBits(sourceType.getElementType());
  LinearLayout moved = minimalCvtLayout(sourceType, destinationType);
  bool isLocal = changesOnly(moved, {"register"});
  bool shuffles = !isLocal && changesOnly(moved, {"register", "lane"}) &&
                  probe(sourceType, destinationType, forceShuffle,
                        [](ttg::ConvertLayoutOp op) { return cvtNeedsWarpShuffle(op); });
  if (!isLocal)
    cost.permutes = countPermutes(removeBroadcastRegisters(source),
                                  removeBroadcastRegisters(destination), bits, shuffles);
  if (isLocal) {
    cost.path = source == destination ? ConversionPath::None : ConversionPath::Registers;
  } else if (shuffles) {
    cost.path = ConversionPath::Shuffle;
    addShuffles(cost, source, destination, bits);
  } else {
    // Asking costs more than the shortcuts.
    bool acrossBlocks =
        source.getInDimSize(kBlock) != 1 && !isCvtDimSync(source, destination, kBlock);
    bool acrossWarps = !changesOnly(moved, {"register", "lane", "block"}) ||
                       !isCvtDimSync(source, destination, kWarp);
    cost.path = acrossBlocks  ? ConversionPath::ClusterShared
                : acrossWarps ? ConversionPath::BlockShared
                              : ConversionPath::WarpShared;
    addExchange(cost, source, destination, bits);
  }
  double memory = prices->wavefront * (cost.stores.wavefronts + cost.loads.wavefronts) +
                  prices->shuffle * cost.shuffles;
  double arithmetic = prices->select * (cost.selects + cost.permutes);
  cost.busyCycles = cost.warps * std::max(memory, arithmetic);
  cost.cycles = cost.busyCycles + (shuffles  ? prices->shuffleLatency
                                   : isLocal ? 0
                                             : prices->sharedLatency);
  cost.cycles += prices->blockBarrier * cost.blockBarriers;
  cost.cycles += prices->clusterBarrier * cost.clusterBarriers;
  return cost;
}

double ConversionModel::getShuffledGatherCycles(RankedTensorType source, RankedTensorType result,
                                                unsigned axis) const {
  LinearLayout from = ttg::toLinearLayout(source), to = ttg::toLinearLayout(result);
  StringAttr kRegister = getName(from, "register");
  unsigned candidates = 1;
  for (const std::vector<int32_t> &basis : from.getBases().lookup(kRegister))
    candidates *= basis[axis] ? 2 : 1;
  unsigned elements = to.getInDimSize(kRegister) * to.getInDimSize(getName(to, "warp"));
  unsigned parts = std::max(1u, getExchangeBits(source.getElementType()) / bankBits);
  double memory = prices->shuffle * parts * candidates;
  // A comparison, a predicate and a selection for each candidate; and the lane and the register
  // that an index means, bit by bit.
  double arithmetic = prices->select * (parts * 3 * candidates + 12);
  return elements * std::max(memory, arithmetic) + prices->shuffleLatency;
}

double ConversionModel::getSharedGatherCycles(RankedTensorType source, RankedTensorType result,
                                              unsigned axis) const {
  LinearLayout from = ttg::toLinearLayout(source), to = ttg::toLinearLayout(result);
  StringAttr kRegister = getName(from, "register"), kWarp = getName(from, "warp");
  unsigned banks = target ? target->getSharedMemoryBanks() : 32;
  unsigned bits = getExchangeBits(source.getElementType());
  ArrayRef<int64_t> shape = source.getShape();
  double stores = countPasses(getGatherWords(source, "lane", shape), banks);

  // What the index adds to an address is taken to be random. It spreads a warp over the banks that
  // are a step along the axis apart; which of their classes a lane is in, its other coordinates
  // decide.
  uint64_t step = bits;
  for (int64_t size : shape.take_front(axis))
    step *= size;
  step = std::clamp<uint64_t>(step / bankBits, 1, banks);
  SmallVector<uint32_t> classes = getGatherWords(
      cast<RankedTensorType>(source.cloneWithEncoding(result.getEncoding())), "lane", shape, axis);
  unsigned lanes = 1u << classes.size();
  for (uint32_t &word : classes)
    word %= step;
  unsigned reached = banks / step;
  // The fullest of `reached` boxes into which as many balls fall as lanes share a class.
  double each = static_cast<double>(lanes >> getRank(classes)) / reached;
  double loads =
      std::max(1.0, each + std::sqrt(2 * each * llvm::Log2_32(reached) * llvm::numbers::ln2));

  unsigned parts = std::max(1u, bits / bankBits);
  unsigned stored = from.getInDimSize(kRegister) * from.getInDimSize(kWarp),
           loaded = to.getInDimSize(kRegister) * to.getInDimSize(kWarp);
  double memory = prices->wavefront * parts * (stored * stores + loaded * loads);
  double arithmetic = prices->select * loaded * 3;
  return std::max(memory, arithmetic) + prices->sharedLatency + prices->blockBarrier;
}

const ConversionCost &ConversionModel::getCost(RankedTensorType source, Attribute encoding,
                                               bool forceShuffle) const {
  // The lowering knows elements by their size alone.
  Type element = source.getElementType();
  unsigned bits = isa<PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
  source = source.clone(IntegerType::get(source.getContext(), bits));
  std::unique_ptr<ConversionCost> &cost = known[{source, encoding, forceShuffle}];
  if (!cost)
    cost = std::make_unique<ConversionCost>(
        compute(source, source.cloneWithEncoding(encoding), forceShuffle));
  return *cost;
}

const ConversionCost &ConversionModel::getCost(ttg::ConvertLayoutOp convert) const {
  return getCost(convert.getSrc().getType(), convert.getType().getEncoding(),
                 convert.getForceWarpShuffle());
}

bool ConversionModel::canShuffle(RankedTensorType source, Attribute encoding) const {
  LinearLayout moved = minimalCvtLayout(source, source.cloneWithEncoding(encoding));
  return changesOnly(moved, {"register", "lane"}) && !changesOnly(moved, {"register"});
}

} // namespace tritonext::layout
