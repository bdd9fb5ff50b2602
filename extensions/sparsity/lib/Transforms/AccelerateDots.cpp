#include "tritonext/Remarks.h"
#include "tritonext_sparsity/IR/Layouts.h"
#include "tritonext_sparsity/Transforms/Passes.h"
#include "tritonext_sparsity/Transforms/Targets.h"

#include "triton/Dialect/TritonGPU/Transforms/Utility.h"

#define DEBUG_TYPE "sparsity-accelerate-dots"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::sparsity {

#define GEN_PASS_DEF_ACCELERATEDOTSPASS
#include "tritonext_sparsity/Transforms/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// Products of warps
//===----------------------------------------------------------------------===//

/// Spreads warps over the accumulator so that each reads about as much of both operands.
SmallVector<unsigned, 2> spreadWarps(ArrayRef<int64_t> shape, unsigned numWarps,
                                     int64_t instructionColumns = 8) {
  SmallVector<unsigned, 2> warps = {1, 1};
  while (warps[0] * warps[1] < numWarps) {
    int64_t rows = shape[0] / warps[0], columns = shape[1] / warps[1];
    bool canSplitRows = rows >= 32, canSplitColumns = columns >= 2 * instructionColumns;
    warps[canSplitRows && (rows >= columns || !canSplitColumns) ? 0 : 1] *= 2;
  }
  return warps;
}

void useWarps(DotOp dot) {
  OpBuilder builder(dot);
  MLIRContext *context = dot.getContext();
  RankedTensorType old = dot.getAcc().getType();
  auto mma = ttg::NvidiaMmaEncodingAttr::get(context, /*versionMajor=*/2, /*versionMinor=*/0,
                                             spreadWarps(old.getShape(), ttg::lookupNumWarps(dot)),
                                             ttg::getCGALayout(old.getEncoding()),
                                             /*instrShape=*/SmallVector<unsigned, 2>{16, 8});
  RankedTensorType type = old.cloneWithEncoding(mma);
  Type element = dot.getValues().getType().getElementType();
  auto operand = [&](Value value, unsigned index) {
    return inLayout(builder, value, ttg::DotOperandEncodingAttr::get(context, index, mma, element));
  };
  Value meta = inLayout(builder, dot.getMeta(),
                        metadataLayout(type, element, dot.getMeta().getType().getShape()[1]));
  auto product =
      DotOp::create(builder, dot.getLoc(), type, operand(dot.getValues(), 0),
                    operand(dot.getB(), 1), inLayout(builder, dot.getAcc(), mma), meta,
                    dot.getMaxNumImpreciseAcc(), dot.getUnsignedValues(), dot.getUnsignedB());
  Value result = inLayout(builder, product.getD(), old.getEncoding());
  dot.replaceAllUsesWith(result);
  dot.erase();
}

//===----------------------------------------------------------------------===//
// Products of waves
//===----------------------------------------------------------------------===//

void useWaves(DotOp dot, unsigned version) {
  OpBuilder builder(dot);
  MLIRContext *context = dot.getContext();
  RankedTensorType old = dot.getAcc().getType();
  Type element = dot.getValues().getType().getElementType();
  int64_t step = columnsPerWaveStep(element, dot.getB().getType().getShape()[0], version);
  // Not transposed: the sparse operand is the left one of the instruction.
  auto mfma = ttg::AMDMfmaEncodingAttr::get(
      context, version, spreadWarps(old.getShape(), ttg::lookupNumWarps(dot), 16),
      /*instrShape=*/SmallVector<unsigned, 3>{16, 16, unsigned(step)}, /*isTransposed=*/false,
      ttg::getCGALayout(old.getEncoding()));
  RankedTensorType type = old.cloneWithEncoding(mfma);
  // Of b each thread has runs of 16 bytes, at half of the columns of an instruction where it needs
  // more than one.
  auto operand = [&](Value value, unsigned index, unsigned width) {
    return inLayout(builder, value, ttg::DotOperandEncodingAttr::get(context, index, mfma, width));
  };
  Value meta = inLayout(builder, dot.getMeta(),
                        waveMetadataLayout(type, step, dot.getMeta().getType().getShape()[1]));
  auto product =
      DotOp::create(builder, dot.getLoc(), type, operand(dot.getValues(), 0, unsigned(step / 8)),
                    operand(dot.getB(), 1, 128 / element.getIntOrFloatBitWidth()),
                    inLayout(builder, dot.getAcc(), mfma), meta, /*maxNumImpreciseAcc=*/0);
  Value result = inLayout(builder, product.getD(), old.getEncoding());
  dot.replaceAllUsesWith(result);
  dot.erase();
}

