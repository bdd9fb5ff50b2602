#include "tritonext_tlx/IR/Dialect.h"
#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "triton/Analysis/Alias.h"
#include "triton/Analysis/Utility.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "tlx-extend-lifetimes"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_EXTENDLIFETIMESPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// What a kernel waits for with one kind of wait.
enum class Kind { Store, Dot, Copy, Signalled };

/// Something that goes on with shared memory behind the op that started it.
struct Work {
  Operation *op;
  Kind kind;
  SmallVector<Value> buffers;
  /// What is told that a copy is over.
  SmallVector<Value> barriers;
};

/// Returns the buffers whose addresses a piece of inline assembly gets.
SmallVector<Value> buffersOf(LLVM::InlineAsmOp assembly) {
  SmallVector<Value> buffers;
  for (Value operand : assembly.getOperands())
    if (auto extract = operand.getDefiningOp<LLVM::ExtractValueOp>())
      if (auto cast = extract.getContainer().getDefiningOp<UnrealizedConversionCastOp>())
        if (isa<ttg::MemDescType>(cast.getOperand(0).getType()))
          buffers.push_back(cast.getOperand(0));
  return buffers;
}

/// Returns the buffers that a piece of inline assembly, which gets an address in them, accesses in
/// other blocks of the cluster. Those run the same code, so others access them here.
SmallVector<Value> sharedBuffersOf(LLVM::InlineAsmOp assembly) {
  SmallVector<Value> buffers;
  if (!assembly.getAsmString().contains("mapa.shared::cluster") &&
      !assembly.getAsmString().contains("multicast::cluster"))
    return buffers;
  DenseSet<Operation *> seen;
  SmallVector<Value> work(assembly.getOperands());
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op);
        cast && isa<ttg::MemDescType>(cast.getOperand(0).getType()))
      buffers.push_back(cast.getOperand(0));
    else if (isa<LLVM::ExtractValueOp, LLVM::GEPOp>(op))
      work.push_back(op->getOperand(0));
  }
  return buffers;
}

/// Returns `barriers` and those that the next commit of tensor core work behind `op` signals.
SmallVector<Value> commitsBehind(Operation *op, ValueRange barriers) {
  SmallVector<Value> all(barriers);
  for (size_t own = all.size(); all.size() == own && !isa<FunctionOpInterface>(op);
       op = op->getParentOp())
    for (Operation *next = op->getNextNode(); next && all.size() == own; next = next->getNextNode())
      next->walk([&](Operation *inner) {
        if (isa<ttng::TCGen5CommitOp, PairCommitOp>(inner))
          all.push_back(inner->getOperand(0));
      });
  return all;
}

/// Returns whether `op` is a product of another extension that goes on, as effects of stock
/// products say that do.
bool isAsyncDotOfOthers(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects || !isa<tt::DotOpInterface>(op) || !op->getAttrOfType<UnitAttr>("isAsync"))
    return false;
  SmallVector<MemoryEffects::EffectInstance> all;
  effects.getEffects(all);
  auto kind = ttg::SharedKindAttr::get(op->getContext(), ttg::SharedKind::Async);
  return llvm::any_of(all, [&](const auto &effect) { return effect.getParameters() == kind; });
}

