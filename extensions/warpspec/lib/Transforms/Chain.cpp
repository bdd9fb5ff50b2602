//===- Chain.cpp - Products of what a loop computes from products ---------===//
//
// The last product of an iteration, such as that of attention's weights and values, needs what is
// computed from the first. It is put off to the next iteration and starts there behind the first:
//
//   S = Q K[0]; P = f(S)
//   for i = 1 ..: S = Q K[i]; O += P V[i - 1]; P = f(S), and O is scaled behind its product
//   O += P V[last]
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

/// Operands of the product that is put off: what it adds to, and the first factor.
struct Pending {
  Value sum, factor;
};

/// Builds an iteration of a loop, beside the product that is put off from the one before.
class Iteration {
public:
  /// `states` are the positions of the iteration's tiles in the rings, or of the product before if
  /// there is one that reads them.
  Iteration(OpBuilder &builder, ProductLoop &products, ArrayRef<Ring> rings,
            const RingStates &states, bool hasPending)
      : builder(builder), products(products), rings(rings), before(states), now(states),
        isFull(rings.size(), false), readers(rings.size(), 0) {
    for (unsigned ring = 0; ring != rings.size(); ++ring)
      if (hasPending && isHeld(ring))
        now[ring] = rings[ring].next(builder, products.loop.getLoc(), before[ring]);
    for (ttng::WarpGroupDotOp dot : products.dots)
      for (unsigned ring : ringsOf(dot))
        ++readers[ring];
  }

  /// Values of the iteration by those of the loop.
  IRMapping mapping;

  /// Builds the body but for the product that is put off, and the one before if there is any.
  void build(std::optional<Pending> pending) {
    turn = products.hasTurns ? Turn::Wanted : Turn::Over;
    Block *body = products.loop.getBody();
    // What loads go on beside the first product are at the start.
    Block::iterator rest = body->begin();
    for (Operation *load : products.ahead)
      if (load->isBeforeInBlock(products.dots.front()) &&
          (rest == body->begin() || !load->isBeforeInBlock(&*rest)))
        rest = std::next(load->getIterator());
    for (Operation &op : llvm::make_range(body->begin(), rest))
      builder.clone(op, mapping);
    for (ttng::WarpGroupDotOp dot : products.dots)
      if (isEarly(dot))
        startProduct(dot);
    if (pending)
      startDelayed(*pending);
    llvm::SetVector<Operation *> roundings = findRoundings();
    for (Operation &op : llvm::make_range(rest, body->without_terminator().end())) {
      auto dot = dyn_cast<ttng::WarpGroupDotOp>(op);
      if (isLoad(op) || isViewOfRing(op) || (dot && (dot == products.delayed || isEarly(dot))) ||
          roundings.contains(&op))
        continue;
      finishOperands(op);
      if (!dot) {
        builder.clone(op, mapping);
        settled = started;
        continue;
      }
      // The factor of one that has run beside what was computed since then is free.
      if (products.isInOrder)
        finish(settled);
      startProduct(dot);
    }
    finish(started);
    for (Operation *op : llvm::reverse(roundings))
      builder.clone(*op, mapping);
  }

  /// Builds the product that is put off alone, and returns its sum.
  Value buildLast(Pending pending) {
    startDelayed(pending);
    finish(started);
    return mapping.lookup(sumArgument(products));
  }

  /// Returns the positions behind: `hasTiles` tells whether the iteration had tiles of its own.
  RingStates behind(bool hasTiles) {
    RingStates states;
    for (unsigned ring = 0; ring != rings.size(); ++ring)
      states.push_back(hasTiles && !isHeld(ring)
                           ? rings[ring].next(builder, products.loop.getLoc(), now[ring])
                           : now[ring]);
    return states;
  }

  /// Returns what the loop carries from one iteration to the product that is put off.
  static BlockArgument sumArgument(ProductLoop &products) {
    scf::ForOp loop = products.loop;
    return loop.getRegionIterArg(products.delayed.getD().use_begin()->getOperandNumber());
  }

private:
  /// A product that was started and not waited for, and the value of the loop that it stands for.
  struct Unfinished {
    ttng::WarpGroupDotOp dot;
    unsigned number;
    Value original, sum, factor;
  };

  enum class Turn { Wanted, Taken, Over };

