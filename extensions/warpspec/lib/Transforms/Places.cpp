//===- Places.cpp - Which tiles are stored to the same place --------------===//
//
// Warp groups that take turns store their tiles in no known order, so those of one place have to be
// equal: what is stored has to follow from the address. The parts of a tile number that an address
// is a sum of are taken to follow from it, and what the kernel computes from these.
//
// So it is with tiles that are added to memory in floating point: the sum of equal ones is the same
// in each order. Groups that share tiles add to one place in the order of tiles, if they have the
// same rows of it each time, which is not known where tables say what the places are.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>
#include <vector>

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

class Places {
public:
  explicit Places(scf::ForOp tiles) : tiles(tiles) {}

  /// Whether the tiles that are stored at one place are equal. A place that a table holds is taken
  /// to be of one tile, unless tiles are added there: tables with a place twice are what that is
  /// for.
  bool tell(ValueRange place, Value stored, bool isAdded = false) {
    parts.clear();
    seen.clear();
    isWhole = false;
    isThroughTables = !isAdded;
    for (Value value : place)
      addParts(value);
    return isWhole || follows(stored);
  }

  /// Whether a table may say what an address is.
  bool isFromTable(Value address) {
    if (!isInside(address) || isCounter(address) || !seen.insert(address).second)
      return false;
    if (auto argument = dyn_cast<BlockArgument>(address))
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
          loop && argument == loop.getInductionVar())
        return isFromTable(loop.getLowerBound()) || isFromTable(loop.getStep());
    Operation *op = address.getDefiningOp();
    return !op || op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
           llvm::any_of(op->getOperands(), [&](Value operand) { return isFromTable(operand); });
  }

private:
  bool isInside(Value value) {
    Operation *owner = value.getDefiningOp();
    return tiles->isAncestor(owner ? owner : value.getParentBlock()->getParentOp());
  }

  static bool isSame(Value a, Value b) {
    APInt left, right;
    return a == b || (matchPattern(a, m_ConstantInt(&left)) &&
                      matchPattern(b, m_ConstantInt(&right)) && left == right);
  }

  /// Returns what each iteration adds to a carried value, or null.
  Value growthOf(BlockArgument carried) {
    auto add = tiles.getTiedLoopYieldedValue(carried)->get().getDefiningOp<arith::AddIOp>();
    if (!add)
      return nullptr;
    for (auto [one, other] : {std::pair(add.getLhs(), add.getRhs()), {add.getRhs(), add.getLhs()}})
      if (one == carried && !isInside(other))
        return other;
    return nullptr;
  }

  /// Whether a value says which iteration it is of.
  bool isCounter(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == tiles.getBody() &&
           (argument == tiles.getInductionVar() || growthOf(argument));
  }

  /// Whether a value is the induction variable: a kernel may count its tiles a second time, from a
  /// step before the first, to keep its epilogue apart.
  bool isNumber(Value value) {
    if (value == tiles.getInductionVar())
      return true;
    for (BlockArgument carried : tiles.getRegionIterArgs()) {
      Value growth = carried.getType().isInteger() ? growthOf(carried) : Value();
      if (!growth || !isSame(growth, tiles.getStep()))
        continue;
      Value first = tiles.getTiedLoopInit(carried)->get();
      if (value == carried && isSame(first, tiles.getLowerBound()))
        return true;
      if (value == tiles.getTiedLoopYieldedValue(carried)->get() && isStepBefore(first, growth))
        return true;
    }
    return false;
  }

  /// Whether a value is a step in front of the lower bound.
  bool isStepBefore(Value first, Value step) {
    if (auto difference = first.getDefiningOp<arith::SubIOp>())
      return difference.getLhs() == tiles.getLowerBound() && isSame(difference.getRhs(), step);
    auto sum = first.getDefiningOp<arith::AddIOp>();
    APInt left, right;
    return sum && sum.getLhs() == tiles.getLowerBound() &&
           matchPattern(sum.getRhs(), m_ConstantInt(&left)) &&
           matchPattern(step, m_ConstantInt(&right)) && left == -right;
  }

  /// Returns a number that values of an iteration have in common if they are computed alike.
  unsigned numberOf(Value value) {
    if (auto found = numbers.find(value); found != numbers.end())
      return found->second;
    Operation *op = value.getDefiningOp();
    std::vector<uintptr_t> key = {uintptr_t(value.getAsOpaquePointer())};
    if (isInside(value) && isNumber(value))
      key = {0};
    else if (op && op->getNumRegions() == 0 && op->getNumResults() == 1 && isComputed(op)) {
      key = {uintptr_t(op->getName().getAsOpaquePointer()),
             uintptr_t(op->getAttrDictionary().getAsOpaquePointer()),
             uintptr_t(value.getType().getAsOpaquePointer())};
      for (Value operand : op->getOperands())
        key.push_back(numberOf(operand));
    }
    return numbers[value] = kinds.try_emplace(std::move(key), kinds.size()).first->second;
  }

  /// Whether the result of an op depends on its operands alone. No kernel writes the tables that
  /// its addresses are from.
  static bool isComputed(Operation *op) { return isMemoryEffectFree(op) || isa<tt::LoadOp>(op); }

  /// Takes an address apart.
  void addParts(Value value) {
    if (!isInside(value) || !parts.insert(numberOf(value)).second)
      return;
    isWhole |= isCounter(value) || isNumber(value);
    Operation *op = value.getDefiningOp();
    // `tile - tile / n * n` is a remainder, from which the tile does not follow.
    if (auto difference = dyn_cast_or_null<arith::SubIOp>(op);
        difference && isInside(difference.getRhs()))
      return;
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ExtSIOp, arith::ExtUIOp,
                        tt::AddPtrOp, tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::TransOp,
                        tt::ReshapeOp, ttg::ConvertLayoutOp>(op) ||
        (isThroughTables && isa_and_nonnull<tt::LoadOp>(op)))
      for (Value operand : op->getOperands())
        addParts(operand);
  }

  /// Whether a value is the same in all iterations that have the parts of the address.
  bool follows(Value value) {
    if (!isInside(value) || parts.contains(numberOf(value)) || !seen.insert(value).second)
      return true;
    auto all = [&](ValueRange values) {
      return llvm::all_of(values, [&](Value needed) { return follows(needed); });
    };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *owner = argument.getOwner()->getParentOp();
      auto loop = dyn_cast<scf::ForOp>(owner);
      // Of a function that combines elements.
      if (!loop)
        return !isa<scf::WhileOp>(owner);
      if (loop == tiles)
        return argument != loop.getInductionVar() &&
               loop.getTiedLoopYieldedValue(argument)->get() == argument;
      if (!all({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}))
        return false;
      return argument == loop.getInductionVar() ||
             all({loop.getTiedLoopInit(argument)->get(),
                  loop.getTiedLoopYieldedValue(argument)->get()});
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return follows(loop.getRegionIterArg(number));
    if (auto conditional = dyn_cast<scf::IfOp>(op))
      return all({conditional.getCondition(), conditional.thenYield().getOperand(number),
                  conditional.elseYield().getOperand(number)});
    bool isKnown =
        isComputed(op) || isa<tt::DescriptorLoadOp, ttg::LocalAllocOp, ttng::WarpGroupDotOp>(op);
    return isKnown && all(op->getOperands());
  }

  scf::ForOp tiles;
  std::map<std::vector<uintptr_t>, unsigned> kinds;
  DenseMap<Value, unsigned> numbers;
  /// Numbers of what an address is a sum of.
  DenseSet<unsigned> parts;
  DenseSet<Value> seen;
  /// Whether the number of the tile itself is among these, and whether what a table says of an
  /// address counts for the table's place.
  bool isWhole = false, isThroughTables = true;
};

} // namespace

