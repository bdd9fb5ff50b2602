#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/Transforms/Passes.h"
#include "tritonext_tlx/Transforms/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#define DEBUG_TYPE "tlx-limit-waits"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LIMITWAITSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// What a wait that works can take is far below; printing a report takes some microseconds.
constexpr int64_t leastLimit = 1'000'000;

/// Name of the function that reports a wait and ends the kernel.
constexpr llvm::StringLiteral reporterName = "tlx_report_wait";

/// The barrier of a wait, as far as it is known where the wait stands.
struct Barrier {
  ttg::LocalAllocOp allocation;
  /// Which of an array it is; none when that is not known.
  Value slot;
  std::optional<int64_t> constantSlot;

  bool hasSlot() const { return slot || constantSlot; }
};

/// Follows a view back to its allocation. An index from outside of a task is no value in it.
Barrier barrierOf(Value view) {
  Barrier barrier;
  bool isOutside = false;
  while (view) {
    Operation *op = view.getDefiningOp();
    if (auto allocation = dyn_cast_or_null<ttg::LocalAllocOp>(op)) {
      barrier.allocation = allocation;
      return barrier;
    }
    if (auto index = dyn_cast_or_null<ttg::MemDescIndexOp>(op)) {
      if (index.getSrc().getType().getRank() == 2) {
        barrier.constantSlot = constantOf(index.getIndex());
        barrier.slot = isOutside ? Value() : index.getIndex();
      }
      view = index.getSrc();
    } else if (isa_and_nonnull<ttg::MemDescTransOp, ttg::MemDescReshapeOp,
                               ttg::MemDescReinterpretOp>(op)) {
      view = op->getOperand(0);
    } else if (auto argument = dyn_cast<BlockArgument>(view);
               argument && argument.getOwner()->isEntryBlock() &&
               isa<ttg::WarpSpecializePartitionsOp>(argument.getOwner()->getParentOp())) {
      isOutside = true;
      view = argument.getOwner()->getParentOp()->getOperand(argument.getArgNumber());
    } else {
      break;
    }
  }
  return {};
}

/// Returns the arrivals that complete a phase, if all barriers of the array have the same.
std::optional<int64_t> countOf(const Barrier &barrier) {
  std::optional<int64_t> count;
  if (!barrier.allocation)
    return count;
  for (const ViewUse &use : usesOf(barrier.allocation)) {
    auto init = dyn_cast<ttng::InitBarrierOp>(use.op());
    if (!init)
      continue;
    if (count && *count != init.getCount())
      return std::nullopt;
    count = init.getCount();
  }
  return count;
}

/// Names a task as tlx.report does.
std::string taskOfWait(Operation *op) {
  Region *task = taskOf(op);
  if (isa<ttg::WarpSpecializePartitionsOp>(task->getParentOp()))
    return "task " + llvm::utostr(task->getRegionNumber() + 1);
  return isa<ttg::WarpSpecializeOp>(task->getParentOp()) ? "the default task" : "the kernel";
}

void describePlace(llvm::raw_ostream &os, Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    os << llvm::sys::path::filename(file.getFilename().getValue()) << ':' << file.getLine();
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    describePlace(os, name.getChildLoc());
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    describePlace(os, call.getCallee());
    os << ", called at ";
    describePlace(os, call.getCaller());
  } else {
    os << "an unknown line";
  }
}

void describeBarrier(llvm::raw_ostream &os, Barrier &barrier) {
  if (!barrier.allocation) {
    os << "a barrier";
    return;
  }
  if (barrier.allocation.getType().getRank() == 2 && !barrier.hasSlot())
    os << "one of ";
  auto name = dyn_cast<NameLoc>(barrier.allocation.getLoc());
  os << (name ? name.getName().getValue() : "an unnamed barrier");
}

/// A percent sign starts a value in a format.
std::string escaped(StringRef text) {
  std::string result;
  for (char character : text)
    result.append(character == '%' ? 2 : 1, character);
  return result;
}

/// Returns the format of a report, whose values come in the order slot, if it is known, parity of
/// the wait and of the barrier, block, warp. `tritonext_tlx.hangs` reads it.
std::string formatOf(ttng::WaitBarrierOp wait, Barrier &barrier) {
  std::string text, place, name;
  llvm::raw_string_ostream os(text), placeOs(place), nameOs(name);
  describePlace(placeOs, wait.getLoc());
  describeBarrier(nameOs, barrier);
  os << "tlx: " << taskOfWait(wait) << " waits at " << escaped(place) << " for " << escaped(name);
  if (barrier.hasSlot())
    os << "[%d]";
  os << " to complete a phase of parity %d; the barrier is in a phase of parity %d";
  if (std::optional<int64_t> count = countOf(barrier))
    os << ", of " << *count << " arrivals";
  os << " (kernel " << wait->getParentOfType<tt::FuncOp>().getName()
     << ", block %d %d %d, warp %d)\n";
  return text;
}