  /// Whether the product that is put off reads tiles of a ring, which are held for it.
  bool isHeld(unsigned ring) const { return products.isRead(ring, /*byDelayed=*/true); }

  /// Returns the rings that a product is the last to read.
  llvm::SmallSetVector<unsigned, 2> ringsOf(ttng::WarpGroupDotOp dot) const {
    llvm::SmallSetVector<unsigned, 2> found;
    for (Value operand : {Value(dot.getA()), Value(dot.getB())})
      if (const RingLoad *load = products.loadOf(operand);
          load && (dot == products.delayed || !isHeld(load->ring)))
        found.insert(load->ring);
    return found;
  }

  /// Finds the ops, the last first, that round the factor of the product that is put off. The one
  /// before reads its registers until it has ended, so the next is put there behind that.
  llvm::SetVector<Operation *> findRoundings() const {
    llvm::SetVector<Operation *> found;
    Operation *op = products.delayed.getA().getDefiningOp();
    while (op && op->getBlock() == products.loop.getBody() && op->hasOneUse() &&
           isa<ttg::ConvertLayoutOp, arith::TruncFOp, mlir::triton::FpToFpOp>(op)) {
      found.insert(op);
      op = op->getOperand(0).getDefiningOp();
    }
    return found;
  }

  bool isLoad(Operation &op) const {
    return llvm::any_of(products.loads, [&](const RingLoad &ring) {
      return ring.load == &op || ring.buffer == &op;
    });
  }

  bool isViewOfRing(Operation &op) const {
    return op.hasTrait<OpTrait::MemDescViewTrait>() && products.loadOf(op.getResult(0));
  }

  /// Whether a product is started at once: it needs nothing that the iteration computes.
  bool isEarly(ttng::WarpGroupDotOp dot) const {
    if (dot == products.delayed || (products.isInOrder && dot != products.dots.front()))
      return false;
    return llvm::all_of(dot->getOperands(), [&](Value operand) {
      return products.loadOf(operand) || products.loop.isDefinedOutsideOfLoop(operand);
    });
  }

  void waitFor(unsigned ring, RingState state, Location loc) {
    Value full = viewOf(builder, loc, rings[ring].full, state.slot, /*isMutable=*/true);
    auto wait = ttng::WaitBarrierOp::create(builder, loc, full, state.phase);
    wait->setAttr(separateWarps, builder.getUnitAttr());
    if (turn == Turn::Wanted) {
      wait->setAttr(takesTurn, builder.getUnitAttr());
      turn = Turn::Taken;
    }
  }

  /// Returns the view of a tile at a position that corresponds to one in the loop.
  Value viewAt(Value view, const RingLoad &load, RingState state) {
    Operation *op = view.getDefiningOp();
    ttg::LocalAllocOp buffer = load.buffer;
    if (op == buffer)
      return viewOf(builder, buffer.getLoc(), rings[load.ring].tiles.front(), state.slot,
                    buffer.getType().getMutableMemory());
    IRMapping inner;
    inner.map(op->getOperand(0), viewAt(op->getOperand(0), load, state));
    return builder.clone(*op, inner)->getResult(0);
  }

  /// Waits for the tiles of the iteration that a product reads.
  void awaitTiles(ttng::WarpGroupDotOp dot) {
    for (Value operand : dot->getOperands())
      if (const RingLoad *load = products.loadOf(operand);
          load && !std::exchange(isFull[load->ring], true))
        waitFor(load->ring, now[load->ring], load->load->getLoc());
  }

  void startProduct(ttng::WarpGroupDotOp dot) {
    awaitTiles(dot);
    IRMapping operands;
    for (Value operand : dot->getOperands()) {
      const RingLoad *load = products.loadOf(operand);
      operands.map(operand, load ? viewAt(operand, *load, now[load->ring])
                                 : mapping.lookupOrDefault(operand));
    }
    start(dot, operands, dot.getD());
  }

