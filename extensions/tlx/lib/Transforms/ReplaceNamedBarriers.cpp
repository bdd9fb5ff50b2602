#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

bool isNamedBarrier(LLVM::CallIntrinsicOp op) {
  return op.getIntrin().starts_with("llvm.nvvm.barrier.cta.");
}

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
      if (!isNamedBarrier(op))
        return WalkResult::advance();
      std::optional<int64_t> id = constantOf(op.getArgs()[0]);
      std::optional<int64_t> threads =
          op.getArgs().size() > 1 ? constantOf(op.getArgs()[1]) : std::nullopt;
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
    bool isWait = use.getIntrin().contains(".sync.");
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
    unsigned number = 0;
    for (Value capture : tasks.getExplicitCaptures()) {
      if (capture == memory)
        return taskOf(op)->getArgument(number);
      ++number;
    }
    tasks->insertOperands(number, memory);
    for (Region &region : tasks.getPartitionRegions())
      region.addArgument(memory.getType(), memory.getLoc());
    return taskOf(op)->getArgument(number);
  }

  /// Returns the parity of the phase a barrier is in. PTX ISA, mbarrier.test_wait: true when the
  /// phase of the parity is complete, which is the one before the one the barrier is in.
  static Value phaseOf(OpBuilder &builder, Location loc, Value barrier) {
    MLIRContext *context = builder.getContext();
    auto structure = LLVM::LLVMStructType::getLiteral(
        context, {LLVM::LLVMPointerType::get(context, 3), builder.getI32Type()});
    Value view = UnrealizedConversionCastOp::create(builder, loc, structure, barrier).getResult(0);
    Value address = LLVM::ExtractValueOp::create(builder, loc, view, ArrayRef<int64_t>{0});
    return LLVM::InlineAsmOp::create(
               builder, loc, builder.getI32Type(), ValueRange{address},
               StringRef("{ .reg .pred past; "
                         "mbarrier.test_wait.parity.shared::cta.b64 past, [$1], 0; "
                         "selp.b32 $0, 1, 0, past; }"),
               StringRef("=r,r,~{memory}"),
               /*has_side_effects=*/true, /*is_align_stack=*/false,
               LLVM::tailcallkind::TailCallKind::None,
               LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT),
               /*operand_attrs=*/ArrayAttr())
        .getResult(0);
  }
};

} // namespace
} // namespace tritonext::tlx
