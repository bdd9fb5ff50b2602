//===- Plan.cpp - How a loop of products is split into tasks --------------===//

#include "tritonext_warpspec/Transforms/Plan.h"
#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Analysis/Allocation.h"
#include "triton/Analysis/AxisInfo.h"
#include "triton/Dialect/TritonNvidiaGPU/Transforms/TMAUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

// CUDA C++ Programming Guide, technical specifications, compute capability 9.0. A block has 1 KB
// less than its part of the SM; what barriers and captures take is kept.
constexpr int64_t kibi = 1024;
constexpr int64_t sharedOfSM = 228 * kibi, sharedOfBlock = kibi, sharedReserve = 2 * kibi;
constexpr int64_t registersOfSM = 64 * kibi, mostRegisters = 248, mostBlocks = 4;
constexpr int32_t leastRegisters = 24;
constexpr int64_t leastSlots = 2, mostSlots = 8;
// Time from the issue of a copy until its bytes are there, and products of 16-bit operands that an
// SM of Hopper finishes in a cycle: 989 TFLOPS by 132 SM at 1.83 GHz.
constexpr int64_t copyCycles = 1500;
constexpr int64_t flopsPerCycle = 4096;
// Products of 128x256 tiles and 64 of K, beside which the warps of two groups convert an operand.
constexpr int64_t leastComputingCycles = 1024;
constexpr int64_t threadsPerWarp = 32, warpsPerGroup = 4;
// A main loop and a plain epilogue take 26 registers beside the sums, one instruction as many
// beside the sums that it adds to.
constexpr int64_t leastSpare = 48, leastSpareOfInstruction = 32;
// Registers of a thread that hold what is loaded an iteration ahead.
constexpr int64_t mostBytesAhead = 32, mostBytesFirst = 64;
// 128 registers of each thread of a warp group.
constexpr int64_t mostSumsOfGroup = 128 * threadsPerWarp * warpsPerGroup;
constexpr unsigned leastCopyBits = 32, leastBitsInRegisters = 16;
constexpr int64_t mostPointers = 24;
constexpr llvm::StringLiteral needsTensor = "the producer needs a tensor for its addresses";
// What an SM computes in a cycle of what comes between the products of a chain. Below these times
// of an iteration, with one and with two warp groups, waits cost more than the overlap gains:
// measured on an H200 at tiles of 64 to 128 rows and columns, heads of 64 and 128.
constexpr int64_t elementsPerCycle = 8;
constexpr int64_t leastChainOfGroup = 1536, leastChainOfGroups = 2048;
constexpr llvm::StringLiteral numStages = "tt.num_stages";

int64_t bytesOf(ShapedType type) {
  constexpr int64_t pointerBytes = 8;
  if (isa<tt::PointerType>(type.getElementType()))
    return type.getNumElements() * pointerBytes;
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

std::string quote(Operation *op) { return ("'" + op->getName().getStringRef() + "'").str(); }

/// Whether a copy by a descriptor can write a tile as it is. Dimensions of one in front may be left
/// out of the tile.
bool isTileOf(ttg::MemDescType tile, tt::TensorDescInterface desc) {
  ArrayRef<int64_t> block = desc.getShape();
  while (block.size() > tile.getShape().size() && block.front() == 1)
    block = block.drop_front();
  auto wanted = dyn_cast<ttg::NVMMASharedEncodingAttr>(tile.getEncoding());
  auto made = dyn_cast_or_null<ttg::NVMMASharedEncodingAttr>(desc.getSharedLayout());
  return block == tile.getShape() && wanted && made &&
         wanted.getSwizzlingByteWidth() == made.getSwizzlingByteWidth() &&
         wanted.getTransposed() == made.getTransposed() &&
         wanted.getElementBitWidth() == made.getElementBitWidth() &&
         wanted.getFp4Padded() == made.getFp4Padded();
}

/// Whether a view is the same part of its buffer each time.
bool isConstantView(Value view) {
  Operation *op = view.getDefiningOp();
  return !op || !op->hasTrait<OpTrait::MemDescViewTrait>() ||
         (op->getNumOperands() == 1 && isConstantView(op->getOperand(0)));
}

bool isScalar(Type type) { return !isa<RankedTensorType, ttg::MemDescType>(type); }

//===----------------------------------------------------------------------===//
// What memory is read and written
//===----------------------------------------------------------------------===//

/// An argument of the kernel, and how many loads lead from it to an address.
using Base = std::pair<Value, unsigned>;

/// What an address comes from, and whether there may be more.
struct Bases {
  llvm::SmallSetVector<Base, 2> known;
  bool isOpen = false;
};

bool isAddress(Value value) {
  Type type = value.getType();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    type = tensor.getElementType();
  return isa<tt::PointerType, tt::TensorDescType>(type);
}

Bases basesOf(Value address) {
  Bases bases;
  llvm::SmallSetVector<Base, 8> work;
  work.insert({address, 0});
  for (size_t i = 0; i != work.size(); ++i) {
    auto [value, loads] = work[i];
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (isa<tt::FuncOp>(parent)) {
        bases.known.insert({argument, loads});
      } else if (loop && argument != loop.getInductionVar()) {
        work.insert({loop.getTiedLoopInit(argument)->get(), loads});
        work.insert({loop.getTiedLoopYieldedValue(argument)->get(), loads});
      } else {
        bases.isOpen = true;
      }
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      unsigned index = cast<OpResult>(value).getResultNumber();
      work.insert({loop.getInitArgs()[index], loads});
      work.insert({loop.getYieldedValues()[index], loads});
      continue;
    }
    if (auto conditional = dyn_cast<scf::IfOp>(op)) {
      unsigned index = cast<OpResult>(value).getResultNumber();
      work.insert({conditional.thenYield().getOperand(index), loads});
      work.insert({conditional.elseYield().getOperand(index), loads});
      continue;
    }
    // A table holds addresses as numbers.
    if (auto cast = dyn_cast<tt::IntToPtrOp>(op))
      if (auto load = cast.getSrc().getDefiningOp<tt::LoadOp>()) {
        work.insert({load.getPtr(), loads + 1});
        continue;
      }
    bool isDerived = false;
    if (op->getNumRegions() == 0 && isMemoryEffectFree(op))
      for (Value operand : op->getOperands())
        if (isAddress(operand)) {
          work.insert({operand, loads});
          isDerived = true;
        }
    bases.isOpen |= !isDerived;
  }
  return bases;
}

} // namespace

