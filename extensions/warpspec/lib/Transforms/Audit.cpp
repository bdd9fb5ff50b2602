//===- Audit.cpp - Whether tasks wait for each other as they must ---------===//

#include "tritonext_warpspec/Transforms/Audit.h"

#include "tritonext_warpspec/Transforms/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

constexpr int64_t threadsPerWarp = 32;
// Iterations of a loop around others that are nested, so that time does not grow with each level as
// it does with slots, and ops that one task runs at all: a few times those of a persistent kernel
// with eight slots.
constexpr int64_t mostOuterIterations = 3, mostOps = 200000;

/// One element of an array in shared memory: a barrier or a tile.
using Place = std::pair<Value, int64_t>;

/// What is known of a value. Values of the same name are equal, also in different tasks.
struct Datum {
  uint64_t name = 0;
  std::optional<int64_t> number;
  /// For the induction variable of a loop behind its first iteration: the name of the lower bound.
  uint64_t above = 0;
  /// The array that a view is of, and which element of it, if it is one.
  Value array;
  std::optional<int64_t> element;
  /// The last asynchronous product that may still write the value, and that reads it from
  /// registers, by number.
  int64_t product = 0, reader = 0;
  /// For a sum, what it is of, and for a difference, by number of those that the task has computed.
  std::optional<size_t> sum, difference;
};

enum class EventKind {
  Wait,
  Arrive,
  Expect,
  Copy,
  ThreadCopy,
  ArriveBehindCopies,
  Fence,
  Product,
  EndProducts,
  Read,
  Write,
  Use
};

/// What a task does that matters for the order of tasks.
struct Event {
  EventKind kind;
  Operation *op;
  Place place;
  /// Of a copy, the barrier that it signals.
  Place signal;
  /// Parity, arrivals, bytes, products that may go on, or the number of a product.
  int64_t amount = 0;
  /// Of a wait, whether the task is the one that expects the bytes of the barrier.
  bool isOwn = false;
};

/// What a name is made of.
enum class NameKind : uint64_t { Kind, Number, Outside, Expression, Effect, Position };

/// Numbers things in the order in which they come up, so that an audit does not depend on
/// addresses.
class Names {
public:
  uint64_t of(NameKind kind, ArrayRef<uint64_t> parts) {
    SmallVector<uint64_t, 8> key = {uint64_t(kind)};
    key.append(parts.begin(), parts.end());
    return numbers.try_emplace(std::move(key), numbers.size() + 1).first->second;
  }

  /// Returns the name of what an op is, apart from its operands. To find its attributes is slow.
  uint64_t of(Operation *op) {
    uint64_t &name = kinds[op];
    if (name == 0)
      name = of(NameKind::Kind,
                {reinterpret_cast<uintptr_t>(op->getName().getAsOpaquePointer()),
                 reinterpret_cast<uintptr_t>(op->getAttrDictionary().getAsOpaquePointer())});
    return name;
  }

private:
  struct Hash {
    size_t operator()(ArrayRef<uint64_t> key) const { return llvm::hash_combine_range(key); }
  };
  std::unordered_map<SmallVector<uint64_t, 8>, uint64_t, Hash> numbers;
  DenseMap<Operation *, uint64_t> kinds;
};

/// What the lengths of loops and the outcomes of conditions are in one run.
class Choice {
public:
  Choice(unsigned seed, int64_t slots)
      : seed(seed), lengths{0, 1, 2, slots - 1, slots, slots + 1, 2 * slots + 1} {}

  /// With this many seeds, every two lengths come up for every two loops: there are seven, which is
  /// a prime.
  unsigned seeds() const { return lengths.size() * lengths.size(); }

  /// `height` is that of the nest in a loop, which limits its length. What the first task says
  /// counts for all.
  int64_t length(const Datum &lower, const Datum &upper, const Datum &step, unsigned height) {
    auto [limit, isNew] = limits.try_emplace({lower.name, upper.name, step.name}, lengths.back());
    if (isNew && height != 0)
      limit->second = height == 1 ? lengths[lengths.size() - 2] : mostOuterIterations;
    int64_t length;
    if (lower.number && upper.number && step.number && *step.number > 0) {
      int64_t span = std::max<int64_t>(*upper.number - *lower.number, 0);
      length = std::min((span + *step.number - 1) / *step.number, lengths.back());
    } else {
      size_t loop =
          loops.try_emplace({lower.name, upper.name, step.name}, loops.size()).first->second;
      length = lengths[(seed + loop * (seed / lengths.size())) % lengths.size()];
    }
    length = std::min(length, limit->second);
    if (isNew)
      decisions.push_back(length);
    hasRun[{lower.name, upper.name}] = length > 0;
    return length;
  }

