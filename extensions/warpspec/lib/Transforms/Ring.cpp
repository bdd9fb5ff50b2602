//===- Ring.cpp - Slots in shared memory between tasks --------------------===//

#include "tritonext_warpspec/Transforms/Tasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

Value constant(OpBuilder &builder, Location loc, int32_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
}

} // namespace

Value createBarriers(OpBuilder &builder, Location loc, unsigned number, unsigned arrivals) {
  MLIRContext *context = builder.getContext();
  auto layout = ttg::SwizzledSharedEncodingAttr::get(
      context, 1, 1, 1, {0}, ttg::CGAEncodingAttr::get1CTALayout(context, 1));
  auto type = ttg::MemDescType::get({number, 1}, builder.getI64Type(), layout,
                                    ttg::SharedMemorySpaceAttr::get(context),
                                    /*mutableMemory=*/true);
  Value barriers = ttg::LocalAllocOp::create(builder, loc, type);
  for (unsigned i = 0; i != number; ++i)
    ttng::InitBarrierOp::create(
        builder, loc, viewOf(builder, loc, barriers, constant(builder, loc, int32_t(i)), true),
        arrivals);
  return barriers;
}

Value viewOf(OpBuilder &builder, Location loc, Value array, Value index, bool isMutable) {
  auto type = cast<ttg::MemDescType>(array.getType());
  auto element = ttg::MemDescType::get(type.getShape().drop_front(), type.getElementType(),
                                       type.getEncoding(), type.getMemorySpace(), isMutable);
  return ttg::MemDescIndexOp::create(builder, loc, element, array, index);
}

SmallVector<Value> valuesOf(const RingStates &states) {
  SmallVector<Value> values;
  for (RingState state : states)
    values.append({state.slot, state.phase});
  return values;
}

RingStates statesOf(ValueRange values) {
  RingStates states;
  for (size_t i = 0; i != values.size(); i += 2)
    states.push_back({values[i], values[i + 1]});
  return states;
}

SmallVector<Ring> createRings(OpBuilder &builder, Location loc, Plan &plan) {
  unsigned numInner = plan.numRings();
  SmallVector<Ring> rings(numInner + plan.outer.size());
  for (auto [number, ring] : llvm::enumerate(rings))
    ring.slots = number < numInner ? plan.slots : plan.outerSlots;
  SmallVector<RingLoad> loads(plan.loops.front().loads);
  loads.append(plan.outer.begin(), plan.outer.end());
  for (RingLoad &load : loads) {
    ttg::MemDescType tile = load.tile();
    SmallVector<int64_t> shape = {rings[load.ring].slots};
    shape.append(tile.getShape().begin(), tile.getShape().end());
    auto type = ttg::MemDescType::get(shape, tile.getElementType(), tile.getEncoding(),
                                      tile.getMemorySpace(), /*mutableMemory=*/true);
    rings[load.ring].tiles.push_back(ttg::LocalAllocOp::create(builder, load.load->getLoc(), type));
  }
  for (Ring &ring : rings) {
    // Warp groups of a chain multiply in turns, so each warp arrives for itself.
    if (plan.loops.front().delayed)
      ring.arrivals = plan.consumerWarps;
    ring.full = createBarriers(builder, loc, ring.slots, plan.fullArrivals());
    ring.empty = createBarriers(builder, loc, ring.slots, ring.arrivals);
  }
  // What made descriptors before may have used the same memory. Otherwise the stock passes that
  // order accesses put these two into the loops, in front of the first access there.
  ttng::FenceAsyncSharedOp::create(builder, loc, /*bCluster=*/false);
  ttg::BarrierOp::create(builder, loc, ttg::AddrSpace::Local);
  return rings;
}

Ring Ring::mapped(llvm::function_ref<Value(Value)> lookup) const {
  Ring ring = *this;
  for (Value &tiles : ring.tiles)
    tiles = lookup(tiles);
  ring.full = lookup(full);
  ring.empty = lookup(empty);
  return ring;
}

RingState Ring::next(OpBuilder &builder, Location loc, RingState state) const {
  Value one = constant(builder, loc, 1);
  Value following = arith::AddIOp::create(builder, loc, state.slot, one);
  Value isOver = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, following,
                                       constant(builder, loc, int32_t(slots)));
  Value slot = arith::SelectOp::create(builder, loc, isOver, constant(builder, loc, 0), following);
  Value flipped = arith::XOrIOp::create(builder, loc, state.phase, one);
  Value phase = arith::SelectOp::create(builder, loc, isOver, flipped, state.phase);
  return {slot, phase};
}

} // namespace tritonext::warpspec