Operation *findWriter(tt::FuncOp kernel, ArrayRef<OpOperand *> addresses) {
  llvm::SmallSetVector<Base, 4> read;
  for (OpOperand *address : addresses) {
    Bases bases = basesOf(address->get());
    if (bases.isOpen)
      return address->getOwner();
    read.insert(bases.known.begin(), bases.known.end());
  }
  Operation *writer = nullptr;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Partitions only fill rings.
    if (isa<ttg::WarpSpecializePartitionsOp>(op))
      return WalkResult::skip();
    // These order accesses, and have none.
    if (isa<ttng::FenceAsyncSharedOp, ttg::BarrierOp, ttng::WarpGroupDotWaitOp>(op) ||
        isAssumption(op))
      return WalkResult::advance();
    if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return WalkResult::advance();
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    bool mayWrite = !effects && !isMemoryEffectFree(op) && op->getNumRegions() == 0;
    if (effects) {
      SmallVector<MemoryEffects::EffectInstance> list;
      effects.getEffects(list);
      mayWrite = llvm::any_of(list, [](const MemoryEffects::EffectInstance &effect) {
        return isa<MemoryEffects::Write>(effect.getEffect());
      });
    }
    if (!mayWrite || op->hasTrait<OpTrait::IsTerminator>() || isa<tt::PrintOp, tt::AssertOp>(op))
      return WalkResult::advance();
    bool hasAddress = false;
    for (Value operand : op->getOperands()) {
      if (!isAddress(operand))
        continue;
      hasAddress = true;
      Bases written = basesOf(operand);
      if (written.isOpen ||
          llvm::any_of(written.known, [&](const Base &base) { return read.contains(base); }))
        writer = op;
    }
    bool isLocal = llvm::any_of(op->getOperandTypes(),
                                [](Type type) { return isa<ttg::MemDescType>(type); }) ||
                   isa<ttg::LocalAllocOp>(op);
    if (!hasAddress && !isLocal)
      writer = op;
    return writer ? WalkResult::interrupt() : WalkResult::advance();
  });
  return writer;
}

namespace {

//===----------------------------------------------------------------------===//
// The planner
//===----------------------------------------------------------------------===//

class Planner {
public:
  Planner(ArrayRef<scf::ForOp> loops, const PlanOptions &options) : options(options) {
    for (scf::ForOp loop : loops)
      plan.loops.emplace_back().loop = loop;
  }

  Verdict run() {
    if (!findPath() || !findProducts() || !findOuter() || !checkOrder() || !findLeaving() ||
        !needAll() || !checkMemory() || !findLoadsAhead() || !checkComputing() || !fit())
      return {std::nullopt, std::move(reason), at};
    return {std::move(plan), "", nullptr};
  }

private:
  bool decline(Operation *op, const Twine &text) {
    reason = text.str();
    at = op;
    return false;
  }

  scf::ForOp firstLoop() { return plan.loops.front().loop; }

  bool findPath() {
    scf::ForOp front = firstLoop();
    auto kernel = front->getParentOfType<tt::FuncOp>();
    plan.consumerWarps = ttg::lookupNumWarps(front);
    if (!kernel || !kernel.isPublic())
      return decline(front, "the loop is in a function that is not a kernel");
    if (plan.consumerWarps != 4 && plan.consumerWarps != 8)
      return decline(front, "the kernel has " + Twine(plan.consumerWarps) +
                                " warps, and products of one or two warp groups are known");
    plan.schedule = options.schedule;
    if (plan.schedule != Schedule::Single)
      plan.consumerWarps = 2 * warpsPerGroup;
    if (ttg::lookupNumCTAs(front) != 1)
      return decline(front, "the kernel runs in clusters");
    for (ProductLoop &products : plan.loops) {
      Operation *outermost = nullptr;
      for (Operation *op = products.loop; op != kernel; op = op->getParentOp()) {
        if (!isa<scf::ForOp, scf::IfOp>(op))
          return decline(op, "the products are inside of " + quote(op));
        plan.path.insert(op);
        outermost = op;
      }
      if (!plan.first)
        plan.first = plan.last = outermost;
      if (outermost->getBlock() != plan.first->getBlock())
        return decline(products.loop, "the kernel has a second loop of products");
      if (plan.last->isBeforeInBlock(outermost))
        plan.last = outermost;
    }
    if (!isa<tt::ReturnOp>(plan.first->getBlock()->getTerminator()))
      return decline(front, "the kernel goes on behind a conditional return");
    Operation *other = nullptr;
    kernel.walk([&](Operation *op) {
      if (isa<tt::CallOp, ttg::WarpSpecializeOp>(op))
        other = op;
    });
    if (other)
      return decline(other, "the kernel has " + quote(other));
    for (scf::ForOp loop : findProductLoops(kernel))
      if (llvm::none_of(plan.loops, [&](ProductLoop &known) { return known.loop == loop; }))
        return decline(loop, "the kernel has a second loop of products");
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Products and their operands
  //===--------------------------------------------------------------------===//

  bool findProducts() {
    ProductLoop &first = plan.loops.front();
    for (ProductLoop &products : plan.loops) {
      if (!findDots(products) || !findLoads(products) || !checkChain(products))
        return false;
      for (ProductLoop &other : plan.loops)
        if (other.loop != products.loop && other.loop->isProperAncestor(products.loop))
          return decline(products.loop, "the kernel has a second loop of products");
      bool isAlike = products.loads.size() == first.loads.size() &&
                     bool(products.delayed) == bool(first.delayed) &&
                     llvm::all_of(llvm::zip(products.loads, first.loads), [](auto pair) {
                       auto [a, b] = pair;
                       return a.ring == b.ring && a.tile() == b.tile();
                     });
      if (!isAlike)
        return decline(products.loop,
                       "the kernel has a second loop of products, of other tiles than the first");
    }
    return true;
  }

  /// Two warp groups store tiles, and add them up, in no known order.
  bool checkOrder() {
    auto tiles = firstLoop()->getParentOfType<scf::ForOp>();
    if (options.schedule == Schedule::Single || !tiles)
      return true;
    if (options.schedule == Schedule::Cooperative)
      while (auto around = tiles->getParentOfType<scf::ForOp>())
        tiles = around;
    Operation *store = findSharedPlace(tiles, options.schedule);
    if (!store)
      return true;
    return decline(store,
                   quote(store) + (isSum(store) ? " may add different tiles in one place"
                                                : " may write where another tile is stored"));
  }

  bool findDots(ProductLoop &products) {
    scf::ForOp loop = products.loop;
    bool isChain = false;
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto dot = dyn_cast<ttng::WarpGroupDotOp>(op);
      bool isHidden = !dot && !plan.path.contains(&op) && op.walk([](ttng::WarpGroupDotOp) {
                                                              return WalkResult::interrupt();
                                                            }).wasInterrupted();
      if (isHidden)
        return decline(&op, "a product is inside of " + quote(&op));
      if (!dot)
        continue;
      if (dot.getIsAsync())
        return decline(dot, "the product is asynchronous already");
      auto c = dyn_cast<BlockArgument>(dot.getC());
      bool isCarried = c && c.getOwner() == loop.getBody() && c.hasOneUse() &&
                       dot.getD().hasOneUse() &&
                       loop.getTiedLoopYieldedValue(c)->get() == dot.getD();
      // Sums of limited precision are added to others in registers as they come.
      products.isAwaited |= !isCarried || dot.needsPartialAccumulator();
      isChain |= dependsOnProduct(loop, dot.getA()) || dependsOnProduct(loop, dot.getB());
      products.dots.push_back(dot);
    }
    if (!isChain) {
      // A product reads an operand in registers until it has ended. One alone lets the next operand
      // be computed meanwhile, in elements that the stock wait takes.
      for (ttng::WarpGroupDotOp dot : products.dots)
        if (auto a = dyn_cast<RankedTensorType>(dot.getA().getType()))
          products.isAwaited |=
              products.dots.size() > 1 || a.getElementTypeBitWidth() < leastBitsInRegisters;
      return true;
    }
    ttng::WarpGroupDotOp last = products.dots.back();
    bool isSum = last.getD().hasOneUse() && isa<scf::YieldOp>(*last.getD().user_begin()) &&
                 (dependsOnProduct(loop, last.getA()) || dependsOnProduct(loop, last.getB()));
    if (!isSum)
      return decline(last, "the loop computes an operand of a product from another product, and "
                           "does not end with such a product that it adds up");
    products.isAwaited = false;
    products.delayed = last;
    return true;
  }

