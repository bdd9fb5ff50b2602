//===- PrefetchLoads.cpp - Loads issued an iteration before their use -----===//

#include "tritonext_layout/Transforms/MemoryOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "tritonext/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_PREFETCHLOADSPASS
#define GEN_PASS_DEF_PREFETCHLOADSPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-prefetch-loads"

using namespace mlir;
using namespace mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::layout {
namespace {

/// A load in a loop, and what computes the operands of the next iteration's.
struct Candidate {
  LoadOp load;
  /// Ops of the loop that compute the operands from what an iteration begins with.
  llvm::SetVector<Operation *> address;
  /// Ops of the loop that compute what the next iteration begins with.
  llvm::SetVector<Operation *> step;
};

/// Returns how many registers a loop carries `type` in: no two elements share one.
unsigned getRegisters(Type type) {
  unsigned elements = 1;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    elements = ttg::getTotalElemsPerThread(tensor);
  constexpr unsigned registerBits = 32;
  return elements *
         llvm::divideCeil(getElementTypeOrSelf(type).getIntOrFloatBitWidth(), registerBits);
}

/// Returns true if a load from memory that the kernel does not write may move over `op`.
bool isPassable(Operation *op) {
  if (isMemoryEffectFree(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
      isa<StoreOp, ttg::AsyncWaitOp, ttg::AsyncCommitGroupOp, ttng::FenceAsyncSharedOp,
          ttng::WarpGroupDotWaitOp>(op))
    return true;
  if (auto load = dyn_cast<LoadOp>(op))
    return !load.getIsVolatile();
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> found;
  effects.getEffects(found);
  // Compared by name, since libtriton's resources are other objects than those of this library.
  return llvm::none_of(found, [](const MemoryEffects::EffectInstance &effect) {
    StringRef resource = effect.getResource()->getName();
    return isa<MemoryEffects::Write>(effect.getEffect()) && resource != "<SharedMemory>" &&
           resource != "<TensorMemory>";
  });
}

/// Returns an op of `loop` that may have to stay before or behind a load; null if there is none.
Operation *findFence(scf::ForOp loop) {
  Operation *fence = nullptr;
  loop.getBody()->walk([&](Operation *op) {
    if (isPassable(op))
      return WalkResult::advance();
    fence = op;
    return WalkResult::interrupt();
  });
  return fence;
}

/// Returns the last op of `block` that reads the registers of `value`.
Operation *findLastReader(Value value, Block *block) {
  Operation *last = nullptr;
  llvm::SmallSetVector<Value, 4> work;
  work.insert(value);
  for (size_t i = 0; i != work.size(); ++i)
    for (Operation *user : work[i].getUsers()) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(ancestor))
        last = ancestor;
      if (isa<ExpandDimsOp, BroadcastOp, TransOp, ReshapeOp, SplatOp>(user))
        work.insert(user->getResult(0));
    }
  return last;
}

/// Collects the ops of `loop` that `values` are computed by from what an iteration begins with.
/// Returns false if they cannot be repeated.
bool collect(scf::ForOp loop, ValueRange values, llvm::SetVector<Operation *> &ops,
             llvm::SetVector<BlockArgument> &begins) {
  SmallVector<Value> work(values);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == loop.getBody())
        begins.insert(argument);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != loop.getBody())
      continue;
    if (!isPure(op) || op->getNumRegions() != 0)
      return false;
    if (ops.insert(op))
      llvm::append_range(work, op->getOperands());
  }
  return true;
}

std::optional<Candidate> match(scf::ForOp loop, LoadOp load) {
  // What only the next iteration uses is loaded early already.
  if (load.getIsVolatile() || !getElementTypeOrSelf(load.getType()).isIntOrFloat() ||
      llvm::all_of(load->getUsers(), llvm::IsaPred<scf::YieldOp>))
    return std::nullopt;
  Candidate candidate{load, {}, {}};
  llvm::SetVector<BlockArgument> begins, ignored;
  if (!collect(loop, load->getOperands(), candidate.address, begins) || begins.empty())
    return std::nullopt;
  for (BlockArgument argument : begins)
    if (argument != loop.getInductionVar() &&
        !collect(loop, loop.getTiedLoopYieldedValue(argument)->get(), candidate.step, ignored))
      return std::nullopt;
  return candidate;
}

void clone(OpBuilder &builder, const llvm::SetVector<Operation *> &ops, IRMapping &mapping) {
  SmallVector<Operation *> order = llvm::to_vector(ops);
  llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : order)
    builder.clone(*op, mapping);
}

