//===- LocalizeStores.cpp - Stores that keep data in its warp -------------===//

#include "tritonext_layout/Transforms/MemoryOrder.h"
#include "tritonext_layout/Transforms/Recompute.h"
#include "tritonext_layout/Transforms/WarpLocalLayout.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "triton/Analysis/AxisInfo.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "tritonext/Remarks.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_LOCALIZESTORESPASS
#define GEN_PASS_DEF_LOCALIZESTORESPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-localize-stores"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// A store or load, its new layout, and what that changes.
struct Candidate {
  Operation *access;
  Attribute encoding;
  RecomputePlan plan;
  AccessCost accessBefore = {}, accessAfter = {};
  ExchangeCost exchangeBefore = {}, exchangeAfter = {};
};

void reportMissed(Operation *access, const Twine &reason) {
  emitRemark(RemarkKind::Missed, access, DEBUG_TYPE, reason);
}

void reportApplied(const Candidate &candidate) {
  auto change = [](StringRef what, uint64_t before, uint64_t after) {
    return (what + " " + Twine(before) + " -> " + Twine(after)).str();
  };
  const AccessCost &was = candidate.accessBefore, &is = candidate.accessAfter;
  const ExchangeCost &had = candidate.exchangeBefore, &has = candidate.exchangeAfter;
  emitRemark(RemarkKind::Applied, candidate.access, DEBUG_TYPE,
             "each warp keeps its elements: " + change("barriers", had.barriers, has.barriers) +
                 ", " + change("scratch bytes", had.scratchBytes, has.scratchBytes) + ", " +
                 change("vector bits", was.vectorBits, is.vectorBits) + ", " +
                 change("memory lines", was.lines, is.lines));
}

/// Collects the conversions between warps from which `value` is computed.
void collectExchanges(Value value, const ConversionModel &model, SetVector<Operation *> &visited,
                      SmallVectorImpl<ttg::ConvertLayoutOp> &exchanges) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<RankedTensorType>(value.getType()) || !visited.insert(op))
    return;
  if (auto convert = dyn_cast<ttg::ConvertLayoutOp>(op)) {
    if (model.getCost(convert.getSrc().getType(), convert.getType().getEncoding()).barriers())
      exchanges.push_back(convert);
    return;
  }
  if (op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op))
    for (Value operand : op->getOperands())
      collectExchanges(operand, model, visited, exchanges);
}

/// Returns the layout to which every use of `load` is converted, if there is
/// one and it makes elements change their warp.
RankedTensorType getLoadTarget(LoadOp load, const ConversionModel &model) {
  RankedTensorType target;
  for (Operation *user : load->getUsers()) {
    auto convert = dyn_cast<ttg::ConvertLayoutOp>(user);
    if (!convert || (target && target != convert.getType()))
      return {};
    target = convert.getType();
  }
  if (!target || isa<ttg::DotOperandEncodingAttr>(target.getEncoding()) ||
      !model.getCost(cast<RankedTensorType>(load.getType()), target.getEncoding()).barriers())
    return {};
  return target;
}

class LocalizeStoresPass : public impl::LocalizeStoresPassBase<LocalizeStoresPass> {
public:
  using LocalizeStoresPassBase::LocalizeStoresPassBase;

  void runOnOperation() override;

private:
  /// Returns how to change `access`, unless no exchange between warps belongs
  /// to it or the change is not worth it; the latter is reported. `axisInfo` is
  /// made when it is needed first.
  std::optional<Candidate> consider(Operation *access, const ConversionModel &model,
                                    std::optional<ModuleAxisInfoAnalysis> &axisInfo);
};

