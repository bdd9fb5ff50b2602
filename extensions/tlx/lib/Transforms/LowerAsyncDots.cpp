#include "tritonext/Remarks.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "triton/Dialect/TritonGPU/Transforms/Utility.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "tlx-lower-async-dots"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LOWERASYNCDOTSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// The way of an accumulator
//===----------------------------------------------------------------------===//

/// Returns the values that the operand becomes when its op passes it on: the results of dots and
/// waits, and what loops and conditionals carry.
SmallVector<Value, 2> passedOn(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto dot = dyn_cast<AsyncDotOp>(op)) {
    if (&use == &dot.getCMutable())
      return {dot.getD()};
    return {};
  }
  if (auto wait = dyn_cast<ttng::WarpGroupDotWaitOp>(op))
    return {wait->getResult(number)};
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (OpResult result = loop.getTiedLoopResult(&use))
      return {result, loop.getRegionIterArg(result.getResultNumber())};
    return {};
  }
  if (isa<scf::YieldOp>(op)) {
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
      return {loop.getResult(number), loop.getRegionIterArg(number)};
    if (auto conditional = dyn_cast<scf::IfOp>(op->getParentOp()))
      return {conditional.getResult(number)};
  }
  return {};
}

/// Returns the operands that become `value`; the inverse of `passedOn`.
SmallVector<OpOperand *, 2> sources(Value value) {
  auto ofLoop = [](scf::ForOp loop, unsigned number) -> SmallVector<OpOperand *, 2> {
    return {&loop.getInitArgsMutable()[number],
            &loop.getBody()->getTerminator()->getOpOperand(number)};
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      return {};
    return ofLoop(loop, argument.getArgNumber() - loop.getNumInductionVars());
  }
  auto result = cast<OpResult>(value);
  unsigned number = result.getResultNumber();
  return llvm::TypeSwitch<Operation *, SmallVector<OpOperand *, 2>>(result.getOwner())
      .Case([](AsyncDotOp dot) { return SmallVector<OpOperand *, 2>{&dot.getCMutable()}; })
      .Case([&](ttng::WarpGroupDotWaitOp wait) {
        return SmallVector<OpOperand *, 2>{&wait->getOpOperand(number)};
      })
      .Case([&](scf::ForOp loop) { return ofLoop(loop, number); })
      .Case([&](scf::IfOp conditional) {
        return SmallVector<OpOperand *, 2>{&conditional.thenYield()->getOpOperand(number),
                                           &conditional.elseYield()->getOpOperand(number)};
      })
      .Default([](Operation *) { return SmallVector<OpOperand *, 2>(); });
}

/// All values that hold one accumulator on its way, and what the layout of those has to agree on.
class Accumulator {
public:
  explicit Accumulator(AsyncDotOp dot) { visit(dot.getD()); }

  ArrayRef<Value> values() const { return held.getArrayRef(); }
  bool holds(Value value) const { return held.contains(value); }

  SmallVector<AsyncDotOp> dots() const {
    SmallVector<AsyncDotOp> found;
    for (Value value : held)
      if (auto dot = value.getDefiningOp<AsyncDotOp>())
        found.push_back(dot);
    return found;
  }

  /// The uses that do not pass the accumulator on.
  SmallVector<OpOperand *> reads(Value value) const {
    SmallVector<OpOperand *> found;
    for (OpOperand &use : value.getUses())
      if (passedOn(use).empty())
        found.push_back(&use);
    return found;
  }

  /// The values that an unfinished dot may still write.
  llvm::SmallDenseSet<Value> unfinished() const {
    llvm::SmallDenseSet<Value> found;
    bool changed = true;
    while (changed) {
      changed = false;
      for (Value value : held) {
        bool now = value.getDefiningOp<AsyncDotOp>() ||
                   (!value.getDefiningOp<ttng::WarpGroupDotWaitOp>() &&
                    llvm::any_of(sources(value),
                                 [&](OpOperand *use) { return found.contains(use->get()); }));
        changed |= now && found.insert(value).second;
      }
    }
    return found;
  }

private:
  void visit(Value value) {
    if (sources(value).empty() || !held.insert(value))
      return;
    for (OpOperand *source : sources(value)) {
      visit(source->get());
      // A loop has two values of one source, which have one type.
      for (Value twin : passedOn(*source))
        visit(twin);
    }
    for (OpOperand &use : value.getUses())
      for (Value next : passedOn(use))
        visit(next);
  }

