#include "tritonext/Remarks.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#define DEBUG_TYPE "tlx-lower-tensor-memory"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LOWERTENSORMEMORYPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// Returns the type in which the warps around an op load or store a buffer in tensor memory.
FailureOr<RankedTensorType> accessType(Operation *op, ttg::MemDescType memory) {
  if (!isa<ttng::TensorMemorySpaceAttr>(memory.getMemorySpace()))
    return op->emitError("expected a buffer in tensor memory, got ") << memory;
  // A warp reaches the quarter of the rows that belongs to its place in a group of four.
  int numWarps = ttg::lookupNumWarps(op);
  if (numWarps % 4)
    return op->emitError("expected whole warp groups of 4 warps, got ") << numWarps << " warps";
  ttg::DistributedEncodingTrait layout = ttng::getDefaultLayoutForTmemLdSt(memory, numWarps);
  return RankedTensorType::get(memory.getShape(), memory.getElementType(), layout);
}

LogicalResult lower(TmemLoadOp load) {
  FailureOr<RankedTensorType> type =
      accessType(load, cast<ttg::MemDescType>(load.getSrc().getType()));
  if (failed(type))
    return failure();
  OpBuilder builder(load);
  Value value = ttng::TMEMLoadOp::create(builder, load.getLoc(), *type, load.getSrc()).getResult();
  load.replaceAllUsesWith(
      ttg::ConvertLayoutOp::create(builder, load.getLoc(), load.getType(), value).getResult());
  load.erase();
  return success();
}

LogicalResult lower(TmemStoreOp store) {
  FailureOr<RankedTensorType> type =
      accessType(store, cast<ttg::MemDescType>(store.getDst().getType()));
  if (failed(type))
    return failure();
  OpBuilder builder(store);
  Location loc = store.getLoc();
  Value value = ttg::ConvertLayoutOp::create(builder, loc, *type, store.getSrc());
  Value always = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  ttng::TMEMStoreOp::create(builder, loc, store.getDst(), value, always);
  store.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Products of tensors
//===----------------------------------------------------------------------===//

/// Whether products of this target accumulate in tensor memory.
bool hasTensorMemory(ModuleOp module) {
  auto target = module->getAttrOfType<StringAttr>(ttg::AttrTargetName);
  unsigned capability = 0;
  return target && target.getValue().starts_with("cuda:") &&
         !target.getValue().drop_front(5).getAsInteger(10, capability) && capability / 10 == 10;
}

/// Returns the type of a buffer in tensor memory for a tensor, in blocks of so many columns: packed
/// for an operand, which nothing writes again.
ttg::MemDescType memoryType(AsyncDotOp dot, RankedTensorType type, int64_t columns, bool packed) {
  MLIRContext *context = dot.getContext();
  ArrayRef<int64_t> shape = type.getShape();
  Type element = type.getElementType();
  unsigned rows = shape[0] % 128 ? 64 : 128;
  unsigned stride = packed ? 1 : 32 / element.getIntOrFloatBitWidth();
  auto layout = ttng::TensorMemoryEncodingAttr::get(
      context, rows, std::min<int64_t>(shape[1], columns), stride,
      ttg::getCGALayout(type.getEncoding()), /*twoCTAs=*/false, /*fp4Padded=*/false);
  return ttg::MemDescType::get(shape, element, layout, ttng::TensorMemorySpaceAttr::get(context),
                               /*mutableMemory=*/!packed);
}

LogicalResult lower(AsyncDotOp dot) {
  RankedTensorType type = dot.getD().getType();
  if (type.getRank() != 2 || type.getShape()[0] % 64 || type.getShape()[1] % 16)
    return dot->emitError("expected an accumulator of multiples of 64 by 16, got ") << type;
  auto isMma = [](Type operand) {
    auto memory = dyn_cast<ttg::MemDescType>(operand);
    return memory && isa<ttg::NVMMASharedEncodingAttr>(memory.getEncoding());
  };
  auto registers = dyn_cast<RankedTensorType>(dot.getA().getType());
  if (!isMma(dot.getB().getType()) || (!registers && !isMma(dot.getA().getType())))
    return dot->emitError("expected operands in a layout of shared memory that MMA reads, got ")
           << dot.getA().getType() << " and " << dot.getB().getType();
  int numWarps = ttg::lookupNumWarps(dot);
  if (numWarps % 4)
    return dot->emitError("expected whole warp groups of 4 warps, got ") << numWarps << " warps";

  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  // Tokens tell stock passes what an accumulator in tensor memory depends on. What stock puts in
  // their place at the start of the kernel a task cannot use.
  bool isTask = dot->getParentOfType<ttg::WarpSpecializePartitionsOp>() != nullptr;
  Type token = isTask ? Type() : ttg::AsyncTokenType::get(dot.getContext());
  auto inMemory = [&](Value tensor, ttg::MemDescType memory, bool tracked) {
    auto source = cast<RankedTensorType>(tensor.getType());
    Value moved = ttg::ConvertLayoutOp::create(
        builder, loc, source.cloneWithEncoding(ttng::getDefaultLayoutForTmemLdSt(memory, numWarps)),
        tensor);
    if (!tracked || token)
      return ttng::TMEMAllocOp::create(builder, loc, memory, tracked ? token : Type(), moved);
    // Stock passes that look for an accumulator with a first value want tokens of it.
    auto allocation = ttng::TMEMAllocOp::create(builder, loc, memory, Type(), Value());
    Value always = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    ttng::TMEMStoreOp::create(builder, loc, Type(), allocation.getResult(), Value(), moved, always);
    return allocation;
  };
  Value a = dot.getA();
  if (registers)
    a = inMemory(a, memoryType(dot, registers, registers.getShape()[1], /*packed=*/true), false)
            .getResult();
  ttg::MemDescType memory = memoryType(dot, type, 256, /*packed=*/false);
  ttng::TMEMAllocOp accumulator = inMemory(dot.getC(), memory, true);
  auto always = [&] { return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)); };
  Value use = dot.getUseC() ? dot.getUseC() : Value(always());
  auto product =
      ttng::TCGen5MMAOp::create(builder, loc, token, a, dot.getB(), accumulator.getResult(),
                                accumulator.getToken(), use, /*pred=*/always());
  auto layout = ttng::getDefaultLayoutForTmemLdSt(memory, numWarps);
  auto result = ttng::TMEMLoadOp::create(builder, loc, type.cloneWithEncoding(layout), token,
                                         accumulator.getResult(), product.getToken());
  emitRemark(RemarkKind::Applied, product, DEBUG_TYPE, "lowered to an MMA in tensor memory");
  dot.replaceAllUsesWith(
      ttg::ConvertLayoutOp::create(builder, loc, type, result.getResult()).getResult());
  dot.erase();
  return success();
}

class LowerTensorMemoryPass : public impl::LowerTensorMemoryPassBase<LowerTensorMemoryPass> {
public:
  void runOnOperation() override {
    bool ofTensors = hasTensorMemory(getOperation());
    WalkResult lowered = getOperation()->walk([&](Operation *op) {
      if (auto load = dyn_cast<TmemLoadOp>(op))
        return WalkResult(lower(load));
      if (auto store = dyn_cast<TmemStoreOp>(op))
        return WalkResult(lower(store));
      if (auto dot = dyn_cast<AsyncDotOp>(op); dot && ofTensors)
        return WalkResult(lower(dot));
      return WalkResult::advance();
    });
    if (lowered.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::tlx
