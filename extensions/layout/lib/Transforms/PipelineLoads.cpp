//===- PipelineLoads.cpp - Loads that Triton's pipeliner can copy ---------===//

#include "tritonext_layout/Transforms/MemoryOrder.h"
#include "tritonext_layout/Transforms/WarpLocalLayout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/TritonGPU/Transforms/PipeliningUtility.h"
#include "tritonext/Remarks.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_PIPELINELOADSPASS
#define GEN_PASS_DEF_PIPELINELOADSPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-pipeline-loads"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::layout {
namespace {

/// What one `cp.async` moves: PTX ISA, "Data Movement and Conversion Instructions: cp.async".
constexpr unsigned leastBits = 32, mostBits = 128;
/// Bytes that all banks of shared memory give at once.
constexpr unsigned bankBytes = 128;

ttg::BlockedEncodingAttr getLayout(LoadOp load) {
  return cast<ttg::BlockedEncodingAttr>(cast<RankedTensorType>(load.getType()).getEncoding());
}

bool mayChange(LoadOp load) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  return type && !load.getIsVolatile() && type.getElementType().isIntOrFloat() &&
         type.getElementTypeBitWidth() % 8 == 0 &&
         isa_and_nonnull<ttg::BlockedEncodingAttr>(type.getEncoding());
}

/// Returns whether no thread has adjacent elements that are enough for a copy.
bool isNarrow(LoadOp load) {
  ttg::BlockedEncodingAttr layout = getLayout(load);
  unsigned bits = cast<RankedTensorType>(load.getType()).getElementTypeBitWidth();
  return layout.getSizePerThread()[layout.getOrder().front()] * bits < leastBits;
}

/// Returns whether Triton's pipeliner can copy `type` into memory of the layout `shared`.
bool isCopyable(RankedTensorType type, ttg::SharedEncodingTrait shared) {
  return getCopyVecBytes(type, shared) * 8 >= static_cast<int>(leastBits);
}

/// Returns the conversion that is all that uses `load`, if it makes the pipeliner choose a layout
/// of shared memory in the order of its result, which no copy can fill; null otherwise.
ttg::ConvertLayoutOp findTurningConversion(LoadOp load) {
  if (!load->hasOneUse())
    return {};
  auto convert = dyn_cast<ttg::ConvertLayoutOp>(*load->user_begin());
  if (!convert || isCopyable(cast<RankedTensorType>(load.getType()), getSharedEncoding(load)))
    return {};
  return convert;
}

/// Returns the layout of shared memory in the order of `layout`, with pieces as large as one copy
/// exchanged so that columns of them lie in different banks.
ttg::SwizzledSharedEncodingAttr getSharedLayout(RankedTensorType type,
                                                ttg::BlockedEncodingAttr layout) {
  constexpr unsigned pieceBytes = mostBits / 8;
  unsigned bytes = type.getElementTypeBitWidth() / 8;
  unsigned row = type.getShape()[layout.getOrder().front()] * bytes;
  unsigned perPhase = std::max(1u, bankBytes / row);
  unsigned maxPhase = std::max(1u, std::min(row / pieceBytes, bankBytes / pieceBytes / perPhase));
  return ttg::SwizzledSharedEncodingAttr::get(type.getContext(), pieceBytes / bytes, perPhase,
                                              maxPhase, layout.getOrder(), layout.getCGALayout());
}

void stage(LoadOp load, ttg::ConvertLayoutOp convert) {
  auto type = cast<RankedTensorType>(load.getType());
  ttg::SwizzledSharedEncodingAttr shared = getSharedLayout(type, getLayout(load));
  if (!isCopyable(type, shared))
    return;
  emitRemark(RemarkKind::Applied, load, DEBUG_TYPE,
             "turned in shared memory that asynchronous copies can fill");
  OpBuilder builder(convert);
  auto memory = ttg::MemDescType::get(type.getShape(), type.getElementType(), shared,
                                      ttg::SharedMemorySpaceAttr::get(type.getContext()));
  Value buffer = ttg::LocalAllocOp::create(builder, convert.getLoc(), memory, load.getResult());
  Value read = ttg::LocalLoadOp::create(builder, convert.getLoc(), convert.getType(), buffer);
  convert.getResult().replaceAllUsesWith(read);
  convert.erase();
}