std::optional<Work> workOf(Operation *op) {
  if (auto store = dyn_cast<ttng::TMAStoreLikeOpInterface>(op))
    return Work{op, Kind::Store, {store.getSrc()}, {}};
  if (auto load = dyn_cast<ttng::TMALoadLikeOpInterface>(op))
    return Work{op, Kind::Signalled, {load.getResult()}, {load.getBarrier()}};
  if (auto dot = dyn_cast<ttng::WarpGroupDotOp>(op); dot && dot.getIsAsync())
    return Work{op, Kind::Dot, {dot.getA(), dot.getB()}, {}};
  if (isAsyncDotOfOthers(op)) {
    auto buffers = llvm::make_filter_range(
        op->getOperands(), [](Value operand) { return isa<ttg::MemDescType>(operand.getType()); });
    return Work{op, Kind::Dot, llvm::to_vector(buffers), {}};
  }
  if (auto copy = dyn_cast<ttg::AsyncCopyGlobalToLocalOp>(op))
    return Work{op, Kind::Copy, {copy.getResult()}, {}};
  if (auto mma = dyn_cast<ttng::MMAv5OpInterface>(op); mma && mma.isAsync())
    return Work{op,
                Kind::Signalled,
                {mma.getA(), mma.getB()},
                commitsBehind(op, mma.getCompletionBarriers())};
  if (auto dot = dyn_cast<PairDotOp>(op))
    return Work{
        op, Kind::Signalled, {dot.getA(), dot.getB()}, commitsBehind(op, dot.getBarriers())};
  if (auto dot = dyn_cast<PairDotScaledOp>(op))
    return Work{
        op, Kind::Signalled, {dot.getA(), dot.getB()}, commitsBehind(op, dot.getBarriers())};
  if (isa<ttng::TMEMCopyOp, PairCopyOp>(op))
    return Work{op, Kind::Signalled, {op->getOperand(0)}, commitsBehind(op, {})};
  if (auto store = dyn_cast<ttng::AsyncSharedStoreOp>(op))
    return Work{op, Kind::Signalled, {store.getDst()}, {store.getMbarrier()}};
  if (auto request = dyn_cast<ttng::CLCTryCancelOp>(op))
    return Work{op, Kind::Signalled, {request.getResult()}, {request.getMbarrier()}};
  if (op->getName().getStringRef() == "amdg.buffer_load_to_local")
    return Work{op, Kind::Copy, SmallVector<Value>(op->getOperands()), {}};
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op)) {
    SmallVector<Value> buffers = buffersOf(assembly);
    if (assembly.getAsmString().contains("cp.async.bulk.global.shared::cta") && buffers.size() == 1)
      return Work{op, Kind::Store, buffers, {}};
    if (assembly.getAsmString().contains("cp.async.bulk.shared::cluster.global") &&
        buffers.size() == 2)
      return Work{op, Kind::Signalled, {buffers[0]}, {buffers[1]}};
  }
  return std::nullopt;
}

/// Returns whether `op` waits for all that its threads started of a kind.
bool waitsForAll(Operation *op, Kind kind) {
  switch (kind) {
  case Kind::Store: {
    auto wait = dyn_cast<ttng::TMAStoreWaitOp>(op);
    return wait && wait.getPendings() == 0;
  }
  case Kind::Dot: {
    auto wait = dyn_cast<ttng::WarpGroupDotWaitOp>(op);
    return wait && wait.getPendings() == 0;
  }
  case Kind::Copy: {
    auto wait = dyn_cast<ttg::AsyncWaitOp>(op);
    return wait && wait.getNum() == 0;
  }
  case Kind::Signalled:
    return false;
  }
}

class ExtendLifetimesPass : public impl::ExtendLifetimesPassBase<ExtendLifetimesPass> {
public:
  using impl::ExtendLifetimesPassBase<ExtendLifetimesPass>::ExtendLifetimesPassBase;

  void runOnOperation() override {
    SmallVector<Work> works;
    SmallVector<Value> sharedBuffers, responses;
    getOperation().walk([&](Operation *op) {
      if (std::optional<Work> work = workOf(op))
        works.push_back(std::move(*work));
      if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op))
        sharedBuffers.append(sharedBuffersOf(assembly));
      if (auto request = dyn_cast<ttng::CLCTryCancelOp>(op))
        responses.push_back(request.getResult());
    });
    // In a cluster one block asks for all, and readers tell it that they are done.
    if (!sharedBuffers.empty())
      sharedBuffers.append(responses);
    if (works.empty() && sharedBuffers.empty())
      return;
    std::unique_ptr<DataFlowSolver> solver = createDataFlowSolver();
    auto *aliases = solver->load<SharedMemoryAliasAnalysis>();
    if (failed(solver->initializeAndRun(getOperation())))
      return signalPassFailure();

    llvm::MapVector<Operation *, SmallVector<Operation *>> users;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Value operand : op->getOperands())
        for (ttg::LocalAllocOp allocation : allocationsOf(operand, *aliases))
          users[allocation].push_back(op);
    });
    DenseMap<Operation *, SmallVector<const Work *>> worksOf;
    for (const Work &work : works)
      for (Value buffer : work.buffers)
        for (ttg::LocalAllocOp allocation : allocationsOf(buffer, *aliases))
          worksOf[allocation].push_back(&work);

    llvm::SetVector<Operation *> shared;
    for (Value buffer : sharedBuffers)
      for (ttg::LocalAllocOp allocation : allocationsOf(buffer, *aliases))
        shared.insert(allocation);

    for (Operation *allocation : shared)
      begin(cast<ttg::LocalAllocOp>(allocation));
    for (auto &[allocation, ops] : users)
      if (failed(extend(cast<ttg::LocalAllocOp>(allocation), worksOf.lookup(allocation), ops,
                        shared.contains(allocation), *aliases)))
        return signalPassFailure();
  }

