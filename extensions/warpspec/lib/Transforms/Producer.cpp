//===- Producer.cpp - The task that fills the rings -----------------------===//
//
// The task is not a copy of the kernel from which things are removed, but built from what the
// addresses need. Tensors of pointers get layouts for the number of warps that it has.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

class Producer {
public:
  Producer(Plan &plan, ArrayRef<Ring> outside, ttg::WarpSpecializePartitionsOp tasks)
      : plan(plan), tasks(tasks), body(&tasks.getPartitionRegions().front().emplaceBlock()),
        builder(OpBuilder::atBlockEnd(body)) {
    for (const Ring &ring : outside)
      rings.push_back(ring.mapped([this](Value value) { return capture(value); }));
  }

  void run() {
    Location loc = plan.loops.front().loop.getLoc();
    for (Operation *op : plan.rebuilt)
      clone(*op);
    RingStates start;
    for (size_t i = 0; i != rings.size(); ++i) {
      Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
      start.push_back({zero, zero});
    }
    buildOps({plan.first->getIterator(), std::next(plan.last->getIterator())}, start);
    ttg::WarpReturnOp::create(builder, loc);
  }

private:
  bool isOutside(Value value) const {
    Operation *owner = value.getDefiningOp();
    if (!owner)
      owner = value.getParentBlock()->getParentOp();
    return !plan.contains(owner);
  }

  /// Returns a value from outside of the task in it.
  Value capture(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Value inside;
    if (Operation *op = value.getDefiningOp(); op && op->hasTrait<OpTrait::ConstantLike>()) {
      OpBuilder atStart = OpBuilder::atBlockBegin(body);
      inside = atStart.clone(*op)->getResult(0);
    } else {
      tasks->insertOperands(tasks->getNumOperands(), value);
      inside = body->addArgument(value.getType(), value.getLoc());
    }
    mapping.map(value, inside);
    return inside;
  }

  Value lookup(Value value) { return isOutside(value) ? capture(value) : mapping.lookup(value); }

