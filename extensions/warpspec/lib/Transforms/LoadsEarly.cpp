//===- LoadsEarly.cpp - Loads of an epilogue in front of the products -----===//
//
// What an epilogue loads for each column or row of a tile is there when the products end, if the
// load has started before them. Nothing else in a warp group would hide its latency.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

// Registers that are taken from the products meanwhile: four.
constexpr int64_t mostBytes = 16;

int64_t bytesOfThread(tt::LoadOp load) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  if (!type)
    return 0;
  return int64_t(ttg::getTotalElemsPerThread(type)) *
         llvm::divideCeil(tt::getPointeeBitWidth(load.getPtr().getType()), 8);
}

/// Adds the ops behind a place that `op` needs, and returns whether they can be in front of it.
bool collect(Operation *op, llvm::function_ref<bool(Operation *)> isBehind,
             llvm::SetVector<Operation *> &needed) {
  for (Value operand : op->getOperands()) {
    Operation *owner = operand.getDefiningOp();
    if (!owner || !isBehind(owner) || needed.contains(owner))
      continue;
    if (owner->getNumRegions() != 0 || !isMemoryEffectFree(owner) ||
        !collect(owner, isBehind, needed))
      return false;
  }
  needed.insert(op);
  return true;
}

/// Whether nothing is computed between two products.
bool isBeside(Operation *product, Operation *later) {
  for (Operation *op = product->getNextNode(); op != later; op = op->getNextNode())
    if (!isa<ttng::WarpGroupDotOp, ttg::LocalAllocOp, tt::DescriptorLoadOp>(op) &&
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return false;
  return true;
}

} // namespace

void loadEarly(ProductLoop &loop) {
  Operation *products = loop.loop;
  // Chains have no registers to spare.
  if (loop.delayed)
    return;
  // Loads behind the loop may read what it writes.
  WalkResult writes = loop.loop.walk([](Operation *op) {
    bool isWriter =
        isa<tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, tt::DescriptorStoreLikeOpInterface,
            tt::CallOp>(op) ||
        (isa<tt::ElementwiseInlineAsmOp, tt::ExternElementwiseOp>(op) && !isMemoryEffectFree(op));
    return isWriter ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (writes.wasInterrupted())
    return;
  SmallVector<tt::LoadOp> loads;
  for (Operation *op = products->getNextNode(); op; op = op->getNextNode()) {
    if (auto load = dyn_cast<tt::LoadOp>(op)) {
      if (!load.getIsVolatile() && bytesOfThread(load) <= mostBytes)
        loads.push_back(load);
    } else if (!isMemoryEffectFree(op)) {
      // Loads behind this one may read what it writes.
      break;
    }
  }
  auto isBehind = [&](Operation *op) {
    return op->getBlock() == products->getBlock() && !op->isBeforeInBlock(products);
  };
  for (tt::LoadOp load : loads) {
    llvm::SetVector<Operation *> needed;
    if (!collect(load, isBehind, needed))
      continue;
    for (Operation *op : needed)
      op->moveBefore(products);
  }
}

void loadFirst(ProductLoop &products) {
  Block *body = products.loop.getBody();
  for (tt::LoadOp load : products.ahead) {
    llvm::SetVector<Operation *> needed;
    collect(load, [&](Operation *op) { return op->getBlock() == body; }, needed);
    // Products that start in order go on beside loads for what comes behind them.
    Operation *first = products.dots.front(), *place = first;
    if (products.isInOrder)
      for (ttng::WarpGroupDotOp dot : products.dots)
        if (dot->isBeforeInBlock(load) && !isBeside(place, dot))
          place = dot;
    if (place == first) {
      for (Operation *op : llvm::reverse(needed))
        op->moveBefore(body, body->begin());
      continue;
    }
    for (Operation *op : needed)
      if (place->isBeforeInBlock(op))
        op->moveBefore(place);
  }
}

} // namespace tritonext::warpspec