/// Creates the load of another iteration, for where `runs` holds. `mapping` has what that iteration
/// begins with.
Value create(OpBuilder &builder, const Candidate &candidate, IRMapping &mapping, Value runs) {
  clone(builder, candidate.address, mapping);
  LoadOp load = candidate.load;
  Value mask = runs;
  if (auto type = dyn_cast<RankedTensorType>(load.getPtr().getType()))
    mask = SplatOp::create(builder, load.getLoc(), type.clone(builder.getI1Type()), runs);
  if (Value own = load.getMask())
    mask = arith::AndIOp::create(builder, load.getLoc(), mapping.lookupOrDefault(own), mask);
  auto copy = cast<LoadOp>(builder.clone(*load, mapping));
  copy.getMaskMutable().assign(mask);
  return copy.getResult();
}

void eraseDead(llvm::SetVector<Operation *> ops) {
  for (size_t count = 0; count != ops.size();) {
    count = ops.size();
    for (Operation *op : llvm::to_vector(ops))
      if (isOpTriviallyDead(op)) {
        ops.remove(op);
        op->erase();
      }
  }
}

void rewrite(scf::ForOp loop, ArrayRef<Candidate> candidates) {
  Location loc = loop.getLoc();
  IRRewriter builder(loop);
  auto isBelow = [&](Value value) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, value,
                                 loop.getUpperBound());
  };
  IRMapping first;
  first.map(loop.getInductionVar(), loop.getLowerBound());
  first.map(loop.getRegionIterArgs(), loop.getInitArgs());
  Value runs = isBelow(loop.getLowerBound());
  SmallVector<Value> initial, next;
  for (const Candidate &candidate : candidates) {
    IRMapping mapping(first);
    initial.push_back(create(builder, candidate, mapping, runs));
  }

  Block *body = loop.getBody();
  builder.setInsertionPointToStart(body);
  Value following = arith::AddIOp::create(builder, loc, loop.getInductionVar(), loop.getStep());
  Value continues = isBelow(following);
  for (const Candidate &candidate : candidates) {
    // Behind the last use of this iteration's, so that both can have the same registers.
    Operation *last = findLastReader(candidate.load->getResult(0), body);
    if (last == body->getTerminator())
      builder.setInsertionPoint(last);
    else
      builder.setInsertionPointAfter(last);
    IRMapping step, mapping;
    clone(builder, candidate.step, step);
    mapping.map(loop.getInductionVar(), following);
    for (auto [argument, yielded] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
      mapping.map(argument, step.lookupOrDefault(yielded));
    next.push_back(create(builder, candidate, mapping, continues));
  }

  DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
  auto replaced = *loop.replaceWithAdditionalYields(
      builder, initial, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
        for (auto [candidate, argument] : llvm::zip_equal(candidates, arguments))
          candidate.load->getResult(0).replaceAllUsesWith(argument);
        return next;
      });
  replaced->setDiscardableAttrs(attributes);
  llvm::SetVector<Operation *> old;
  for (const Candidate &candidate : candidates) {
    candidate.load->erase();
    old.insert_range(candidate.address);
  }
  eraseDead(std::move(old));
}

class PrefetchLoadsPass : public impl::PrefetchLoadsPassBase<PrefetchLoadsPass> {
public:
  using PrefetchLoadsPassBase::PrefetchLoadsPassBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      // In other loops Triton lets warps wait, of which there are more.
      if (!loop.getUnsignedCmp() &&
          !loop.getBody()->getOps<ttg::AsyncCopyGlobalToLocalOp>().empty())
        loops.push_back(loop);
    });
    if (loops.empty())
      return;
    MemoryAccesses memory(getOperation());
    for (scf::ForOp loop : loops)
      consider(loop, memory);
  }

private:
  void consider(scf::ForOp loop, const MemoryAccesses &memory) const {
    SmallVector<Candidate> candidates;
    unsigned registers = 0;
    for (LoadOp load : loop.getBody()->getOps<LoadOp>()) {
      std::optional<Candidate> candidate = match(loop, load);
      if (!candidate)
        continue;
      unsigned more = getRegisters(load.getType());
      if (more > maxRegisters - registers) {
        emitRemark(RemarkKind::Missed, load, DEBUG_TYPE,
                   "the next iteration's would take " + Twine(more) +
                       " registers of a thread, of which " + Twine(maxRegisters - registers) +
                       " are left");
        continue;
      }
      if (memory.findWrite(load)) {
        emitRemark(RemarkKind::Missed, load, DEBUG_TYPE, "the kernel may write to what it reads");
        continue;
      }
      registers += more;
      candidates.push_back(std::move(*candidate));
    }
    if (candidates.empty())
      return;
    if (Operation *fence = findFence(loop)) {
      emitRemark(RemarkKind::Missed, fence, DEBUG_TYPE,
                 "loads of the loop may have to stay behind it");
      return;
    }
    for (const Candidate &candidate : candidates)
      emitRemark(RemarkKind::Applied, candidate.load, DEBUG_TYPE,
                 "each iteration loads what the next one uses");
    rewrite(loop, candidates);
  }
};

} // namespace
} // namespace tritonext::layout