  void startDelayed(Pending pending) {
    ttng::WarpGroupDotOp dot = products.delayed;
    IRMapping operands;
    operands.map(dot.getC(), pending.sum);
    for (Value operand : {Value(dot.getA()), Value(dot.getB())}) {
      const RingLoad *load = products.loadOf(operand);
      // Others have read the tile before if it is not for this product alone.
      if (load && !products.isRead(load->ring, /*byDelayed=*/false))
        waitFor(load->ring, before[load->ring], load->load->getLoc());
      if (load)
        operands.map(operand, viewAt(operand, *load, before[load->ring]));
      else if (pending.factor && operand == dot.getA())
        operands.map(operand, pending.factor);
    }
    start(dot, operands, sumArgument(products));
  }

  void start(ttng::WarpGroupDotOp dot, IRMapping &operands, Value original) {
    auto built = cast<ttng::WarpGroupDotOp>(builder.clone(*dot, operands));
    built.setIsAsync(true);
    mapping.map(original, built.getD());
    unfinished.push_back({dot, ++started, original, built.getD(), built.getA()});
  }

  /// Waits for the products that an op uses.
  void finishOperands(Operation &op) {
    unsigned last = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        for (const Unfinished &product : unfinished)
          if (product.original == operand)
            last = std::max(last, product.number);
    });
    finish(last);
  }

  /// Waits until the first `number` products have ended, and gives the slots back that no other
  /// reads.
  void finish(unsigned number) {
    SmallVector<Unfinished> ended, others;
    for (Unfinished &product : unfinished)
      (product.number <= number ? ended : others).push_back(product);
    if (ended.empty())
      return;
    unfinished = std::move(others);
    // The stock pass that removes conversions gives all results of an op one layout.
    llvm::MapVector<Attribute, SmallVector<Value>> waited;
    auto layoutOf = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getEncoding();
    };
    // A product reads the registers of a factor until it has ended (PTX ISA, wgmma.mma_async), and
    // they are taken for free before if nothing uses them then. That the one factor of an iteration
    // passes through the wait costs instructions, and it is made again behind that.
    auto isFactor = [](Value value) { return isa<RankedTensorType>(value.getType()); };
    bool isAlone = llvm::count_if(products.dots, [&](ttng::WarpGroupDotOp dot) {
                     return isFactor(dot.getA());
                   }) == 1;
    for (Unfinished &product : ended)
      if (isFactor(product.factor) && !(isAlone && product.dot == products.delayed))
        waited[layoutOf(product.factor)].push_back(product.factor);
    for (Unfinished &product : ended)
      waited[layoutOf(product.sum)].push_back(product.sum);
    Location loc = ended.back().dot.getLoc();
    for (auto &[layout, values] : waited) {
      auto wait = ttng::WarpGroupDotWaitOp::create(builder, loc, values, started - number,
                                                   /*warpGroupLocal=*/true);
      if (turn == Turn::Taken) {
        wait->setAttr(passesTurn, builder.getUnitAttr());
        turn = Turn::Over;
      }
      for (Unfinished &product : ended)
        if (auto known = llvm::find(values, product.sum); known != values.end())
          mapping.map(product.original, wait.getResult(known - values.begin()));
    }
    for (Unfinished &product : ended)
      for (unsigned ring : ringsOf(product.dot))
        if (--readers[ring] == 0)
          release(ring, isHeld(ring) ? before[ring] : now[ring], loc);
  }

  void release(unsigned ring, RingState state, Location loc) {
    Value empty = viewOf(builder, loc, rings[ring].empty, state.slot, /*isMutable=*/true);
    ttng::ArriveBarrierOp::create(builder, loc, empty, rings[ring].arrivals)
        ->setAttr(separateWarps, builder.getUnitAttr());
  }

  OpBuilder &builder;
  ProductLoop &products;
  ArrayRef<Ring> rings;
  /// Positions of the tiles of the product that is put off, and of the iteration.
  RingStates before, now;
  SmallVector<bool> isFull;
  /// Products that read a ring's slot and have not ended.
  SmallVector<unsigned> readers;
  SmallVector<Unfinished> unfinished;
  unsigned started = 0;
  /// How many products were started in front of the op that was built last.
  unsigned settled = 0;
  Turn turn = Turn::Over;
};

/// Hides where a sum comes from. The stock pass that removes conversions puts one of what a
/// conditional gives into it, if one of the branches computes nothing: the sum would be converted
/// in front of a second loop too, which adds to it.
Value opaque(OpBuilder &builder, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isF32())
    return value;
  return mlir::triton::ElementwiseInlineAsmOp::create(builder, value.getLoc(), TypeRange(type),
                                                      "mov.b32 $0, $1;", "=r,r", /*pure=*/false,
                                                      /*packedElement=*/1, value)
      ->getResult(0);
}

} // namespace

