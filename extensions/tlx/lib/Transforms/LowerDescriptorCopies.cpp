#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/IR/Dialect.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "triton/Dialect/TritonNvidiaGPU/Transforms/TMAUtilities.h"
#include "llvm/ADT/EquivalenceClasses.h"

#define DEBUG_TYPE "tlx-lower-descriptor-copies"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_LOWERDESCRIPTORCOPIESPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// Returns the allocation that a slot for a descriptor is part of, or null.
Value memoryOf(Value slot) {
  while (true) {
    if (auto offset = slot.getDefiningOp<tt::AddPtrOp>()) {
      slot = offset.getPtr();
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(slot);
    auto tasks = argument
                     ? dyn_cast<ttg::WarpSpecializePartitionsOp>(argument.getOwner()->getParentOp())
                     : ttg::WarpSpecializePartitionsOp();
    if (!tasks)
      return slot.getDefiningOp<ttg::GlobalScratchAllocOp>() ? slot : Value();
    slot = tasks.getExplicitCaptures()[argument.getArgNumber()];
  }
}

/// Descriptors that control flow, tasks and memory make one: they have one layout.
class DescriptorClasses {
public:
  explicit DescriptorClasses(ModuleOp module) {
    module.walk([&](Operation *op) { visit(op); });
  }

  Value leader(Value value) { return classes.getOrInsertLeaderValue(value); }
  auto members(Value value) { return classes.members(classes.insert(value)); }

private:
  void join(ValueRange from, ValueRange to) {
    for (auto [a, b] : llvm::zip(from, to))
      if (isa<tt::TensorDescType>(a.getType()) && isa<tt::TensorDescType>(b.getType()))
        classes.unionSets(a, b);
  }

  void joinInMemory(Value slot, Value descriptor) {
    if (Value memory = memoryOf(slot))
      classes.unionSets(descriptors.insert({memory, descriptor}).first->second, descriptor);
  }

  void visit(Operation *op) {
    if (auto store = dyn_cast<StoreDescriptorOp>(op))
      joinInMemory(store.getSlot(), store.getDesc());
    else if (auto load = dyn_cast<LoadDescriptorOp>(op))
      joinInMemory(load.getSlot(), load.getDesc());
    else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      join(loop.getInitArgs(), loop.getRegionIterArgs());
      join(loop.getInitArgs(), loop.getResults());
      join(loop.getInitArgs(), loop.getYieldedValues());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      join(loop.getInits(), loop.getBeforeArguments());
      join(loop.getInits(), loop.getYieldOp().getResults());
      join(loop.getConditionOp().getArgs(), loop.getAfterArguments());
      join(loop.getConditionOp().getArgs(), loop.getResults());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (branch.getNumResults() != 0) {
        join(branch.getResults(), branch.thenYield().getResults());
        join(branch.getResults(), branch.elseYield().getResults());
      }
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      join(select.getResult(), select.getTrueValue());
      join(select.getResult(), select.getFalseValue());
    } else if (auto tasks = dyn_cast<ttg::WarpSpecializePartitionsOp>(op)) {
      for (Region &region : tasks.getPartitionRegions())
        join(tasks.getExplicitCaptures(), region.getArguments());
    } else if (auto branch = dyn_cast<BranchOpInterface>(op)) {
      for (unsigned i = 0; i < op->getNumSuccessors(); ++i)
        join(branch.getSuccessorOperands(i).getForwardedOperands(),
             op->getSuccessor(i)->getArguments());
    }
  }

  llvm::EquivalenceClasses<Value> classes;
  /// The first descriptor in each allocation.
  DenseMap<Value, Value> descriptors;
};