  void clone(Operation &op) {
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (isOutside(operand))
          capture(operand);
    });
    Operation *copy = builder.clone(op, mapping);
    for (OpResult result : copy->getResults())
      result.setType(relayout(result.getType()));
    DenseElementsAttr dense;
    if (auto constant = dyn_cast<arith::ConstantOp>(copy);
        constant && matchPattern(copy, m_Constant(&dense)))
      constant.setValueAttr(dense.resizeSplat(cast<ShapedType>(copy->getResult(0).getType())));
  }

  /// Returns a type with a layout for the warps of the task.
  Type relayout(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return type;
    return tensor.cloneWithEncoding(relayout(tensor.getEncoding()));
  }
  Attribute relayout(Attribute layout) const {
    if (auto slice = dyn_cast<ttg::SliceEncodingAttr>(layout))
      return ttg::SliceEncodingAttr::get(
          slice.getContext(), slice.getDim(),
          cast<ttg::DistributedEncodingTrait>(relayout(Attribute(slice.getParent()))));
    auto blocked = cast<ttg::BlockedEncodingAttr>(layout);
    SmallVector<unsigned> warps(blocked.getWarpsPerCTA());
    for (unsigned number = plan.consumerWarps; number > plan.producerWarps(); number /= 2)
      *llvm::max_element(warps) /= 2;
    return ttg::BlockedEncodingAttr::get(blocked.getContext(), blocked.getSizePerThread(),
                                         blocked.getThreadsPerWarp(), warps, blocked.getOrder(),
                                         blocked.getCGALayout());
  }

  /// Builds those ops of the kernel that the task needs, and returns the positions behind.
  RingStates buildOps(llvm::iterator_range<Block::iterator> ops, RingStates states) {
    Block *block = ops.begin()->getBlock();
    bool isInLoop = isa<scf::ForOp>(block->getParentOp()) ||
                    block->getParentOp()->getParentOfType<scf::ForOp>();
    bool isAwaited = block == plan.first->getBlock() || (!isInLoop && plan.loops.size() == 1);
    for (Operation &op : ops) {
      if (plan.path.contains(&op)) {
        states = build(&op, states);
        isAwaited = false;
      } else if (plan.repeated.contains(&op)) {
        if (!isAwaited && makesDescriptor(op)) {
          awaitCopies(op.getLoc(), states);
          isAwaited = true;
        }
        clone(op);
      } else if (isa<mlir::triton::DescriptorLoadOp, mlir::triton::LoadOp>(op)) {
        fillBehind(op, states);
      }
    }
    return states;
  }

  RingStates buildBlock(Block &block, RingStates states) {
    return buildOps(block.without_terminator(), std::move(states));
  }

  static bool makesDescriptor(Operation &op) {
    return op.walk([](mlir::triton::MakeTensorDescOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  /// Waits until no copy is on its way: it may still read the descriptor that is made anew.
  void awaitCopies(Location loc, const RingStates &states) {
    for (auto [ring, state] : llvm::zip_equal(rings, states))
      awaitCopies(loc, ring, state);
  }

  void awaitCopies(Location loc, const Ring &ring, RingState state) {
    Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
    Value before = arith::XOrIOp::create(builder, loc, state.phase, one);
    for (unsigned i = 0; i != ring.slots; ++i) {
      Value slot = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(i));
      Value isFilled =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, slot, state.slot);
      Value phase = arith::SelectOp::create(builder, loc, isFilled, state.phase, before);
      Value full = viewOf(builder, loc, ring.full, slot, /*isMutable=*/true);
      ttng::WaitBarrierOp::create(builder, loc, full, phase);
    }
  }

  SmallVector<unsigned> neededOf(Operation *op) const {
    SmallVector<unsigned> indices;
    for (OpResult result : op->getResults())
      if (plan.needed.contains(result))
        indices.push_back(result.getResultNumber());
    return indices;
  }

  /// Ends a block with what is needed of its terminator, and the positions.
  void yield(Operation *terminator, ArrayRef<unsigned> indices, const RingStates &states) {
    SmallVector<Value> values;
    for (unsigned index : indices)
      values.push_back(lookup(terminator->getOperand(index)));
    values.append(valuesOf(states));
    scf::YieldOp::create(builder, terminator->getLoc(), values);
  }

  RingStates build(Operation *op, const RingStates &states) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return buildLoop(loop, states);
    return buildConditional(cast<scf::IfOp>(op), states);
  }

  RingStates finish(Operation *op, Operation *built, ArrayRef<unsigned> indices) {
    builder.setInsertionPointAfter(built);
    for (auto [position, index] : llvm::enumerate(indices))
      mapping.map(op->getResult(index), built->getResult(position));
    return statesOf(built->getResults().drop_front(indices.size()));
  }

  RingStates buildLoop(scf::ForOp loop, const RingStates &states) {
    SmallVector<unsigned> indices = neededOf(loop);
    SmallVector<Value> inits;
    for (unsigned index : indices)
      inits.push_back(lookup(loop.getInitArgs()[index]));
    inits.append(valuesOf(states));
    auto built = scf::ForOp::create(builder, loop.getLoc(), lookup(loop.getLowerBound()),
                                    lookup(loop.getUpperBound()), lookup(loop.getStep()), inits,
                                    /*bodyBuilder=*/nullptr, loop.getUnsignedCmp());
    built->setAttr("tt.num_stages", builder.getI32IntegerAttr(0));
    mapping.map(loop.getInductionVar(), built.getInductionVar());
    for (auto [position, index] : llvm::enumerate(indices))
      mapping.map(loop.getRegionIterArg(index), built.getRegionIterArg(position));
    builder.setInsertionPointToStart(built.getBody());
    RingStates inside =
        buildBlock(*loop.getBody(),
                   statesOf(ValueRange(built.getRegionIterArgs()).drop_front(indices.size())));
    yield(loop.getBody()->getTerminator(), indices, inside);
    return finish(loop, built, indices);
  }

  RingStates buildConditional(scf::IfOp conditional, const RingStates &states) {
    SmallVector<unsigned> indices = neededOf(conditional);
    SmallVector<Type> types;
    for (unsigned index : indices)
      types.push_back(relayout(conditional.getResult(index).getType()));
    types.append(2 * states.size(), builder.getI32Type());
    auto built = scf::IfOp::create(builder, conditional.getLoc(), types,
                                   lookup(conditional.getCondition()), /*addThenBlock=*/true,
                                   /*addElseBlock=*/true);
    builder.setInsertionPointToStart(built.thenBlock());
    yield(conditional.thenYield(), indices, buildBlock(*conditional.thenBlock(), states));
    builder.setInsertionPointToStart(built.elseBlock());
    if (Block *otherwise = conditional.elseBlock())
      yield(otherwise->getTerminator(), indices, buildBlock(*otherwise, states));
    else
      yield(conditional.thenYield(), {}, states);
    return finish(conditional, built, indices);
  }

  /// Fills the slot of a ring whose last load in a loop is `op`, if it is one.
  void fillBehind(Operation &op, RingStates &states) {
    for (const RingLoad &load : plan.outer)
      if (load.load == &op)
        states[load.ring] = fill(rings[load.ring], load, states[load.ring]);
    for (ProductLoop &products : plan.loops) {
      const RingLoad *found =
          llvm::find_if(products.loads, [&](RingLoad &ring) { return ring.load == &op; });
      if (found == products.loads.end())
        continue;
      unsigned number = found->ring;
      SmallVector<RingLoad> loads;
      for (RingLoad &load : products.loads)
        if (load.ring == number)
          loads.push_back(load);
      if (loads.back().load == &op)
        states[number] = fill(rings[number], loads, states[number]);
    }
  }

  /// Starts the copies of one iteration into a slot, once it is empty.
  RingState fill(const Ring &ring, ArrayRef<RingLoad> loads, RingState state) {
    Location loc = loads.front().load->getLoc();
    int64_t bytes = 0;
    for (const RingLoad &load : loads)
      bytes += load.isByThreads() ? 0 : load.bytes();
    Value one = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
    Value before = arith::XOrIOp::create(builder, loc, state.phase, one);
    Value empty = viewOf(builder, loc, ring.empty, state.slot, /*isMutable=*/true);
    ttng::WaitBarrierOp::create(builder, loc, empty, before);
    Value full = viewOf(builder, loc, ring.full, state.slot, /*isMutable=*/true);
    Value always = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    if (bytes != 0)
      ttng::BarrierExpectOp::create(builder, loc, full, bytes, always);
    for (auto [load, tiles] : llvm::zip_equal(loads, ring.tiles)) {
      if (load.isByThreads()) {
        copyByThreads(load, viewOf(builder, load.load->getLoc(), tiles, state.slot, true));
        continue;
      }
      auto source = cast<mlir::triton::DescriptorLoadOp>(load.load);
      SmallVector<Value> coordinates;
      for (Value index : source.getIndices())
        coordinates.push_back(lookup(index));
      Value tile = viewOf(builder, source.getLoc(), tiles, state.slot, /*isMutable=*/true);
      ttng::AsyncTMACopyGlobalToLocalOp::create(builder, source.getLoc(), lookup(source.getDesc()),
                                                coordinates, full, tile, always,
                                                /*multicast=*/false, source.getCachePolicyAttr());
    }
    if (plan.producerWarps() != 1)
      ttng::AsyncCopyMbarrierArriveOp::create(builder, loc, full, /*noIncrement=*/true);
    return ring.next(builder, loc, state);
  }

  void copyByThreads(const RingLoad &load, Value tile) {
    auto source = cast<mlir::triton::LoadOp>(load.load);
    auto optional = [&](Value value) { return value ? lookup(value) : Value(); };
    ttg::AsyncCopyGlobalToLocalOp::create(
        builder, source.getLoc(), lookup(source.getPtr()), tile, optional(source.getMask()),
        optional(source.getOther()), /*cachePolicy=*/nullptr, /*isVolatile=*/false, load.width);
  }

  Plan &plan;
  ttg::WarpSpecializePartitionsOp tasks;
  Block *body;
  OpBuilder builder;
  IRMapping mapping;
  SmallVector<Ring> rings;
};

} // namespace

void buildProducer(Plan &plan, ArrayRef<Ring> rings, ttg::WarpSpecializePartitionsOp tasks) {
  Producer(plan, rings, tasks).run();
}

} // namespace tritonext::warpspec