class LimitWaitsPass : public impl::LimitWaitsPassBase<LimitWaitsPass> {
public:
  using impl::LimitWaitsPassBase<LimitWaitsPass>::LimitWaitsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (limit < leastLimit) {
      module.emitError("expected a limit of at least ")
          << leastLimit << " nanoseconds, got " << limit.getValue();
      return signalPassFailure();
    }
    SmallVector<ttng::WaitBarrierOp> waits;
    module.walk([&](ttng::WaitBarrierOp wait) { waits.push_back(wait); });
    for (ttng::WaitBarrierOp wait : waits) {
      // Only one block of those that share a barrier waits.
      if (int blocks = ttg::lookupNumCTAs(wait); blocks != 1) {
        wait->emitError("expected a kernel with num_ctas of 1 to limit waits, got ") << blocks;
        return signalPassFailure();
      }
      // Later passes build on one block for what they have not converted yet.
      if (isa<scf::SCFDialect>(wait->getParentOp()->getDialect())) {
        wait->emitError("expected branches in place of structured control flow to limit waits");
        return signalPassFailure();
      }
    }
    if (waits.empty())
      return;
    LLVM::LLVMFuncOp reporter = createReporter(module);
    for (ttng::WaitBarrierOp wait : waits)
      replace(wait, reporter);
  }