  /// Returns whether a loop between these bounds has run at all.
  std::optional<bool> isLess(const Datum &lower, const Datum &upper) const {
    auto known = hasRun.find({lower.name, upper.name});
    return known == hasRun.end() ? std::nullopt : std::optional(known->second);
  }

  bool outcome(const Datum &condition) {
    bool outcome = mix(mix(condition.name) ^ seed) & 1;
    if (conditions.insert(condition.name).second)
      decisions.push_back(outcome);
    return outcome;
  }

  /// What was chosen, in the order in which it came up.
  std::vector<int64_t> decisions;

  Names names;

private:
  // Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
  static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  unsigned seed;
  SmallVector<int64_t> lengths;
  /// Loops in the order in which they come up, by the names of bounds and step.
  std::map<std::array<uint64_t, 3>, size_t> loops;
  std::map<std::array<uint64_t, 3>, int64_t> limits;
  DenseSet<uint64_t> conditions;
  std::map<std::pair<uint64_t, uint64_t>, bool> hasRun;
};

//===----------------------------------------------------------------------===//
// What a task does
//===----------------------------------------------------------------------===//

/// Runs the code of one task on data, and writes down what matters.
class Tracer {
public:
  explicit Tracer(Choice &choice) : choice(choice) {}

  std::vector<Event> events;
  std::optional<Finding> finding;

  void set(Value value, Datum datum) { known[value] = datum; }

  Datum get(Value value) {
    auto found = known.find(value);
    if (found != known.end())
      return found->second;
    Datum datum;
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number))) {
      datum.number = number.getSExtValue();
      datum.name = nameOf(*datum.number);
    } else if (Operation *op = value.getDefiningOp();
               op && !op->hasTrait<OpTrait::ConstantLike>()) {
      evaluate(op);
      return known[value];
    } else {
      datum.name = choice.names.of(NameKind::Outside, address(value.getAsOpaquePointer()));
    }
    return known[value] = datum;
  }

  /// Runs a task.
  void run(Region &task) {
    task.walk([&](ttng::BarrierExpectOp expect) {
      expected.insert(get(throughViews(expect.getAlloc())).array);
    });
    run(task.front());
  }

