//===- StageOperands.cpp - Buffers of operands that consumers compute -----===//
//
// A product of one iteration reads such an operand while the next one is computed and written. So
// two buffers take turns, for the whole loop: the stock allocation takes one in an iteration to be
// free behind the op that starts the product.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {

void stageOperands(Plan &plan, ProductLoop &products) {
  if (products.staged.empty() || products.isAwaited)
    return;
  IRRewriter rewriter(products.loop);
  Location loc = products.loop.getLoc();
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(value));
  };
  Value turn = plan.carry(rewriter, products, constant(0), [&](BlockArgument now) -> Value {
    return arith::XOrIOp::create(rewriter, loc, now, constant(1));
  });
  for (ttg::LocalAllocOp alloc : products.staged) {
    ttg::MemDescType tile = alloc.getType();
    SmallVector<int64_t> shape = {2};
    shape.append(tile.getShape().begin(), tile.getShape().end());
    rewriter.setInsertionPoint(products.loop);
    Value array = ttg::LocalAllocOp::create(
        rewriter, alloc.getLoc(),
        ttg::MemDescType::get(shape, tile.getElementType(), tile.getEncoding(),
                              tile.getMemorySpace(), /*mutableMemory=*/true));
    rewriter.setInsertionPoint(alloc);
    Value written = viewOf(rewriter, alloc.getLoc(), array, turn, /*isMutable=*/true);
    ttg::LocalStoreOp::create(rewriter, alloc.getLoc(), alloc.getSrc(), written);
    // PTX ISA, async proxy: products read shared memory in another way than threads write it.
    ttng::FenceAsyncSharedOp::create(rewriter, alloc.getLoc(), /*bCluster=*/false);
    rewriter.replaceOp(alloc,
                       viewOf(rewriter, alloc.getLoc(), array, turn, tile.getMutableMemory()));
  }
}

} // namespace tritonext::warpspec