  /// Whether an iteration computes a value from what one of its products gives.
  static bool dependsOnProduct(scf::ForOp loop, Value value) {
    SmallVector<Value> work = {value};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || loop.isDefinedOutsideOfLoop(op->getResult(0)) || !seen.insert(op).second)
        continue;
      if (isa<ttng::WarpGroupDotOp>(op))
        return true;
      work.append(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  /// Whether an iteration computes a value from one that the loop carries.
  static bool dependsOn(scf::ForOp loop, Value value, BlockArgument carried) {
    if (value == carried)
      return true;
    Operation *op = value.getDefiningOp();
    return op && !loop.isDefinedOutsideOfLoop(value) &&
           llvm::any_of(op->getOperands(),
                        [&](Value operand) { return dependsOn(loop, operand, carried); });
  }

  /// Checks what a chain of products needs beside other loops, and whether it gains.
  bool checkChain(ProductLoop &products) {
    ttng::WarpGroupDotOp last = products.delayed;
    if (!last)
      return true;
    for (ttng::WarpGroupDotOp dot : products.dots)
      // A product reads an operand in registers until it has ended, in elements that the stock wait
      // takes.
      if (auto a = cast<ShapedType>(dot.getA().getType());
          dot.needsPartialAccumulator() || dot.getUseC() ||
          (isa<RankedTensorType>(a) && a.getElementTypeBitWidth() < leastBitsInRegisters))
        return decline(dot, "a product in a chain is of limited precision, or adds on a condition");
    if (!products.staged.empty())
      return decline(last, "the loop puts an operand of a chain of products into shared memory");
    for (auto [number, ring] : llvm::enumerate(products.loads)) {
      if (ring.isByThreads())
        return decline(ring.load, "an operand is loaded through pointers");
      if (!ring.buffer)
        return decline(ring.load, "a tile in a chain of products is used in registers");
      // Tiles are needed, and free again, one after another.
      ring.ring = number;
    }
    int64_t cycles = cyclesOf(products);
    for (ttng::WarpGroupDotOp dot : products.dots)
      if (dot != last && !isa<BlockArgument>(dot.getC()))
        cycles += dot.getD().getType().getNumElements() / elementsPerCycle;
    bool isPair = plan.consumerWarps == 2 * warpsPerGroup;
    if (int64_t least = isPair ? leastChainOfGroups : leastChainOfGroup; cycles < least)
      return decline(last, "an iteration of the chain of products takes about " + Twine(cycles) +
                               " cycles, and less than " + Twine(least) + " gain nothing");
    for (ttng::WarpGroupDotOp dot : products.dots)
      if (auto mma = cast<ttg::NvidiaMmaEncodingAttr>(dot.getD().getType().getEncoding());
          mma.getWarpsPerCTA()[0] != plan.consumerWarps)
        return decline(dot, "two warp groups compute the same rows of a chain of products");
    products.hasTurns = isPair && !canMeet(products.loop);
    return true;
  }

  /// Finds what a loop around a chain loads for it. The producer copies that too, if it can.
  bool findOuter() {
    for (ProductLoop &products : plan.loops)
      for (ttng::WarpGroupDotOp dot : products.dots)
        for (Value operand : {Value(dot.getA()), Value(dot.getB())})
          if (auto alloc = throughViews(operand).getDefiningOp<ttg::LocalAllocOp>();
              alloc && products.delayed && plan.contains(alloc) &&
              products.loop.isDefinedOutsideOfLoop(alloc))
            addOuter(products, alloc);
    return true;
  }

  void addOuter(ProductLoop &products, ttg::LocalAllocOp alloc) {
    auto isKnown = [&](const RingLoad &ring) { return ring.buffer == alloc; };
    if (llvm::any_of(plan.outer, isKnown))
      return;
    auto load = alloc.getSrc() ? alloc.getSrc().getDefiningOp<tt::DescriptorLoadOp>() : nullptr;
    bool isPossible = load && load->hasOneUse() && load->getBlock() == alloc->getBlock() &&
                      plan.path.contains(alloc->getParentOp()) && feedsDots(alloc) &&
                      isTileOf(alloc.getType(), load.getDesc().getType());
    if (isPossible)
      plan.outer.push_back(
          {load, alloc, nullptr, 0, plan.numRings() + unsigned(plan.outer.size())});
    else
      // Threads write the tile, and meet where it is read.
      products.hasTurns = false;
  }

  /// Whether threads of both warp groups may wait for each other while a chain of products runs. A
  /// group that waits for its turn would then never get it.
  static bool canMeet(scf::ForOp chain) {
    return chain
        .walk([](Operation *op) {
          bool isKnown =
              op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>() ||
              isa<tt::DescriptorLoadOp, tt::LoadOp, ttg::LocalAllocOp, ttng::WarpGroupDotOp>(op);
          bool meets =
              (!isKnown && !isMemoryEffectFree(op) && !isAssumption(op)) ||
              (!isa<ttg::LocalAllocOp>(op) && tt::defaultAllocationAnalysisScratchSizeFn(op) != 0);
          return meets ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  bool findLoads(ProductLoop &products) {
    for (Operation &op : products.loop.getBody()->without_terminator())
      if (isa<tt::DescriptorLoadOp, tt::LoadOp>(op) && !addLoad(products, &op))
        return false;
    for (ttng::WarpGroupDotOp dot : products.dots)
      for (Value operand : {Value(dot.getA()), Value(dot.getB())})
        if (!checkOperand(products, dot, operand))
          return false;
    if (products.loads.empty())
      return decline(products.loop, "the loop loads no operand");
    return planProducerRegisters(products);
  }

  /// Chooses the registers of a producer that copies through pointers. Each has two; bounds, masks
  /// and what moves pointers on have others.
  bool planProducerRegisters(const ProductLoop &products) {
    int64_t pointers = 0;
    for (const RingLoad &ring : products.loads)
      if (ring.isByThreads())
        pointers += ring.tile().getNumElements() / (ring.width * threadsPerWarp * warpsPerGroup);
    if (pointers > mostPointers)
      return decline(products.loop, "a thread of the producer would have " + Twine(pointers) +
                                        " pointers, and spills more than " + Twine(mostPointers));
    if (pointers != 0)
      plan.producerRegisters = llvm::alignTo(leastSpare + 2 * pointers, 8);
    return true;
  }

  /// Lets the producer start a load.
  bool addLoad(ProductLoop &products, Operation *load) {
    ttg::LocalAllocOp buffer;
    Operation *inRegisters = load;
    if (load->hasOneUse()) {
      Operation *user = *load->user_begin();
      buffer = dyn_cast<ttg::LocalAllocOp>(user);
      if (isa<ttg::ConvertLayoutOp>(user))
        inRegisters = user;
    }
    auto pointers = dyn_cast<tt::LoadOp>(load);
    // What else pointers address is loaded by the consumers.
    if (pointers && (!buffer || !feedsDots(buffer)))
      return true;
    RingLoad ring{load, buffer, buffer ? nullptr : inRegisters};
    if (buffer && buffer->getBlock() != load->getBlock())
      return decline(load, "a tile is put into shared memory under a condition");
    if (pointers && !checkPointers(pointers, buffer, ring.width))
      return false;
    if (!pointers && !isTileOf(ring.tile(), cast<tt::DescriptorLoadOp>(load).getDesc().getType()))
      return decline(load, "a tile is wanted in another shape or layout than its descriptor's");
    if (buffer && !feedsDots(buffer))
      return decline(buffer, "a tile is used for more than products");
    // TMA writes at multiples of 128 bytes.
    constexpr int64_t alignment = 128;
    if (ring.bytes() % alignment != 0)
      return decline(load, "a tile has " + Twine(ring.bytes()) + " bytes, no multiple of " +
                               Twine(alignment));
    products.loads.push_back(ring);
    return true;
  }

  /// Whether an operand of a product is one that is loaded, or that the consumers make of such.
  bool checkOperand(ProductLoop &products, ttng::WarpGroupDotOp dot, Value operand) {
    Value buffer = throughViews(operand);
    if (products.loop.isDefinedOutsideOfLoop(buffer) || isa<RankedTensorType>(operand.getType()))
      return true;
    auto alloc = buffer.getDefiningOp<ttg::LocalAllocOp>();
    // In a chain the views of a tile are made again.
    if (!alloc || !alloc.getSrc() || (products.delayed && !isConstantView(operand)))
      return decline(dot, "an operand of the product is not a tile of its own");
    Operation *source = alloc.getSrc().getDefiningOp();
    auto isRing = [&](const RingLoad &ring) { return ring.load == source; };
    if (source && isa<tt::LoadOp>(source) && llvm::none_of(products.loads, isRing))
      return decline(source, "an operand is loaded through pointers");
    if (products.loop.isDefinedOutsideOfLoop(alloc.getSrc()))
      return decline(alloc,
                     "an operand is loaded outside of the loop, and put into shared memory in it");
    if (alloc->getBlock() != products.loop.getBody() || !feedsDots(alloc))
      return decline(alloc, "an operand that the loop computes is used for more than products");
    bool isLoaded =
        llvm::any_of(products.loads, [&](RingLoad &ring) { return ring.buffer == alloc; });
    if (!isLoaded && !llvm::is_contained(products.staged, alloc))
      products.staged.push_back(alloc);
    return true;
  }

  /// Whether threads can copy a tile through pointers, and how much each at once.
  bool checkPointers(tt::LoadOp load, ttg::LocalAllocOp buffer, unsigned &width) {
    if (!options.pointers)
      return decline(load,
                     "an operand is loaded through pointers, which the stock schedule does as "
                     "fast in a kernel without a loop over tiles");
    if (load.getCachePolicyAttr() || load.getIsVolatile())
      return decline(load, "an operand is loaded with a cache policy, or is volatile");
    if (Value other = load.getOther(); other && !isZero(other))
      return decline(load, "what is loaded in place of masked elements is not zero");
    auto type = cast<RankedTensorType>(load.getType());
    auto layout = dyn_cast<ttg::BlockedEncodingAttr>(type.getEncoding());
    auto shared = dyn_cast<ttg::NVMMASharedEncodingAttr>(buffer.getType().getEncoding());
    bool isInOrder = layout && shared && type.getRank() == 2 &&
                     layout.getOrder()[0] == (shared.getTransposed() ? 0u : 1u);
    if (!isInOrder)
      return decline(load, "a tile is wanted in another order than it is loaded");
    tt::ModuleAxisInfoAnalysis axes(load->getParentOfType<ModuleOp>());
    width = axes.getContiguity(load.getPtr());
    if (load.getMask())
      width = std::min(width, axes.getMaskAlignment(load.getMask()));
    // PTX ISA, cp.async: 4, 8 or 16 bytes.
    if (width * type.getElementTypeBitWidth() < leastCopyBits)
      return decline(load, "a thread would copy " +
                               Twine(width * type.getElementTypeBitWidth() / 8) +
                               " bytes at once, and asynchronous copies have 4 and more");
    return true;
  }

  /// Whether nothing but the products of the loop reads a buffer.
  static bool feedsDots(Value view) {
    return llvm::all_of(view.getUsers(), [](Operation *user) {
      return isa<ttng::WarpGroupDotOp>(user) ||
             (user->hasTrait<OpTrait::MemDescViewTrait>() && feedsDots(user->getResult(0)));
    });
  }

  /// Finds what between the loops needs nothing of them, so that others may use it behind them.
  /// Only numbers and tensors leave the tasks.
  bool findLeaving() {
    for (Operation *op = plan.first; op != plan.last; op = op->getNextNode()) {
      bool isApart = !plan.path.contains(op) && op->getNumRegions() == 0 &&
                     isMemoryEffectFree(op) && llvm::none_of(op->getOperands(), [&](Value operand) {
                       Operation *owner = operand.getDefiningOp();
                       return owner && plan.contains(owner) && !plan.hoisted.contains(owner);
                     });
      if (isApart) {
        plan.hoisted.insert(op);
        continue;
      }
      for (Value result : op->getResults())
        for (Operation *user : result.getUsers())
          if (!plan.contains(user) && isa<ttg::MemDescType, tt::TensorDescType>(result.getType()))
            return decline(op,
                           quote(op) + " is between two loops of products, and used behind them");
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // What the producer repeats
  //===--------------------------------------------------------------------===//

  bool isOnPath(Operation *op) const { return plan.path.contains(op); }

  bool needAll() {
    for (Operation *op : plan.path) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
          if (!need(bound))
            return false;
      } else if (!need(cast<scf::IfOp>(op).getCondition())) {
        return false;
      }
    }
    for (ProductLoop &products : plan.loops)
      for (RingLoad &ring : products.loads)
        for (Value operand : ring.load->getOperands())
          if (!need(operand))
            return false;
    for (RingLoad &ring : plan.outer)
      for (Value operand : ring.load->getOperands())
        if (!need(operand))
          return false;
    return true;
  }

  bool need(Value value) {
    Operation *owner = value.getDefiningOp();
    if (!owner)
      owner = value.getParentBlock()->getParentOp();
    if (!plan.contains(owner) || plan.hoisted.contains(owner))
      return isScalar(value.getType()) || rebuild(value);
    if (!plan.needed.insert(value).second)
      return true;
    if (!isScalar(value.getType()) && !canHave(value.getType()))
      return decline(owner, needsTensor);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(owner);
      if (!loop || !isOnPath(loop))
        return true;
      if (argument == loop.getInductionVar())
        return true;
      unsigned index = argument.getArgNumber() - loop.getNumInductionVars();
      return needCarried(loop, index);
    }
    if (isOnPath(owner)) {
      unsigned index = cast<OpResult>(value).getResultNumber();
      if (auto loop = dyn_cast<scf::ForOp>(owner))
        return needCarried(loop, index);
      auto conditional = cast<scf::IfOp>(owner);
      return need(conditional.thenYield().getOperand(index)) &&
             need(conditional.elseYield().getOperand(index));
    }
    return needOp(owner);
  }

  bool needCarried(scf::ForOp loop, unsigned index) {
    plan.needed.insert(loop.getRegionIterArg(index));
    plan.needed.insert(loop.getResult(index));
    return need(loop.getInitArgs()[index]) && need(loop.getYieldedValues()[index]);
  }

  bool needOp(Operation *op) {
    // A value inside of an op that is repeated as a whole.
    while (op->getBlock() != plan.first->getBlock() && !isOnPath(op->getParentOp()))
      op = op->getParentOp();
    if (!plan.repeated.insert(op))
      return true;
    Operation *effect = nullptr;
    op->walk([&](Operation *inner) {
      auto table = dyn_cast<tt::LoadOp>(inner);
      if (table && !table.getIsVolatile())
        tables.push_back(table);
      else if (!inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() && !isMemoryEffectFree(inner))
        effect = inner;
    });
    if (effect)
      return decline(effect, "an address depends on " + quote(effect));
    bool isOfScalars = true;
    op->walk([&](Operation *inner) {
      isOfScalars &= llvm::all_of(inner->getOperandTypes(), isScalar) &&
                     llvm::all_of(inner->getResultTypes(), isScalar);
    });
    if (!isOfScalars && !canRepeat(op))
      return decline(op, needsTensor);
    WalkResult walked = op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *owner = operand.getDefiningOp();
        if (!owner)
          owner = operand.getParentBlock()->getParentOp();
        if (!op->isAncestor(owner) && !need(operand))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return !walked.wasInterrupted();
  }

  /// Whether the producer can repeat an op on tensors: it gives the same values with other warps.
  bool canRepeat(Operation *op) const {
    if (!llvm::all_of(op->getResultTypes(), [&](Type type) { return canHave(type); }))
      return false;
    if (DenseElementsAttr dense; matchPattern(op, m_Constant(&dense)))
      return dense.isSplat();
    return op->hasTrait<OpTrait::Elementwise>() ||
           isa<tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::MakeRangeOp, tt::AddPtrOp,
               ttg::ConvertLayoutOp, tt::LoadOp>(op);
  }

  /// Whether the producer copies by threads, and has a layout for a tensor.
  bool canHave(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || plan.producerWarps() == 1)
      return false;
    Attribute layout = tensor.getEncoding();
    while (auto slice = dyn_cast<ttg::SliceEncodingAttr>(layout))
      layout = slice.getParent();
    return isa<ttg::BlockedEncodingAttr>(layout);
  }

  /// Lets the producer compute a tensor from outside of the path again.
  bool rebuild(Value value) {
    Operation *op = value.getDefiningOp();
    bool isPossible = op && op->getBlock() == plan.first->getBlock() && canRepeat(op);
    if (!isPossible)
      return decline(op ? op : firstLoop(), needsTensor);
    if (auto load = dyn_cast<tt::LoadOp>(op)) {
      if (load.getIsVolatile())
        return decline(op, "an address depends on " + quote(op));
      tables.push_back(load);
    } else if (!isMemoryEffectFree(op)) {
      return decline(op, "an address depends on " + quote(op));
    }
    for (Value operand : op->getOperands())
      if (!isScalar(operand.getType()) && !plan.rebuilt.contains(operand.getDefiningOp()) &&
          !rebuild(operand))
        return false;
    plan.rebuilt.insert(op);
    return true;
  }

  bool checkMemory() {
    SmallVector<OpOperand *> addresses;
    for (ProductLoop &products : plan.loops)
      for (RingLoad &ring : products.loads)
        addresses.push_back(&ring.load->getOpOperand(0));
    for (RingLoad &ring : plan.outer)
      addresses.push_back(&ring.load->getOpOperand(0));
    for (tt::LoadOp table : tables)
      addresses.push_back(&table.getPtrMutable());
    auto kernel = firstLoop()->getParentOfType<tt::FuncOp>();
    // The producer does not wait with the consumers for what another kernel or block writes.
    WalkResult waits = kernel.walk([&](Operation *op) {
      auto load = dyn_cast<tt::LoadOp>(op);
      bool mayWait = (load && load.getIsVolatile()) || isa<tt::AtomicCASOp, scf::WhileOp>(op) ||
                     (isa<tt::AtomicRMWOp>(op) && !op->use_empty());
      if (!mayWait || !plan.contains(op))
        return WalkResult::advance();
      decline(op, quote(op) + " may wait for memory that the producer loads ahead of it");
      return WalkResult::interrupt();
    });
    if (waits.wasInterrupted())
      return false;
    Operation *writer = findWriter(kernel, addresses);
    if (!writer)
      return true;
    if (isa<tt::DescriptorLoadOp, tt::LoadOp>(writer))
      return decline(writer, "it is not known what memory an operand is loaded from");
    return decline(writer, quote(writer) + " may write what the producer loads ahead of it");
  }

  /// Finds what the loop loads through pointers beside its operands.
  bool findLoadsAhead() {
    auto kernel = firstLoop()->getParentOfType<tt::FuncOp>();
    for (ProductLoop &products : plan.loops)
      if (!findLoadsAhead(kernel, products))
        return false;
    return true;
  }

  bool findLoadsAhead(tt::FuncOp kernel, ProductLoop &products) {
    for (Operation &op : products.loop.getBody()->without_terminator()) {
      auto load = dyn_cast<tt::LoadOp>(op);
      auto isRing = [&](const RingLoad &ring) { return ring.load == &op; };
      if (!load || load->use_empty() || llvm::any_of(products.loads, isRing))
        continue;
      auto type = dyn_cast<RankedTensorType>(load.getType());
      int64_t bytes = type ? bytesOf(type) / (threadsPerWarp * plan.consumerWarps) : 0;
      if (type && products.delayed)
        bytes = int64_t(ttg::getTotalElemsPerThread(type)) * bytesOf(type) / type.getNumElements();
      bool isSmall = bytes <= (products.delayed ? mostBytesFirst : mostBytesAhead);
      // The sum of a product that is put off is not there yet.
      auto sum =
          products.delayed
              ? products.loop
                    .getRegionIterArgs()[products.delayed.getD().use_begin()->getOperandNumber()]
              : BlockArgument();
      bool needsSum = sum && llvm::any_of(load->getOperands(), [&](Value operand) {
                        return dependsOn(products.loop, operand, sum);
                      });
      if (isSmall && !needsSum && canLoadAhead(products.loop, load) &&
          !findWriter(kernel, &load.getPtrMutable()))
        products.ahead.push_back(load);
      else if (type)
        return decline(load, "a load through pointers in the loop would be waited for");
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Slots
  //===--------------------------------------------------------------------===//

  /// Shared memory that the kernel needs beside the ring: all the time, inside of the tasks, and
  /// behind them, where that of the ring is free again.
  struct OtherBytes {
    int64_t lasting = 0, inside = 0, behind = 0;
  };

  OtherBytes otherBytes() {
    OtherBytes bytes;
    llvm::SmallDenseSet<Type> staged;
    firstLoop()->getParentOfType<tt::FuncOp>().walk([&](Operation *op) {
      auto isPart = [&](const RingLoad &ring) {
        return ring.load == op || ring.buffer == op || ring.inRegisters == op;
      };
      auto isRing = [&](const ProductLoop &products) {
        return llvm::any_of(products.loads, isPart);
      };
      auto isStagedOperand = [&](ttg::LocalAllocOp alloc) {
        return llvm::any_of(plan.loops, [&](const ProductLoop &products) {
          return llvm::is_contained(products.staged, alloc);
        });
      };
      auto isStore = [](Operation *user) { return isa<tt::DescriptorStoreLikeOpInterface>(user); };
      // Stock stages what TMA stores in the layout that it has.
      bool isStaged = isa<ttg::ConvertLayoutOp>(op) && llvm::all_of(op->getUsers(), isStore);
      if (isStaged || llvm::any_of(plan.loops, isRing) || llvm::any_of(plan.outer, isPart))
        return;
      // What is staged or exchanged is over before the next of its kind.
      int64_t &passing = plan.contains(op) ? bytes.inside : bytes.behind;
      if (auto alloc = dyn_cast<ttg::LocalAllocOp>(op))
        // Operands that are computed have two buffers; of others, each group may have its own.
        bytes.lasting +=
            (isStagedOperand(alloc) || plan.schedule == Schedule::Cooperative ? 2 : 1) *
            bytesOf(alloc.getType());
      else if (isa<tt::DescriptorLoadLikeOpInterface>(op))
        passing = std::max(passing, bytesOf(cast<ShapedType>(op->getResult(0).getType())));
      else if (auto store = dyn_cast<tt::DescriptorStoreLikeOpInterface>(op); !store)
        passing = std::max<int64_t>(passing, tt::defaultAllocationAnalysisScratchSizeFn(op));
      else if (plan.contains(op))
        // Stores that go on behind their tile have a buffer for each type.
        bytes.lasting +=
            staged.insert(store.getSrc().getType()).second ? bytesOf(store.getSrc().getType()) : 0;
      else
        passing = std::max(passing, bytesOf(store.getSrc().getType()));
    });
    // Two tasks have what follows inside of them; where each has tiles of its own, both at once.
    if (plan.schedule != Schedule::Single)
      bytes.inside = std::max(bytes.inside, std::exchange(bytes.behind, 0));
    if (plan.schedule == Schedule::PingPong) {
      bytes.inside *= 2;
      bytes.lasting *= 2;
    }
    return bytes;
  }

  /// Returns how long the products of an iteration take.
  static int64_t cyclesOf(const ProductLoop &products) {
    int64_t cycles = 0;
    for (ttng::WarpGroupDotOp dot : products.dots) {
      auto a = cast<ShapedType>(dot.getA().getType());
      int64_t flops = 2 * dot.getD().getType().getNumElements() * a.getShape().back();
      cycles += flops * a.getElementTypeBitWidth() / 16 / flopsPerCycle;
    }
    return std::max<int64_t>(cycles, 1);
  }

  /// Returns how many slots are held at once: from the issue of a copy until the products of the
  /// next iteration have ended, by the time that the products of an iteration take.
  int64_t heldSlots() {
    int64_t interval = cyclesOf(plan.loops.front());
    return llvm::divideCeil(copyCycles + 2 * interval, interval);
  }

  /// Whether products take so long that an operand is computed beside them. Stock waits for scales.
  bool checkComputing() {
    return llvm::all_of(plan.loops,
                        [&](ProductLoop &products) { return checkComputing(products); });
  }

  bool checkComputing(ProductLoop &products) {
    if (products.delayed || products.isAwaited || !products.ahead.empty() ||
        cyclesOf(products) >= leastComputingCycles)
      return true;
    bool isInRegisters = isa<RankedTensorType>(products.dots.front().getA().getType());
    if (!products.staged.empty() || (isInRegisters && plan.consumerWarps > warpsPerGroup))
      return decline(products.dots.front(),
                     "the product is too short for what computes its operand to go on beside it");
    return true;
  }

  /// Chooses the slots, and how many blocks are to run on an SM.
  bool fit() {
    auto stages = firstLoop()->getAttrOfType<IntegerAttr>(numStages);
    int64_t asked = stages ? stages.getInt() : options.stages;
    int64_t least =
        std::clamp<int64_t>(options.slots ? options.slots : asked, leastSlots, mostSlots);
    // A loop over tiles has its SM for itself, and slots that are not held yet are filled
    // meanwhile.
    int64_t held = plan.isPersistent() ? mostSlots : heldSlots();
    int64_t most = options.slots ? least : std::max<int64_t>(least, held);
    OtherBytes other = otherBytes();
    int64_t room = 0;
    // One warp group alone computes nothing beside products that start in order: 0.65 to 0.79 of
    // the stock schedule for gradients of keys, tiles of 64x64 and heads of 128.
    bool mayBeInOrder = plan.loops.front().delayed && plan.consumerWarps == 2 * warpsPerGroup;
    if (!planRegisters(1) && mayBeInOrder) {
      for (ProductLoop &products : plan.loops)
        products.isInOrder = true;
      plan.producerRegisters = leastRegisters;
    }
    if (!planRegisters(1) && plan.loops.front().delayed)
      return decline(firstLoop(), "the chain of products takes more registers than threads have");
    if (!planRegisters(1))
      return decline(firstLoop(), "products take more registers than a thread has, of " +
                                      Twine(plan.launchRegisters) + " at launch");
    // A tile that the product that is put off reads too is held for two iterations: with two slots
    // the gradient of queries had 0.61 of its speed.
    int64_t leastHeld = leastSlots;
    for (const ProductLoop &products : plan.loops)
      for (unsigned ring = 0; ring != plan.numRings(); ++ring)
        if (products.delayed && products.isRead(ring, true) && products.isRead(ring, false))
          leastHeld = leastSlots + 1;
    // A kernel with a loop over tiles is launched with one block for each SM.
    for (int64_t blocks = plan.isPersistent() ? 1 : mostBlocks; blocks != 0; --blocks) {
      int64_t shared = sharedOfSM / blocks - sharedOfBlock - other.lasting;
      int64_t free = shared - sharedReserve - other.inside, outer = 0;
      for (const RingLoad &ring : plan.outer)
        outer += ring.bytes();
      // The next one of two is copied while a chain reads the other.
      bool hasNext = plan.isPersistent() && free - 2 * outer >= leastHeld * plan.slotBytes();
      plan.outerSlots = hasNext ? 2 : 1;
      room = (free - plan.outerSlots * outer) / plan.slotBytes();
      bool hasRoom = shared >= other.behind && room >= (blocks == 1 ? leastSlots : least);
      if (!hasRoom || !planRegisters(blocks))
        continue;
      plan.slots = std::min({room, most, mostSlots});
      if (isBetterStock(least, shared + other.lasting, other))
        return decline(firstLoop(), "products in flight would hold both slots that there is room "
                                    "for, and the stock schedule has " +
                                        Twine(least) + " stages");
      return true;
    }
    return decline(firstLoop(), "shared memory has room for " + Twine(std::max<int64_t>(room, 0)) +
                                    " slots of " + Twine(plan.slotBytes()) + " bytes");
  }

  /// Whether a loop over tiles has a ring of two slots, which products in flight hold, where the
  /// stock schedule has more stages: it stages stores where tensors are exchanged.
  bool isBetterStock(int64_t stages, int64_t shared, const OtherBytes &other) const {
    const ProductLoop &products = plan.loops.front();
    int64_t groups = plan.schedule == Schedule::PingPong ? 2 : 1;
    return plan.isPersistent() && plan.slots == leastSlots && stages > leastSlots &&
           !products.delayed && !products.isAwaited &&
           stages * plan.slotBytes() + std::max(other.lasting, other.inside) / groups <= shared;
  }

  /// Chooses the registers that threads start with, and returns whether they do for so many blocks
  /// on an SM. The producer's warp comes in a group of four.
  bool planRegisters(int64_t blocks) {
    int64_t warps = plan.consumerWarps + warpsPerGroup, sums = 0, parts = 0, widest = 0;
    bool isChain = false, isInOrder = false;
    auto registersOf = [&](ShapedType type) {
      return bytesOf(type) / (4 * threadsPerWarp * plan.consumerWarps);
    };
    for (ProductLoop &products : plan.loops) {
      int64_t held = 0, most = 0, widestFactor = 0;
      for (Value carried : products.loop.getRegionIterArgs())
        if (auto type = dyn_cast<RankedTensorType>(carried.getType()))
          held += registersOf(type);
      for (ttng::WarpGroupDotOp dot : products.dots) {
        // Beside what the loop carries there is what a product gives, and an operand in registers.
        bool isBeside =
            products.isAwaited ||
            (products.delayed && !isa<BlockArgument>(dot.getC()) && dot != products.delayed);
        int64_t beside = isBeside ? registersOf(dot.getD().getType()) : 0, factor = 0;
        if (auto a = dyn_cast<RankedTensorType>(dot.getA().getType()))
          factor = registersOf(a);
        // Those of a chain are there at the same time, but for factors of products that start in
        // the order in which they come.
        if (products.delayed)
          held += std::exchange(beside, 0);
        if (products.isInOrder)
          held += std::max<int64_t>(factor - widestFactor, 0);
        else if (products.delayed)
          held += factor;
        else
          beside += factor;
        widestFactor = std::max(widestFactor, factor);
        most = std::max(most, beside);
        auto mma = cast<ttg::NvidiaMmaEncodingAttr>(dot.getD().getType().getEncoding());
        widest = std::max<int64_t>(widest, mma.getInstrShape()[1] / 2);
      }
      if (held + most > sums + parts) {
        sums = held;
        parts = most;
      }
      isChain |= static_cast<bool>(products.delayed);
      isInOrder |= products.isInOrder;
    }
    int64_t launch = registersOfSM / (blocks * warps * threadsPerWarp) / 8 * 8;
    launch = std::min(launch, mostRegisters);
    // The user's limit is one on what a block takes, too.
    auto module = firstLoop()->getParentOfType<ModuleOp>();
    if (auto limit = module->getAttrOfType<IntegerAttr>(ttg::AttrMaxRegistersName))
      launch = std::min(launch, limit.getInt() / 8 * 8);
    plan.launchRegisters = launch;
    int64_t consumers = plan.consumerRegisters();
    if (parts != 0 && sums + parts + leastSpareOfInstruction > mostRegisters)
      return false;
    bool mayCrowd = blocks == 1 && !isChain;
    // What one instruction takes has to be there at launch already, or ptxas refuses it.
    return launch >= widest + leastSpareOfInstruction &&
           (mayCrowd ||
            consumers >= sums + parts + (isInOrder ? leastSpareOfInstruction : leastSpare));
  }

  PlanOptions options;
  Plan plan;
  /// Loads that the producer repeats.
  SmallVector<tt::LoadOp> tables;
  std::string reason;
  Operation *at = nullptr;
};

} // namespace

unsigned Plan::producerWarps() const {
  return llvm::any_of(loops.front().loads, [](const RingLoad &ring) { return ring.isByThreads(); })
             ? warpsPerGroup
             : 1;
}

unsigned Plan::fullArrivals() const {
  unsigned threads = producerWarps() == 1 ? 0 : producerWarps() * threadsPerWarp;
  return threads + (bulkBytes() != 0 ? 1 : 0);
}

int64_t Plan::bulkBytes() const {
  int64_t bytes = 0;
  for (const RingLoad &ring : loops.front().loads)
    bytes += ring.isByThreads() ? 0 : ring.bytes();
  return bytes;
}

ttg::MemDescType RingLoad::tile() const {
  if (buffer)
    return ttg::LocalAllocOp(buffer).getType();
  auto source = cast<tt::DescriptorLoadOp>(load);
  auto type = cast<RankedTensorType>(source.getType());
  return ttg::MemDescType::get(type.getShape(), type.getElementType(),
                               ttng::getEncodingFromDescriptor(source, type, source.getDesc()),
                               ttg::SharedMemorySpaceAttr::get(type.getContext()));
}

int64_t RingLoad::bytes() const { return bytesOf(tile()); }

const RingLoad *ProductLoop::loadOf(Value view) const {
  Value buffer = throughViews(view);
  const RingLoad *found = llvm::find_if(loads, [&](const RingLoad &ring) {
    return ring.buffer && ring.buffer == buffer.getDefiningOp();
  });
  return found == loads.end() ? nullptr : found;
}

bool ProductLoop::isRead(unsigned ring, bool byDelayed) const {
  return llvm::any_of(dots, [&](ttng::WarpGroupDotOp dot) {
    return (dot == delayed) == byDelayed &&
           llvm::any_of(ValueRange{dot.getA(), dot.getB()}, [&](Value operand) {
             const RingLoad *load = loadOf(operand);
             return load && load->ring == ring;
           });
  });
}

unsigned Plan::numRings() const {
  unsigned number = 0;
  for (const RingLoad &load : loops.front().loads)
    number = std::max(number, load.ring + 1);
  return number;
}

int64_t Plan::slotBytes(unsigned ring) const {
  int64_t bytes = 0;
  for (const RingLoad &load : loops.front().loads)
    bytes += load.ring == ring ? load.bytes() : 0;
  return bytes;
}

int64_t Plan::slotBytes() const {
  int64_t bytes = 0;
  for (const RingLoad &load : loops.front().loads)
    bytes += load.bytes();
  return bytes;
}

bool Plan::contains(Operation *op) const {
  Operation *there = first->getBlock()->findAncestorOpInBlock(*op);
  return there && !there->isBeforeInBlock(first) && !last->isBeforeInBlock(there);
}

bool Plan::isPersistent() const {
  return llvm::any_of(path, [&](Operation *op) {
    return isa<scf::ForOp>(op) &&
           llvm::none_of(loops, [&](const ProductLoop &products) { return products.loop == op; });
  });
}

int32_t Plan::consumerRegisters() const {
  int64_t warps = consumerWarps + warpsPerGroup, given = warpsPerGroup * producerRegisters;
  int64_t left = (warps * launchRegisters - given) / consumerWarps;
  return int32_t(std::min(left, mostRegisters) / 8 * 8);
}

llvm::StringRef nameOf(Schedule schedule) {
  switch (schedule) {
  case Schedule::Single:
    return "single";
  case Schedule::Cooperative:
    return "cooperative";
  case Schedule::PingPong:
    return "pingpong";
  }
  llvm_unreachable("a schedule has a name");
}

std::string Plan::describe() const {
  StringRef sharing = schedule == Schedule::Cooperative ? " in two groups that share tiles"
                      : schedule == Schedule::PingPong  ? " in two groups that take turns"
                                                        : "";
  const ProductLoop &products = loops.front();
  size_t count = products.delayed ? 2 : products.dots.size();
  std::string inFlight = "products end in their iteration";
  bool isInRegisters =
      !products.delayed && llvm::any_of(products.dots, [](ttng::WarpGroupDotOp dot) {
        return isa<RankedTensorType>(dot.getA().getType());
      });
  if (!products.isAwaited)
    inFlight = llvm::utostr(count) + (count == 1 ? " product" : " products") + " in flight" +
               (isInRegisters ? " until the next operand is in registers" : "");
  std::string producer = producerWarps() == 1 ? "one producer warp" : "four producer warps";
  std::string rings = numRings() == 1 ? "a ring" : llvm::utostr(numRings()) + " rings";
  std::string bytes;
  for (unsigned ring = 0; ring != numRings(); ++ring)
    bytes += (ring == 0 ? "" : " and ") + llvm::utostr(slotBytes(ring));
  std::string around;
  if (!outer.empty())
    around = " and around them " + llvm::utostr(outer.size()) + " of " + llvm::utostr(outerSlots) +
             " slots of " + llvm::utostr(outer.front().bytes());
  return (Twine(producer) + ", " + Twine(consumerWarps) + " consumer warps" + sharing + ", " +
          rings + " of " + Twine(slots) + " slots of " + bytes + " bytes" + around + ", " +
          inFlight + (products.hasTurns ? ", warp groups in turns" : "") +
          (isPersistent() ? ", loads go on behind the loop" : ""))
      .str();
}

Value Plan::carry(RewriterBase &rewriter, ProductLoop &products, Value start,
                  llvm::function_ref<Value(BlockArgument)> next) {
  FailureOr<LoopLikeOpInterface> replaced = products.loop.replaceWithAdditionalYields(
      rewriter, start, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
        return SmallVector<Value>{next(carried.front())};
      });
  Operation *old = products.loop;
  products.loop = cast<scf::ForOp>(replaced->getOperation());
  path.remove(old);
  path.insert(products.loop);
  if (first == old)
    first = products.loop;
  if (last == old)
    last = products.loop;
  return products.loop.getRegionIterArgs().back();
}

Value throughViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<OpTrait::MemDescViewTrait>())
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool isZero(Value value) {
  DenseElementsAttr dense;
  if (!matchPattern(value, m_Constant(&dense)) || !dense.isSplat())
    return false;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().isPosZero();
  return isa<IntegerType>(dense.getElementType()) && dense.getSplatValue<APInt>().isZero();
}

bool isAssumption(Operation *op) {
  // The dialect of LLVM is no dependency.
  return op->getName().getStringRef() == "llvm.intr.assume";
}

SmallVector<scf::ForOp> findAnnotated(tt::FuncOp kernel) {
  SmallVector<scf::ForOp> annotated;
  kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (loop->hasAttr(annotation))
      annotated.push_back(loop);
  });
  return annotated;
}