private:
  void run(Block &block) {
    for (Operation &op : block) {
      if (finding || op.hasTrait<OpTrait::IsTerminator>())
        return;
      if (++ops > mostOps)
        return find(&op, "its loops take too long to be audited");
      run(op);
    }
  }

  static uint64_t address(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }
  uint64_t nameOf(int64_t number) {
    return choice.names.of(NameKind::Number, static_cast<uint64_t>(number));
  }

  void find(Operation *op, const Twine &text) {
    if (!finding)
      finding = Finding{op, text.str()};
  }

  /// Returns the element that a view is, or reports that it is not known.
  Place placeOf(Operation *op, Value view) {
    Datum datum = get(view);
    if (!datum.array || !datum.element) {
      find(op, "it is not known which barrier or tile an op is about");
      return {};
    }
    return {datum.array, *datum.element};
  }

  bool holds(Operation *op, Value condition) {
    if (!condition)
      return true;
    Datum datum = get(condition);
    if (!datum.number)
      find(op, "it is not known whether an op happens");
    return datum.number.value_or(0) != 0;
  }

  void add(EventKind kind, Operation *op, Place place, int64_t amount, Place signal = {}) {
    events.push_back({kind, op, place, signal, amount});
  }

  void run(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return run(loop);
    if (auto conditional = dyn_cast<scf::IfOp>(op))
      return run(conditional);
    if (auto wait = dyn_cast<ttng::WaitBarrierOp>(op)) {
      Datum phase = get(wait.getPhase());
      if (!phase.number)
        return find(&op, "the phase that a wait is for is not known");
      if (holds(&op, wait.getPred())) {
        add(EventKind::Wait, &op, placeOf(&op, wait.getAlloc()), *phase.number & 1);
        events.back().isOwn = expected.contains(events.back().place.first);
      }
      return;
    }
    if (auto arrive = dyn_cast<ttng::ArriveBarrierOp>(op)) {
      if (arrive.getFromCTA() || arrive.getMulticastCTA())
        return find(&op, "a barrier of another block is signalled");
      if (holds(&op, arrive.getPred()))
        add(EventKind::Arrive, &op, placeOf(&op, arrive.getAlloc()), arrive.getCount());
      return;
    }
    if (auto expect = dyn_cast<ttng::BarrierExpectOp>(op)) {
      if (holds(&op, expect.getPred()))
        add(EventKind::Expect, &op, placeOf(&op, expect.getAlloc()), expect.getSize());
      return;
    }
    if (auto copy = dyn_cast<ttng::AsyncTMACopyGlobalToLocalOp>(op)) {
      if (holds(&op, copy.getPred()))
        add(EventKind::Copy, &op, placeOf(&op, copy.getResult()), bytesOf(copy.getResult()),
            placeOf(&op, copy.getBarrier()));
      return;
    }
    if (auto copy = dyn_cast<ttg::AsyncCopyGlobalToLocalOp>(op))
      return add(EventKind::ThreadCopy, &op, placeOf(&op, copy.getResult()), 0);
    if (auto arrive = dyn_cast<ttng::AsyncCopyMbarrierArriveOp>(op)) {
      if (!arrive.getNoIncrement())
        return find(&op, "copies of threads change how often a barrier is arrived at");
      return add(EventKind::ArriveBehindCopies, &op, placeOf(&op, arrive.getBarrier()),
                 threadsPerWarp * ttg::lookupNumWarps(&op));
    }
    if (isa<ttng::FenceAsyncSharedOp>(op))
      return add(EventKind::Fence, &op, {}, 0);
    if (auto dot = dyn_cast<ttng::WarpGroupDotOp>(op))
      return run(dot);
    if (auto wait = dyn_cast<ttng::WarpGroupDotWaitOp>(op)) {
      add(EventKind::EndProducts, &op, {}, wait.getPendings());
      checkFactors(wait);
      for (auto [input, output] : llvm::zip_equal(wait.getInputs(), wait.getOutputs()))
        set(output, get(input));
      return;
    }
    if (op.getNumRegions() != 0 && !isMemoryEffectFree(&op) && touchesArrays(op))
      return find(&op, "an op with code in it is not known");
    useOperands(op);
    evaluate(&op);
    for (Type type : op.getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        madeFactors += isa<ttg::DotOperandEncodingAttr>(tensor.getEncoding());
  }

  bool touchesArrays(Operation &op) {
    bool touches = false;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        touches |= isa<ttg::MemDescType>(operand.getType()) && bool(get(operand).array);
    });
    return touches;
  }

  static int64_t bytesOf(Value tile) {
    auto type = cast<ttg::MemDescType>(tile.getType());
    return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }

  void run(ttng::WarpGroupDotOp dot) {
    for (Value operand : {Value(dot.getA()), Value(dot.getB())})
      if (Datum datum = get(operand); datum.array && datum.element)
        add(EventKind::Read, dot, {datum.array, *datum.element},
            dot.getIsAsync() ? products + 1 : 0);
    if (Datum factor = get(dot.getA());
        isa<RankedTensorType>(dot.getA().getType()) && factor.product)
      add(EventKind::Use, dot, {}, factor.product);
    Datum sum = get(dot.getC());
    if (dot.getIsAsync()) {
      sum.product = ++products;
      add(EventKind::Product, dot, {}, products);
      if (isa<RankedTensorType>(dot.getA().getType())) {
        Datum factor = get(dot.getA());
        factor.reader = products;
        set(dot.getA(), factor);
        factors.push_back({products, madeFactors});
      }
    } else {
      add(EventKind::EndProducts, dot, {}, 0);
      sum.product = 0;
      factors.clear();
    }
    set(dot.getD(), sum);
  }

  /// Checks that registers that a product reads until it has ended pass through the wait for it, or
  /// that no other factor is made before. They would be taken for free.
  void checkFactors(ttng::WarpGroupDotWaitOp wait) {
    int64_t ended = products - wait.getPendings();
    for (auto [product, made] : factors)
      if (product <= ended && made != madeFactors &&
          llvm::none_of(wait.getInputs(),
                        [&](Value input) { return get(input).reader >= product; }))
        find(wait, "a product ends of which nothing has kept the registers");
    llvm::erase_if(factors, [&](auto factor) { return factor.first <= ended; });
  }

  /// Writes down that an op reads tiles, or sums of products that may still go on.
  void useOperands(Operation &op) {
    bool isView = op.hasTrait<OpTrait::MemDescViewTrait>();
    for (Value operand : op.getOperands()) {
      Datum datum = get(operand);
      if (isa<RankedTensorType>(operand.getType()) && datum.product)
        add(EventKind::Use, &op, {}, datum.product);
      if (!datum.array || isView || !isa<ttg::MemDescType>(operand.getType()))
        continue;
      if (isa<ttg::LocalLoadOp>(op) && datum.element)
        add(EventKind::Read, &op, {datum.array, *datum.element}, 0);
      else if (isa<ttg::LocalStoreOp>(op) && datum.element)
        add(EventKind::Write, &op, {datum.array, *datum.element}, 0);
      else
        find(&op, "a barrier or tile is used in a way that is not known");
    }
  }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  /// Returns the length of a loop, of which tasks that take turns have every other iteration: then
  /// the step is twice that of another loop, and the lower bound is that one's or a step above it.
  /// A loop that starts a step above a lower bound has its first iteration in front of it.
  int64_t lengthOf(scf::ForOp loop, const Datum &lower, const Datum &upper) {
    Datum step = get(loop.getStep());
    unsigned height = heightOf(loop);
    if (!step.sum || pairs[*step.sum].first.name != pairs[*step.sum].second.name) {
      if (!lower.sum || pairs[*lower.sum].second.name != step.name)
        return choice.length(lower, upper, step, height);
      return std::max<int64_t>(choice.length(pairs[*lower.sum].first, upper, step, height) - 1, 0);
    }
    Datum half = pairs[*step.sum].first, first = lower;
    bool isLater = lower.sum && pairs[*lower.sum].second.name == half.name;
    if (isLater)
      first = pairs[*lower.sum].first;
    return (choice.length(first, upper, half, height) + (isLater ? 0 : 1)) / 2;
  }

  /// Returns how many loops that wait for barriers are nested in a loop.
  unsigned heightOf(scf::ForOp loop) {
    if (auto found = heights.find(loop); found != heights.end())
      return found->second;
    unsigned height = 0;
    loop.walk([&](ttng::WaitBarrierOp wait) {
      unsigned depth = 0;
      for (Operation *op = wait->getParentOp(); op != loop; op = op->getParentOp())
        depth += isa<scf::ForOp>(op);
      height = std::max(height, depth);
    });
    return heights[loop] = height;
  }

  void run(scf::ForOp loop) {
    Datum lower = get(loop.getLowerBound()), step = get(loop.getStep());
    int64_t length = lengthOf(loop, lower, get(loop.getUpperBound()));
    SmallVector<Datum> carried;
    for (Value init : loop.getInitArgs())
      carried.push_back(get(init));
    for (int64_t i = 0; i != length && !finding; ++i) {
      Datum position = lower;
      if (lower.number && step.number) {
        position.number = *lower.number + i * *step.number;
        position.name = nameOf(*position.number);
      } else if (i > 0) {
        position.number.reset();
        position.name =
            choice.names.of(NameKind::Position, {lower.name, step.name, static_cast<uint64_t>(i)});
        position.above = lower.name;
      }
      set(loop.getInductionVar(), position);
      for (auto [argument, datum] : llvm::zip_equal(loop.getRegionIterArgs(), carried))
        set(argument, datum);
      forget(*loop.getBody());
      run(*loop.getBody());
      for (auto [datum, value] : llvm::zip_equal(carried, loop.getYieldedValues()))
        datum = get(value);
    }
    for (auto [result, datum] : llvm::zip_equal(loop.getResults(), carried))
      set(result, datum);
  }

  /// Decides whether a loop runs, if that is the condition of an op with all but its first
  /// iteration.
  void decideRun(scf::IfOp conditional) {
    auto compare = conditional.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return;
    for (auto loop : conditional.thenBlock()->getOps<scf::ForOp>()) {
      auto second = loop.getLowerBound().getDefiningOp<arith::AddIOp>();
      if (second && second.getLhs() == compare.getLhs() && second.getRhs() == loop.getStep() &&
          loop.getUpperBound() == compare.getRhs()) {
        // Its own lower bound is computed behind the condition.
        lengthOf(loop, get(compare.getLhs()), get(compare.getRhs()));
        known.erase(compare);
      }
    }
  }

  void run(scf::IfOp conditional) {
    decideRun(conditional);
    Datum condition = get(conditional.getCondition());
    bool isTrue = condition.number ? *condition.number != 0 : choice.outcome(condition);
    Block *taken = isTrue ? conditional.thenBlock() : conditional.elseBlock();
    if (!taken)
      return;
    forget(*taken);
    run(*taken);
    for (auto [result, value] :
         llvm::zip_equal(conditional.getResults(), taken->getTerminator()->getOperands()))
      set(result, get(value));
  }

  /// Drops what an earlier run of a block has computed.
  void forget(Block &block) {
    for (Operation &op : block)
      for (Value result : op.getResults())
        known.erase(result);
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  void evaluate(Operation *op) {
    // Values of constants are read off them.
    if (op->hasTrait<OpTrait::ConstantLike>())
      return;
    if (auto alloc = dyn_cast<ttg::LocalAllocOp>(op)) {
      Datum datum;
      datum.name = choice.names.of(NameKind::Effect, address(op));
      // What is staged is no array of a ring: one task has it for itself.
      if (!alloc.getSrc())
        datum.array = alloc;
      return set(alloc, datum);
    }
    if (op->hasTrait<OpTrait::MemDescViewTrait>()) {
      Datum datum = get(op->getOperand(0));
      if (auto index = dyn_cast<ttg::MemDescIndexOp>(op))
        datum.element = get(index.getIndex()).number;
      return set(op->getResult(0), datum);
    }
    SmallVector<Datum> operands;
    int64_t product = 0;
    SmallVector<uint64_t> parts = {choice.names.of(op)};
    for (Value operand : op->getOperands()) {
      operands.push_back(get(operand));
      parts.push_back(operands.back().name);
      product = std::max(product, operands.back().product);
    }
    NameKind kind = NameKind::Expression;
    // Tables that tell tasks what to do do not change: the plan sees to that.
    bool isTable = isa<tt::LoadOp>(op) && !isa<RankedTensorType>(op->getResult(0).getType());
    if ((!isTable && !isMemoryEffectFree(op)) || op->getNumRegions() != 0) {
      kind = NameKind::Effect;
      parts = {address(op)};
    }
    for (OpResult result : op->getResults()) {
      Datum datum;
      datum.number = compute(op, operands);
      parts.push_back(result.getResultNumber());
      datum.name = datum.number ? nameOf(*datum.number) : choice.names.of(kind, parts);
      parts.pop_back();
      datum.product = isa<RankedTensorType>(result.getType()) ? product : 0;
      relate(op, operands, datum);
      if (auto select = dyn_cast<arith::SelectOp>(op);
          select && operands[0].number && !datum.number)
        datum = operands[*operands[0].number ? 1 : 2];
      set(result, datum);
    }
  }

  /// Notes of what a sum or difference is, which says later how long a loop is.
  void relate(Operation *op, ArrayRef<Datum> operands, Datum &datum) {
    if (!isa<arith::AddIOp, arith::SubIOp>(op))
      return;
    (isa<arith::AddIOp>(op) ? datum.sum : datum.difference) = pairs.size();
    pairs.emplace_back(operands[0], operands[1]);
  }

  /// Returns the number of steps in (upper - lower + (step - 1)) / step: the length of a loop.
  std::optional<int64_t> computeLength(Operation *op, ArrayRef<Datum> operands) {
    if (!isa<arith::DivSIOp>(op) || !operands[0].sum)
      return std::nullopt;
    auto &[span, rounding] = pairs[*operands[0].sum];
    if (!rounding.number || !operands[1].number || *rounding.number != *operands[1].number - 1)
      return std::nullopt;
    // A lower bound of zero is not subtracted.
    Datum upper = span, lower;
    lower.number = 0;
    lower.name = nameOf(0);
    if (span.difference)
      std::tie(upper, lower) = pairs[*span.difference];
    return choice.length(lower, upper, operands[1], /*height=*/0);
  }

  std::optional<int64_t> compute(Operation *op, ArrayRef<Datum> operands) {
    if (std::optional<int64_t> length = computeLength(op, operands))
      return length;
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return compute(compare.getPredicate(), operands[0], operands[1]);
    if (isa<arith::SelectOp>(op))
      return operands[0].number ? operands[*operands[0].number ? 1 : 2].number : std::nullopt;
    if (op->getNumResults() != 1 || !op->getResult(0).getType().isSignlessInteger() ||
        operands.empty() || llvm::any_of(operands, [](const Datum &d) { return !d.number; }))
      return std::nullopt;
    int64_t a = *operands.front().number, b = *operands.back().number;
    return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
        .Case([&](arith::AddIOp) { return a + b; })
        .Case([&](arith::SubIOp) { return a - b; })
        .Case([&](arith::MulIOp) { return a * b; })
        .Case([&](arith::DivSIOp) { return b ? std::optional(a / b) : std::nullopt; })
        .Case([&](arith::RemSIOp) { return b ? std::optional(a % b) : std::nullopt; })
        .Case([&](arith::MaxSIOp) { return std::max(a, b); })
        .Case([&](arith::XOrIOp) { return a ^ b; })
        .Case([&](arith::AndIOp) { return a & b; })
        .Case([&](arith::OrIOp) { return a | b; })
        .Case([&](arith::ExtUIOp extension) {
          return extension.getIn().getType().isInteger(1) ? a & 1 : a;
        })
        .Default([](Operation *) { return std::nullopt; });
  }

  std::optional<int64_t> compute(arith::CmpIPredicate predicate, const Datum &a, const Datum &b) {
    using Predicate = arith::CmpIPredicate;
    bool isEquality = predicate == Predicate::eq || predicate == Predicate::ne;
    if (a.number && b.number) {
      switch (predicate) {
      case Predicate::eq:
        return *a.number == *b.number;
      case Predicate::ne:
        return *a.number != *b.number;
      case Predicate::slt:
      case Predicate::ult:
        return *a.number < *b.number;
      case Predicate::sgt:
      case Predicate::ugt:
        return *a.number > *b.number;
      case Predicate::sge:
      case Predicate::uge:
        return *a.number >= *b.number;
      default:
        return std::nullopt;
      }
    }
    if (isEquality && (a.name == b.name || a.above == b.name || b.above == a.name))
      return (a.name == b.name) == (predicate == Predicate::eq);
    std::optional<bool> isLess;
    if (predicate == Predicate::slt || predicate == Predicate::ult)
      isLess = choice.isLess(a, b);
    else if (predicate == Predicate::sgt || predicate == Predicate::ugt)
      isLess = choice.isLess(b, a);
    return isLess ? std::optional<int64_t>(*isLess) : std::nullopt;
  }

  Choice &choice;
  DenseMap<Value, Datum> known;
  /// Arrays of the barriers whose bytes the task expects.
  DenseSet<Value> expected;
  /// Operands of sums and differences.
  std::vector<std::pair<Datum, Datum>> pairs;
  DenseMap<Operation *, unsigned> heights;
  int64_t products = 0, ops = 0, madeFactors = 0;
  /// Products that read a factor from registers and may go on, and how many factors had been made.
  SmallVector<std::pair<int64_t, int64_t>> factors;
};