void widen(LoadOp load, ModuleAxisInfoAnalysis &axisInfo) {
  auto type = cast<RankedTensorType>(load.getType());
  ttg::BlockedEncodingAttr layout = getLayout(load);
  MemoryShape shape = getMemoryShape(load.getPtr(), load.getMask(), type, axisInfo);
  unsigned bits = shape.elementBits, fastest = layout.getOrder().front();
  unsigned vector = std::min<unsigned>(shape.maxVector, mostBits / bits);
  if (shape.order.front() != fastest || vector * bits < leastBits) {
    emitRemark(RemarkKind::Missed, load, DEBUG_TYPE,
               "memory has " + Twine(vector * bits) +
                   " bits of its elements together, an asynchronous copy moves " +
                   Twine(leastBits));
    return;
  }
  emitRemark(RemarkKind::Applied, load, DEBUG_TYPE,
             "a thread loads " + Twine(vector * bits) + " bits at once instead of " +
                 Twine(layout.getSizePerThread()[fastest] * bits));
  SmallVector<unsigned> sizes(layout.getSizePerThread());
  sizes[fastest] = vector;
  auto wide = ttg::BlockedEncodingAttr::get(type.getContext(), sizes, layout.getThreadsPerWarp(),
                                            layout.getWarpsPerCTA(), layout.getOrder(),
                                            layout.getCGALayout());
  // No conversion of a conversion: on sm_100, Triton folds those after it has scheduled the loop,
  // and cannot pipeline it with an op that is not scheduled.
  OpBuilder builder(load);
  for (OpOperand &operand : load->getOpOperands()) {
    Value source = operand.get();
    while (auto convert = source.getDefiningOp<ttg::ConvertLayoutOp>())
      source = convert.getSrc();
    auto target = cast<RankedTensorType>(source.getType()).cloneWithEncoding(wide);
    if (source.getType() != target)
      source = ttg::ConvertLayoutOp::create(builder, load.getLoc(), target, source);
    operand.set(source);
  }
  Value result = load.getResult();
  result.setType(type.cloneWithEncoding(wide));
  builder.setInsertionPointAfter(load);
  Value back;
  for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
    auto convert = dyn_cast<ttg::ConvertLayoutOp>(use.getOwner());
    if (convert && convert.getType() == result.getType()) {
      convert.replaceAllUsesWith(result);
      convert.erase();
    } else if (!convert) {
      if (!back)
        back = ttg::ConvertLayoutOp::create(builder, load.getLoc(), type, result);
      use.set(back);
    }
  }
}

class PipelineLoadsPass : public impl::PipelineLoadsPassBase<PipelineLoadsPass> {
public:
  using PipelineLoadsPassBase::PipelineLoadsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LoadOp> narrow;
    SmallVector<std::pair<LoadOp, ttg::ConvertLayoutOp>> turned;
    module.walk([&](scf::ForOp loop) {
      // Triton pipelines loops that multiply.
      if (llvm::none_of(*loop.getBody(), llvm::IsaPred<DotOpInterface>))
        return;
      for (LoadOp load : loop.getBody()->getOps<LoadOp>()) {
        if (!mayChange(load))
          continue;
        if (isNarrow(load))
          narrow.push_back(load);
        else if (ttg::ConvertLayoutOp convert = findTurningConversion(load))
          turned.emplace_back(load, convert);
      }
    });
    if (narrow.empty() && turned.empty())
      return;
    MemoryAccesses memory(module);
    // Several threads then load an element, or load it earlier.
    auto isWritten = [&](LoadOp load) {
      if (!memory.findWrite(load))
        return false;
      emitRemark(RemarkKind::Missed, load, DEBUG_TYPE, "the kernel may write to what it reads");
      return true;
    };
    for (auto [load, convert] : turned)
      if (!isWritten(load))
        stage(load, convert);
    if (narrow.empty())
      return;
    ModuleAxisInfoAnalysis axisInfo(module);
    for (LoadOp load : narrow)
      if (!isWritten(load))
        widen(load, axisInfo);
  }
};

} // namespace
} // namespace tritonext::layout
