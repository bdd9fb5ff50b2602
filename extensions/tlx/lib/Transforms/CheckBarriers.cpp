#include "tritonext/Remarks.h"
#include "tritonext_tlx/IR/Dialect.h"
#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/MapVector.h"

#include <numeric>
#include <vector>

#define DEBUG_TYPE "tlx-check-barriers"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_CHECKBARRIERSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

constexpr int64_t threadsPerWarp = 32;
constexpr size_t maxNotes = 4;

struct Arrival {
  ViewUse use;
  Operation *op;
  Value condition;
  int64_t count;
  /// Threads that arrive one by one, and may end a phase among them.
  bool isPerThread = false;
};

struct Copy {
  ViewUse use;
  AsyncDescriptorLoadOp op;
  int64_t bytes;
};

/// What a kernel does with an array of barriers, or with one of it when all places are constants.
struct Barrier {
  ttg::LocalAllocOp allocation;
  int64_t count = 0;
  SmallVector<ttng::WaitBarrierOp> waits;
  SmallVector<Arrival> arrivals;
  SmallVector<std::pair<ViewUse, ttng::BarrierExpectOp>> expects;
  SmallVector<Copy> copies;
  bool isMerged = false;
};

class CheckBarriersPass : public impl::CheckBarriersPassBase<CheckBarriersPass> {
public:
  using impl::CheckBarriersPassBase<CheckBarriersPass>::CheckBarriersPassBase;

  void runOnOperation() override {
    getOperation().walk([&](ttg::LocalAllocOp allocation) {
      std::vector<Barrier> barriers = barriersOf(allocation);
      for (Barrier &barrier : barriers)
        if (failed(check(barrier)))
          signalPassFailure();
    });
  }

private:
  //===--------------------------------------------------------------------===//
  // Reading the kernel
  //===--------------------------------------------------------------------===//

  /// Returns the barriers in an allocation, or none when something is done to them that is not
  /// understood.
  static std::vector<Barrier> barriersOf(ttg::LocalAllocOp allocation) {
    SmallVector<ViewUse> uses = usesOf(allocation);
    if (llvm::none_of(uses, [](const ViewUse &use) { return isa<ttng::InitBarrierOp>(use.op()); }))
      return {};
    bool areConstant =
        llvm::all_of(uses, [](const ViewUse &use) { return use.slot.constant && !use.isMerged; });
    llvm::MapVector<int64_t, Barrier> barriers;
    for (const ViewUse &use : uses) {
      Barrier &barrier = barriers[areConstant ? *use.slot.constant : 0];
      barrier.allocation = allocation;
      if (!add(barrier, use))
        return {};
    }
    auto all = llvm::make_second_range(barriers);
    return {all.begin(), all.end()};
  }

  static bool isNever(Value condition) { return constantOf(condition) == 0; }

