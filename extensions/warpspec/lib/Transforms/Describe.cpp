//===- Describe.cpp - Tensor descriptors for loads by pointers ------------===//
//
// Addresses and masks are polynomials in the scalars of the kernel, linear in the position in the
// tile. So a bound that is written in another way than the address is compared with it as it is:
// `rk < K - k` and an address that moves on by a step are the column `k + rk` of K.
//
// Sums and products of 32 bits that are extended are taken not to overflow, and divisors not to be
// negative.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Describe.h"

#include "tritonext_warpspec/Transforms/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <numeric>

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

// CUDA driver API, cuTensorMapEncodeTiled: base addresses and strides are multiples of 16 bytes,
// and the rows of a box have at least that.
constexpr int64_t alignment = 16;
constexpr size_t mostTerms = 32;

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

/// A product of scalars of the kernel, in an order in which they came up.
using Term = SmallVector<unsigned, 2>;

/// A sum of terms with factors that are not zero.
class Polynomial {
public:
  Polynomial() = default;
  explicit Polynomial(int64_t number) { add({}, number); }

  static Polynomial of(unsigned symbol) {
    Polynomial result;
    result.add({symbol}, 1);
    return result;
  }

  void add(const Term &term, int64_t factor) {
    int64_t sum = (terms[term] += factor);
    if (sum == 0)
      terms.erase(term);
  }

  Polynomial plus(const Polynomial &other, int64_t factor = 1) const {
    Polynomial result = *this;
    for (const auto &[term, number] : other.terms)
      result.add(term, number * factor);
    return result;
  }

  Polynomial times(const Polynomial &other) const {
    Polynomial result;
    for (const auto &[term, factor] : terms)
      for (const auto &[otherTerm, otherFactor] : other.terms) {
        Term product = term;
        product.append(otherTerm);
        llvm::sort(product);
        result.add(product, factor * otherFactor);
      }
    return result;
  }

  int64_t factorOf(const Term &term) const {
    auto found = terms.find(term);
    return found == terms.end() ? 0 : found->second;
  }

  std::optional<int64_t> number() const {
    if (terms.empty())
      return 0;
    bool isNumber = terms.size() == 1 && terms.begin()->first.empty();
    return isNumber ? std::optional(terms.begin()->second) : std::nullopt;
  }

  bool isZero() const { return terms.empty(); }

  struct Order {
    bool operator()(const Term &a, const Term &b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    }
  };
  std::map<Term, int64_t, Order> terms;
};

/// Returns `term / divisor` if that is a term.
std::optional<Term> divide(const Term &term, const Term &divisor) {
  Term rest = term;
  for (unsigned symbol : divisor) {
    auto *found = llvm::find(rest, symbol);
    if (found == rest.end())
      return std::nullopt;
    rest.erase(found);
  }
  return rest;
}

/// A tensor of numbers or pointers: `base + origin + sum of along[d] * position in dimension d`.
struct Affine {
  Value base;
  Polynomial origin;
  SmallVector<Polynomial> along;
};

//===----------------------------------------------------------------------===//
// What tensors are
//===----------------------------------------------------------------------===//

class Reader {
public:
  explicit Reader(scf::ForOp loop) : loop(loop), outermost(loop) {
    while (!isa<tt::FuncOp>(outermost->getParentOp()))
      outermost = outermost->getParentOp();
  }

  Value symbol(unsigned index) const { return symbols[index]; }
  Operation *start() const { return outermost; }

  /// Whether a value is there when the outermost loop starts.
  bool isInvariant(Value value) const {
    Operation *owner = value.getDefiningOp();
    if (!owner)
      owner = value.getParentBlock()->getParentOp();
    return !outermost->isAncestor(owner);
  }
  bool isInvariant(const Polynomial &polynomial) const {
    return llvm::all_of(polynomial.terms, [&](const auto &entry) {
      return llvm::all_of(entry.first, [&](unsigned index) { return isInvariant(symbols[index]); });
    });
  }