//===----------------------------------------------------------------------===//
// What tasks do together
//===----------------------------------------------------------------------===//

struct Barrier {
  int64_t count = 0, missing = 0, phases = 0;
  /// Arrivals that come with copies of threads.
  int64_t late = 0;
  /// Bytes expected less those that came in the phase.
  int64_t bytes = 0;
  /// Tasks that have arrived in this phase, and did in the one before.
  llvm::SmallSetVector<unsigned, 4> arrived, arrivedBefore;
  /// Copies that were issued and have not come.
  SmallVector<const Event *> copies;
};

struct Tile {
  bool isCopied = false, isFull = false;
  /// Whether threads have copied it, and the tasks whose products may read it then.
  bool isByThreads = false;
  llvm::SmallSetVector<unsigned, 2> fenced;
  /// Numbers of products that read it and may go on, by task.
  SmallVector<std::pair<unsigned, int64_t>> readers;
};

/// Runs tasks beside each other: each goes on until it has to wait, in one order of tasks. Copies
/// come when something waits for them, and products end when something waits for that.
class Machine {
public:
  Machine(ArrayRef<std::vector<Event>> tasks, const llvm::MapVector<Place, int64_t> &counts)
      : tasks(tasks), next(tasks.size()), ended(tasks.size()), started(tasks.size()),
        loose(tasks.size()), waits(tasks.size()), expected(tasks.size()), waitedFor(tasks.size()) {
    for (auto &[place, count] : counts)
      barriers[place].count = barriers[place].missing = count;
    for (const std::vector<Event> &events : tasks)
      hasReaders |=
          llvm::any_of(events, [](const Event &event) { return event.kind == EventKind::Read; });
  }

