//===- LocalizeStores.cpp - Stores that keep data in its warp -------------===//

#include "tritonext_layout/Transforms/Recompute.h"
#include "tritonext_layout/Transforms/WarpLocalLayout.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "triton/Analysis/AxisInfo.h"
#include "triton/Analysis/Utility.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
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

/// A store and its new layout.
struct Candidate {
  StoreOp store;
  Attribute encoding;
  RecomputePlan plan;
  AccessCost accessBefore, accessAfter;
  ExchangeCost exchangeBefore, exchangeAfter;
};

/// Returns the exchanges between warps from which `value` is computed.
void collectExchanges(Value value, SetVector<Operation *> &visited,
                      SmallVectorImpl<ttg::ConvertLayoutOp> &exchanges) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<RankedTensorType>(value.getType()) || !visited.insert(op))
    return;
  if (auto convert = dyn_cast<ttg::ConvertLayoutOp>(op)) {
    if (getExchangeCost(convert.getSrc(), convert.getType().getEncoding())
            .barriers)
      exchanges.push_back(convert);
    return;
  }
  if (op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op))
    for (Value operand : op->getOperands())
      collectExchanges(operand, visited, exchanges);
}

class LocalizeStores
    : public impl::LocalizeStoresPassBase<LocalizeStores> {
public:
  using LocalizeStoresPassBase::LocalizeStoresPassBase;

  void runOnOperation() override;

private:
  std::optional<Candidate> plan(StoreOp store,
                                ModuleAxisInfoAnalysis &axisInfo);
  void miss(StoreOp store, const Twine &reason) {
    emitRemark(RemarkKind::Missed, store, DEBUG_TYPE, reason);
  }
};

std::optional<MemoryShape> getMemoryShape(StoreOp store, RankedTensorType type,
                                          ModuleAxisInfoAnalysis &axisInfo) {
  Value pointer = store.getPtr();
  AxisInfo *info = axisInfo.getAxisInfo(pointer);
  if (!info)
    return std::nullopt;
  MemoryShape memory;
  memory.order = ttg::toLinearEncoding(type).getOrder();
  memory.elementBits = std::max(8u, type.getElementTypeBitWidth());
  unsigned contiguous = memory.order[0];
  memory.contiguity = std::max<int64_t>(1, info->getContiguity(contiguous));
  unsigned vector = std::min<unsigned>(axisInfo.getAlignment(pointer),
                                       128 / memory.elementBits);
  if (Value mask = store.getMask())
    vector = std::min(vector, axisInfo.getMaskAlignment(mask));
  memory.maxVector = llvm::bit_floor(std::max(1u, vector));
  return memory;
}