std::optional<Candidate>
LocalizeStoresPass::consider(Operation *access, const ConversionModel &model,
                             std::optional<ModuleAxisInfoAnalysis> &axisInfo) {
  auto store = dyn_cast<StoreOp>(access);
  auto load = dyn_cast<LoadOp>(access);
  auto atomic = dyn_cast<AtomicRMWOp>(access);
  Value data = store ? store.getValue() : load ? load.getResult() : atomic.getVal();
  Value pointer = access->getOperand(0);
  Value mask = store ? store.getMask() : load ? load.getMask() : atomic.getMask();
  auto type = dyn_cast<RankedTensorType>(data.getType());
  if (!type || !isa<RankedTensorType>(pointer.getType()))
    return std::nullopt;

  RankedTensorType kept;
  if (!load) {
    SetVector<Operation *> visited;
    SmallVector<ttg::ConvertLayoutOp> exchanges;
    collectExchanges(data, model, visited, exchanges);
    if (!exchanges.empty())
      kept = exchanges.front().getSrc().getType();
  } else {
    kept = getLoadTarget(load, model);
  }
  if (!kept)
    return std::nullopt;

  if (!axisInfo)
    axisInfo.emplace(getOperation());
  MemoryShape memory = getMemoryShape(pointer, mask, type, *axisInfo);
  if (atomic)
    memory.maxVector = std::min(memory.maxVector, getAtomicVector(atomic));
  std::optional<LinearLayout> layout = chooseWarpLocalLayout(
      ttg::toLinearLayout(kept), memory, model, getExchangeBits(kept.getElementType()));
  if (!layout) {
    reportMissed(access, "the data is swizzled over warps, which no linear layout keeps");
    return std::nullopt;
  }

  Candidate candidate{access, ttg::LinearEncodingAttr::get(access->getContext(), *layout),
                      RecomputePlan(model)};
  candidate.accessBefore = getAccessCost(ttg::toLinearLayout(type), memory);
  candidate.accessAfter = getAccessCost(*layout, memory);
  const AccessCost &was = candidate.accessBefore, &is = candidate.accessAfter;
  if (is.vectorBits < was.vectorBits) {
    reportMissed(access, "a thread would move " + Twine(is.vectorBits) +
                             " bits at once, now it moves " + Twine(was.vectorBits));
    return std::nullopt;
  }
  if (is.vectorBits < minVectorBits) {
    reportMissed(access, "a thread would move " + Twine(is.vectorBits) +
                             " bits at once, fewer than min-vector-bits = " + Twine(minVectorBits));
    return std::nullopt;
  }
  if (is.lines > was.lines || is.sectors > was.sectors) {
    reportMissed(access, "a CTA would touch " + Twine(is.lines) + " memory lines in " +
                             Twine(is.sectors) + " sectors, now it touches " + Twine(was.lines) +
                             " in " + Twine(was.sectors));
    return std::nullopt;
  }
  if (is.instructions > was.instructions) {
    reportMissed(access, "a warp would issue " + Twine(is.instructions) +
                             " instructions, now it issues " + Twine(was.instructions));
    return std::nullopt;
  }

  for (Value operand : access->getOperands()) {
    bool isData = operand == data;
    if (std::optional<std::string> obstacle =
            candidate.plan.add(operand, candidate.encoding, isData)) {
      reportMissed(access, (isData ? "data: " : "address: ") + *obstacle);
      return std::nullopt;
    }
  }

  for (auto [request, method] : candidate.plan.methods)
    if (method == Method::Exchange) {
      auto convert = request.first.getDefiningOp<ttg::ConvertLayoutOp>();
      RankedTensorType source = convert.getSrc().getType();
      candidate.exchangeBefore += model.getCost(source, convert.getType().getEncoding());
      candidate.exchangeAfter += model.getCost(source, request.second);
    }
  if (load) {
    candidate.exchangeBefore += model.getCost(type, kept.getEncoding());
    candidate.exchangeAfter +=
        model.getCost(type.cloneWithEncoding(candidate.encoding), kept.getEncoding());
  }
  const ExchangeCost &had = candidate.exchangeBefore, &has = candidate.exchangeAfter;
  if (has.barriers >= had.barriers) {
    reportMissed(access, "the exchange would need " + Twine(has.barriers) +
                             " barriers, now it needs " + Twine(had.barriers));
    return std::nullopt;
  }
  // A single barrier is worth less than what the assembler makes of another schedule by chance,
  // unless it is one of a loop, or of a cluster.
  bool isCheap = !access->getParentOfType<LoopLikeOpInterface>() && ttg::lookupNumCTAs(access) == 1;
  if (isCheap && had.barriers - has.barriers < minBarriers) {
    reportMissed(access, "it would save " + Twine(had.barriers - has.barriers) +
                             " barriers, fewer than min-barriers = " + Twine(minBarriers));
    return std::nullopt;
  }
  if (has.scratchBytes > had.scratchBytes) {
    reportMissed(access, "the exchange would need " + Twine(has.scratchBytes) +
                             " bytes of shared memory, now it needs " + Twine(had.scratchBytes));
    return std::nullopt;
  }
  return candidate;
}