  std::optional<Polynomial> scalar(Value value) {
    std::optional<Polynomial> read = compute(value);
    if (read && read->terms.size() <= mostTerms)
      return read;
    return Polynomial::of(symbols.insert(value) ? symbols.size() - 1 : indexOf(value));
  }

  std::optional<Affine> tensor(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return std::nullopt;
    size_t rank = type.getRank();
    Affine result;
    result.along.resize(rank);
    DenseElementsAttr dense;
    if (matchPattern(value, m_Constant(&dense))) {
      if (!dense.isSplat() || !isa<IntegerType>(dense.getElementType()))
        return std::nullopt;
      result.origin = Polynomial(dense.getSplatValue<APInt>().getSExtValue());
      return result;
    }
    if (auto argument = dyn_cast<BlockArgument>(value))
      return carried(argument);
    Operation *op = value.getDefiningOp();
    if (auto splat = dyn_cast<tt::SplatOp>(op))
      return splatOf(splat.getSrc(), rank);
    if (auto range = dyn_cast<tt::MakeRangeOp>(op)) {
      result.origin = Polynomial(range.getStart());
      result.along[0] = Polynomial(1);
      return result;
    }
    if (isa<tt::BroadcastOp, ttg::ConvertLayoutOp, arith::ExtSIOp>(op))
      return tensor(op->getOperand(0));
    if (auto expand = dyn_cast<tt::ExpandDimsOp>(op)) {
      std::optional<Affine> source = tensor(expand.getSrc());
      if (source)
        source->along.insert(source->along.begin() + expand.getAxis(), Polynomial());
      return source;
    }
    if (isa<arith::AddIOp, arith::SubIOp, tt::AddPtrOp, arith::MulIOp>(op)) {
      std::optional<Affine> left = tensor(op->getOperand(0)), right = tensor(op->getOperand(1));
      if (!left || !right)
        return std::nullopt;
      return isa<arith::MulIOp>(op) ? product(*left, *right)
                                    : sum(*left, *right, isa<arith::SubIOp>(op) ? -1 : 1);
    }
    return std::nullopt;
  }

  static std::optional<Affine> sum(const Affine &left, const Affine &right, int64_t factor) {
    if (left.base && right.base)
      return std::nullopt;
    Affine result{left.base ? left.base : right.base, left.origin.plus(right.origin, factor), {}};
    for (auto [a, b] : llvm::zip_equal(left.along, right.along))
      result.along.push_back(a.plus(b, factor));
    return result;
  }

private:
  unsigned indexOf(Value value) const { return llvm::find(symbols, value) - symbols.begin(); }