//===----------------------------------------------------------------------===//
// Products of warp groups
//===----------------------------------------------------------------------===//

/// Puts an operand into shared memory, in the order in which it is loaded, or with K contiguous
/// where the hardware reads nothing else.
Value share(OpBuilder &builder, Value value, unsigned depth) {
  while (auto conversion = value.getDefiningOp<ttg::ConvertLayoutOp>())
    value = conversion.getSrc();
  // The transposition of a matrix in shared memory is another view of it.
  SmallVector<int32_t> order = {1, 0};
  auto transposition = value.getDefiningOp<tt::TransOp>();
  if (transposition) {
    value = transposition.getSrc();
    while (auto conversion = value.getDefiningOp<ttg::ConvertLayoutOp>())
      value = conversion.getSrc();
    depth = 1 - depth;
  }
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<unsigned> memory = ttg::getOrderForMemory(type);
  if (type.getElementTypeBitWidth() != 16)
    memory = {depth, 1 - depth};
  MLIRContext *context = type.getContext();
  auto layout = ttg::NVMMASharedEncodingAttr::get(context, type.getShape(), memory,
                                                  ttg::getCGALayout(type.getEncoding()),
                                                  type.getElementType(), /*fp4Padded=*/false);
  auto buffer = ttg::MemDescType::get(type.getShape(), type.getElementType(), layout,
                                      ttg::SharedMemorySpaceAttr::get(context));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  Value shared = ttg::LocalAllocOp::create(builder, value.getLoc(), buffer, value);
  if (transposition)
    shared = ttg::MemDescTransOp::create(builder, value.getLoc(), shared, order);
  return shared;
}

void useWarpGroups(DotOp dot) {
  OpBuilder builder(dot);
  RankedTensorType old = dot.getAcc().getType();
  Type element = dot.getValues().getType().getElementType();
  auto mma = warpGroupLayout(old, element, ttg::lookupNumWarps(dot));
  RankedTensorType type = old.cloneWithEncoding(mma);
  Value meta = inLayout(builder, dot.getMeta(),
                        metadataLayout(type, element, dot.getMeta().getType().getShape()[1]));
  Value values = share(builder, dot.getValues(), /*depth=*/1), b = share(builder, dot.getB(), 0);
  auto product = WarpGroupDotOp::create(
      builder, dot.getLoc(), type, values, b, inLayout(builder, dot.getAcc(), mma), meta,
      /*useC=*/Value(), dot.getMaxNumImpreciseAcc(), /*isAsync=*/false, dot.getUnsignedValues(),
      dot.getUnsignedB());
  Value result = inLayout(builder, product.getD(), old.getEncoding());
  dot.replaceAllUsesWith(result);
  dot.erase();
}

LogicalResult accelerate(DotOp dot) {
  RankedTensorType acc = dot.getAcc().getType();
  Product product = {dot.getValues().getType().getElementType(),
                     acc.getElementType(),
                     acc.getShape()[0],
                     acc.getShape()[1],
                     dot.getB().getType().getShape()[0],
                     ttg::lookupNumWarps(dot),
                     targetOf(dot),
                     dot.getUnsignedValues() || dot.getUnsignedB()};
  std::string reason = whyNoInstruction(product);
  if (!reason.empty())
    return dot->emitError("expected a product that the sparse tensor cores have, but ") << reason;
  if (product.target.mfmaVersion) {
    emitRemark(RemarkKind::Applied, dot, DEBUG_TYPE, "chose a product of waves");
    useWaves(dot, product.target.mfmaVersion);
    return success();
  }
  reason = whyNotWarpGroups(product);
  if (reason.empty()) {
    emitRemark(RemarkKind::Applied, dot, DEBUG_TYPE, "chose a product of warp groups");
    useWarpGroups(dot);
    return success();
  }
  emitRemark(RemarkKind::Applied, dot, DEBUG_TYPE, "chose a product of warps: " + reason);
  useWarps(dot);
  return success();
}

class AccelerateDotsPass : public impl::AccelerateDotsPassBase<AccelerateDotsPass> {
public:
  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation()->walk([&](DotOp dot) {
      if (!isa<ttg::MmaEncodingTrait>(dot.getD().getType().getEncoding()))
        dots.push_back(dot);
    });
    for (DotOp dot : dots)
      if (failed(accelerate(dot)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::sparsity
