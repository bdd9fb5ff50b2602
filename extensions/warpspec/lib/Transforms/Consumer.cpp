//===- Consumer.cpp - The task that empties the ring ----------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

class Consumer {
public:
  Consumer(Plan &plan, ArrayRef<Ring> rings)
      : plan(plan), rings(rings), numInner(rings.size() - plan.outer.size()), ring(rings.front()),
        rewriter(plan.first->getContext()) {}

  /// Lets the loops and conditionals of the path in a block carry the positions in the rings, from
  /// each to the next, and returns the positions behind them.
  RingStates rewrite(Block &block, RingStates states) {
    SmallVector<Operation *> onPath;
    for (Operation &op : block)
      if (plan.path.contains(&op))
        onPath.push_back(&op);
    Operation *behind = onPath.empty() ? nullptr : onPath.back()->getNextNode();
    SmallVector<RingLoad> outer;
    for (const RingLoad &load : plan.outer)
      if (load.load->getBlock() == &block)
        outer.push_back(load);
    for (const RingLoad &load : outer) {
      llvm::erase_if(plan.outer, [&](RingLoad &known) { return known.load == load.load; });
      takeOuter(load, states[load.ring]);
    }
    for (Operation *op : onPath) {
      plan.path.remove(op);
      ProductLoop *products =
          llvm::find_if(plan.loops, [&](ProductLoop &known) { return known.loop == op; });
      if (products == plan.loops.end())
        products = nullptr;
      if (products && products->delayed)
        llvm::copy(rewriteChain(*products, rings.take_front(numInner),
                                RingStates(llvm::ArrayRef(states).take_front(numInner))),
                   states.begin());
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        states = rewriteLoop(loop, products, states);
      else
        states = rewriteConditional(cast<scf::IfOp>(op), states);
    }
    for (const RingLoad &load : outer) {
      rewriter.setInsertionPoint(behind);
      RingState &state = states[load.ring];
      const Ring &ring = rings[load.ring];
      Location loc = behind->getLoc();
      Value empty = viewOf(rewriter, loc, ring.empty, state.slot, /*isMutable=*/true);
      ttng::ArriveBarrierOp::create(rewriter, loc, empty, ring.arrivals)
          ->setAttr(separateWarps, rewriter.getUnitAttr());
      state = ring.next(rewriter, loc, state);
    }
    return states;
  }

private:
  /// Puts the tile of a slot in the place of what is loaded around a chain.
  void takeOuter(const RingLoad &load, RingState state) {
    const Ring &ring = rings[load.ring];
    Location loc = load.load->getLoc();
    rewriter.setInsertionPoint(load.load);
    Value full = viewOf(rewriter, loc, ring.full, state.slot, /*isMutable=*/true);
    ttng::WaitBarrierOp::create(rewriter, loc, full, state.phase)
        ->setAttr(separateWarps, rewriter.getUnitAttr());
    ttg::LocalAllocOp buffer = load.buffer;
    Value tile =
        viewOf(rewriter, loc, ring.tiles.front(), state.slot, buffer.getType().getMutableMemory());
    rewriter.replaceOp(buffer, tile);
    rewriter.eraseOp(load.load);
  }

  /// Whether a loop loads something or makes descriptors of its own, beside what the ring is for.
  bool hasLoads(scf::ForOp loop) const {
    return llvm::any_of(loop.getBody()->without_terminator(), [&](Operation &op) {
      return llvm::none_of(plan.outer, [&](const RingLoad &ring) { return ring.load == &op; }) &&
             isa<mlir::triton::MakeTensorDescOp, mlir::triton::DescriptorLoadLikeOpInterface>(op);
    });
  }

  /// Returns the type of the first operand of a product that goes on into the next iteration, if it
  /// is in registers. The loop carries it until the product has ended.
  static RankedTensorType factorOf(ProductLoop &products) {
    return products.isAwaited ? nullptr
                              : dyn_cast<RankedTensorType>(products.dots.front().getA().getType());
  }

