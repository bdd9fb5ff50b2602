//===- Recompute.cpp - Recompute tensors in another layout ----------------===//

#include "tritonext_layout/Transforms/Recompute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "triton/Dialect/TritonGPU/Transforms/Utility.h"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// Returns true for ops that compute each element of the result from the
/// elements of the operands at a position that the layout algebra can follow.
bool isRecomputable(Operation *op) {
  if (isa<LoadOp>(op))
    return !cast<LoadOp>(op).getIsVolatile();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  if (isa<SplatOp, MakeRangeOp, ExpandDimsOp, BroadcastOp, TransOp, arith::ConstantOp>(op))
    return true;
  return op->hasTrait<OpTrait::Elementwise>() && !isa<ElementwiseInlineAsmOp>(op);
}

/// Returns true if repeating `op` is not free: it takes memory bandwidth or the
/// special function unit.
bool isCostly(Operation *op) {
  return isa<LoadOp, arith::DivFOp, arith::RemFOp, PreciseDivFOp, PreciseSqrtOp,
             ExternElementwiseOp>(op) ||
         isa<math::MathDialect>(op->getDialect());
}

std::string describe(Value value) {
  if (isa<BlockArgument>(value))
    return "a block argument";
  return ("'" + value.getDefiningOp()->getName().getStringRef() + "'").str();
}

/// Returns the op of the block of `op` before which to repeat `op` for `user`.
Operation *getPlace(Operation *op, Operation *user) {
  if (isa<LoadOp>(op))
    return op;
  Operation *latest = op->getBlock()->findAncestorOpInBlock(*user);
  return latest && op->isBeforeInBlock(latest) ? latest : op->getNextNode();
}

} // namespace

std::optional<std::string> RecomputePlan::add(Value value, Attribute encoding, bool isData) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return std::nullopt;
  Request request(value, encoding);
  if (methods.contains(request))
    return std::nullopt;
  if (type.getEncoding() == encoding) {
    methods[request] = Method::Keep;
    return std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return "cannot recompute " + describe(value);

  if (auto convert = dyn_cast<ttg::ConvertLayoutOp>(op)) {
    TypedValue<RankedTensorType> source = convert.getSrc();
    bool isPointer = isa<PointerType>(type.getElementType());
    auto exchange = [&] {
      unsigned before = model->getCost(source.getType(), type.getEncoding()).barriers();
      unsigned after = model->getCost(source.getType(), encoding).barriers();
      if (isPointer || after > before)
        return false;
      methods[request] = Method::Exchange;
      replaced.insert(op);
      covered.insert(op);
      return true;
    };
    if (isData && exchange())
      return std::nullopt;
    RecomputePlan bypass = *this;
    std::optional<std::string> obstacle = bypass.add(source, encoding, isData);
    if (!obstacle) {
      *this = std::move(bypass);
      methods[request] = Method::Bypass;
      covered.insert(op);
      return std::nullopt;
    }
    if (!isData && exchange())
      return std::nullopt;
    return obstacle;
  }

  if (!isRecomputable(op))
    return "cannot recompute " + describe(value);
  Attribute operandEncoding = encoding;
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>)) {
    operandEncoding = isa<LoadOp>(op) ? encoding : inferSrcEncoding(op, encoding);
    if (!operandEncoding)
      return "cannot recompute " + describe(value);
  }
  for (Value operand : op->getOperands())
    if (std::optional<std::string> obstacle = add(operand, operandEncoding, isData))
      return obstacle;
  methods[request] = Method::Clone;
  covered.insert(op);
  if (isCostly(op))
    replaced.insert(op);
  return std::nullopt;
}

Value Recomputer::get(const RecomputePlan &plan, Value value, Attribute encoding, Operation *user) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getEncoding() == encoding)
    return value;
  Request request(value, encoding);
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op);
  auto newType = type.cloneWithEncoding(encoding);
  Value result = created.lookup(request);
  switch (plan.methods.lookup(request)) {
  case Method::Keep:
    llvm_unreachable("a tensor that is kept has the layout already");
  case Method::Bypass:
    return get(plan, cast<ttg::ConvertLayoutOp>(op).getSrc(), encoding, user);
  case Method::Exchange:
    if (!result)
      result = ttg::ConvertLayoutOp::create(builder, op->getLoc(), newType,
                                            cast<ttg::ConvertLayoutOp>(op).getSrc());
    return created[request] = result;
  case Method::Clone:
    break;
  }

  Operation *place = getPlace(op, user);
  if (result && result.getDefiningOp()->isBeforeInBlock(place))
    return result;
  Attribute operandEncoding = isa<LoadOp>(op) ? encoding : inferSrcEncoding(op, encoding);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, get(plan, operand, operandEncoding, place));
  builder.setInsertionPoint(place);
  Operation *clone = builder.clone(*op, mapping);
  if (auto constant = dyn_cast<arith::ConstantOp>(clone))
    constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).reshape(newType));
  clone->getResult(0).setType(newType);
  return created[request] = clone->getResult(0);
}

} // namespace tritonext::layout