  /// `stopsBehindArrivals` lets the other tasks go on behind each arrival: what a task gives away
  /// may be taken before it does anything more.
  std::optional<Finding> run(ArrayRef<unsigned> order, bool stopsBehindArrivals) {
    bool isMoving = true;
    while (isMoving && !finding) {
      isMoving = false;
      for (unsigned task : order)
        while (!finding && next[task] != tasks[task].size() &&
               step(task, tasks[task][next[task]])) {
          isMoving = true;
          if (tasks[task][next[task]++].kind == EventKind::Arrive && stopsBehindArrivals)
            break;
        }
    }
    for (unsigned task : order)
      if (!finding && next[task] != tasks[task].size())
        find(tasks[task][next[task]].op, "a wait does not return");
    for (auto &[place, barrier] : barriers)
      if (!barrier.copies.empty())
        find(barrier.copies.front()->op, "nothing waits for a copy");
    for (ArrayRef<const Event *> copies : loose)
      if (!copies.empty())
        find(copies.front()->op, "nothing waits for a copy");
    for (auto &[place, tile] : tiles)
      if (tile.isFull && hasReaders)
        find(place.first.getDefiningOp(), "a tile is copied and not read");
    for (unsigned task : order)
      if (ended[task] != started[task] && !tasks[task].empty())
        find(tasks[task].back().op, "products go on when their task ends");
    return finding;
  }

private:
  void find(Operation *op, const Twine &text) {
    if (!finding)
      finding = Finding{op, text.str()};
  }

