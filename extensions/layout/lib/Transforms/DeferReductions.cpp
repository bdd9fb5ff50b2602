//===- DeferReductions.cpp - Reductions that threads finish after a loop --===//

#include "tritonext_layout/Transforms/MemoryOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "tritonext/Remarks.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_DEFERREDUCTIONSPASS
#define GEN_PASS_DEF_DEFERREDUCTIONSPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-defer-reductions"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// A value that a loop carries and combines with a reduction in each iteration.
struct Accumulation {
  scf::ForOp loop;
  unsigned index;
  /// The op that combines both.
  Operation *combine;
  ReduceOp reduce;
};

/// A run of adjacent bits of the reduced dimension that lie in registers of a thread, or that do
/// not.
struct Run {
  int64_t size;
  bool isInThread;
};

Value skipConversions(Value value) {
  while (auto convert = value.getDefiningOp<ttg::ConvertLayoutOp>()) {
    if (!convert->hasOneUse())
      break;
    value = convert.getSrc();
  }
  return value;
}

/// Returns the element that changes nothing when combined by `combine`, or null for other ops.
TypedAttr getNeutral(Operation *combine, Type element) {
  Builder builder(combine->getContext());
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    if (isa<arith::AddFOp>(combine))
      return builder.getFloatAttr(type, APFloat::getZero(semantics, /*Negative=*/true));
    if (isa<arith::MulFOp>(combine))
      return builder.getFloatAttr(type, APFloat::getOne(semantics));
    // These take the other operand for a NaN, so only a NaN leaves a NaN as it is.
    if (isa<arith::MaxNumFOp, arith::MinNumFOp>(combine))
      return builder.getFloatAttr(type, APFloat::getQNaN(semantics));
    if (isa<arith::MaximumFOp>(combine))
      return builder.getFloatAttr(type, APFloat::getInf(semantics, /*Negative=*/true));
    if (isa<arith::MinimumFOp>(combine))
      return builder.getFloatAttr(type, APFloat::getInf(semantics));
    return {};
  }
  auto type = dyn_cast<IntegerType>(element);
  if (!type)
    return {};
  unsigned bits = type.getWidth();
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(combine))
    return builder.getIntegerAttr(type, APInt::getZero(bits));
  if (isa<arith::MulIOp>(combine))
    return builder.getIntegerAttr(type, APInt(bits, 1));
  if (isa<arith::AndIOp, arith::MinUIOp>(combine))
    return builder.getIntegerAttr(type, APInt::getAllOnes(bits));
  if (isa<arith::MaxSIOp>(combine))
    return builder.getIntegerAttr(type, APInt::getSignedMinValue(bits));
  if (isa<arith::MinSIOp>(combine))
    return builder.getIntegerAttr(type, APInt::getSignedMaxValue(bits));
  return {};
}

/// Returns what `loop` does with the value it carries at `index`, if that is an accumulation.
std::optional<Accumulation> match(scf::ForOp loop, unsigned index) {
  BlockArgument carried = loop.getRegionIterArg(index);
  Operation *combine = loop.getYieldedValues()[index].getDefiningOp();
  if (!combine || combine->getBlock() != loop.getBody() || !carried.hasOneUse() ||
      *carried.user_begin() != combine || combine->getNumOperands() != 2 ||
      combine->getNumResults() != 1 || !combine->hasOneUse())
    return std::nullopt;
  bool isFirst = combine->getOperand(0) == carried;
  Value other = combine->getOperand(isFirst ? 1 : 0);
  auto reduce = skipConversions(other).getDefiningOp<ReduceOp>();
  if (!reduce || reduce->getNumResults() != 1 || !reduce->hasOneUse() || !other.hasOneUse() ||
      reduce->getBlock() != loop.getBody())
    return std::nullopt;
  Operation *combiner = reduce.getSingleCombiner();
  if (!combiner || combiner->getName() != combine->getName() ||
      !getNeutral(combine, getElementTypeOrSelf(carried.getType())))
    return std::nullopt;
  return Accumulation{loop, index, combine, reduce};
}

/// Splits the reduced dimension into runs, the slowest first. Returns nothing if one basis vector
/// of the layout moves along it and another dimension, or by several bits.
std::optional<SmallVector<Run>> getRuns(RankedTensorType type, unsigned axis) {
  LinearLayout layout = ttg::toLinearLayout(type);
  StringAttr kRegister = StringAttr::get(type.getContext(), "register");
  SmallVector<bool> isInThread(llvm::Log2_64(type.getDimSize(axis)));
  for (const auto &[in, bases] : layout.getBases())
    for (const std::vector<int32_t> &basis : bases) {
      if (basis[axis] == 0)
        continue;
      if (!llvm::isPowerOf2_32(basis[axis]) ||
          llvm::count_if(basis, [](int32_t component) { return component != 0; }) != 1)
        return std::nullopt;
      if (in == kRegister)
        isInThread[llvm::Log2_32(basis[axis])] = true;
    }
  SmallVector<Run> runs;
  for (bool inThread : llvm::reverse(isInThread)) {
    if (runs.empty() || runs.back().isInThread != inThread)
      runs.push_back({1, inThread});
    runs.back().size *= 2;
  }
  return runs;
}

