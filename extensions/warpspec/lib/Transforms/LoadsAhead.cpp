//===- LoadsAhead.cpp - Load through pointers an iteration ahead ----------===//
//
// What a loop of products loads beside its operands, such as scales, comes from far away, and the
// stock pipeliner does not see to it: the loop has no stages. So each value is loaded while the
// iteration before runs, and carried into its own.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::warpspec {
namespace {

/// Whether the loop computes a value from its induction variable and what it carries, with nothing
/// that has effects.
bool isComputed(scf::ForOp loop, Value value) {
  if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar())
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  return op->getBlock() == loop.getBody() && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isComputed(loop, operand); });
}

/// The same with the values that it carries into the next iteration.
bool isComputedAhead(scf::ForOp loop, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
    return isComputed(loop, loop.getTiedLoopYieldedValue(argument)->get());
  Operation *op = value.getDefiningOp();
  if (!op || loop.isDefinedOutsideOfLoop(value))
    return true;
  return isComputed(loop, value) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return isComputedAhead(loop, operand);
         });
}

/// Computes values of a loop's body again for one of its iterations.
class Iteration {
public:
  /// `argumentOf` gives the arguments of the body in that iteration.
  Iteration(OpBuilder &builder, scf::ForOp loop, std::function<Value(BlockArgument)> argumentOf)
      : builder(builder), loop(loop), argumentOf(std::move(argumentOf)) {}

  /// Returns a value, with a layout in place of that of tensors like it.
  Value valueOf(Value value, Attribute from, Attribute to) {
    Value &known = values[value];
    if (known)
      return known;
    auto argument = dyn_cast<BlockArgument>(value);
    Value found;
    if (argument && argument.getOwner() == loop.getBody()) {
      found = relaid(argumentOf(argument), from, to);
    } else if (loop.isDefinedOutsideOfLoop(value)) {
      found = relaid(value, from, to);
    } else {
      Operation *op = value.getDefiningOp();
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(valueOf(operand, from, to));
      Operation *copy = op->clone();
      copy->setOperands(operands);
      for (OpResult result : copy->getResults())
        result.setType(relaid(result.getType(), from, to));
      builder.insert(copy);
      found = copy->getResult(cast<OpResult>(value).getResultNumber());
    }
    return values[value] = found;
  }

private:
  static Type relaid(Type type, Attribute from, Attribute to) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getEncoding() == from ? tensor.cloneWithEncoding(to) : type;
  }

  Value relaid(Value value, Attribute from, Attribute to) {
    Type type = relaid(value.getType(), from, to);
    if (type == value.getType())
      return value;
    return ttg::ConvertLayoutOp::create(builder, value.getLoc(), type, value);
  }

  OpBuilder &builder;
  scf::ForOp loop;
  std::function<Value(BlockArgument)> argumentOf;
  DenseMap<Value, Value> values;
};

/// Returns the layout in which a load is wanted, if all that it depends on in the loop can have it.
Attribute wantedLayout(scf::ForOp loop, tt::LoadOp load) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  if (!type)
    return {};
  if (!load->hasOneUse())
    return type.getEncoding();
  auto convert = dyn_cast<ttg::ConvertLayoutOp>(*load->user_begin());
  if (!convert)
    return type.getEncoding();
  SmallVector<Value> work(load->getOperands());
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (tensor && tensor.getEncoding() != type.getEncoding())
      return type.getEncoding();
    if (!op || loop.isDefinedOutsideOfLoop(value) || !seen.insert(op).second)
      continue;
    bool isPossible = op->hasTrait<OpTrait::Elementwise>() ||
                      isa<tt::SplatOp, tt::MakeRangeOp, tt::AddPtrOp>(op) || !tensor;
    if (!isPossible || op->hasTrait<OpTrait::ConstantLike>())
      return type.getEncoding();
    work.append(op->operand_begin(), op->operand_end());
  }
  return convert.getType().getEncoding();
}

/// Loads what `load` loads in an iteration, if there is one.
Value loadOf(OpBuilder &builder, tt::LoadOp load, Iteration &iteration, Value isThere,
             Attribute layout) {
  Location loc = load.getLoc();
  auto type = dyn_cast<RankedTensorType>(load.getType());
  Attribute from = type ? type.getEncoding() : Attribute();
  auto mask = isThere;
  if (type)
    mask = tt::SplatOp::create(
        builder, loc, RankedTensorType::get(type.getShape(), builder.getI1Type(), layout), isThere);
  if (load.getMask())
    mask =
        arith::AndIOp::create(builder, loc, mask, iteration.valueOf(load.getMask(), from, layout));
  Value other = load.getOther() ? iteration.valueOf(load.getOther(), from, layout) : Value();
  return tt::LoadOp::create(builder, loc, iteration.valueOf(load.getPtr(), from, layout), mask,
                            other, load.getCachePolicyAttr(), load.getIsVolatileAttr());
}

} // namespace

bool canLoadAhead(scf::ForOp loop, tt::LoadOp load) {
  return !load.getIsVolatile() && load->getBlock() == loop.getBody() &&
         llvm::all_of(load->getOperands(), [&](Value operand) {
           return isComputed(loop, operand) && isComputedAhead(loop, operand);
         });
}

void loadAhead(Plan &plan, ProductLoop &products) {
  for (tt::LoadOp load : products.ahead) {
    scf::ForOp loop = products.loop;
    Location loc = load.getLoc();
    Attribute layout = wantedLayout(loop, load);
    auto order = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;

    IRRewriter rewriter(loop);
    Iteration first(rewriter, loop, [&](BlockArgument argument) {
      return argument == loop.getInductionVar() ? loop.getLowerBound()
                                                : loop.getTiedLoopInit(argument)->get();
    });
    Value isThere =
        arith::CmpIOp::create(rewriter, loc, order, loop.getLowerBound(), loop.getUpperBound());
    Value start = loadOf(rewriter, load, first, isThere, layout);

    rewriter.setInsertionPointToStart(loop.getBody());
    Iteration current(rewriter, loop, [](BlockArgument argument) { return argument; });
    Value position = arith::AddIOp::create(rewriter, loc, loop.getInductionVar(), loop.getStep());
    Iteration next(rewriter, loop, [&](BlockArgument argument) -> Value {
      if (argument == loop.getInductionVar())
        return position;
      return current.valueOf(loop.getTiedLoopYieldedValue(argument)->get(), {}, {});
    });
    isThere = arith::CmpIOp::create(rewriter, loc, order, position, loop.getUpperBound());
    Value following = loadOf(rewriter, load, next, isThere, layout);

    rewriter.setInsertionPoint(loop);
    Value carried = plan.carry(rewriter, products, start, [&](BlockArgument) { return following; });
    Operation *done = load;
    if (carried.getType() != load.getType())
      done = *load->user_begin();
    rewriter.replaceOp(done, carried);
    if (done != load)
      rewriter.eraseOp(load);
  }
}

} // namespace tritonext::warpspec