  std::optional<Polynomial> compute(Value value) {
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return Polynomial(number.getSExtValue());
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::ExtSIOp>(op))
      return scalar(op->getOperand(0));
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return std::nullopt;
    std::optional<Polynomial> left = scalar(op->getOperand(0)), right = scalar(op->getOperand(1));
    if (!left || !right)
      return std::nullopt;
    return isa<arith::MulIOp>(op) ? left->times(*right)
                                  : left->plus(*right, isa<arith::SubIOp>(op) ? -1 : 1);
  }

  std::optional<Affine> splatOf(Value value, size_t rank) {
    Affine result;
    result.along.resize(rank);
    if (!isa<tt::PointerType>(value.getType())) {
      std::optional<Polynomial> read = scalar(value);
      if (!read)
        return std::nullopt;
      result.origin = *read;
      return result;
    }
    while (auto add = value.getDefiningOp<tt::AddPtrOp>()) {
      std::optional<Polynomial> offset = scalar(add.getOffset());
      if (!offset)
        return std::nullopt;
      result.origin = result.origin.plus(*offset);
      value = add.getPtr();
    }
    result.base = value;
    return result;
  }

  static std::optional<Affine> product(const Affine &left, const Affine &right) {
    auto isUniform = [](const Affine &tensor) {
      return llvm::all_of(tensor.along, [](const Polynomial &p) { return p.isZero(); });
    };
    if (left.base || right.base || (!isUniform(left) && !isUniform(right)))
      return std::nullopt;
    const Affine &tensor = isUniform(right) ? left : right;
    const Polynomial &factor = isUniform(right) ? right.origin : left.origin;
    Affine result{nullptr, tensor.origin.times(factor), {}};
    for (const Polynomial &along : tensor.along)
      result.along.push_back(along.times(factor));
    return result;
  }

  /// A tensor that the loop of products moves on by the same in each iteration.
  std::optional<Affine> carried(BlockArgument argument) {
    if (argument.getOwner() != loop.getBody() || argument == loop.getInductionVar())
      return std::nullopt;
    auto next = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp();
    if (!isa_and_nonnull<tt::AddPtrOp, arith::AddIOp>(next) || next->getOperand(0) != argument)
      return std::nullopt;
    std::optional<Affine> first = tensor(loop.getTiedLoopInit(argument)->get());
    std::optional<Affine> move = tensor(next->getOperand(1));
    std::optional<Polynomial> step = scalar(loop.getStep()), lower = scalar(loop.getLowerBound());
    if (!first || !move || !step || !lower || !step->number() || !isInvariant(move->origin) ||
        llvm::any_of(move->along, [](const Polynomial &p) { return !p.isZero(); }))
      return std::nullopt;
    Polynomial slope;
    for (const auto &[term, factor] : move->origin.terms) {
      if (factor % *step->number() != 0)
        return std::nullopt;
      slope.add(term, factor / *step->number());
    }
    Polynomial steps = scalar(loop.getInductionVar())->plus(*lower, -1);
    first->origin = first->origin.plus(slope.times(steps));
    return first;
  }

  scf::ForOp loop;
  Operation *outermost;
  llvm::SmallSetVector<Value, 16> symbols;
};

//===----------------------------------------------------------------------===//
// Blocks of matrices
//===----------------------------------------------------------------------===//

/// A block of a matrix: what a descriptor and a load by it are made of. The dimension `rows` has
/// the stride, the other one is contiguous.
struct Block {
  Value base;
  Polynomial offset, stride;
  std::array<Polynomial, 2> position;
  /// Where the matrix ends, if the load has a bound in the dimension.
  std::array<std::optional<Polynomial>, 2> size;
  unsigned rows = 0;
  /// Whether the stride may be negative where nothing is loaded.
  bool isClamped = false;
};

/// `left < right` of a mask, as the difference, and the dimension that it bounds.
struct Bound {
  Polynomial difference;
  unsigned dimension;
};

class Describer {
public:
  Describer(scf::ForOp loop, bool trustsStrides)
      : loop(loop), trustsStrides(trustsStrides), reader(loop) {
    findAssumptions();
  }

  bool run() {
    llvm::SmallSetVector<Operation *, 4> buffers;
    loop.getBody()->walk([&](ttng::WarpGroupDotOp dot) {
      for (Value operand : {Value(dot.getA()), Value(dot.getB())}) {
        auto buffer = throughViews(operand).getDefiningOp<ttg::LocalAllocOp>();
        if (buffer && buffer.getSrc() && buffer->getBlock() == loop.getBody())
          buffers.insert(buffer);
      }
    });
    for (Operation *op : buffers) {
      auto buffer = cast<ttg::LocalAllocOp>(op);
      auto load = buffer.getSrc().getDefiningOp<tt::LoadOp>();
      if (!load || !load->hasOneUse() || load->getBlock() != loop.getBody())
        continue;
      if (std::optional<Block> block = find(load, buffer))
        rewrite(load, buffer, *block);
    }
    return hasUnknownStride;
  }

private:
  //===--------------------------------------------------------------------===//
  // Analysis
  //===--------------------------------------------------------------------===//