bool isSum(Operation *op) {
  if (auto atomic = dyn_cast<tt::AtomicRMWOp>(op))
    return atomic.getAtomicRmwOp() == tt::RMWOp::FADD;
  auto reduce = dyn_cast<tt::DescriptorReduceOp>(op);
  return reduce && reduce.getKind() == tt::DescriptorReduceKind::ADD &&
         isa<FloatType>(reduce.getSrc().getType().getElementType());
}

Operation *findSharedPlace(scf::ForOp tiles, Schedule schedule) {
  Operation *found = nullptr;
  tiles.walk([&](Operation *op) {
    SmallVector<Value> place;
    Value value;
    if (auto store = dyn_cast<tt::StoreOp>(op)) {
      place = {store.getPtr()};
      value = store.getValue();
    } else if (auto copy = dyn_cast<tt::DescriptorStoreLikeOpInterface>(op);
               copy && (!isa<tt::DescriptorReduceOp>(op) || isSum(op))) {
      value = copy.getSrc();
      llvm::copy_if(op->getOperands(), std::back_inserter(place),
                    [&](Value operand) { return operand != value && operand != copy.getDesc(); });
    } else if (auto atomic = dyn_cast<tt::AtomicRMWOp>(op);
               atomic && (atomic.getAtomicRmwOp() == tt::RMWOp::XCHG || isSum(op))) {
      place = {atomic.getPtr()};
      value = atomic.getVal();
    } else {
      return WalkResult::advance();
    }
    Places places(tiles);
    bool isTold =
        schedule == Schedule::PingPong
            ? places.tell(place, value, isSum(op))
            : !isSum(op) || llvm::none_of(place, [&](Value at) { return places.isFromTable(at); });
    if (isTold)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

} // namespace tritonext::warpspec