  llvm::SetVector<Value> held;
};

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Checks what the hardware asks of one dot, and returns the layout of its accumulator.
FailureOr<ttg::NvidiaMmaEncodingAttr> layoutOf(AsyncDotOp dot) {
  RankedTensorType type = dot.getD().getType();
  ArrayRef<int64_t> shape = type.getShape();
  int numWarps = ttg::lookupNumWarps(dot);
  if (numWarps % 4)
    return dot->emitError("expected whole warp groups of 4 warps, got ") << numWarps << " warps";
  if (shape.size() != 2 || shape[0] % 64 || shape[1] % 8)
    return dot->emitError("expected an accumulator of multiples of 64 by 8, got ") << type;
  auto isMma = [](ttg::MemDescType memory) {
    return isa<ttg::NVMMASharedEncodingAttr>(memory.getEncoding());
  };
  auto a = dyn_cast<ttg::MemDescType>(dot.getA().getType());
  if (!isMma(dot.getB().getType()) || (a && !isMma(a)))
    return dot->emitError("expected operands in a layout of shared memory that MMA reads, got ")
           << dot.getA().getType() << " and " << dot.getB().getType();

  // Rows go to warp groups first, like the stock choice for a dot that feeds no other dot.
  SmallVector<unsigned, 2> warps = {4, 1};
  while (warps[0] * warps[1] < unsigned(numWarps))
    warps[shape[0] > 16 * int64_t(warps[0]) ? 0 : 1] *= 2;
  Type element = getElementTypeOrSelf(dot.getB().getType());
  return ttg::NvidiaMmaEncodingAttr::get(dot.getContext(), /*versionMajor=*/3, /*versionMinor=*/0,
                                         warps, ttg::getCGALayout(type.getEncoding()),
                                         mmaVersionToInstrShape(3, shape, element, numWarps));
}

Value convert(OpBuilder &builder, Location loc, Value value, Attribute layout) {
  auto type = cast<RankedTensorType>(value.getType()).cloneWithEncoding(layout);
  return ttg::ConvertLayoutOp::create(builder, loc, type, value);
}

void lower(AsyncDotOp dot) {
  OpBuilder builder(dot);
  auto type = cast<RankedTensorType>(dot.getC().getType());
  Value a = dot.getA();
  if (auto tensor = dyn_cast<RankedTensorType>(a.getType())) {
    unsigned width = 32 / tensor.getElementTypeBitWidth();
    a = convert(builder, dot.getLoc(), a,
                ttg::DotOperandEncodingAttr::get(dot.getContext(), 0, type.getEncoding(), width));
  }
  auto product = ttng::WarpGroupDotOp::create(
      builder, dot.getLoc(), type, a, dot.getB(), dot.getC(), dot.getUseC(),
      *tt::symbolizeInputPrecision(dot.getInputPrecision()), dot.getMaxNumImpreciseAcc(),
      /*isAsync=*/true);
  emitRemark(RemarkKind::Applied, product, DEBUG_TYPE, "lowered to an asynchronous warp-group MMA");
  dot.replaceAllUsesWith(product.getD());
  dot.erase();
}

LogicalResult lower(const Accumulator &accumulator) {
  SmallVector<AsyncDotOp> dots = accumulator.dots();
  FailureOr<ttg::NvidiaMmaEncodingAttr> layout = layoutOf(dots.front());
  if (failed(layout))
    return failure();
  for (AsyncDotOp dot : dots) {
    FailureOr<ttg::NvidiaMmaEncodingAttr> other = layoutOf(dot);
    if (failed(other))
      return failure();
    if (*other != *layout) {
      InFlightDiagnostic error = dot->emitError(
          "expected operands like those of the other dots on this accumulator, got ");
      error << dot.getB().getType();
      error.attachNote(dots.front()->getLoc()) << "another dot is here";
      return error;
    }
    if (!tt::symbolizeInputPrecision(dot.getInputPrecision()))
      return dot->emitError("expected a precision such as tf32, got ")
             << dot.getInputPrecisionAttr();
  }
  llvm::SmallDenseSet<Value> unfinished = accumulator.unfinished();
  for (Value value : accumulator.values())
    for (OpOperand *use : accumulator.reads(value))
      if (unfinished.contains(value)) {
        InFlightDiagnostic error = use->getOwner()->emitError(
            "expected a wait before the result of an asynchronous dot is used, got none");
        error.attachNote(dots.front()->getLoc()) << "the dot starts here";
        return error;
      }

  // Loops name a source twice, for the value inside and the one behind.
  llvm::SetVector<OpOperand *> inputs;
  for (Value value : accumulator.values())
    for (OpOperand *source : sources(value))
      if (!accumulator.holds(source->get()))
        inputs.insert(source);
  for (OpOperand *input : inputs) {
    OpBuilder builder(input->getOwner());
    input->set(convert(builder, input->getOwner()->getLoc(), input->get(), *layout));
  }
  for (Value value : accumulator.values()) {
    auto old = cast<RankedTensorType>(value.getType());
    SmallVector<OpOperand *> reads = accumulator.reads(value);
    value.setType(old.cloneWithEncoding(*layout));
    if (reads.empty())
      continue;
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Value converted = convert(builder, value.getLoc(), value, old.getEncoding());
    for (OpOperand *use : reads)
      use->set(converted);
  }
  for (AsyncDotOp dot : dots)
    lower(dot);
  return success();
}

class LowerAsyncDotsPass : public impl::LowerAsyncDotsPassBase<LowerAsyncDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<AsyncDotOp> dots;
    getOperation()->walk([&](AsyncDotOp dot) { dots.push_back(dot); });
    SmallVector<Accumulator> accumulators;
    for (AsyncDotOp dot : dots)
      if (llvm::none_of(accumulators, [&](const Accumulator &a) { return a.holds(dot.getD()); }))
        accumulators.emplace_back(dot);
    for (const Accumulator &accumulator : accumulators)
      if (failed(lower(accumulator)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::tlx