  std::optional<Block> find(tt::LoadOp load, ttg::LocalAllocOp buffer) {
    auto type = cast<RankedTensorType>(load.getType());
    int64_t bits = type.getElementTypeBitWidth();
    auto layout = dyn_cast<ttg::NVMMASharedEncodingAttr>(buffer.getType().getEncoding());
    bool isPlain = !load.getCachePolicyAttr() && !load.getIsVolatile();
    if (!isPlain || type.getRank() != 2 || !isa<FloatType>(type.getElementType()) || !layout ||
        layout.getFp4Padded())
      return std::nullopt;
    if (Value other = load.getOther(); other && !isZero(other))
      return std::nullopt;
    std::optional<Affine> address = reader.tensor(load.getPtr());
    if (!address || !address->base || !isAligned(address->base))
      return std::nullopt;

    Block block;
    block.base = address->base;
    std::optional<int64_t> last = address->along[1].number(), first = address->along[0].number();
    if ((last == 1) == (first == 1))
      return std::nullopt;
    block.rows = last == 1 ? 0 : 1;
    unsigned columns = 1 - block.rows;
    block.stride = address->along[block.rows];
    // The buffer has the order of the memory, so nothing is transposed on the way.
    if (layout.getTransposed() != (block.rows == 1) ||
        type.getDimSize(columns) * bits < alignment * 8)
      return std::nullopt;
    if (block.stride.terms.size() != 1 || block.stride.terms.begin()->second < 0 ||
        !reader.isInvariant(block.stride) || !isAligned(block.stride, bits))
      return std::nullopt;

    std::array<std::optional<Polynomial>, 2> bounds;
    SmallVector<Bound> found;
    if (load.getMask() && !findBounds(load.getMask(), found))
      return std::nullopt;
    for (Bound &bound : found) {
      if (bounds[bound.dimension])
        return std::nullopt;
      bounds[bound.dimension] = std::move(bound.difference);
    }
    split(address->origin, bounds, bits, block);
    for (unsigned d : {0, 1}) {
      if (!isNarrow(block.position[d]) || !isNotNegative(block.position[d]))
        return std::nullopt;
      if (!bounds[d])
        continue;
      block.size[d] = block.position[d].plus(*bounds[d], -1);
      if (!reader.isInvariant(*block.size[d]) || !isNarrow(*block.size[d]))
        return std::nullopt;
    }
    if (!reader.isInvariant(block.offset) || !isAligned(block.offset, bits) || !checkStride(block))
      return std::nullopt;
    return block;
  }

  /// Whether the stride is not negative where the load reads anything. TMA has no other.
  bool checkStride(Block &block) {
    for (unsigned index : block.stride.terms.begin()->first) {
      Value value = reader.symbol(index);
      if (isNotNegative(value, assumedOutside))
        continue;
      // A matrix without elements is masked, and so is all that comes in front of a bound.
      bool isSize = llvm::any_of(block.size, [&](const std::optional<Polynomial> &size) {
        return size && size->terms == Polynomial::of(index).terms;
      });
      block.isClamped = true;
      if (trustsStrides || isSize || isPositiveInside(value) || isNotNegative(value, assumed))
        continue;
      hasUnknownStride = true;
      return false;
    }
    return true;
  }

  /// Whether a loop around the load, which starts at no less than zero, ends at a value, or as many
  /// blocks as it has.
  bool isPositiveInside(Value value) {
    for (auto around = loop; around; around = around->getParentOfType<scf::ForOp>()) {
      if (around.getUnsignedCmp() || !isNotNegative(around.getLowerBound(), assumed))
        continue;
      Value upper = around.getUpperBound();
      APInt size, rounding;
      if (auto blocks = upper.getDefiningOp<arith::DivSIOp>())
        if (auto sum = blocks.getLhs().getDefiningOp<arith::AddIOp>();
            sum && matchPattern(blocks.getRhs(), m_ConstantInt(&size)) &&
            matchPattern(sum.getRhs(), m_ConstantInt(&rounding)) && rounding.slt(size))
          upper = sum.getLhs();
      if (upper == value)
        return true;
    }
    return false;
  }

