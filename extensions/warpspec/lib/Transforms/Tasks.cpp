//===- Tasks.cpp - Split a loop of products into tasks --------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::warpspec {
namespace {

/// Finds descriptors that are made in front of a kernel with one tile and used behind its tasks
/// alone. To make one takes half a microsecond, in which the producer could load.
SmallVector<mlir::triton::MakeTensorDescOp> findLateDescriptors(const Plan &plan) {
  SmallVector<mlir::triton::MakeTensorDescOp> late;
  if (plan.isPersistent() || plan.schedule != Schedule::Single)
    return late;
  for (auto make : plan.first->getBlock()->getOps<mlir::triton::MakeTensorDescOp>())
    if (make->isBeforeInBlock(plan.first) && !make->use_empty() &&
        llvm::all_of(make->getUsers(), [&](Operation *user) {
          Operation *there = plan.first->getBlock()->findAncestorOpInBlock(*user);
          return there && plan.last->isBeforeInBlock(there);
        }))
      late.push_back(make);
  return late;
}

} // namespace

ttg::WarpSpecializeOp specialize(Plan &plan) {
  for (ProductLoop &products : plan.loops)
    loadEarly(products);
  Operation *first = plan.first;
  for (Operation *op : plan.hoisted)
    op->moveBefore(first);
  Location loc = plan.loops.front().loop.getLoc();
  OpBuilder builder(first);
  SmallVector<Ring> rings = createRings(builder, loc, plan);
  RingStates start;
  for (size_t i = 0; i != rings.size(); ++i) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
    start.push_back({zero, zero});
  }

  // What comes behind is no part of the tasks: it may use the memory of the ring again.
  SmallVector<Operation *> inside;
  SmallVector<Value> leaving;
  for (Operation *op = first;; op = op->getNextNode()) {
    inside.push_back(op);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !plan.contains(user); }))
        leaving.push_back(result);
    if (op == plan.last)
      break;
  }
  SmallVector<mlir::triton::MakeTensorDescOp> late = findLateDescriptors(plan);
  for (mlir::triton::MakeTensorDescOp make : late)
    leaving.push_back(make);
  SmallVector<Type> types;
  for (Value value : leaving)
    types.push_back(value.getType());
  auto tasks = ttg::WarpSpecializeOp::create(builder, loc, types,
                                             ArrayRef<int32_t>{int32_t(plan.producerWarps())});
  tasks.setRequestedRegisters(ArrayRef<int32_t>{plan.producerRegisters});

  OpBuilder nested(first->getContext());
  nested.createBlock(&tasks.getPartitionOpHolder());
  auto partitions = ttg::WarpSpecializePartitionsOp::create(nested, loc, ValueRange(), 1);
  buildProducer(plan, rings, partitions);

  for (auto [value, outside] : llvm::zip_equal(leaving, tasks.getResults()))
    value.replaceUsesWithIf(outside,
                            [&](OpOperand &use) { return !plan.contains(use.getOwner()); });
  Block *body = nested.createBlock(&tasks.getDefaultRegion());
  for (mlir::triton::MakeTensorDescOp make : late)
    make->moveBefore(body, body->end());
  for (Operation *op : inside)
    op->moveBefore(body, body->end());
  nested.setInsertionPointToEnd(body);
  ttg::WarpYieldOp::create(nested, loc, leaving);
  for (ProductLoop &products : plan.loops) {
    if (products.delayed)
      loadFirst(products);
    else
      loadAhead(plan, products);
    stageOperands(plan, products);
  }
  rewriteConsumer(plan, rings, start);
  return tasks;
}

} // namespace tritonext::warpspec
