//===- LayoutGraph.cpp - What has to share a layout, and its price --------===//

#include "tritonext_layout/Transforms/LayoutGraph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "triton/Dialect/TritonGPU/Transforms/Utility.h"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// Iterations that a loop is taken to have if its bounds are not known.
constexpr int64_t typicalIterations = 10;

/// What an op costs per element, in instructions of full rate.
int64_t getElementPrice(Operation *op) {
  if (isa<SplatOp, arith::ConstantOp, BroadcastOp, ExpandDimsOp, TransOp, ReshapeOp, JoinOp,
          SplitOp>(op))
    return 0;
  if (isa<arith::DivFOp, arith::RemFOp, PreciseDivFOp, PreciseSqrtOp, ExternElementwiseOp,
          arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) ||
      isa<math::MathDialect>(op->getDialect()))
    return 8;
  return 1;
}

bool hasOneLayout(Operation *op) {
  Attribute encoding;
  auto agrees = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return true;
    if (!encoding)
      encoding = tensor.getEncoding();
    return encoding && tensor.getEncoding() == encoding;
  };
  return llvm::all_of(op->getOperandTypes(), agrees) && llvm::all_of(op->getResultTypes(), agrees);
}

/// Returns true if the result does not depend on the order in which elements are combined.
bool isExact(ReduceOp reduce) {
  Block &block = reduce.getCombineOp().front();
  return reduce.getNumOperands() == 1 && block.getOperations().size() == 2 &&
         isa<arith::AddIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::MaximumFOp,
             arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(block.front());
}

LayoutNode::Kind getKind(Operation *op, const AccessTable &accesses) {
  using Kind = LayoutNode::Kind;
  if (isa<LoadOp, StoreOp, AtomicRMWOp>(op))
    return accesses.lookup(op) && hasOneLayout(op) ? Kind::Uniform : Kind::Fixed;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isExact(reduce) ? Kind::Inferred : Kind::Fixed;
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) || op->getNumResults() == 0)
    return Kind::Fixed;
  if (isa<SplatOp, MakeRangeOp>(op))
    return Kind::Uniform;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue()) ? Kind::Uniform : Kind::Fixed;
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshape.getAllowReorder() || reshape.getEfficientLayout() ? Kind::Fixed : Kind::Inferred;
  if (isa<BroadcastOp, ExpandDimsOp, TransOp, JoinOp, SplitOp, ttg::Fp4ToFpOp>(op))
    return Kind::Inferred;
  if (auto assembly = dyn_cast<ElementwiseInlineAsmOp>(op))
    return assembly.getPackedElement() == 1 && assembly.getPure() && hasOneLayout(op)
               ? Kind::Uniform
               : Kind::Fixed;
  return op->hasTrait<OpTrait::Elementwise>() && hasOneLayout(op) ? Kind::Uniform : Kind::Fixed;
}

/// Returns how many bits of `in` move along dimension `dim` of the tensor.
unsigned countBits(const LinearLayout &layout, StringRef in, unsigned dim) {
  MLIRContext *ctx = layout.getInDimNames().begin()->getContext();
  return llvm::count_if(layout.getBases().lookup(StringAttr::get(ctx, in)),
                        [&](const std::vector<int32_t> &basis) { return basis[dim] != 0; });
}

} // namespace

bool isPlainConversion(Operation *op) {
  auto convert = dyn_cast_or_null<ttg::ConvertLayoutOp>(op);
  return convert && !convert.getForceWarpShuffle();
}

Value getRoot(Value value) {
  while (isPlainConversion(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

Attribute getEncoding(Value value) { return cast<RankedTensorType>(value.getType()).getEncoding(); }

int64_t getFrequency(Block *block) {
  int64_t frequency = 1;
  for (Operation *op = block->getParentOp(); op && !isa<FuncOp>(op); op = op->getParentOp()) {
    if (isa<scf::WhileOp>(op))
      frequency *= typicalIterations;
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      continue;
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
    std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    int64_t iterations = typicalIterations;
    if (lower && upper && step && *step > 0)
      iterations = std::clamp<int64_t>((*upper - *lower + *step - 1) / *step, 1, 1024);
    frequency = std::min<int64_t>(frequency * iterations, 1 << 20);
  }
  return frequency;
}

std::optional<NodeLayouts> LayoutNode::infer(bool isResult, unsigned index,
                                             Attribute encoding) const {
  if (kind == Kind::Fixed)
    return std::nullopt;
  Attribute source = encoding, target = encoding;
  if (kind == Kind::Inferred) {
    if (isResult)
      source = inferSrcEncoding(op, encoding);
    if (!source)
      return std::nullopt;
    target = inferDstEncoding(op, source);
    if (!target || (isResult && target != encoding))
      return std::nullopt;
  }
  if (isa<LoadOp, StoreOp, AtomicRMWOp>(op)) {
    if (isa<ttg::DotOperandEncodingAttr>(encoding))
      return std::nullopt;
    auto type = cast<RankedTensorType>(uses.front()->get().getType());
    if (!replicable && !ttg::toLinearLayout(type.cloneWithEncoding(encoding)).isInvertible())
      return std::nullopt;
  }
  NodeLayouts layouts;
  layouts.results.assign(results.size(), target);
  layouts.uses.assign(uses.size(), source);
  return layouts;
}

LayoutGraph::LayoutGraph(FuncOp function, const AccessTable &accesses) : accesses(accesses) {
  auto addCarried = [&](Operation *op, ArrayRef<OpOperand *> uses, ArrayRef<Value> results) {
    LayoutNode node;
    node.op = op;
    node.kind = LayoutNode::Kind::Uniform;
    node.uses.assign(uses.begin(), uses.end());
    node.results.assign(results.begin(), results.end());
    add(std::move(node));
  };
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function || isPlainConversion(op))
      return;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
      for (auto [index, init] : llvm::enumerate(loop.getInitArgsMutable()))
        if (isa<RankedTensorType>(init.get().getType()))
          addCarried(op, {&init, &yield->getOpOperand(index)},
                     {loop.getRegionIterArg(index), loop.getResult(index)});
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (OpResult result : branch.getResults())
        if (isa<RankedTensorType>(result.getType()))
          addCarried(op,
                     {&branch.thenYield()->getOpOperand(result.getResultNumber()),
                      &branch.elseYield()->getOpOperand(result.getResultNumber())},
                     {result});
      return;
    }
    if (isa<scf::YieldOp>(op) && isa<scf::ForOp, scf::IfOp>(op->getParentOp()))
      return;
    LayoutNode node;
    node.op = op;
    node.kind = getKind(op, accesses);
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        node.uses.push_back(&operand);
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        node.results.push_back(result);
    if (node.uses.empty() && node.results.empty())
      return;
    bool isLoad = isa<LoadOp>(op);
    node.replicable = !isa<AtomicRMWOp>(op) && !accesses.isShared(op);
    node.repeatable =
        node.kind != LayoutNode::Kind::Fixed && op->getNumRegions() == 0 &&
        (isLoad ? !isExpensiveLoadOrStore(op) && !accesses.isShared(op) : isMemoryEffectFree(op));
    add(std::move(node));
  });
}