class LowerDescriptorCopiesPass
    : public impl::LowerDescriptorCopiesPassBase<LowerDescriptorCopiesPass> {
public:
  using impl::LowerDescriptorCopiesPassBase<
      LowerDescriptorCopiesPass>::LowerDescriptorCopiesPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> copies, inMemory;
    getOperation().walk([&](Operation *op) {
      if (isa<StoreDescriptorOp, LoadDescriptorOp>(op))
        inMemory.push_back(op);
      else if (isa<AsyncDescriptorLoadOp, AsyncDescriptorStoreOp>(op))
        copies.push_back(op);
      else if (auto prefetch = dyn_cast<AsyncDescriptorPrefetchOp>(op))
        lower(prefetch);
    });
    if (copies.empty() && inMemory.empty())
      return;

    DescriptorClasses classes(getOperation());
    for (Operation *copy : copies)
      if (failed(require(classes, copy)))
        return signalPassFailure();
    for (const auto &[leader, user] : layouts)
      for (Value descriptor : classes.members(leader))
        assign(descriptor, bufferOf(user).getEncoding());
    // The signature follows the arguments.
    getOperation().walk([](tt::FuncOp function) {
      if (function.isDeclaration())
        return;
      function.setType(FunctionType::get(function.getContext(),
                                         function.getBody().front().getArgumentTypes(),
                                         function.getResultTypes()));
    });
    for (Operation *copy : copies)
      lower(copy);
    for (Operation *op : inMemory)
      if (failed(lowerInMemory(op)))
        return signalPassFailure();
  }