RingStates rewriteChain(ProductLoop &products, ArrayRef<Ring> rings, const RingStates &start) {
  scf::ForOp loop = products.loop;
  ttng::WarpGroupDotOp delayed = products.delayed;
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  unsigned sumIndex = Iteration::sumArgument(products).getArgNumber() - loop.getNumInductionVars();
  unsigned numCarried = loop.getInitArgs().size(), numPositions = 2 * rings.size();
  bool hasFactor = isa<RankedTensorType>(delayed.getA().getType()) &&
                   !loop.isDefinedOutsideOfLoop(delayed.getA());

  auto order = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value hasRun =
      arith::CmpIOp::create(builder, loc, order, loop.getLowerBound(), loop.getUpperBound());
  SmallVector<Type> types(loop.getResultTypes());
  types.append(numPositions, builder.getI32Type());
  auto conditional =
      scf::IfOp::create(builder, loc, types, hasRun, /*addThenBlock=*/true, /*addElseBlock=*/true);
  builder.setInsertionPointToStart(conditional.elseBlock());
  SmallVector<Value> unchanged;
  for (Value init : loop.getInitArgs())
    unchanged.push_back(opaque(builder, init));
  unchanged.append(valuesOf(start));
  scf::YieldOp::create(builder, loc, unchanged);

  // What an iteration hands on: the sum and the first factor of the product that is put off are
  // among it.
  auto carriedBy = [&](Iteration &iteration) {
    SmallVector<Value> values;
    for (auto [index, value] : llvm::enumerate(loop.getYieldedValues()))
      values.push_back(
          iteration.mapping.lookupOrDefault(index == sumIndex ? Value(delayed.getC()) : value));
    if (hasFactor)
      values.push_back(iteration.mapping.lookup(Value(delayed.getA())));
    values.append(valuesOf(iteration.behind(/*hasTiles=*/true)));
    return values;
  };
  auto pendingOf = [&](ValueRange values) {
    return Pending{values[sumIndex], hasFactor ? values[numCarried] : Value()};
  };

  builder.setInsertionPointToStart(conditional.thenBlock());
  Iteration first(builder, products, rings, start, /*hasPending=*/false);
  first.mapping.map(loop.getInductionVar(), loop.getLowerBound());
  first.mapping.map(loop.getRegionIterArgs(), loop.getInitArgs());
  first.build(std::nullopt);
  SmallVector<Value> inits = carriedBy(first);

  Value second =
      arith::AddIOp::create(builder, loc, loop.getLowerBound(), loop.getStep()).getResult();
  auto built = scf::ForOp::create(builder, loc, second, loop.getUpperBound(), loop.getStep(), inits,
                                  /*bodyBuilder=*/nullptr, loop.getUnsignedCmp());
  built->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  built->setAttr("tt.num_stages", builder.getI32IntegerAttr(0));
  builder.setInsertionPointToStart(built.getBody());
  ValueRange arguments = built.getRegionIterArgs();
  Iteration next(builder, products, rings, statesOf(arguments.take_back(numPositions)),
                 /*hasPending=*/true);
  next.mapping.map(loop.getInductionVar(), built.getInductionVar());
  next.mapping.map(loop.getRegionIterArgs(), arguments.take_front(numCarried));
  next.build(pendingOf(arguments));
  scf::YieldOp::create(builder, loc, carriedBy(next));

  builder.setInsertionPointAfter(built);
  ValueRange carried = built.getResults();
  Iteration last(builder, products, rings, statesOf(carried.take_back(numPositions)),
                 /*hasPending=*/true);
  SmallVector<Value> results(carried.take_front(numCarried));
  results[sumIndex] = last.buildLast(pendingOf(carried));
  results.append(valuesOf(last.behind(/*hasTiles=*/false)));
  scf::YieldOp::create(builder, loc, results);

  loop.replaceAllUsesWith(conditional.getResults().drop_back(numPositions));
  loop.erase();
  return statesOf(ValueRange(conditional.getResults()).take_back(numPositions));
}

} // namespace tritonext::warpspec