SmallVector<scf::ForOp> findProductLoops(Operation *root) {
  llvm::SmallSetVector<Operation *, 2> found;
  root->walk([&](ttng::WarpGroupDotOp dot) {
    auto loop = dot->getParentOfType<scf::ForOp>();
    if (loop && root->isAncestor(loop))
      found.insert(loop);
  });
  SmallVector<scf::ForOp> loops;
  for (Operation *op : found)
    loops.push_back(cast<scf::ForOp>(op));
  return loops;
}

SmallVector<Schedule> schedulesFor(ArrayRef<scf::ForOp> loops) {
  // One tile has no other beside which its results could be stored.
  if (loops.size() != 1 || !isa<scf::ForOp>(scf::ForOp(loops.front())->getParentOp()))
    return {Schedule::Single};
  int64_t sums = 0;
  scf::ForOp(loops.front()).walk([&](ttng::WarpGroupDotOp dot) {
    sums += dot.getD().getType().getNumElements();
  });
  SmallVector<Schedule> schedules = {Schedule::Cooperative, Schedule::Single};
  // Turns hide all of an epilogue, if the registers of one group hold the sums of a tile.
  if (sums <= mostSumsOfGroup)
    schedules.insert(schedules.begin(), Schedule::PingPong);
  return schedules;
}

Verdict makePlan(ArrayRef<scf::ForOp> loops, const PlanOptions &options) {
  return Planner(loops, options).run();
}

} // namespace tritonext::warpspec