  Barrier &barrierOf(const Event &event, Place place) {
    if (!barriers.contains(place))
      find(event.op, "a barrier is used that is not initialised");
    return barriers[place];
  }

  void complete(Barrier &barrier, const Event &event) {
    if (barrier.missing || barrier.bytes)
      return;
    if (!barrier.copies.empty())
      find(barrier.copies.front()->op, "a phase ends before all of its copies are there");
    ++barrier.phases;
    barrier.missing = barrier.count;
    barrier.arrivedBefore = std::exchange(barrier.arrived, {});
  }

  void arrive(unsigned task, const Event &event, int64_t count) {
    Barrier &barrier = barrierOf(event, event.place);
    barrier.arrived.insert(task);
    if (count > barrier.missing - barrier.late)
      return find(event.op, "more arrive at a barrier than a phase takes");
    barrier.missing -= count;
  }

  /// Lets the copies come that a barrier waits for.
  void land(Barrier &barrier, const Event &event) {
    if (barrier.copies.empty() || barrier.missing != barrier.late)
      return;
    barrier.missing = barrier.late = 0;
    SmallVector<const Event *> copies = std::move(barrier.copies);
    barrier.copies.clear();
    for (const Event *copy : copies) {
      Tile &tile = tiles[copy->place];
      tile.isCopied = false;
      tile.isFull = true;
      tile.isByThreads = copy->kind == EventKind::ThreadCopy;
      tile.fenced.clear();
      barrier.bytes -= copy->amount;
    }
    if (barrier.bytes < 0)
      find(copies.back()->op, "more bytes are copied than a phase expects");
    complete(barrier, event);
  }