/// Reduces dimension `axis` of `value` as `like` does.
Value createReduce(OpBuilder &builder, ReduceOp like, Value value, unsigned axis) {
  auto reduce = ReduceOp::create(builder, like.getLoc(), ValueRange(value), axis);
  IRMapping mapping;
  like.getCombineOp().cloneInto(&reduce.getCombineOp(), mapping);
  return reduce->getResult(0);
}

Value createCombine(OpBuilder &builder, Operation *like, Value first, Value second) {
  IRMapping mapping;
  mapping.map(like->getOperand(0), first);
  mapping.map(like->getOperand(1), second);
  Operation *combine = builder.clone(*like, mapping);
  combine->getResult(0).setType(first.getType());
  return combine->getResult(0);
}

void rewrite(const Accumulation &found, ArrayRef<Run> runs) {
  auto [loop, index, combine, reduce] = found;
  Value source = reduce.getSrcs().front();
  auto type = cast<RankedTensorType>(source.getType());
  unsigned axis = reduce.getAxis();
  Location loc = reduce.getLoc();

  // What a thread has of a slice becomes one element.
  OpBuilder builder(reduce);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  SmallVector<int64_t> sizes = llvm::map_to_vector(runs, [](const Run &run) { return run.size; });
  shape.insert(shape.begin() + axis, sizes.begin(), sizes.end());
  Value partial = source;
  if (runs.size() > 1)
    partial = ReshapeOp::create(builder, loc, shape, source);
  for (unsigned position = runs.size(); position-- != 0;)
    if (runs[position].isInThread)
      partial = createReduce(builder, reduce, partial, axis + position);
  auto wide = cast<RankedTensorType>(partial.getType());

  Value initial = loop.getInitArgs()[index];
  BlockArgument carried = loop.getRegionIterArg(index);
  Value result = loop.getResult(index);
  carried.setType(wide);
  builder.setInsertionPoint(combine);
  bool isFirst = combine->getOperand(0) == carried;
  Value next = createCombine(builder, combine, isFirst ? carried : partial,
                             isFirst ? partial : static_cast<Value>(carried));
  loop.getBody()->getTerminator()->setOperand(index, next);

  builder.setInsertionPoint(loop);
  TypedAttr neutral = getNeutral(combine, wide.getElementType());
  loop.getInitArgsMutable()[index].set(
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(wide, neutral)));

  builder.setInsertionPointAfter(loop);
  result.setType(wide);
  Value rest = result;
  Operation *firstNew = nullptr;
  unsigned remaining = llvm::count_if(runs, [](const Run &run) { return !run.isInThread; });
  for (unsigned position = remaining; position-- != 0;) {
    rest = createReduce(builder, reduce, rest, axis + position);
    if (!firstNew)
      firstNew = rest.getDefiningOp();
  }
  if (isa<RankedTensorType>(initial.getType()) && rest.getType() != initial.getType())
    rest = ttg::ConvertLayoutOp::create(builder, loc, initial.getType(), rest);
  Value total = createCombine(builder, combine, isFirst ? initial : rest, isFirst ? rest : initial);
  result.replaceUsesWithIf(total, [&](OpOperand &use) { return use.getOwner() != firstNew; });

  // The old chain, users first.
  SmallVector<Operation *> old{combine};
  for (Value value = combine->getOperand(isFirst ? 1 : 0);;) {
    Operation *op = value.getDefiningOp();
    old.push_back(op);
    if (op == reduce)
      break;
    value = op->getOperand(0);
  }
  for (Operation *op : old)
    op->erase();
}

class DeferReductionsPass : public impl::DeferReductionsPassBase<DeferReductionsPass> {
public:
  using DeferReductionsPassBase::DeferReductionsPassBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    MemoryAccesses memory(getOperation());
    for (scf::ForOp loop : loops)
      for (unsigned index = 0; index != loop.getNumRegionIterArgs(); ++index)
        if (std::optional<Accumulation> found = match(loop, index))
          consider(*found, memory);
  }

private:
  void consider(const Accumulation &found, const MemoryAccesses &memory) const {
    ReduceOp reduce = found.reduce;
    auto type = cast<RankedTensorType>(reduce.getSrcs().front().getType());
    if (!type.getEncoding())
      return;
    std::optional<SmallVector<Run>> runs = getRuns(type, reduce.getAxis());
    if (!runs || llvm::all_of(*runs, [](const Run &run) { return run.isInThread; }))
      return;
    if (Operation *write = memory.findOrderedWrite(reduce->getParentOfType<FuncOp>())) {
      emitRemark(RemarkKind::Missed, write, DEBUG_TYPE,
                 "the barrier of a reduction may keep this write behind a read of what it "
                 "overwrites");
      return;
    }
    bool reorders = isa<arith::AddFOp, arith::MulFOp>(found.combine);
    if (reorders && !reorderSums) {
      emitRemark(RemarkKind::Missed, reduce, DEBUG_TYPE,
                 "sums of floating-point numbers keep their order");
      return;
    }
    emitRemark(RemarkKind::Applied, reduce, DEBUG_TYPE,
               Twine("threads combine what they have in the loop, and with each other after it") +
                   (reorders ? ", in another order of the sum" : ""));
    rewrite(found, *runs);
  }
};

} // namespace
} // namespace tritonext::layout
