//===- ForeignOps.cpp - Ops that the conversion to layouts does not know --===//

#include "tritonext/ForeignOps.h"

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
namespace tt = mlir::triton;

namespace {

// On a call: what the op was. The call's own operands and results have the op's types.
constexpr llvm::StringLiteral nameAttr = "tritonext.op";
constexpr llvm::StringLiteral propertiesAttr = "tritonext.properties";
constexpr llvm::StringLiteral attributesAttr = "tritonext.attributes";
constexpr llvm::StringLiteral functionName = "tritonext.carried";

bool lacksLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding();
}

/// Whether the stock conversion has no pattern for an op that needs one.
bool isForeign(Operation *op) {
  // The dialects of the patterns; a call of this kind is one of theirs.
  static constexpr llvm::StringLiteral known[] = {"arith", "builtin", "cf", "math",
                                                  "scf",   "tt",      "ub"};
  return !llvm::is_contained(known, op->getName().getDialectNamespace()) &&
         (llvm::any_of(op->getOperandTypes(), lacksLayout) ||
          llvm::any_of(op->getResultTypes(), lacksLayout));
}

/// Makes the private functions, one for each signature.
class Functions {
public:
  explicit Functions(ModuleOp module) : symbols(module) {}

  tt::FuncOp get(FunctionType type) {
    tt::FuncOp &function = made[type];
    if (function)
      return function;
    auto module = cast<ModuleOp>(symbols.getOp());
    OpBuilder builder(module.getContext());
    function = tt::FuncOp::create(builder, module.getLoc(), functionName, type);
    function.setPrivate();
    builder.setInsertionPointToStart(function.addEntryBlock());
    SmallVector<Value> results;
    for (Type result : type.getResults())
      results.push_back(ub::PoisonOp::create(builder, module.getLoc(), result));
    tt::ReturnOp::create(builder, module.getLoc(), results);
    symbols.insert(function);
    return function;
  }

private:
  SymbolTable symbols;
  llvm::MapVector<FunctionType, tt::FuncOp> made;
};

void carry(Operation *op, Functions &functions) {
  OpBuilder builder(op);
  auto type = builder.getFunctionType(op->getOperandTypes(), op->getResultTypes());
  auto call =
      tt::CallOp::create(builder, op->getLoc(), functions.get(type), ValueRange(op->getOperands()));
  call->setAttr(nameAttr, builder.getStringAttr(op->getName().getStringRef()));
  if (Attribute properties = op->getPropertiesAsAttribute())
    call->setAttr(propertiesAttr, properties);
  call->setAttr(attributesAttr, op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(call->getResults());
  op->erase();
}

LogicalResult restore(tt::CallOp call) {
  auto name = call->getAttrOfType<StringAttr>(nameAttr);
  auto attributes = call->getAttrOfType<DictionaryAttr>(attributesAttr);
  if (!name || !attributes)
    return call->emitError("expected a call that describes an op, got attributes of other types");
  std::optional<RegisteredOperationName> registered =
      RegisteredOperationName::lookup(name.getValue(), call.getContext());
  if (!registered)
    return call->emitError("expected the name of a registered op, got ") << name;
  OpBuilder builder(call);
  OperationState state(call.getLoc(), *registered);
  state.addOperands(call.getOperands());
  state.addTypes(call.getResultTypes());
  state.addAttributes(attributes.getValue());
  Operation *op = builder.create(state);
  Attribute properties = call->getAttr(propertiesAttr);
  if (properties &&
      failed(op->setPropertiesFromAttribute(properties, [&] { return call->emitError(); }))) {
    op->erase();
    return failure();
  }
  call->replaceAllUsesWith(op->getResults());
  call->erase();
  return success();
}

} // namespace

LogicalResult tritonext::carryForeignOps(ModuleOp module) {
  SmallVector<Operation *> foreign;
  bool refused = false;
  module.walk([&](Operation *op) {
    if (!isForeign(op))
      return;
    if (op->getNumRegions() || op->getNumSuccessors() || op->hasTrait<OpTrait::IsTerminator>()) {
      op->emitError("expected tensors only on ops without regions that end no block, got '")
          << op->getName() << "'";
      refused = true;
    }
    foreign.push_back(op);
  });
  if (refused)
    return failure();
  Functions functions(module);
  for (Operation *op : foreign)
    carry(op, functions);
  return success();
}

LogicalResult tritonext::restoreForeignOps(ModuleOp module) {
  SmallVector<tt::CallOp> calls;
  module.walk([&](tt::CallOp call) {
    if (call->hasAttr(nameAttr))
      calls.push_back(call);
  });
  SymbolTable symbols(module);
  llvm::SmallSetVector<Operation *, 4> functions;
  for (tt::CallOp call : calls) {
    if (Operation *function = symbols.lookup(call.getCallee()))
      functions.insert(function);
    if (failed(restore(call)))
      return failure();
  }
  for (Operation *function : functions)
    symbols.erase(function);
  return success();
}