private:
  static ttg::MemDescType bufferOf(Operation *copy) {
    if (auto load = dyn_cast<AsyncDescriptorLoadOp>(copy))
      return cast<ttg::MemDescType>(load.getBuffer().getType());
    return cast<ttg::MemDescType>(cast<AsyncDescriptorStoreOp>(copy).getBuffer().getType());
  }

  /// Descriptors know whether their integers have a sign, and buffers do not.
  static Type withoutSign(Type element) {
    auto integer = dyn_cast<IntegerType>(element);
    return integer ? IntegerType::get(element.getContext(), integer.getWidth()) : element;
  }

  LogicalResult require(DescriptorClasses &classes, Operation *copy) {
    ttg::MemDescType buffer = bufferOf(copy);
    auto layout = dyn_cast<ttg::NVMMASharedEncodingAttr>(buffer.getEncoding());
    if (!layout || layout.getTransposed())
      return copy->emitError("expected a buffer with an NVMMA layout that is not transposed, got ")
             << buffer.getEncoding();
    auto descriptor = cast<tt::TensorDescType>(copy->getOperand(0).getType());
    if (descriptor.getShape() != buffer.getShape() ||
        withoutSign(descriptor.getElementType()) != buffer.getElementType())
      return copy->emitError("expected a buffer like the descriptor's block, got ")
             << buffer << " for " << descriptor;
    auto [entry, isNew] = layouts.insert({classes.leader(copy->getOperand(0)), copy});
    if (isNew || bufferOf(entry->second).getEncoding() == layout)
      return success();
    InFlightDiagnostic error =
        copy->emitError("expected buffers of one layout for a descriptor, got ") << layout;
    error.attachNote(entry->second->getLoc())
        << "used with " << bufferOf(entry->second).getEncoding() << " here";
    return error;
  }

  static LogicalResult lowerInMemory(Operation *op) {
    Location loc = op->getLoc();
    auto load = dyn_cast<LoadDescriptorOp>(op);
    Value slot = load ? load.getSlot() : cast<StoreDescriptorOp>(op).getSlot();
    if (!memoryOf(slot))
      return op->emitError("expected a descriptor of tlx.allocate_tensor_descriptor, as it is or "
                           "indexed, got a pointer that went through a loop or a branch");
    OpBuilder builder(op);
    if (load) {
      auto type = cast<tt::TensorDescType>(load.getType());
      if (!type.getSharedLayout())
        return op->emitError("expected an asynchronous copy by the descriptor, which tells its "
                             "layout, got none");
      ttng::TensormapFenceproxyAcquireOp::create(builder, loc, slot);
      load.replaceAllUsesWith(
          ttng::ReinterpretTensorDescOp::create(builder, loc, type, slot).getResult());
    } else {
      auto make = cast<StoreDescriptorOp>(op).getDesc().getDefiningOp<tt::MakeTensorDescOp>();
      if (!make)
        return op->emitError("expected a descriptor that is made here, got another one");
      // In place: what makes it is free of effects, and stock would make it in memory of its own.
      if (failed(ttng::createTMADesc(slot, make, builder)))
        return failure();
      ttng::TensormapFenceproxyAcquireOp::create(builder, loc, slot);
    }
    op->erase();
    return success();
  }

  static void assign(Value descriptor, Attribute layout) {
    auto type = cast<tt::TensorDescType>(descriptor.getType());
    descriptor.setType(tt::TensorDescType::get(type.getShape(), type.getElementType(), layout));
  }

  static void lower(Operation *copy) {
    OpBuilder builder(copy);
    Location loc = copy->getLoc();
    if (auto load = dyn_cast<AsyncDescriptorLoadOp>(copy)) {
      if (load.getTargets() || load.getInPair())
        return copyInCluster(load);
      ttng::AsyncTMACopyGlobalToLocalOp::create(builder, loc, load.getDesc(), load.getCoord(),
                                                load.getBarrier(), load.getBuffer(), load.getPred(),
                                                /*multicast=*/false, load.getCachePolicyAttr());
    } else {
      auto store = cast<AsyncDescriptorStoreOp>(copy);
      if (auto kind = store.getKindAttr())
        ttng::AsyncTMAReduceOp::create(builder, loc, kind, store.getDesc(), store.getCoord(),
                                       store.getBuffer());
      else
        ttng::AsyncTMACopyLocalToGlobalOp::create(builder, loc, TypeRange(), store.getDesc(),
                                                  store.getCoord(), store.getBuffer(),
                                                  store.getCachePolicyAttr());
    }
    copy->erase();
  }

  /// Stock sends a tile to other blocks when the layout of the buffer spreads it over the cluster,
  /// and to the same ones always.
  static void copyInCluster(AsyncDescriptorLoadOp load) {
    OpBuilder builder(load);
    Location loc = load.getLoc();
    ttg::MemDescType buffer = bufferOf(load);
    // As of a stock copy, whose effects stock knows: what the task did to the buffer comes before.
    ttg::BarrierOp::create(builder, loc, ttg::AddrSpace::Local);
    Value condition = inFirstWarp(builder, loc, load.getPred());
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Value descriptor =
        UnrealizedConversionCastOp::create(builder, loc, pointer, load.getDesc()).getResult(0);
    SharedView view = viewOf(builder, loc, load.getBuffer());
    Value barrier = viewOf(builder, loc, load.getBarrier()).base;
    tt::LinearLayout elements = elementsOf(buffer);
    Value begin = beginOf(builder, loc, view, elements);
    if (load.getInPair()) {
      Value rank = specialRegister(builder, loc, "cluster.ctarank");
      rank = arith::AndIOp::create(builder, loc, rank,
                                   arith::ConstantIntOp::create(builder, loc, -2, 32));
      barrier = remoteAddress(builder, loc, barrier, rank);
    }
    SmallVector<Value> common = {condition, descriptor, barrier};
    size_t rank = load.getCoord().size();
    std::string text, constraints = "b,l,r";
    llvm::raw_string_ostream stream(text);
    if (Value targets = load.getTargets()) {
      common.push_back(arith::TruncIOp::create(builder, loc, builder.getI16Type(), targets));
      constraints += ",h";
    }
    size_t address = common.size();
    constraints += ",r";
    stream << "{ .reg .pred p; .reg .b64 policy; elect.sync _|p, -1; and.pred p, p, $0; ";
    auto policy = dyn_cast_or_null<tt::CachePolicyAttr>(load.getCachePolicyAttr());
    StringRef eviction;
    if (policy && policy.getEvictionPolicy() == tt::EvictionPolicy::EVICT_FIRST)
      eviction = "evict_first";
    else if (policy && policy.getEvictionPolicy() == tt::EvictionPolicy::EVICT_LAST)
      eviction = "evict_last";
    if (!eviction.empty())
      stream << "createpolicy.fractional.L2::" << eviction << ".b64 policy, 1.0; ";
    stream << "@p cp.async.bulk.tensor." << rank
           << "d.shared::cluster.global.mbarrier::complete_tx::bytes"
           << (load.getTargets() ? ".multicast::cluster" : "")
           << (load.getInPair() ? ".cta_group::2" : "")
           << (eviction.empty() ? "" : ".L2::cache_hint") << " [$" << address << "], [$1, {";
    for (size_t i = 0; i < rank; ++i) {
      stream << (i ? ", $" : "$") << address + 1 + i;
      constraints += ",r";
    }
    stream << "}], [$2]" << (load.getTargets() ? ", $3" : "")
           << (eviction.empty() ? "" : ", policy") << "; }";

    // One instruction copies as much of a row as the swizzle spans.
    SmallVector<int64_t> box =
        ttng::getTMABlockShape(buffer, /*packedSize=*/true, ttg::TMAMode::Tiled);
    SmallVector<int64_t> at(rank, 0);
    int32_t bytes = buffer.getElementTypeBitWidth() / 8;
    auto number = [&](int64_t value) {
      return arith::ConstantIntOp::create(builder, loc, value, 32);
    };
    for (bool more = true; more;) {
      Value element = arith::XOrIOp::create(builder, loc, begin, number(elementAt(elements, at)));
      Value offset = arith::MulIOp::create(builder, loc, element, number(bytes));
      SmallVector<Value> operands = common;
      operands.push_back(LLVM::GEPOp::create(builder, loc, view.base.getType(), builder.getI8Type(),
                                             view.base, offset));
      for (size_t i = rank; i-- > 0;)
        operands.push_back(arith::AddIOp::create(builder, loc, load.getCoord()[i], number(at[i])));
      buildAsm(builder, loc, TypeRange(), operands, text, constraints + ",~{memory}");
      more = false;
      for (size_t i = rank; i-- > 0 && !more;) {
        at[i] += box[i];
        more = at[i] < buffer.getShape()[i];
        at[i] = more ? at[i] : 0;
      }
    }
    load.erase();
  }

  /// Stock has no such op. The instruction is a hint, so that each warp of a task gives it does no
  /// harm.
  static void lower(AsyncDescriptorPrefetchOp prefetch) {
    if (matchPattern(prefetch.getPred(), m_Zero())) {
      prefetch.erase();
      return;
    }
    OpBuilder builder(prefetch);
    Location loc = prefetch.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    SmallVector<Value> operands = {
        prefetch.getPred(),
        UnrealizedConversionCastOp::create(builder, loc, pointer, prefetch.getDesc()).getResult(0)};
    // The instruction counts dimensions from the innermost one.
    llvm::append_range(operands, llvm::reverse(prefetch.getCoord()));
    size_t rank = prefetch.getCoord().size();
    std::string text, constraints = "b,l";
    llvm::raw_string_ostream stream(text);
    stream << "{ .reg .pred p; elect.sync _|p, -1; and.pred p, p, $0; ";
    StringRef policy = prefetch.getPolicy();
    if (!policy.empty())
      stream << ".reg .b64 c; createpolicy.fractional.L2::" << policy << ".b64 c, 1.0; ";
    stream << "@p cp.async.bulk.prefetch.tensor." << rank << "d.L2.global.tile"
           << (policy.empty() ? "" : ".L2::cache_hint") << " [$1, {";
    for (size_t i = 0; i < rank; ++i) {
      stream << (i ? ", $" : "$") << i + 2;
      constraints += ",r";
    }
    stream << (policy.empty() ? "}]; }" : "}], c; }");
    LLVM::InlineAsmOp::create(
        builder, loc, TypeRange(), operands, text, constraints,
        /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
        /*operand_attrs=*/ArrayAttr());
    prefetch.erase();
  }

  /// The first copy that decided the layout of a class, by its leader.
  llvm::MapVector<Value, Operation *> layouts;
};

} // namespace
} // namespace tritonext::tlx