  static bool add(Barrier &barrier, const ViewUse &use) {
    Operation *op = use.op();
    barrier.isMerged |= use.isMerged;
    if (auto init = dyn_cast<ttng::InitBarrierOp>(op)) {
      barrier.count = init.getCount();
    } else if (auto wait = dyn_cast<ttng::WaitBarrierOp>(op)) {
      if (use.operand->getOperandNumber() != 0)
        return false;
      if (!isNever(wait.getPred()))
        barrier.waits.push_back(wait);
    } else if (auto arrive = dyn_cast<ttng::ArriveBarrierOp>(op)) {
      if (arrive.getFromCTA() || arrive.getMulticastCTA() != 0)
        return false;
      if (!isNever(arrive.getPred()))
        barrier.arrivals.push_back({use, op, arrive.getPred(), arrive.getCount()});
    } else if (auto expect = dyn_cast<ttng::BarrierExpectOp>(op)) {
      if (expect.getFromCTA())
        return false;
      if (isNever(expect.getPred()))
        return true;
      barrier.arrivals.push_back({use, op, expect.getPred(), 1});
      barrier.expects.push_back({use, expect});
    } else if (auto copy = dyn_cast<AsyncDescriptorLoadOp>(op)) {
      // A copy to other blocks brings bytes to theirs.
      if (use.operand->get() != copy.getBarrier() || copy.getTargets() || copy.getInPair())
        return false;
      if (!isNever(copy.getPred()))
        barrier.copies.push_back({use, copy, bytesOf(copy.getBuffer())});
    } else if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op)) {
      return addThreads(barrier, use, cast);
    } else {
      return isa<ttng::InvalBarrierOp>(op);
    }
    return true;
  }

  /// Adds an arrival of each thread, which is inline assembly on the address of the barrier.
  static bool addThreads(Barrier &barrier, const ViewUse &use, UnrealizedConversionCastOp cast) {
    for (Operation *extract : cast->getUsers()) {
      if (!isa<LLVM::ExtractValueOp>(extract))
        return false;
      for (Operation *user : extract->getUsers()) {
        auto assembly = dyn_cast<LLVM::InlineAsmOp>(user);
        std::optional<int64_t> warps = warpsOf(user);
        if (!assembly || !assembly.getAsmString().contains("mbarrier.arrive.shared::cta.b64 _") ||
            assembly.getNumOperands() != 2 || !warps)
          return false;
        if (!isNever(assembly.getOperand(1)))
          barrier.arrivals.push_back({use, user, assembly.getOperand(1), *warps * threadsPerWarp,
                                      /*isPerThread=*/true});
      }
    }
    return true;
  }

  static int64_t bytesOf(Value buffer) {
    auto type = cast<ttg::MemDescType>(buffer.getType());
    return type.getNumElements() * int64_t(type.getElementTypeBitWidth()) / 8;
  }

  //===--------------------------------------------------------------------===//
  // Checks
  //===--------------------------------------------------------------------===//

  static LogicalResult check(Barrier &barrier) {
    if (failed(checkPresence(barrier)) || failed(checkCounts(barrier)) ||
        failed(checkConcurrent(barrier)))
      return failure();
    return barrier.isMerged ? success() : checkBytes(barrier);
  }

  static void noteAllocation(InFlightDiagnostic &error, Barrier &barrier) {
    error.attachNote(barrier.allocation.getLoc()) << "the barrier is made here";
  }

  static void noteArrivals(InFlightDiagnostic &error, Barrier &barrier) {
    for (const Arrival &arrival : ArrayRef(barrier.arrivals).take_front(maxNotes))
      error.attachNote(arrival.op->getLoc()) << "arrives " << arrival.count << " times";
  }

  /// Returns a wait that every run gets to, and that does not return while its barrier is in the
  /// first phase: one for parity 1 finds the phase before that one complete.
  static ttng::WaitBarrierOp blockingWait(Barrier &barrier) {
    for (ttng::WaitBarrierOp wait : barrier.waits)
      if (isAlways(wait.getPred()) && isAlwaysReached(wait) && firstValueOf(wait.getPhase()) == 0)
        return wait;
    return {};
  }

  /// Returns whether a wait may look at any phase but the one before the first.
  static bool mayBlock(Barrier &barrier) {
    return llvm::any_of(barrier.waits, [](ttng::WaitBarrierOp wait) {
      return constantOf(wait.getPhase()).value_or(0) != 1;
    });
  }

  static LogicalResult checkPresence(Barrier &barrier) {
    if (barrier.arrivals.empty() && !barrier.waits.empty()) {
      if (ttng::WaitBarrierOp wait = blockingWait(barrier))
        return reportNoArrival(barrier, wait);
      if (mayBlock(barrier))
        emitRemark(RemarkKind::Analysis, barrier.waits.front(), DEBUG_TYPE,
                   "nothing arrives at the barrier: a wait for its first phase does not return");
      return success();
    }
    if (!barrier.waits.empty())
      return success();
    for (Copy &copy : barrier.copies)
      if (isAlways(copy.op.getPred()) && isAlwaysReached(copy.op)) {
        InFlightDiagnostic error =
            copy.op->emitError("expected a wait for the barrier, got none in the whole kernel");
        noteAllocation(error, barrier);
        error.attachNote() << "call tlx.barrier_wait before the buffer is read";
        return error;
      }
    if (!barrier.arrivals.empty())
      emitRemark(RemarkKind::Analysis, barrier.arrivals.front().op, DEBUG_TYPE,
                 "nothing waits for the barrier: the arrivals have no effect");
    return success();
  }

  static InFlightDiagnostic reportNoArrival(Barrier &barrier, ttng::WaitBarrierOp wait) {
    InFlightDiagnostic error =
        wait->emitError("expected an arrival at the barrier, got none in the whole kernel");
    noteAllocation(error, barrier);
    if (barrier.copies.empty()) {
      error.attachNote() << "call tlx.barrier_arrive where the phase ends, or leave the wait out";
    } else {
      error.attachNote(barrier.copies.front().op->getLoc()) << "this copy brings bytes only";
      error.attachNote() << "announce the bytes of the copies with tlx.barrier_expect_bytes, "
                            "which arrives";
    }
    return error;
  }

  static LogicalResult checkCounts(Barrier &barrier) {
    if (barrier.arrivals.empty() || barrier.waits.empty())
      return success();
    int64_t step = 0, total = 0;
    bool isOnce = true;
    for (const Arrival &arrival : barrier.arrivals) {
      step = std::gcd(step, arrival.isPerThread ? 1 : arrival.count);
      total += arrival.count;
      isOnce &= !isInLoop(arrival.op);
    }
    ttng::WaitBarrierOp wait = blockingWait(barrier);
    // Too few for a phase, they do no harm to waits that pass.
    bool isReached = wait || (mayBlock(barrier) && (!isOnce || total >= barrier.count));
    if (isReached && barrier.count % step != 0) {
      InFlightDiagnostic error =
          barrier.allocation->emitError("expected arrivals that add up to the ")
          << barrier.count << " of the barrier, got only multiples of " << step;
      noteArrivals(error, barrier);
      error.attachNote() << "make the number of arrivals of the barrier the sum over the tasks and "
                            "replicas that arrive";
      return error;
    }
    if (isOnce && wait && total < barrier.count) {
      InFlightDiagnostic error = wait->emitError("expected ")
                                 << barrier.count << " arrivals to complete the phase, got at most "
                                 << total << " in the whole kernel";
      noteAllocation(error, barrier);
      noteArrivals(error, barrier);
      error.attachNote() << "make the number of arrivals of the barrier the sum over the tasks and "
                            "replicas that arrive";
      return error;
    }
    return success();
  }

  /// Refuses arrivals at one phase that complete the next one too, from tasks that run side by
  /// side: who then looks for the first phase finds that the second has begun and ended, and waits
  /// for ever.
  static LogicalResult checkConcurrent(Barrier &barrier) {
    if (barrier.isMerged || barrier.arrivals.empty())
      return success();
    DenseSet<Region *> tasks;
    int64_t total = 0;
    // Tasks of one block start together; those of another one may start behind a wait.
    auto block = barrier.arrivals.front().op->getParentOfType<ttg::WarpSpecializeOp>();
    for (const Arrival &arrival : barrier.arrivals) {
      Region *task = taskOf(arrival.op);
      if (arrival.op->getParentOfType<ttg::WarpSpecializeOp>() != block ||
          !isa<ttg::WarpSpecializeOp, ttg::WarpSpecializePartitionsOp>(task->getParentOp()) ||
          arrival.op->getParentRegion() != task || !isAlways(arrival.condition) ||
          isInLoop(arrival.op) || waitsBefore(arrival.op) ||
          !arrival.use.slot.isSame(barrier.arrivals.front().use.slot) || !arrival.use.slot.constant)
        return success();
      tasks.insert(task);
      total += arrival.count;
    }
    bool isFirstPhase =
        blockingWait(barrier) && llvm::all_of(barrier.waits, [](ttng::WaitBarrierOp wait) {
          return constantOf(wait.getPhase()) == 0;
        });
    // An odd number of phases leaves the barrier where a wait for the first one passes.
    int64_t phases = total / barrier.count;
    if (tasks.size() < 2 || tasks.size() != barrier.arrivals.size() || !isFirstPhase ||
        phases == 0 || phases % 2 != 0)
      return success();
    InFlightDiagnostic error = barrier.allocation->emitError("expected at most ")
                               << barrier.count << " arrivals in the first phase, got " << total
                               << " from tasks that do not wait for each other";
    noteArrivals(error, barrier);
    error.attachNote() << "make the number of arrivals of the barrier the sum over the tasks and "
                          "replicas that arrive";
    return error;
  }

  /// Compares announced bytes with those of the copies, block by block. What a block announces too
  /// much or too little, another one might make up for only if it errs in the other direction.
  static LogicalResult checkBytes(Barrier &barrier) {
    if (!mayBlock(barrier))
      return success();
    struct Sum {
      int64_t announced = 0, copied = 0;
      Operation *expect = nullptr, *copy = nullptr;
    };
    llvm::MapVector<std::pair<Block *, Value>, Sum> sums;
    auto key = [](Operation *op, Value condition) {
      return std::make_pair(op->getBlock(), isAlways(condition) ? Value() : condition);
    };
    for (auto [use, expect] : barrier.expects) {
      Sum &sum = sums[key(expect, expect.getPred())];
      sum.announced += expect.getSize();
      sum.expect = expect;
    }
    for (Copy &copy : barrier.copies) {
      Sum &sum = sums[key(copy.op, copy.op.getPred())];
      sum.copied += copy.bytes;
      sum.copy = copy.op;
    }
    const Sum *wrong = nullptr;
    for (const auto &[place, sum] : sums) {
      if (sum.announced == sum.copied)
        continue;
      if (wrong && (sum.announced < sum.copied) != (wrong->announced < wrong->copied))
        return success();
      wrong = wrong ? wrong : &sum;
    }
    if (!wrong)
      return success();
    InFlightDiagnostic error = (wrong->expect ? wrong->expect : wrong->copy)->emitError("expected ")
                               << wrong->copied
                               << " bytes to be announced, those of the copies here, got "
                               << wrong->announced;
    if (wrong->expect && wrong->copy)
      error.attachNote(wrong->copy->getLoc()) << "copied here";
    noteAllocation(error, barrier);
    error.attachNote() << "pass the bytes of all copies to tlx.barrier_expect_bytes, as in M * K * "
                          "tlx.size_of(tl.float16)";
    return error;
  }
};

} // namespace
} // namespace tritonext::tlx