  bool step(unsigned task, const Event &event) {
    switch (event.kind) {
    case EventKind::Wait:
      return wait(task, event);
    case EventKind::Arrive:
      arrive(task, event, event.amount);
      complete(barriers[event.place], event);
      break;
    case EventKind::Expect:
      arrive(task, event, 1);
      barriers[event.place].bytes += event.amount;
      ++expected[task][event.place];
      break;
    case EventKind::Copy:
      copy(task, event);
      barrierOf(event, event.signal).copies.push_back(&event);
      break;
    case EventKind::ThreadCopy:
      copy(task, event);
      loose[task].push_back(&event);
      break;
    case EventKind::ArriveBehindCopies:
      arriveBehindCopies(task, event);
      break;
    case EventKind::Fence:
      for (auto &[place, tile] : tiles)
        if (!tile.isCopied)
          tile.fenced.insert(task);
      break;
    case EventKind::Product:
      started[task] = event.amount;
      break;
    case EventKind::EndProducts:
      ended[task] = std::max(ended[task], started[task] - event.amount);
      break;
    case EventKind::Read:
      read(task, event);
      break;
    case EventKind::Write:
      fill(event);
      tiles[event.place].isFull = true;
      break;
    case EventKind::Use:
      if (event.amount > ended[task])
        find(event.op, "the sum of a product is used before the product has ended");
      break;
    }
    return true;
  }

  bool wait(unsigned task, const Event &event) {
    Barrier &barrier = barrierOf(event, event.place);
    land(barrier, event);
    if ((barrier.phases & 1) == event.amount)
      return false;
    // A task that expects the bytes of a barrier waits for all phases that it has expected.
    if (event.isOwn) {
      if (barrier.phases < expected[task][event.place])
        find(event.op, "a wait returns a phase too early");
      return true;
    }
    // The first wait for parity 1 is for the phase before the first.
    auto [known, isFirst] = waits[task].try_emplace(event.place, 1 - event.amount);
    if (barrier.phases < known->second)
      find(event.op, "a wait returns a phase too early");
    // A wait that happens under a condition comes in front of the one that counts.
    if (!cast<ttng::WaitBarrierOp>(event.op).getPred())
      ++known->second;
    waitedFor[task] = event.place;
    return true;
  }

  /// Checks that a tile may be filled.
  void fill(const Event &event) {
    Tile &tile = tiles[event.place];
    if (tile.isCopied || (tile.isFull && hasReaders))
      find(event.op, "a tile is filled again before it was read");
    for (auto [reader, product] : tile.readers)
      if (product > ended[reader])
        find(event.op, "a tile is filled while a product reads it");
    tile.readers.clear();
  }

  void copy(unsigned task, const Event &event) {
    Tile &tile = tiles[event.place];
    // Who gave the slot back has had it.
    if (auto given = barriers.find(waitedFor[task]);
        given != barriers.end() && !tile.readers.empty())
      for (unsigned giver : given->second.arrivedBefore)
        if (llvm::none_of(tile.readers, [&](auto reader) { return reader.first == giver; }))
          find(event.op, "a tile is filled again that a task has given back and not read");
    fill(event);
    tile.isCopied = true;
  }