private:
  //===--------------------------------------------------------------------===//
  // Building blocks
  //===--------------------------------------------------------------------===//

  static Value constant(OpBuilder &builder, Location loc, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                    builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  /// Returns the function that stock prints with too. CUDA C++ Programming Guide, formatted output.
  static LLVM::LLVMFuncOp printer(ModuleOp module) {
    constexpr StringRef name = "vprintf";
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    Type pointer = LLVM::LLVMPointerType::get(module.getContext());
    auto type = LLVM::LLVMFunctionType::get(builder.getI32Type(), {pointer, pointer});
    return LLVM::LLVMFuncOp::create(builder, UnknownLoc::get(module.getContext()), name, type);
  }

  //===--------------------------------------------------------------------===//
  // The report
  //===--------------------------------------------------------------------===//

  /// Makes the function all waits call that have lasted too long: with the format, whether the slot
  /// is known, the slot, the parity, the address of the barrier, and whether the thread reports for
  /// its warp. Apart from the kernel it costs no code at each wait, and its stack is its own.
  LLVM::LLVMFuncOp createReporter(ModuleOp module) {
    MLIRContext *context = module.getContext();
    LLVM::LLVMFuncOp print = printer(module);
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    Location loc = UnknownLoc::get(context);
    Type i32 = builder.getI32Type(), i1 = builder.getI1Type();
    Type pointer = LLVM::LLVMPointerType::get(context);
    Type shared = LLVM::LLVMPointerType::get(context, 3);
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                            {pointer, i1, i32, i32, shared, i1});
    auto function =
        LLVM::LLVMFuncOp::create(builder, loc, reporterName, type, LLVM::Linkage::Internal);
    function.setPassthroughAttr(builder.getStrArrayAttr({"noinline", "cold"}));
    // The lowering of tasks asks it of each function; it matters for barriers, which are not in it.
    function->setAttr("ws_num_warps", builder.getI32IntegerAttr(ttg::lookupNumWarps(module)));

    Block *entry = function.addEntryBlock(builder);
    Block *report = function.addBlock(), *end = function.addBlock();
    builder.setInsertionPointToStart(entry);
    Value one = constant(builder, loc, 1);
    auto values = LLVM::LLVMArrayType::get(i32, 7);
    Value stack = LLVM::AllocaOp::create(builder, loc, pointer, values, one, /*alignment=*/8);
    LLVM::CondBrOp::create(builder, loc, entry->getArgument(5), report, end);

    builder.setInsertionPointToStart(report);
    // PTX ISA, mbarrier.test_wait: true when the phase of the parity is complete, and the barrier
    // in the next one. Missing arrivals are not read: the memory of a barrier has no documented
    // form.
    Value seen = buildAsm(builder, loc, i32, {entry->getArgument(4), entry->getArgument(3)},
                          "{ .reg .pred past; "
                          "mbarrier.test_wait.parity.shared::cta.b64 past, [$1], $2; "
                          "selp.b32 $0, 1, 0, past; xor.b32 $0, $0, $2; }",
                          "=&r,r,r,~{memory}")
                     .front();
    Value warp = LLVM::LShrOp::create(builder, loc, specialRegister(builder, loc, "tid.x"),
                                      constant(builder, loc, 5));
    Value printed[] = {entry->getArgument(2),
                       entry->getArgument(3),
                       seen,
                       specialRegister(builder, loc, "ctaid.x"),
                       specialRegister(builder, loc, "ctaid.y"),
                       specialRegister(builder, loc, "ctaid.z"),
                       warp};
    for (auto [index, value] : llvm::enumerate(printed)) {
      Value place = LLVM::GEPOp::create(builder, loc, pointer, i32, stack,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
      LLVM::StoreOp::create(builder, loc, value, place);
    }
    Value behindSlot =
        LLVM::GEPOp::create(builder, loc, pointer, i32, stack, ArrayRef<LLVM::GEPArg>{1});
    Value first = LLVM::SelectOp::create(builder, loc, entry->getArgument(1), stack, behindSlot);
    LLVM::CallOp::create(builder, loc, print, ValueRange{entry->getArgument(0), first});
    LLVM::BrOp::create(builder, loc, end);

    builder.setInsertionPointToStart(end);
    buildAsm(builder, loc, TypeRange(), ValueRange(),
             "{ .reg .pred early; .reg .b64 now, end; mov.u64 end, %globaltimer; "
             "add.u64 end, end, " +
                 llvm::utostr(limit) +
                 "; again: mov.u64 now, %globaltimer; setp.lt.u64 early, now, end; "
                 "@early bra again; trap; }",
             "~{memory}");
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    return function;
  }

  static Value textInMemory(OpBuilder &builder, Location loc, ModuleOp module, StringRef text) {
    OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
    std::string name;
    for (int number = 0; name.empty() || module.lookupSymbol(name); ++number)
      name = "tlx_wait_" + llvm::utostr(number);
    std::string terminated = text.str();
    terminated.push_back('\0');
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
    // The stock pass for debug information takes any inlined line to be in a function.
    Location nowhere = UnknownLoc::get(module.getContext());
    auto global =
        LLVM::GlobalOp::create(atStart, nowhere, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                               name, builder.getStringAttr(terminated));
    return LLVM::AddressOfOp::create(builder, loc, global);
  }

  //===--------------------------------------------------------------------===//
  // The wait
  //===--------------------------------------------------------------------===//

  void replace(ttng::WaitBarrierOp wait, LLVM::LLVMFuncOp reporter) {
    Location loc = wait.getLoc();
    Barrier barrier = barrierOf(wait.getAlloc());
    std::string format = formatOf(wait, barrier);
    OpBuilder builder(wait);
    Value address = viewOf(builder, loc, wait.getAlloc()).base;

    // Gives 0 when the phase is complete, 1 when it took too long, and 2 then in one lane of those
    // that wait together. PTX ISA, mbarrier.try_wait: it may return before the phase is complete.
    bool isConditional = !isAlways(wait.getPred());
    std::string text = "{ .reg .pred done; .reg .b64 now, end; .reg .b32 lanes, lower; "
                       "mov.b32 $0, 0; ";
    if (isConditional)
      text += "@!$3 bra over; ";
    text += "mbarrier.try_wait.parity.shared::cta.b64 done, [$1], $2; @done bra over; "
            "mov.u64 end, %globaltimer; add.u64 end, end, " +
            llvm::utostr(limit) +
            "; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$1], $2; @done bra over; "
            "mov.u64 now, %globaltimer; setp.lt.u64 done, now, end; @done bra again; "
            "activemask.b32 lanes; mov.u32 lower, %lanemask_lt; and.b32 lanes, lanes, lower; "
            "setp.eq.u32 done, lanes, 0; selp.b32 $0, 2, 1, done; over: }";
    SmallVector<Value> operands = {address, wait.getPhase()};
    if (isConditional)
      operands.push_back(wait.getPred());
    Value outcome = buildAsm(builder, loc, builder.getI32Type(), operands, text,
                             isConditional ? "=&r,r,r,b,~{memory}" : "=&r,r,r,~{memory}")
                        .front();
    Value zero = constant(builder, loc, 0);
    Value isLate = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, outcome, zero);

    Block *before = wait->getBlock();
    Block *behind = before->splitBlock(wait->getIterator());
    Block *late = builder.createBlock(behind);
    Value slot = barrier.slot && !barrier.constantSlot
                     ? barrier.slot
                     : constant(builder, loc, barrier.constantSlot.value_or(0));
    Value reports = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, outcome,
                                          constant(builder, loc, 2));
    Value isSlotKnown = LLVM::ConstantOp::create(builder, loc, builder.getI1Type(),
                                                 builder.getBoolAttr(barrier.hasSlot()));
    Value message = textInMemory(builder, loc, getOperation(), format);
    LLVM::CallOp::create(builder, loc, reporter,
                         ValueRange{message, isSlotKnown, slot, wait.getPhase(), address, reports});
    // Nothing returns from there, but threads of a warp meet again where their ways do.
    cf::BranchOp::create(builder, loc, behind);

    builder.setInsertionPointToEnd(before);
    cf::CondBranchOp::create(builder, loc, isLate, late, ValueRange(), behind, ValueRange());
    wait.erase();
  }
};

} // namespace
} // namespace tritonext::tlx
