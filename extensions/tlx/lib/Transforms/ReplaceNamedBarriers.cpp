#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "tlx-replace-named-barriers"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_REPLACENAMEDBARRIERSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

class ReplaceNamedBarriersPass
    : public impl::ReplaceNamedBarriersPassBase<ReplaceNamedBarriersPass> {
public:
  using impl::ReplaceNamedBarriersPassBase<ReplaceNamedBarriersPass>::ReplaceNamedBarriersPassBase;

  void runOnOperation() override {
    for (tt::FuncOp function : getOperation().getOps<tt::FuncOp>())
      if (failed(replaceIn(function)))
        return signalPassFailure();
  }

private:
  static LogicalResult replaceIn(tt::FuncOp function) {
    // All threads of a phase name the same number of them (PTX ISA, barrier), so a barrier with
    // another number is as good as another barrier.
    llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<LLVM::CallIntrinsicOp>> barriers;
    WalkResult walked = function.walk([&](LLVM::CallIntrinsicOp op) {
      std::optional<NamedBarrier> barrier = namedBarrierOf(op);
      if (!barrier)
        return WalkResult::advance();
      auto [id, threads, isWait] = *barrier;
      if (!id || !threads || *threads <= 0 || *threads % 32 != 0) {
        op.emitError("expected a named barrier with a constant number and a constant number of "
                     "threads, whole warps");
        return WalkResult::interrupt();
      }
      // A function that is called shares barriers with its callers, and memory only by arguments.
      if (function.getVisibility() != SymbolTable::Visibility::Public) {
        op.emitError("expected named barriers in functions that are inlined, because the "
                     "concurrency sanitizer cannot follow this one; take noinline away");
        return WalkResult::interrupt();
      }
      barriers[{*id, *threads}].push_back(op);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    for (auto &[barrier, uses] : barriers) {
      Value memory = allocate(function, uses.front().getLoc(), barrier.second / 32);
      for (LLVM::CallIntrinsicOp use : uses)
        replace(use, memory);
    }
    return success();
  }

  /// Makes a barrier of so many arrivals at the start of a kernel.
  static Value allocate(tt::FuncOp function, Location loc, int64_t arrivals) {
    MLIRContext *context = function.getContext();
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    auto layout = ttg::SwizzledSharedEncodingAttr::get(
        context, 1, 1, 1, {0}, ttg::CGAEncodingAttr::get1CTALayout(context, 1));
    auto type = ttg::MemDescType::get({1}, builder.getI64Type(), layout,
                                      ttg::SharedMemorySpaceAttr::get(context),
                                      /*mutableMemory=*/true);
    Value memory = ttg::LocalAllocOp::create(builder, loc, type);
    ttng::InitBarrierOp::create(builder, loc, memory, static_cast<int32_t>(arrivals));
    ttg::BarrierOp::create(builder, loc, ttg::AddrSpace::Local);
    return memory;
  }

  static void replace(LLVM::CallIntrinsicOp use, Value memory) {
    OpBuilder builder(use);
    Location loc = use.getLoc();
    Value barrier = captured(use, memory);
    bool isWait = namedBarrierOf(use)->isWait;
    Value phase = isWait ? phaseOf(builder, loc, barrier) : Value();
    // All threads have read the phase, and what they did before is what the arrival is about.
    ttg::BarrierOp::create(builder, loc, ttg::AddrSpace::Local);
    ttng::ArriveBarrierOp::create(builder, loc, barrier,
                                  static_cast<uint32_t>(ttg::lookupNumWarps(use)));
    if (isWait)
      ttng::WaitBarrierOp::create(builder, loc, barrier, phase);
    use.erase();
  }

  /// Returns the memory where `op` is, in a task as a capture.
  static Value captured(Operation *op, Value memory) {
    auto tasks = op->getParentOfType<ttg::WarpSpecializePartitionsOp>();
    if (!tasks)
      return memory;
    OperandRange captures = tasks.getExplicitCaptures();
    auto known = llvm::find(captures, memory);
    if (known != captures.end())
      return taskOf(op)->getArgument(known - captures.begin());
    addCapture(tasks, memory);
    return taskOf(op)->getArguments().back();
  }

  /// Returns the parity of the phase a barrier is in. PTX ISA, mbarrier.test_wait: true when the
  /// phase of the parity is complete, which is the one before the one the barrier is in.
  static Value phaseOf(OpBuilder &builder, Location loc, Value barrier) {
    return buildAsm(builder, loc, builder.getI32Type(), viewOf(builder, loc, barrier).base,
                    "{ .reg .pred past; "
                    "mbarrier.test_wait.parity.shared::cta.b64 past, [$1], 0; "
                    "selp.b32 $0, 1, 0, past; }",
                    "=r,r,~{memory}")
        .front();
  }
};

} // namespace
} // namespace tritonext::tlx
