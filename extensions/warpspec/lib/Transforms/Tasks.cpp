//===- Tasks.cpp - Split a loop of products into tasks --------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::warpspec {

ttg::WarpSpecializeOp specialize(Plan &plan) {
  loadEarly(plan);
  Operation *first = plan.path.front();
  Location loc = plan.loop.getLoc();
  OpBuilder builder(first);
  Ring ring = Ring::create(builder, loc, plan);
  auto zero = [&] {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0)).getResult();
  };
  RingState start = {zero(), zero()};
  auto tasks = ttg::WarpSpecializeOp::create(builder, loc, first->getResultTypes(),
                                             ArrayRef<int32_t>{int32_t(plan.producerWarps())});
  tasks.setRequestedRegisters(ArrayRef<int32_t>{plan.producerRegisters});

  OpBuilder nested(first->getContext());
  nested.createBlock(&tasks.getPartitionOpHolder());
  auto partitions = ttg::WarpSpecializePartitionsOp::create(nested, loc, ValueRange(), 1);
  buildProducer(plan, ring, partitions);

  // What comes behind is no part of the tasks: it may use the memory of the ring again.
  Block *body = nested.createBlock(&tasks.getDefaultRegion());
  first->moveBefore(body, body->end());
  for (auto [result, outside] : llvm::zip_equal(first->getResults(), tasks.getResults()))
    result.replaceAllUsesWith(outside);
  nested.setInsertionPointToEnd(body);
  ttg::WarpYieldOp::create(nested, loc, first->getResults());
  loadAhead(plan);
  stageOperands(plan);
  rewriteConsumer(plan, ring, start);
  return tasks;
}

} // namespace tritonext::warpspec