/// Drops candidates that would repeat work because what they replace keeps a
/// user. Dropping one can give an op of another a user that stays.
void dropRepeating(SmallVectorImpl<Candidate> &candidates) {
  for (size_t count = 0; count != candidates.size();) {
    count = candidates.size();
    DenseSet<Operation *> accesses;
    SetVector<Operation *> vanishing;
    for (const Candidate &candidate : candidates) {
      accesses.insert(candidate.access);
      vanishing.insert_range(candidate.plan.covered);
    }
    auto stays = [&](Operation *user) {
      return !accesses.contains(user) && !vanishing.contains(user);
    };
    while (
        vanishing.remove_if([&](Operation *op) { return llvm::any_of(op->getUsers(), stays); })) {
    }
    llvm::erase_if(candidates, [&](const Candidate &candidate) {
      auto repeated = llvm::find_if_not(candidate.plan.replaced,
                                        [&](Operation *op) { return vanishing.contains(op); });
      if (repeated == candidate.plan.replaced.end())
        return false;
      reportMissed(candidate.access, "'" + (*repeated)->getName().getStringRef() +
                                         "' would be repeated for its other users");
      return true;
    });
  }
}

/// Drops candidates whose barrier may be what keeps a read of the memory ahead
/// of a store to it.
void dropOrdering(ModuleOp module, SmallVectorImpl<Candidate> &candidates) {
  if (candidates.empty())
    return;
  MemoryAccesses memory(module);
  llvm::erase_if(candidates, [&](const Candidate &candidate) {
    Operation *access = candidate.access, *other;
    if (auto store = dyn_cast<StoreOp>(access)) {
      other = memory.findUnorderedRead(store);
    } else if (auto load = dyn_cast<LoadOp>(access)) {
      other = memory.findUnorderedWrite(load);
    } else {
      other = memory.findRead(access);
      if (!other)
        other = memory.findWrite(access);
    }
    // Data flow orders what one thread reads and one writes, not what several hold.
    auto type = cast<RankedTensorType>(access->getOperand(0).getType());
    if (!other && !ttg::toLinearLayout(type.cloneWithEncoding(candidate.encoding)).isInvertible())
      other = isa<LoadOp>(access) ? memory.findWrite(access) : memory.findRead(access);
    if (!other)
      return false;
    reportMissed(candidate.access, "the barrier may keep this access in order with '" +
                                       other->getName().getStringRef() + "' to the same memory");
    return true;
  });
}

void LocalizeStoresPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto &model = getAnalysis<ConversionModel>();
  markAnalysesPreserved<ConversionModel>();
  std::optional<ModuleAxisInfoAnalysis> axisInfo;
  SmallVector<Candidate> candidates;
  module.walk([&](Operation *op) {
    // An atomic whose result is used hands it to its lanes in the layout it has.
    if (isa<StoreOp>(op) || (loads && isa<LoadOp>(op)) || (isa<AtomicRMWOp>(op) && op->use_empty()))
      if (std::optional<Candidate> candidate = consider(op, model, axisInfo))
        candidates.push_back(std::move(*candidate));
  });
  dropOrdering(module, candidates);
  dropRepeating(candidates);

  // Create everything before changing an access: a plan can clone a load that
  // is an access of another one.
  Recomputer recomputer;
  SetVector<Operation *> old;
  SmallVector<SmallVector<Value>> operands;
  for (const Candidate &candidate : candidates) {
    operands.emplace_back();
    for (Value operand : candidate.access->getOperands())
      operands.back().push_back(
          recomputer.get(candidate.plan, operand, candidate.encoding, candidate.access));
    old.insert_range(candidate.plan.covered);
  }
  for (auto [candidate, values] : llvm::zip_equal(candidates, operands)) {
    reportApplied(candidate);
    candidate.access->setOperands(values);
    for (Value result : candidate.access->getResults())
      result.setType(
          cast<RankedTensorType>(result.getType()).cloneWithEncoding(candidate.encoding));
  }

  // Users first. An op can be covered by several plans in different orders.
  for (size_t count = 0; count != old.size();) {
    count = old.size();
    for (Operation *op : llvm::to_vector(llvm::reverse(old)))
      if (isOpTriviallyDead(op)) {
        old.remove(op);
        op->erase();
      }
  }
}

} // namespace
} // namespace tritonext::layout