std::optional<Candidate> LocalizeStores::plan(StoreOp store,
                                              ModuleAxisInfoAnalysis &axisInfo) {
  auto type = dyn_cast<RankedTensorType>(store.getValue().getType());
  if (!type || !isa<RankedTensorType>(store.getPtr().getType()))
    return std::nullopt;
  SetVector<Operation *> visited;
  SmallVector<ttg::ConvertLayoutOp> exchanges;
  collectExchanges(store.getValue(), visited, exchanges);
  if (exchanges.empty())
    return std::nullopt;

  std::optional<MemoryShape> memory = getMemoryShape(store, type, axisInfo);
  if (!memory) {
    miss(store, "nothing is known about the addresses");
    return std::nullopt;
  }
  auto sourceType =
      cast<RankedTensorType>(exchanges.front().getSrc().getType());
  LinearLayout source = ttg::toLinearLayout(sourceType);
  LinearLayout before = ttg::toLinearLayout(type);
  std::optional<LinearLayout> after = chooseWarpLocalLayout(source, *memory);
  if (!after) {
    miss(store, "the elements of a warp are not a product of powers of two");
    return std::nullopt;
  }

  Candidate candidate{store, ttg::LinearEncodingAttr::get(&getContext(), *after)};
  candidate.accessBefore = getAccessCost(before, *memory);
  candidate.accessAfter = getAccessCost(*after, *memory);
  const AccessCost &was = candidate.accessBefore, &is = candidate.accessAfter;
  if (is.vector < was.vector) {
    miss(store, "a warp owns runs of " + Twine(is.vector) +
                    " elements, the store moves " + Twine(was.vector) +
                    " at once");
    return std::nullopt;
  }
  if (is.vector * memory->elementBits < minVectorBits) {
    miss(store, "a thread would store " + Twine(is.vector * memory->elementBits) +
                    " bits at once, fewer than min-vector-bits = " +
                    Twine(minVectorBits));
    return std::nullopt;
  }
  if (is.lines > was.lines || is.sectors > was.sectors) {
    miss(store, "the store would touch " + Twine(is.lines) +
                    " memory lines and " + Twine(is.sectors) +
                    " sectors, not " + Twine(was.lines) + " and " +
                    Twine(was.sectors));
    return std::nullopt;
  }
  if (is.instructions > was.instructions) {
    miss(store, "each warp would issue " + Twine(is.instructions) +
                    " stores, not " + Twine(was.instructions));
    return std::nullopt;
  }

  if (auto obstacle =
          candidate.plan.add(store.getValue(), candidate.encoding, true)) {
    miss(store, "value: " + *obstacle);
    return std::nullopt;
  }
  for (Value operand : {store.getPtr(), store.getMask()})
    if (operand)
      if (auto obstacle =
              candidate.plan.add(operand, candidate.encoding, false)) {
        miss(store, "address: " + *obstacle);
        return std::nullopt;
      }

  for (auto [request, method] : candidate.plan.methods) {
    if (method != Method::Exchange)
      continue;
    auto convert = request.first.getDefiningOp<ttg::ConvertLayoutOp>();
    ExchangeCost was =
        getExchangeCost(convert.getSrc(), convert.getType().getEncoding());
    ExchangeCost is = getExchangeCost(convert.getSrc(), request.second);
    candidate.exchangeBefore.barriers += was.barriers;
    candidate.exchangeAfter.barriers += is.barriers;
    candidate.exchangeBefore.scratchBytes =
        std::max(candidate.exchangeBefore.scratchBytes, was.scratchBytes);
    candidate.exchangeAfter.scratchBytes =
        std::max(candidate.exchangeAfter.scratchBytes, is.scratchBytes);
  }
  if (candidate.exchangeAfter.barriers >= candidate.exchangeBefore.barriers) {
    miss(store, "the exchange would still need barriers");
    return std::nullopt;
  }
  if (candidate.exchangeAfter.scratchBytes >
      candidate.exchangeBefore.scratchBytes) {
    miss(store, "the exchange would need " +
                    Twine(candidate.exchangeAfter.scratchBytes) +
                    " bytes of shared memory, not " +
                    Twine(candidate.exchangeBefore.scratchBytes));
    return std::nullopt;
  }
  return candidate;
}

void LocalizeStores::runOnOperation() {
  ModuleOp module = getOperation();
  ModuleAxisInfoAnalysis axisInfo(module);
  SmallVector<Candidate> candidates;
  module.walk([&](StoreOp store) {
    if (std::optional<Candidate> candidate = plan(store, axisInfo))
      candidates.push_back(std::move(*candidate));
  });

  // A candidate repeats work unless all users of what it replaces go away too.
  // Dropping one candidate can give another one's ops a remaining user.
  for (bool changed = true; changed;) {
    changed = false;
    DenseSet<Operation *> vanishing;
    for (const Candidate &candidate : candidates) {
      vanishing.insert(candidate.plan.covered.begin(),
                       candidate.plan.covered.end());
      vanishing.insert(candidate.store);
    }
    llvm::erase_if(candidates, [&](Candidate &candidate) {
      for (Operation *op : candidate.plan.replaced)
        for (Operation *user : op->getUsers())
          if (!vanishing.contains(user)) {
            miss(candidate.store, "'" + op->getName().getStringRef() +
                                      "' has other users and would be repeated");
            return changed = true;
          }
      return false;
    });
  }
  if (candidates.empty())
    return;

  Recomputer recomputer;
  SetVector<Operation *> old;
  for (Candidate &candidate : candidates) {
    StoreOp store = candidate.store;
    for (OpOperand &operand : store->getOpOperands())
      operand.set(
          recomputer.get(candidate.plan, operand.get(), candidate.encoding));
    old.insert_range(candidate.plan.covered);
    const AccessCost &was = candidate.accessBefore, &is = candidate.accessAfter;
    emitRemark(RemarkKind::Applied, store, DEBUG_TYPE,
               "each warp stores the elements it holds: barriers " +
                   Twine(candidate.exchangeBefore.barriers) + " -> " +
                   Twine(candidate.exchangeAfter.barriers) +
                   ", scratch bytes " +
                   Twine(candidate.exchangeBefore.scratchBytes) + " -> " +
                   Twine(candidate.exchangeAfter.scratchBytes) +
                   ", elements per access " + Twine(was.vector) + " -> " +
                   Twine(is.vector) + ", memory lines " + Twine(was.lines) +
                   " -> " + Twine(is.lines));
  }

  // `covered` lists producers before their users.
  for (Operation *op : llvm::reverse(old))
    if (isOpTriviallyDead(op))
      op->erase();
}

} // namespace
} // namespace tritonext::layout