  RingStates rewriteLoop(scf::ForOp loop, ProductLoop *products, const RingStates &states) {
    rewriter.setInsertionPoint(loop);
    auto keep = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
      return SmallVector<Value>(arguments);
    };
    unsigned count = 2 * states.size();
    SmallVector<Value> added;
    if (RankedTensorType factor = products ? factorOf(*products) : nullptr)
      added.push_back(
          arith::ConstantOp::create(rewriter, loop.getLoc(), rewriter.getZeroAttr(factor)));
    added.append(valuesOf(states));
    FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
        rewriter, added, /*replaceInitOperandUsesInLoop=*/false, keep);
    auto built = cast<scf::ForOp>(replaced->getOperation());
    built->removeAttr("tt.flatten");
    RingStates inside = statesOf(ValueRange(built.getRegionIterArgs()).take_back(count));
    // The stock pipeliner may let the stores of a tile go on behind it, and nothing else.
    if (products || hasLoads(built))
      built->setAttr("tt.num_stages", rewriter.getI32IntegerAttr(0));
    inside = products ? RingStates{multiply(built, *products, inside.front())}
                      : rewrite(*built.getBody(), inside);
    setPositions(built.getBody()->getTerminator(), inside);
    RingStates behind = statesOf(ValueRange(built.getResults()).take_back(count));
    if (products && !products->isAwaited)
      drain(built, *products, behind.front());
    return behind;
  }

  RingStates rewriteConditional(scf::IfOp conditional, const RingStates &states) {
    rewriter.setInsertionPoint(conditional);
    unsigned count = 2 * states.size();
    SmallVector<Type> types(conditional.getResultTypes());
    types.append(count, rewriter.getI32Type());
    auto built = scf::IfOp::create(rewriter, conditional.getLoc(), types,
                                   conditional.getCondition(), /*addThenBlock=*/false,
                                   /*addElseBlock=*/false);
    built->setDiscardableAttrs(conditional->getDiscardableAttrDictionary());
    built.getThenRegion().takeBody(conditional.getThenRegion());
    built.getElseRegion().takeBody(conditional.getElseRegion());
    if (built.getElseRegion().empty()) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.createBlock(&built.getElseRegion());
      scf::YieldOp::create(rewriter, conditional.getLoc());
    }
    for (Block *block : {built.thenBlock(), built.elseBlock()}) {
      Operation *terminator = block->getTerminator();
      terminator->insertOperands(terminator->getNumOperands(), valuesOf(states));
      setPositions(terminator, rewrite(*block, states));
    }
    rewriter.replaceOp(conditional, built.getResults().drop_back(count));
    return statesOf(ValueRange(built.getResults()).take_back(count));
  }

  static void setPositions(Operation *terminator, const RingStates &states) {
    SmallVector<Value> values = valuesOf(states);
    unsigned first = terminator->getNumOperands() - values.size();
    for (auto [index, value] : llvm::enumerate(values))
      terminator->setOperand(first + index, value);
  }

  Value constant(Location loc, int32_t value) {
    return arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(value));
  }

  /// Gives a slot back to the producer if `condition` holds.
  void release(Location loc, Value slot, Value condition) {
    Value empty = viewOf(rewriter, loc, ring.empty, slot, /*isMutable=*/true);
    ttng::ArriveBarrierOp::create(rewriter, loc, empty, 1, condition);
  }

  /// Returns the slot before another.
  Value before(Location loc, Value slot) {
    Value isFirst =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, slot, constant(loc, 0));
    Value lower = arith::SubIOp::create(rewriter, loc, slot, constant(loc, 1));
    return arith::SelectOp::create(rewriter, loc, isFirst, constant(loc, int32_t(ring.slots) - 1),
                                   lower);
  }

  /// Waits until at most `pending` products are unfinished, and returns the sums behind that.
  SmallVector<Value> endProducts(Location loc, ValueRange sums, unsigned pending) {
    auto wait = ttng::WarpGroupDotWaitOp::create(rewriter, loc, sums, pending,
                                                 /*warpGroupLocal=*/true);
    return SmallVector<Value>(wait.getResults());
  }

  /// Puts the tiles of a slot in the place of the loads, and returns the last op that reads one.
  Operation *takeTiles(Location loc, ProductLoop &products, RingState state) {
    Operation *last = products.dots.back();
    auto isReadAt = [&](Operation *op) {
      if (last->isBeforeInBlock(op))
        last = op;
    };
    llvm::SmallSetVector<Operation *, 4> replaced;
    rewriter.setInsertionPoint(products.loads.front().load);
    Value full = viewOf(rewriter, loc, ring.full, state.slot, /*isMutable=*/true);
    ttng::WaitBarrierOp::create(rewriter, products.loads.front().load->getLoc(), full, state.phase);
    // PTX ISA, async proxy: products read shared memory in another way than threads write it.
    if (plan.producerWarps() != 1)
      ttng::FenceAsyncSharedOp::create(rewriter, loc, /*bCluster=*/false);
    for (auto [load, tiles] : llvm::zip_equal(products.loads, ring.tiles)) {
      Operation *place = load.buffer ? load.buffer.getOperation() : load.inRegisters;
      // What goes to registers is read at once, before anything is computed of it.
      rewriter.setInsertionPoint(load.buffer ? place : products.loads.front().load);
      Value tile = viewOf(rewriter, place->getLoc(), tiles, state.slot,
                          load.buffer && load.tile().getMutableMemory());
      if (!load.buffer) {
        tile = ttg::LocalLoadOp::create(rewriter, place->getLoc(), place->getResult(0).getType(),
                                        tile);
        isReadAt(tile.getDefiningOp());
      }
      rewriter.replaceAllUsesWith(place->getResult(0), tile);
      replaced.insert(place);
      replaced.insert(load.load);
    }
    for (Operation *op : replaced)
      rewriter.eraseOp(op);
    return last;
  }

  RingState multiply(scf::ForOp loop, ProductLoop &products, RingState state) {
    Location loc = loop.getLoc();
    Operation *last = takeTiles(loc, products, state);
    if (products.isAwaited) {
      rewriter.setInsertionPointAfter(last);
      release(loc, state.slot, Value());
      rewriter.setInsertionPoint(loop.getBody()->getTerminator());
      return ring.next(rewriter, loc, state);
    }

    SmallVector<Value> sums;
    for (ttng::WarpGroupDotOp dot : products.dots) {
      dot.setIsAsync(true);
      sums.push_back(dot.getD());
    }
    auto releaseBefore = [&] {
      Value isLater = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                            loop.getInductionVar(), loop.getLowerBound());
      release(loc, before(loc, state.slot), isLater);
    };
    ttng::WarpGroupDotOp dot = products.dots.front();
    RankedTensorType operand = factorOf(products);
    if (!operand) {
      // The products of the iteration before have ended when no more are left than were started
      // here.
      rewriter.setInsertionPointAfter(last);
      SmallVector<Value> passed = endProducts(products.dots.back()->getLoc(), sums, sums.size());
      Operation *terminator = loop.getBody()->getTerminator();
      for (auto [sum, behind] : llvm::zip_equal(sums, passed))
        terminator->replaceUsesOfWith(sum, behind);
      releaseBefore();
      return ring.next(rewriter, loc, state);
    }
    // A product reads the registers of its operand until it has ended (PTX ISA, wgmma.mma_async),
    // and ptxas takes them for free before. So they pass through the wait for it, and the next
    // operand is computed elsewhere and moved there.
    Operation *terminator = loop.getBody()->getTerminator();
    unsigned index = loop.getNumRegionIterArgs() - numPositions - 1;
    rewriter.setInsertionPoint(dot);
    SmallVector<Value> ended =
        endProducts(loc, {dot.getC(), dot.getA(), loop.getRegionIterArg(index)}, 0);
    releaseBefore();
    rewriter.setInsertionPoint(dot);
    auto moved = mlir::triton::ElementwiseInlineAsmOp::create(
        rewriter, loc, TypeRange(operand), "mov.b32 $0, $1;", "=r,r", /*pure=*/false,
        /*packedElement=*/32 / operand.getElementTypeBitWidth(), ended[1]);
    dot.getCMutable().assign(ended[0]);
    dot.getAMutable().assign(moved->getResult(0));
    terminator->setOperand(index, moved->getResult(0));
    rewriter.setInsertionPoint(terminator);
    return ring.next(rewriter, loc, state);
  }

  /// Ends the products of the last iteration and gives its slot back.
  void drain(scf::ForOp loop, ProductLoop &products, RingState behind) {
    Location loc = loop.getLoc();
    rewriter.setInsertionPointAfter(loop);
    SmallVector<Value> sums;
    for (ttng::WarpGroupDotOp dot : products.dots) {
      Value carried = dot.getC();
      if (auto wait = carried.getDefiningOp<ttng::WarpGroupDotWaitOp>())
        carried = wait.getInputs()[cast<OpResult>(carried).getResultNumber()];
      sums.push_back(loop.getTiedLoopResult(cast<BlockArgument>(carried)));
    }
    if (factorOf(products))
      sums.push_back(loop.getResult(loop.getNumResults() - numPositions - 1));
    SmallVector<Value> ended = endProducts(products.dots.back()->getLoc(), sums, 0);
    Operation *waiting = ended.front().getDefiningOp();
    for (auto [sum, value] : llvm::zip_equal(sums, ended))
      rewriter.replaceAllUsesExcept(sum, value, waiting);
    auto order = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value hasRun =
        arith::CmpIOp::create(rewriter, loc, order, loop.getLowerBound(), loop.getUpperBound());
    release(loc, before(loc, behind.slot), hasRun);
  }

  /// What a loop of products carries of the ring, as its last values.
  static constexpr unsigned numPositions = 2;

  Plan &plan;
  ArrayRef<Ring> rings;
  /// Rings of the loops of products.
  unsigned numInner;
  /// The only one, where no product needs another.
  const Ring &ring;
  IRRewriter rewriter;
};

} // namespace

void rewriteConsumer(Plan &plan, ArrayRef<Ring> rings, RingStates start) {
  Consumer(plan, rings).rewrite(*plan.first->getBlock(), std::move(start));
}

} // namespace tritonext::warpspec