void LayoutGraph::add(LayoutNode node) {
  unsigned number = nodes.size();
  for (Value result : node.results)
    producers[result] = number;
  for (auto [index, use] : llvm::enumerate(node.uses))
    usesOf[getRoot(use->get())].emplace_back(number, index);
  nodes.push_back(std::move(node));
}

std::optional<unsigned> LayoutGraph::getProducer(Value root) const {
  auto found = producers.find(root);
  if (found == producers.end())
    return std::nullopt;
  return found->second;
}

ArrayRef<std::pair<unsigned, unsigned>> LayoutGraph::getUses(Value root) const {
  auto found = usesOf.find(root);
  return found == usesOf.end() ? ArrayRef<std::pair<unsigned, unsigned>>() : found->second;
}

Price LayoutGraph::getPrice(unsigned node, const NodeLayouts &layouts) {
  Attribute encoding = layouts.uses.empty() ? layouts.results.front() : layouts.uses.front();
  auto [entry, isNew] = prices.try_emplace({node, encoding}, 0);
  if (isNew)
    entry->second = computePrice(nodes[node], layouts);
  return entry->second;
}

Price LayoutGraph::computePrice(const LayoutNode &node, const NodeLayouts &layouts) const {
  Operation *op = node.op;
  if (isa<scf::ForOp, scf::IfOp>(op))
    return 0;
  int64_t warps = ttg::lookupNumWarps(op);
  int64_t frequency = getFrequency(op->getBlock());
  auto getLayout = [](Value value, Attribute encoding) {
    return ttg::toLinearLayout(cast<RankedTensorType>(value.getType()).cloneWithEncoding(encoding));
  };
  if (const MemoryShape *memory = accesses.lookup(op)) {
    AccessCost cost =
        getAccessCost(getLayout(node.uses.front()->get(), layouts.uses.front()), *memory);
    // Atomics are done in the L2 cache by the sector, and reach it one request for each line. A
    // request costs more than its data: four lanes in each of eight rows, as of an accumulator,
    // cost the gradients of attention more than an exchange that gives a warp whole rows.
    if (isa<AtomicRMWOp>(op))
      return (4 * warps * cost.instructions + 8 * static_cast<Price>(cost.lines) +
              8 * static_cast<Price>(cost.sectors)) *
             frequency;
    Price passes = std::max<Price>(cost.lines, cost.instructions * warps);
    return (4 * passes + 2 * static_cast<Price>(cost.sectors)) * frequency;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    LinearLayout layout = getLayout(node.uses.front()->get(), layouts.uses.front());
    auto type = cast<RankedTensorType>(node.uses.front()->get().getType());
    Price elements = ttg::getTotalElemsPerThread(type.cloneWithEncoding(layouts.uses.front()));
    unsigned axis = reduce.getAxis();
    Price results = elements >> countBits(layout, "register", axis);
    constexpr Price shufflePrice = 4, rendezvousPrice = 400;
    Price price = warps * (elements + results * shufflePrice * countBits(layout, "lane", axis));
    if (countBits(layout, "warp", axis) + countBits(layout, "block", axis) != 0)
      price += rendezvousPrice;
    return price * frequency;
  }
  // An op works on the larger side, and what has no operands works on its result.
  Price elements = 0;
  auto count = [&](Value value, Attribute encoding) {
    auto type = cast<RankedTensorType>(value.getType()).cloneWithEncoding(encoding);
    elements = std::max<Price>(elements, ttg::getTotalElemsPerThread(type));
  };
  for (auto [value, encoding] : llvm::zip_equal(node.results, layouts.results))
    count(value, encoding);
  return elements * warps * getElementPrice(op) * frequency;
}

} // namespace tritonext::layout
