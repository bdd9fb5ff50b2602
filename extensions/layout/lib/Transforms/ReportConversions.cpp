//===- ReportConversions.cpp - Say what each layout conversion costs ------===//

#include "tritonext_layout/Analysis/ConversionCost.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"
#include "tritonext/Remarks.h"
#include "llvm/Support/JSON.h"

#include <cmath>

namespace tritonext::layout {
#define GEN_PASS_DECL_REPORTCONVERSIONSPASS
#define GEN_PASS_DEF_REPORTCONVERSIONSPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-report-conversions"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// Returns `layout` in a form that fits a table: its kind and what tells it from others of it.
std::string abbreviate(Attribute layout) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto join = [&](auto values) { llvm::interleave(values, os, "x"); };
  if (auto blocked = dyn_cast<ttg::BlockedEncodingAttr>(layout)) {
    os << "blocked ";
    join(blocked.getSizePerThread());
    os << ", lanes ";
    join(blocked.getThreadsPerWarp());
    os << ", warps ";
    join(blocked.getWarpsPerCTA());
  } else if (auto slice = dyn_cast<ttg::SliceEncodingAttr>(layout)) {
    os << "slice " << slice.getDim() << " of " << abbreviate(slice.getParent());
  } else if (auto operand = dyn_cast<ttg::DotOperandEncodingAttr>(layout)) {
    os << "operand " << operand.getOpIdx() << " of " << abbreviate(operand.getParent());
  } else if (auto mma = dyn_cast<ttg::NvidiaMmaEncodingAttr>(layout)) {
    os << "mma v" << mma.getVersionMajor() << " ";
    join(mma.getInstrShape());
    os << ", warps ";
    join(mma.getWarpsPerCTA());
  } else if (auto mma = dyn_cast<ttg::MmaEncodingTrait>(layout)) {
    os << "mma";
  } else {
    StringRef name = layout.getAbstractAttribute().getName().rsplit('.').second;
    name.consume_back("_encoding");
    os << name;
  }
  return text;
}

/// Whether `op` computes each element of its result from the elements at its place.
bool passesLayout(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op);
}

/// Returns the name of the op that gives `value` its layout.
StringRef nameProducer(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      value = loop.getYieldedValues()[cast<OpResult>(value).getResultNumber()];
      continue;
    }
    auto tensors = llvm::make_filter_range(
        op->getOperands(), [](Value operand) { return isa<RankedTensorType>(operand.getType()); });
    if (!passesLayout(op) || tensors.empty())
      return op->getName().getStringRef();
    value = *tensors.begin();
  }
  return isa<LoopLikeOpInterface>(value.getParentBlock()->getParentOp()) ? "the loop"
                                                                         : "the caller";
}

/// Collects the ops that want the layout of `value`.
void collectConsumers(Value value, SetVector<Operation *> &consumers) {
  SmallVector<Value> queue{value};
  llvm::SmallPtrSet<Operation *, 16> visited;
  while (!queue.empty())
    for (Operation *user : queue.pop_back_val().getUsers()) {
      if (!visited.insert(user).second)
        continue;
      if (passesLayout(user) && user->getNumResults())
        llvm::append_range(queue, user->getResults());
      else
        consumers.insert(user);
    }
}

class ReportConversionsPass : public impl::ReportConversionsPassBase<ReportConversionsPass> {
public:
  using ReportConversionsPassBase::ReportConversionsPassBase;

  void runOnOperation() override {
    if (!remarksEnabled())
      return;
    ModuleOp module = getOperation();
    ConversionModel model(module);
    module.walk([&](ttg::ConvertLayoutOp convert) { report(convert, model); });
    markAllAnalysesPreserved();
  }

private:
  void report(ttg::ConvertLayoutOp convert, const ConversionModel &model) const;
};

llvm::json::Object toJson(const SharedAccess &access) {
  return llvm::json::Object{{"instructions", access.instructions},
                            {"bits", access.vectorBits},
                            {"matrix", access.isMatrix},
                            {"wavefronts", access.wavefronts},
                            {"conflicts", access.conflicts}};
}

void ReportConversionsPass::report(ttg::ConvertLayoutOp convert,
                                   const ConversionModel &model) const {
  RankedTensorType from = convert.getSrc().getType(), to = convert.getType();
  bool forced = shuffles && model.canShuffle(from, to.getEncoding());
  const ConversionCost &cost = forced ? model.getCost(from, to.getEncoding(), /*forceShuffle=*/true)
                                      : model.getCost(convert);
  unsigned depth = 0;
  for (Operation *op = convert->getParentOp(); op; op = op->getParentOp())
    depth += isa<LoopLikeOpInterface>(op);
  SetVector<Operation *> consumers;
  collectConsumers(convert.getResult(), consumers);
  llvm::SetVector<StringRef> names;
  llvm::json::Array lines;
  for (Operation *op : consumers) {
    names.insert(op->getName().getStringRef());
    if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
      lines.push_back(place.getLine());
  }
  std::string shape;
  llvm::raw_string_ostream os(shape);
  for (int64_t size : from.getShape())
    os << size << "x";
  os << from.getElementType();

  llvm::json::Object entry{{"path", stringify(cost.path)},
                           {"shape", shape},
                           {"from", abbreviate(from.getEncoding())},
                           {"to", abbreviate(to.getEncoding())},
                           {"depth", depth},
                           {"producer", nameProducer(convert.getSrc())},
                           {"consumers", llvm::json::Array(names)},
                           {"consumer_lines", std::move(lines)},
                           {"scratch_bytes", cost.scratchBytes},
                           {"rounds", cost.rounds},
                           {"block_barriers", cost.blockBarriers},
                           {"cluster_barriers", cost.clusterBarriers},
                           {"warp_barriers", cost.warpBarriers},
                           {"shuffles", cost.shuffles},
                           {"selects", cost.selects},
                           {"permutes", cost.permutes},
                           {"stores", toJson(cost.stores)},
                           {"loads", toJson(cost.loads)},
                           {"warps", cost.warps},
                           {"cycles", static_cast<int64_t>(std::lround(cost.cycles))},
                           {"busy_cycles", static_cast<int64_t>(std::lround(cost.busyCycles))}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(entry));
  emitRemark(RemarkKind::Analysis, convert, DEBUG_TYPE, text);
}

} // namespace
} // namespace tritonext::layout