private:
  static SmallVector<ttg::LocalAllocOp> allocationsOf(Value view,
                                                      SharedMemoryAliasAnalysis &aliases) {
    SmallVector<ttg::LocalAllocOp> allocations;
    if (isa<ttg::MemDescType>(view.getType()))
      for (Value value : aliases.getLatticeElement(view)->getValue().getAllocs())
        if (auto allocation = value.getDefiningOp<ttg::LocalAllocOp>())
          allocations.push_back(allocation);
    return allocations;
  }

  /// Whether a wait may be that of one block of a pair: conditions tell the blocks apart.
  static bool isConditional(ttng::WaitBarrierOp wait) {
    return !isAlways(wait.getPred()) || wait->getParentOfType<scf::IfOp>();
  }

  /// Returns whether something in `op` waits for what signals the barriers of `work`. Where two
  /// blocks work together it has to be both of them that wait, as the one reads the buffers of the
  /// other.
  static bool waitsForSignal(Operation *op, const Work &work, SharedMemoryAliasAnalysis &aliases) {
    auto mayBeSame = [&](Value barrier, Value other) {
      auto one = barrier.getDefiningOp<ttg::MemDescIndexOp>();
      auto two = other.getDefiningOp<ttg::MemDescIndexOp>();
      if (one && two && one.getSrc() == two.getSrc() && constantOf(one.getIndex()) &&
          constantOf(two.getIndex()))
        return constantOf(one.getIndex()) == constantOf(two.getIndex());
      SmallVector<ttg::LocalAllocOp> allocations = allocationsOf(barrier, aliases);
      return llvm::any_of(allocationsOf(other, aliases), [&](ttg::LocalAllocOp allocation) {
        return llvm::is_contained(allocations, allocation);
      });
    };
    return op
        ->walk([&](ttng::WaitBarrierOp wait) {
          bool waits = llvm::any_of(
              work.barriers, [&](Value barrier) { return mayBeSame(barrier, wait.getAlloc()); });
          waits &= !isa<PairDotOp, PairDotScaledOp, PairCopyOp>(work.op) || !isConditional(wait);
          return waits ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Returns the op behind which `work` is over, or none when it may go on until its threads end.
  /// Groups are counted by thread, so a wait of another task is none.
  static Operation *findEnd(const Work &work, SharedMemoryAliasAnalysis &aliases) {
    bool isCommitted = work.kind != Kind::Copy;
    for (Operation *op = work.op; !isa<FunctionOpInterface>(op); op = op->getParentOp()) {
      for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
        isCommitted |= isa<ttg::AsyncCommitGroupOp>(next);
        if (work.kind == Kind::Signalled ? waitsForSignal(next, work, aliases)
                                         : isCommitted && waitsForAll(next, work.kind))
          return next;
      }
      Operation *parent = op->getParentOp();
      // A wait above the work in a loop is for the iteration before, and leaves the last one.
      bool isBeside = isa<ttg::WarpSpecializeOp, ttg::WarpSpecializePartitionsOp>(parent);
      if (work.kind == Kind::Signalled && isBeside && waitsForSignal(parent, work, aliases))
        return parent;
      if (work.kind != Kind::Signalled && isa<ttg::WarpSpecializePartitionsOp>(parent))
        return nullptr;
    }
    return nullptr;
  }

  /// Moves an allocation out of the op around its block, from a task as a capture of it.
  static void hoist(ttg::LocalAllocOp allocation) {
    Operation *parent = allocation->getParentOp();
    auto partitions = dyn_cast<ttg::WarpSpecializePartitionsOp>(parent);
    if (!partitions) {
      allocation->moveBefore(parent);
      return;
    }
    Region *task = allocation->getParentRegion();
    allocation->moveBefore(parent->getParentOp());
    Value buffer = allocation.getResult();
    addCapture(partitions, buffer);
    buffer.replaceAllUsesExcept(task->getArguments().back(), partitions);
  }

  /// Lets the life of a buffer that other blocks access begin where the blocks last met, or with
  /// the kernel: how far the others are is not known.
  static void begin(ttg::LocalAllocOp allocation) {
    if (allocation.getSrc())
      return;
    while (!isa<FunctionOpInterface>(allocation->getParentOp()))
      hoist(allocation);
    Block &entry = allocation->getParentRegion()->front();
    bool isInEntry = allocation->getBlock() == &entry;
    Operation *met = nullptr;
    for (Operation &op : entry) {
      if (!isInEntry || &op == allocation)
        break;
      // Barriers are initialised before the blocks meet.
      if (isa<ClusterBarrierOp>(op))
        met = &op;
    }
    Operation *place = met ? met->getNextNode() : &entry.front();
    while (place != allocation && isa<ttg::LocalAllocOp, ttg::LocalDeallocOp>(place))
      place = place->getNextNode();
    if (place != allocation)
      allocation->moveBefore(place);
  }

  /// Returns where blocks meet behind the last use of a buffer that others access, or null.
  static Operation *meetingBehind(ttg::LocalAllocOp allocation, ArrayRef<Operation *> users) {
    SmallVector<Operation *> accesses;
    llvm::copy_if(users, std::back_inserter(accesses),
                  [](Operation *user) { return !isa<ttg::LocalDeallocOp>(user); });
    Operation *last = lastOf(allocation->getBlock(), accesses, allocation);
    for (Operation *op = last; op; op = op->getNextNode())
      if (isa<ClusterBarrierOp>(op))
        return op;
    return nullptr;
  }

  /// Whether `a` comes before `b`; the end of a block, which is null, comes last.
  static bool isBefore(Operation *a, Operation *b) { return a && (!b || a->isBeforeInBlock(b)); }

  static LogicalResult extend(ttg::LocalAllocOp allocation, ArrayRef<const Work *> works,
                              ArrayRef<Operation *> users, bool isShared,
                              SharedMemoryAliasAnalysis &aliases) {
    if (works.empty() && !isShared)
      return success();
    auto function = allocation->getParentOfType<FunctionOpInterface>();
    SmallVector<Operation *> ends;
    for (const Work *work : works) {
      Operation *end = work->op->getParentOfType<FunctionOpInterface>() == function
                           ? findEnd(*work, aliases)
                           : nullptr;
      if (!end && !function.isPublic())
        return refuse(*work, allocation);
      ends.push_back(end);
    }
    // Without a wait in the region, the next iteration of a loop, and what comes behind it, still
    // run beside the work.
    auto isEndOutside = [&](Operation *end) {
      return end ? !allocation->getParentRegion()->isAncestor(end->getParentRegion())
                 : !isa<FunctionOpInterface>(allocation->getParentOp());
    };
    while (!allocation.getSrc() && llvm::any_of(ends, isEndOutside))
      hoist(allocation);

    if (isShared)
      ends.push_back(meetingBehind(allocation, users));

    Block *block = allocation->getBlock();
    Operation *last = lastOf(block, users, allocation), *end = lastOf(block, ends, allocation);
    if (end ? !isBefore(last, end) : last == block->getTerminator())
      return success();
    // Located at the wait, the end of the life of a buffer is what reports show.
    SmallVector<std::pair<Operation *, Location>> places;
    if (end) {
      // Code generation looks for a barrier right behind a wait.
      Operation *next = end->getNextNode();
      places.emplace_back(isa<ttg::BarrierOp>(next) ? next->getNextNode() : next, end->getLoc());
    } else {
      DominanceInfo dominance(function);
      for (Block &exit : *block->getParent())
        if (exit.hasNoSuccessors() && dominance.dominates(block, &exit))
          places.emplace_back(exit.getTerminator(), exit.getTerminator()->getLoc());
    }
    for (Operation *user : users)
      if (auto end = dyn_cast<ttg::LocalDeallocOp>(user); end && end.getSrc() == allocation)
        end->erase();
    for (auto [place, loc] : places) {
      OpBuilder builder(place);
      ttg::LocalDeallocOp::create(builder, loc, allocation);
    }
    return success();
  }

  /// Returns the last of the ops in `block` that hold `ops`, or null for an end of all blocks.
  static Operation *lastOf(Block *block, ArrayRef<Operation *> ops, Operation *first) {
    Operation *last = first;
    for (Operation *op : ops) {
      if (op)
        op = block->findAncestorOpInBlock(*op);
      // A buffer that comes around in a loop is used above its allocation.
      if (op && op->isBeforeInBlock(first))
        op = nullptr;
      if (isBefore(last, op))
        last = op;
    }
    return last;
  }

  static LogicalResult refuse(const Work &work, ttg::LocalAllocOp allocation) {
    StringRef waits[] = {"tlx.async_descriptor_store_wait(0)", "tlx.async_dot_wait(0, ...)",
                         "tlx.async_load_wait_group(0)", "tlx.barrier_wait"};
    InFlightDiagnostic error = work.op->emitError(
        "expected a wait before the function that allocates the buffer returns, got none");
    error.attachNote(allocation.getLoc()) << "the buffer is allocated here, and its memory is the "
                                             "caller's again behind the call";
    error.attachNote() << "call " << waits[static_cast<size_t>(work.kind)]
                       << " in the function, or leave noinline out";
    return error;
  }
};

} // namespace
} // namespace tritonext::tlx
