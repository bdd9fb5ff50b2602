//===- ShareGathers.cpp - Gathers without exchanges around them -----------===//

#include "tritonext_layout/Analysis/ConversionCost.h"
#include "tritonext_layout/Transforms/MemoryOrder.h"

#include "mlir/Pass/Pass.h"
#include "triton/Analysis/Utility.h"
#include "tritonext/Remarks.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_SHAREGATHERSPASS
#define GEN_PASS_DEF_SHAREGATHERSPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-share-gathers"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// What a gather and the conversions around it take.
struct Price {
  double cycles = 0;
  unsigned barriers = 0;
  unsigned scratchBytes = 0;

  void add(const ConversionCost &conversion) {
    cycles += conversion.cycles;
    barriers += conversion.barriers();
    scratchBytes = std::max(scratchBytes, conversion.scratchBytes);
  }
};

/// Returns what a conversion converts, or `value`.
Value beforeConversion(Value value) {
  auto convert = value.getDefiningOp<ttg::ConvertLayoutOp>();
  return convert ? convert.getSrc() : value;
}

class ShareGathersPass : public impl::ShareGathersPassBase<ShareGathersPass> {
public:
  using ShareGathersPassBase::ShareGathersPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto &model = getAnalysis<ConversionModel>();
    markAnalysesPreserved<ConversionModel>();
    SmallVector<GatherOp> gathers;
    module.walk([&](GatherOp gather) {
      if (gather.getType().getEncoding() && GatherLoweringHelper(gather).isWarpLocal())
        gathers.push_back(gather);
    });
    if (gathers.empty())
      return;
    bool isCluster = ttg::TritonGPUDialect::getNumCTAs(module) != 1;
    MemoryAccesses memory(module);
    for (GatherOp gather : gathers) {
      if (isCluster)
        emitRemark(RemarkKind::Missed, gather, DEBUG_TYPE,
                   "a CTA of a cluster has part of the source in its shared memory");
      else if (memory.findOrderedWrite(gather->getParentOfType<FuncOp>()))
        emitRemark(RemarkKind::Missed, gather, DEBUG_TYPE,
                   "the barriers around it may keep a write behind a read of what it overwrites");
      else
        consider(gather, model);
    }
  }

private:
  static void consider(GatherOp gather, const ConversionModel &model) {
    Value source = beforeConversion(gather.getSrc());
    Value indices = beforeConversion(gather.getIndices());
    RankedTensorType type = gather.getType();
    Attribute encoding = cast<RankedTensorType>(indices.getType()).getEncoding();
    SmallVector<ttg::ConvertLayoutOp> results;
    for (Operation *user : gather->getUsers())
      if (auto convert = dyn_cast<ttg::ConvertLayoutOp>(user))
        results.push_back(convert);
    if (indices == gather.getIndices() && !results.empty())
      encoding = results.front().getType().getEncoding();
    if (encoding == type.getEncoding())
      return;

    unsigned axis = gather.getAxis();
    auto sourceType = cast<RankedTensorType>(source.getType());
    auto indexType = cast<RankedTensorType>(indices.getType());
    auto sharedType = cast<RankedTensorType>(type.cloneWithEncoding(encoding));
    Price shuffled, shared;
    if (source != gather.getSrc())
      shuffled.add(model.getCost(sourceType, gather.getSrc().getType().getEncoding()));
    if (indices != gather.getIndices())
      shuffled.add(model.getCost(indexType, type.getEncoding()));
    shared.add(model.getCost(indexType, encoding));
    for (ttg::ConvertLayoutOp result : results) {
      shuffled.add(model.getCost(result));
      shared.add(model.getCost(sharedType, result.getType().getEncoding()));
    }
    // Others want what the gather gives now.
    if (!llvm::all_of(gather->getUsers(), llvm::IsaPred<ttg::ConvertLayoutOp>))
      shared.add(model.getCost(sharedType, type.getEncoding()));
    shuffled.cycles += model.getShuffledGatherCycles(gather.getSrc().getType(), type, axis);
    shared.cycles += model.getSharedGatherCycles(sourceType, sharedType, axis);
    ++shared.barriers;
    unsigned bytes = sourceType.getNumElements() * getExchangeBits(sourceType.getElementType()) / 8;
    shared.scratchBytes = std::max(shared.scratchBytes, bytes);

    std::string compared = (Twine("through shared memory the gather takes ") +
                            Twine(static_cast<int64_t>(shared.cycles)) + " cycles, " +
                            Twine(shared.barriers) + " barriers and " + Twine(shared.scratchBytes) +
                            " bytes; by shuffles, with the exchanges around it, " +
                            Twine(static_cast<int64_t>(shuffled.cycles)) + ", " +
                            Twine(shuffled.barriers) + " and " + Twine(shuffled.scratchBytes))
                               .str();
    if (shared.cycles >= shuffled.cycles || shared.barriers > shuffled.barriers ||
        shared.scratchBytes > shuffled.scratchBytes) {
      emitRemark(RemarkKind::Missed, gather, DEBUG_TYPE, compared);
      return;
    }

    OpBuilder builder(gather);
    Location loc = gather.getLoc();
    if (indexType.getEncoding() != encoding)
      indices = ttg::ConvertLayoutOp::create(
          builder, loc, cast<RankedTensorType>(indexType.cloneWithEncoding(encoding)), indices);
    auto direct = GatherOp::create(builder, loc, sharedType, source, indices, gather.getAxisAttr(),
                                   /*efficient_layout=*/UnitAttr());
    // The lowering decides by the layouts alone.
    if (GatherLoweringHelper(direct).isWarpLocal()) {
      direct.erase();
      if (indices.use_empty())
        indices.getDefiningOp()->erase();
      return;
    }
    emitRemark(RemarkKind::Applied, gather, DEBUG_TYPE, compared);
    for (ttg::ConvertLayoutOp result : results)
      result.getSrcMutable().assign(direct.getResult());
    if (!gather->use_empty()) {
      auto back = ttg::ConvertLayoutOp::create(builder, loc, type, direct.getResult());
      gather.replaceAllUsesWith(back.getResult());
    }
    // A permutation is gathered from by itself to repeat it.
    llvm::SmallSetVector<Operation *, 2> operands;
    operands.insert(gather.getSrc().getDefiningOp());
    operands.insert(gather.getIndices().getDefiningOp());
    gather.erase();
    for (ttg::ConvertLayoutOp result : results)
      if (result.getType() == direct.getType()) {
        result.replaceAllUsesWith(direct.getResult());
        result.erase();
      }
    for (Operation *operand : operands)
      if (isa_and_nonnull<ttg::ConvertLayoutOp>(operand) && isOpTriviallyDead(operand))
        operand->erase();
  }
};

} // namespace
} // namespace tritonext::layout
