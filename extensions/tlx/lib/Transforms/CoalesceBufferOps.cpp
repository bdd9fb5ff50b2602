#include "tritonext/Remarks.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "triton/Analysis/AxisInfo.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <numeric>

#define DEBUG_TYPE "tlx-coalesce-buffer-ops"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_COALESCEBUFFEROPSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

constexpr int64_t widestBytes = 16;
constexpr llvm::StringLiteral copyName = "amdg.buffer_load_to_local";

bool isBufferOp(Operation *op) {
  static const llvm::StringSet<> names = {"amdg.buffer_load", "amdg.buffer_store", copyName,
                                          "amdg.buffer_atomic_rmw"};
  return names.contains(op->getName().getStringRef());
}

/// What a buffer op accesses: stock has no header for it, and its pointer is followed by offsets.
struct Access {
  Value pointer;
  Value offsets;
};

std::optional<Access> accessOf(Operation *op) {
  for (unsigned i = 0; i + 1 < op->getNumOperands(); ++i)
    if (isa<tt::PointerType>(op->getOperand(i).getType()) &&
        isa<RankedTensorType>(op->getOperand(i + 1).getType()))
      return Access{op->getOperand(i), op->getOperand(i + 1)};
  return std::nullopt;
}

class CoalesceBufferOpsPass : public impl::CoalesceBufferOpsPassBase<CoalesceBufferOpsPass> {
public:
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isBufferOp(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    tt::ModuleAxisInfoAnalysis axisInfo(getOperation());
    for (Operation *op : ops)
      if (std::optional<Access> access = accessOf(op);
          access && failed(coalesce(op, *access, axisInfo)))
        return signalPassFailure();
  }

private:
  static LogicalResult coalesce(Operation *op, Access access,
                                tt::ModuleAxisInfoAnalysis &axisInfo) {
    auto type = cast<RankedTensorType>(access.offsets.getType());
    tt::AxisInfo *offsets = axisInfo.getAxisInfo(access.offsets);
    tt::AxisInfo *pointer = axisInfo.getAxisInfo(access.pointer);
    // Nothing is known of code that is never reached.
    if (!offsets)
      return success();

    int64_t rank = type.getRank();
    SmallVector<unsigned> order(rank);
    std::iota(order.begin(), order.end(), 0);
    // Of equally contiguous dimensions the last is the innermost.
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return std::pair(offsets->getContiguity(a), a) > std::pair(offsets->getContiguity(b), b);
    });
    unsigned inner = order.front();
    Type element = cast<tt::PointerType>(access.pointer.getType()).getPointeeType();
    int64_t bytes = std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1);
    int numWarps = ttg::lookupNumWarps(op);
    OpBuilder builder(op);
    int threads = ttg::lookupThreadsPerWarp(builder);
    int64_t aligned = pointer ? std::max<int64_t>(pointer->getDivisibility(0) / bytes, 1) : 1;
    int64_t width =
        std::min({offsets->getContiguity(inner), offsets->getDivisibility(inner), aligned,
                  std::max<int64_t>(widestBytes / bytes, 1), type.getShape()[inner]});
    // A direct copy comes in 4 or 16 bytes; any other access fills all threads first.
    if (op->getName().getStringRef() == copyName) {
      if (width * bytes < 4) {
        InFlightDiagnostic error =
            op->emitError("expected offsets that let a thread copy at least 4 "
                          "bytes at once, got ")
            << width * bytes;
        error.attachNote() << "pass a pointer and strides that are known to be divisible by 16, or "
                              "say so with tl.multiple_of and tl.max_contiguous";
        return error;
      }
      // A warp writes one row of bytes, to which each of its threads adds some.
      bool isWide = width * bytes >= widestBytes &&
                    type.getNumElements() * bytes >= int64_t{threads} * widestBytes;
      width = (isWide ? widestBytes : 4) / bytes;
      if (type.getNumElements() * bytes < int64_t{threads} * 4) {
        InFlightDiagnostic error = op->emitError("expected at least ")
                                   << threads * 4
                                   << " bytes to copy, 4 for each thread of a warp, got "
                                   << type.getNumElements() * bytes;
        error.attachNote() << "copy into a larger slot, or use tlx.buffer_load and tlx.local_store";
        return error;
      }
    } else {
      width = std::min(width,
                       std::max<int64_t>(type.getNumElements() / (int64_t{numWarps} * threads), 1));
    }
    SmallVector<unsigned> sizePerThread(rank, 1);
    sizePerThread[inner] = width;
    auto layout =
        ttg::BlockedEncodingAttr::get(op->getContext(), type.getShape(), sizePerThread, order,
                                      numWarps, threads, ttg::getCGALayout(type.getEncoding()));
    if (layout == type.getEncoding())
      return success();
    for (OpOperand &operand : op->getOpOperands())
      if (auto tensor = dyn_cast<RankedTensorType>(operand.get().getType()))
        operand.set(ttg::ConvertLayoutOp::create(builder, op->getLoc(),
                                                 tensor.cloneWithEncoding(layout), operand.get()));
    builder.setInsertionPointAfter(op);
    for (OpResult result : op->getResults()) {
      auto old = dyn_cast<RankedTensorType>(result.getType());
      if (!old)
        continue;
      result.setType(old.cloneWithEncoding(layout));
      auto converted = ttg::ConvertLayoutOp::create(builder, op->getLoc(), old, result);
      result.replaceAllUsesExcept(converted, converted);
    }
    emitRemark(RemarkKind::Applied, op, DEBUG_TYPE,
               "accesses " + llvm::utostr(width * bytes) + " bytes at once");
    return success();
  }
};

} // namespace
} // namespace tritonext::tlx