  /// Sorts the terms of an address into positions and what is added to the base.
  void split(const Polynomial &origin, ArrayRef<std::optional<Polynomial>> bounds, int64_t bits,
             Block &block) const {
    const auto &[strideTerm, strideFactor] = *block.stride.terms.begin();
    unsigned columns = 1 - block.rows;
    for (const auto &[term, factor] : origin.terms) {
      std::optional<Term> row = divide(term, strideTerm);
      bool isRow = row && factor % strideFactor == 0;
      int64_t rowFactor = isRow ? factor / strideFactor : 0;
      bool isBoundRow =
          isRow && bounds[block.rows] && bounds[block.rows]->factorOf(*row) == rowFactor;
      bool isBoundColumn = bounds[columns] && bounds[columns]->factorOf(term) == factor;
      Polynomial single;
      single.add(term, factor);
      if (isBoundRow)
        block.position[block.rows].add(*row, rowFactor);
      else if (isBoundColumn)
        block.position[columns].add(term, factor);
      else if (reader.isInvariant(single) && isAligned(single, bits))
        block.offset.add(term, factor);
      else if (isRow)
        block.position[block.rows].add(*row, rowFactor);
      else
        block.position[columns].add(term, factor);
    }
  }

  /// Reads a mask as bounds above, at most one in each dimension. Others are refused.
  bool findBounds(Value mask, SmallVectorImpl<Bound> &bounds) {
    Operation *op = mask.getDefiningOp();
    if (!op)
      return false;
    if (auto both = dyn_cast<arith::AndIOp>(op))
      return findBounds(both.getLhs(), bounds) && findBounds(both.getRhs(), bounds);
    SmallVector<unsigned> inserted;
    while (isa_and_nonnull<tt::BroadcastOp, ttg::ConvertLayoutOp, tt::ExpandDimsOp>(op)) {
      if (auto expand = dyn_cast<tt::ExpandDimsOp>(op))
        inserted.push_back(expand.getAxis());
      op = op->getOperand(0).getDefiningOp();
    }
    auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
    if (!compare)
      return false;
    Value low = compare.getLhs(), high = compare.getRhs();
    int64_t slack = 0;
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::slt:
      break;
    case arith::CmpIPredicate::sle:
      slack = 1;
      break;
    case arith::CmpIPredicate::sge:
      slack = 1;
      [[fallthrough]];
    case arith::CmpIPredicate::sgt:
      std::swap(low, high);
      break;
    default:
      return false;
    }
    std::optional<Affine> left = reader.tensor(low), right = reader.tensor(high);
    if (!left || !right || left->base || right->base)
      return false;
    std::optional<Affine> difference = Reader::sum(*left, *right, -1);
    for (unsigned axis : llvm::reverse(inserted))
      difference->along.insert(difference->along.begin() + axis, Polynomial());
    if (difference->along.size() != 2)
      return false;
    for (unsigned d : {0, 1})
      if (difference->along[d].number() == 1 && difference->along[1 - d].isZero()) {
        bounds.push_back({difference->origin.plus(Polynomial(-slack)), d});
        return true;
      }
    return false;
  }

  //===--------------------------------------------------------------------===//
  // What is known of scalars
  //===--------------------------------------------------------------------===//

  static int64_t divisibility(Value value) {
    Attribute attribute;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto kernel = dyn_cast<tt::FuncOp>(argument.getOwner()->getParentOp());
      if (kernel)
        attribute = kernel.getArgAttr(argument.getArgNumber(), "tt.divisibility");
    }
    auto number = dyn_cast_or_null<IntegerAttr>(attribute);
    return number ? number.getInt() : 1;
  }

  /// Whether a pointer is an argument of the kernel that is aligned.
  static bool isAligned(Value pointer) { return divisibility(pointer) % alignment == 0; }

  /// Whether a number of elements is a multiple of 16 bytes.
  bool isAligned(const Polynomial &elements, int64_t bits) const {
    return llvm::all_of(elements.terms, [&](const auto &entry) {
      int64_t known = std::gcd(entry.second, alignment) * (bits / 8);
      for (unsigned index : entry.first)
        known *= std::gcd(divisibility(reader.symbol(index)), alignment);
      return known % alignment == 0;
    });
  }

  /// Whether a sum is one of 32-bit scalars.
  bool isNarrow(const Polynomial &polynomial) const {
    return llvm::all_of(polynomial.terms, [&](const auto &entry) {
      return llvm::isInt<32>(entry.second) && llvm::all_of(entry.first, [&](unsigned index) {
               return reader.symbol(index).getType().isInteger(32);
             });
    });
  }

  /// Finds what `tl.assume` says not to be negative wherever the loop runs, and wherever the
  /// descriptor is made, which is outside of the conditions and loops around this one.
  void findAssumptions() {
    loop->getParentOfType<tt::FuncOp>().walk([&](Operation *op) {
      if (!isAssumption(op) || !op->getBlock()->findAncestorOpInBlock(*loop))
        return;
      assume(op->getOperand(0), assumed);
      if (op->getBlock() == reader.start()->getBlock())
        assume(op->getOperand(0), assumedOutside);
    });
  }
  static void assume(Value condition, DenseSet<Value> &assumed) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      assume(both.getLhs(), assumed);
      assume(both.getRhs(), assumed);
    }
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return;
    using Predicate = arith::CmpIPredicate;
    Predicate order = compare.getPredicate();
    Value high = compare.getLhs(), low = compare.getRhs();
    if (order == Predicate::sle || order == Predicate::slt)
      std::swap(high, low);
    bool isStrict = order == Predicate::sgt || order == Predicate::slt;
    APInt number;
    if ((isStrict || order == Predicate::sge || order == Predicate::sle) &&
        matchPattern(low, m_ConstantInt(&number)) && number.sge(isStrict ? -1 : 0))
      for (assumed.insert(high); auto wide = high.getDefiningOp<arith::ExtSIOp>();)
        assumed.insert(high = wide.getIn());
  }

  /// Whether a position is not negative. TMA gives zeros there, where the load would read what lies
  /// in front of the matrix.
  bool isNotNegative(const Polynomial &polynomial) {
    return llvm::all_of(polynomial.terms, [&](const auto &entry) {
      return entry.second > 0 && llvm::all_of(entry.first, [&](unsigned index) {
               return isNotNegative(reader.symbol(index), assumed);
             });
    });
  }
  static bool isNotNegative(Value value, const DenseSet<Value> &assumed) {
    auto is = [&](Value operand) { return isNotNegative(operand, assumed); };
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return !number.isNegative();
    if (assumed.contains(value))
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto around = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return around && argument == around.getInductionVar() && is(around.getLowerBound());
    }
    return llvm::TypeSwitch<Operation *, bool>(value.getDefiningOp())
        .Case<tt::GetProgramIdOp, tt::GetNumProgramsOp>([](auto) { return true; })
        .Case<arith::DivSIOp, arith::RemSIOp>([&](auto op) { return is(op.getLhs()); })
        .Case<arith::AddIOp, arith::MulIOp, arith::MinSIOp>(
            [&](auto op) { return is(op.getLhs()) && is(op.getRhs()); })
        .Case<arith::MaxSIOp>([&](auto op) { return is(op.getLhs()) || is(op.getRhs()); })
        .Case<arith::SelectOp>(
            [&](auto op) { return is(op.getTrueValue()) && is(op.getFalseValue()); })
        .Default([](Operation *) { return false; });
  }

  //===--------------------------------------------------------------------===//
  // Rewriting
  //===--------------------------------------------------------------------===//

  static Value constant(OpBuilder &builder, Location loc, Type type, int64_t number) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, number));
  }

  Value make(OpBuilder &builder, Location loc, Type type, const Polynomial &polynomial) const {
    Value sum;
    for (const auto &[term, factor] : polynomial.terms) {
      Value product;
      for (unsigned index : term) {
        Value value = reader.symbol(index);
        if (value.getType() != type)
          value = arith::ExtSIOp::create(builder, loc, type, value);
        product = product ? arith::MulIOp::create(builder, loc, product, value) : value;
      }
      if (!product)
        product = constant(builder, loc, type, factor);
      else if (factor != 1)
        product =
            arith::MulIOp::create(builder, loc, product, constant(builder, loc, type, factor));
      sum = sum ? arith::AddIOp::create(builder, loc, sum, product) : product;
    }
    return sum ? sum : constant(builder, loc, type, 0);
  }

  void rewrite(tt::LoadOp load, ttg::LocalAllocOp buffer, const Block &block) {
    Location loc = load.getLoc();
    OpBuilder outside(reader.start()), inside(load);
    Type narrow = inside.getI32Type(), wide = inside.getI64Type();
    Value base = block.base;
    if (!block.offset.isZero())
      base = tt::AddPtrOp::create(outside, loc, base.getType(), base,
                                  make(outside, loc, wide, block.offset));
    // From here on rows come first.
    SmallVector<Value> sizes, positions;
    SmallVector<int64_t> shape;
    auto type = cast<RankedTensorType>(load.getType());
    for (unsigned d : {block.rows, 1 - block.rows}) {
      shape.push_back(type.getDimSize(d));
      Value position = make(inside, loc, narrow, block.position[d]);
      Value size = constant(outside, loc, narrow, std::numeric_limits<int32_t>::max());
      if (block.size[d]) {
        // A descriptor has no dimension of size 0. One of size 1 that is passed is as good.
        Value one = constant(outside, loc, narrow, 1);
        Value given = make(outside, loc, narrow, *block.size[d]);
        Value isThere = arith::CmpIOp::create(outside, loc, arith::CmpIPredicate::sge, given, one);
        size = arith::MaxSIOp::create(outside, loc, given, one);
        position = arith::SelectOp::create(inside, loc, isThere, position, one);
      }
      sizes.push_back(size);
      positions.push_back(position);
    }
    Value stride = make(outside, loc, wide, block.stride);
    if (block.isClamped)
      stride = arith::MaxSIOp::create(outside, loc, stride, constant(outside, loc, wide, 0));
    SmallVector<Value> strides = {stride, constant(outside, loc, wide, 1)};

    auto layout = cast<ttg::NVMMASharedEncodingAttr>(buffer.getType().getEncoding());
    auto plain = ttg::NVMMASharedEncodingAttr::get(
        layout.getContext(), layout.getSwizzlingByteWidth(), /*transposed=*/false,
        layout.getElementBitWidth(), layout.getFp4Padded(), layout.getCGALayout());
    auto descType = tt::TensorDescType::get(shape, type.getElementType(), plain);
    Value desc = tt::MakeTensorDescOp::create(outside, loc, descType, base, sizes, strides,
                                              tt::PaddingOption::PAD_ZERO);
    Operation *kernel = load->getParentOfType<ModuleOp>();
    auto blocked = ttg::getDefaultBlockedEncoding(
        load.getContext(), shape, ttg::lookupNumWarps(load),
        ttg::TritonGPUDialect::getThreadsPerWarp(cast<ModuleOp>(kernel)), ttg::lookupNumCTAs(load));
    auto tileType = RankedTensorType::get(shape, type.getElementType(), blocked);
    Value tile = tt::DescriptorLoadOp::create(inside, loc, tileType, desc, positions,
                                              /*cachePolicy=*/nullptr);
    OpBuilder behind(buffer);
    auto plainType = ttg::MemDescType::get(shape, type.getElementType(), plain,
                                           buffer.getType().getMemorySpace(),
                                           buffer.getType().getMutableMemory());
    Value filled = ttg::LocalAllocOp::create(behind, buffer.getLoc(), plainType, tile);
    if (block.rows == 1)
      filled =
          ttg::MemDescTransOp::create(behind, buffer.getLoc(), filled, ArrayRef<int32_t>{1, 0});
    buffer.getResult().replaceAllUsesWith(filled);
    buffer.erase();
    load.erase();
  }

  scf::ForOp loop;
  bool trustsStrides;
  Reader reader;
  /// Scalars that are not negative where the loop runs, and in front of the tasks.
  DenseSet<Value> assumed, assumedOutside;
  bool hasUnknownStride = false;
};

} // namespace

bool describeLoads(scf::ForOp loop, bool trustsStrides) {
  return Describer(loop, trustsStrides).run();
}

} // namespace tritonext::warpspec