  /// Lets a barrier count the threads of a task when all copies that they have started are there.
  void arriveBehindCopies(unsigned task, const Event &event) {
    Barrier &barrier = barrierOf(event, event.place);
    barrier.arrived.insert(task);
    if (event.amount > barrier.missing - barrier.late)
      return find(event.op, "more arrive at a barrier than a phase takes");
    if (loose[task].empty())
      return find(event.op, "a barrier counts copies of threads, and there are none");
    barrier.late += event.amount;
    barrier.copies.append(loose[task]);
    loose[task].clear();
  }

  void read(unsigned task, const Event &event) {
    auto known = tiles.find(event.place);
    if (known == tiles.end())
      return find(event.op, "a tile is read that nothing fills");
    Tile &tile = known->second;
    if (tile.isCopied)
      find(event.op, "a tile is read before its copy is there");
    else if (tile.isByThreads && isa<ttng::WarpGroupDotOp>(event.op) && !tile.fenced.contains(task))
      find(event.op, "a product reads what threads have copied, without a fence");
    // Products of one iteration may share a tile.
    if (!tile.isFull && tile.readers.empty())
      find(event.op, "a tile is read that was not filled");
    tile.isFull = false;
    tile.readers.emplace_back(task, event.amount);
  }

  ArrayRef<std::vector<Event>> tasks;
  /// Whether anything is read. Where all loops of products are empty, what is loaded around them is
  /// not.
  bool hasReaders = false;
  SmallVector<size_t> next;
  SmallVector<int64_t> ended, started;
  /// Copies of the threads of a task that no barrier counts yet.
  SmallVector<SmallVector<const Event *>> loose;
  /// The number of phases that the next wait of each task at each barrier is for, and the barrier
  /// that each waited at last.
  SmallVector<llvm::MapVector<Place, int64_t>> waits;
  /// Phases of each barrier whose bytes a task has expected.
  SmallVector<llvm::MapVector<Place, int64_t>> expected;
  SmallVector<Place> waitedFor;
  llvm::MapVector<Place, Barrier> barriers;
  llvm::MapVector<Place, Tile> tiles;
  std::optional<Finding> finding;
};

/// Runs the tasks of one op once, unless they have run with the same choices before.
std::optional<Finding> auditOnce(ttg::WarpSpecializeOp op, Choice choice,
                                 std::set<std::vector<int64_t>> &seen) {
  Tracer outside(choice);
  llvm::MapVector<Place, int64_t> counts;
  std::optional<Finding> finding;
  op->getParentOfType<tt::FuncOp>().walk([&](ttng::InitBarrierOp init) {
    if (op->isAncestor(init))
      return;
    Datum datum = outside.get(init.getAlloc());
    if (!datum.array || !datum.element)
      finding = Finding{init, "it is not known which barrier is initialised"};
    else
      counts[{datum.array, *datum.element}] = init.getCount();
  });
  if (finding)
    return finding;

  std::vector<std::vector<Event>> tasks;
  auto trace = [&](Region &region, ValueRange captures) {
    Tracer tracer(choice);
    for (auto [argument, capture] : llvm::zip(region.getArguments(), captures))
      tracer.set(argument, outside.get(capture));
    if (!region.hasOneBlock())
      return std::optional<Finding>(Finding{op, "the control flow of a task is not structured"});
    tracer.run(region);
    tasks.push_back(std::move(tracer.events));
    return tracer.finding;
  };
  if (auto found = trace(op.getDefaultRegion(), {}))
    return found;
  for (Region *region : op.getPartitionRegions())
    if (auto found = trace(*region, op.getPartitionOp().getExplicitCaptures()))
      return found;

  if (!seen.insert(choice.decisions).second)
    return std::nullopt;
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, tasks.size()));
  do {
    for (bool stopsBehindArrivals : {false, true})
      if (auto found = Machine(tasks, counts).run(order, stopsBehindArrivals))
        return found;
  } while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

} // namespace

std::optional<Finding> audit(tt::FuncOp kernel) {
  SmallVector<ttg::WarpSpecializeOp> ops;
  int64_t slots = 1;
  kernel.walk([&](Operation *op) {
    if (auto tasks = dyn_cast<ttg::WarpSpecializeOp>(op))
      ops.push_back(tasks);
    else if (auto alloc = dyn_cast<ttg::LocalAllocOp>(op); alloc && !alloc.getSrc())
      slots = std::max(slots, alloc.getType().getShape().front());
  });
  constexpr int64_t mostSlots = 16;
  slots = std::min(slots, mostSlots);
  for (ttg::WarpSpecializeOp op : ops) {
    std::set<std::vector<int64_t>> seen;
    for (unsigned seed = 0; seed != Choice(0, slots).seeds(); ++seed)
      if (auto finding = auditOnce(op, Choice(seed, slots), seen))
        return finding;
  }
  return std::nullopt;
}

} // namespace tritonext::warpspec
