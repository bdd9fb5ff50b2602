#include "tritonext_tlx/IR/AsyncBuilders.h"
#include "tritonext/SharedMemory.h"
#include "tritonext_tlx/IR/Dialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "python/src/ir.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace {

/// Returns the constant that stands for something other than a value. Python makes these constants
/// itself, right before the call.
int64_t constantOf(Value value) {
  IntegerAttr attr;
  return matchPattern(value, m_Constant(&attr)) ? attr.getValue().getSExtValue() : 0;
}

Attribute evictionPolicy(OpBuilder &builder, Value index) {
  return buildCachePolicy(builder, tt::CacheModifier::NONE,
                          static_cast<tt::EvictionPolicy>(constantOf(index)));
}

/// Returns where the user wrote something, behind names and calls.
FileLineColLoc userLocation(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return file;
  if (auto name = dyn_cast<NameLoc>(loc))
    return userLocation(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return userLocation(call.getCaller());
  return {};
}

std::string describeCapture(Value tensor, Operation *user) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto name = dyn_cast<NameLoc>(tensor.getLoc()))
    stream << name.getName().getValue();
  FileLineColLoc where = userLocation(user->getLoc());
  stream << '|' << (where ? where.getLine() : 0) << '|' << (where ? where.getColumn() : 0);
  return text;
}

/// Moves the ops of the only task in front of the op that holds it.
void inlineDefaultTask(ttg::WarpSpecializeOp op) {
  Block &body = op.getDefaultRegion().front();
  body.getTerminator()->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  op.erase();
}

/// Lets a task mention a descriptor of others. The stock pass that chooses layouts of descriptors
/// follows their uses, and leaves an argument without one as it is.
void mention(BlockArgument descriptor) {
  OpBuilder builder = OpBuilder::atBlockBegin(descriptor.getOwner());
  Location loc = descriptor.getLoc();
  size_t rank = cast<tt::TensorDescType>(descriptor.getType()).getShape().size();
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value never = arith::ConstantIntOp::create(builder, loc, 0, 1);
  tritonext::tlx::AsyncDescriptorPrefetchOp::create(builder, loc, descriptor,
                                                    SmallVector<Value>(rank, zero), never);
}

/// Makes what the partitions use from outside captures, or copies of constants.
void isolate(ttg::WarpSpecializeOp op) {
  ttg::WarpSpecializePartitionsOp partitions = op.getPartitionOp();
  SetVector<Value> captured;
  for (Region &region : partitions.getPartitionRegions()) {
    SetVector<Value> used;
    getUsedValuesDefinedAbove(region, region, used);
    OpBuilder builder = OpBuilder::atBlockBegin(&region.front());
    for (Value value : used) {
      auto isHere = [&](OpOperand &use) {
        return region.isAncestor(use.getOwner()->getParentRegion());
      };
      Operation *definition = value.getDefiningOp();
      if (definition && definition->hasTrait<OpTrait::ConstantLike>()) {
        value.replaceUsesWithIf(builder.clone(*definition)->getResult(0), isHere);
        continue;
      }
      if (isa<RankedTensorType>(value.getType())) {
        // Uses stand in the reverse of the order in which they were made.
        Operation *user = nullptr;
        for (OpOperand &use : value.getUses())
          user = isHere(use) ? use.getOwner() : user;
        op->setAttr("tlx.captured_tensor",
                    StringAttr::get(op.getContext(), describeCapture(value, user)));
        return;
      }
      captured.insert(value);
    }
  }
  for (Value value : captured) {
    partitions.getExplicitCapturesMutable().append(value);
    for (Region &region : partitions.getPartitionRegions()) {
      BlockArgument argument = region.addArgument(value.getType(), value.getLoc());
      value.replaceUsesWithIf(argument, [&](OpOperand &use) {
        return region.isAncestor(use.getOwner()->getParentRegion());
      });
      if (isa<tt::TensorDescType>(argument.getType()) && argument.use_empty())
        mention(argument);
    }
  }
}

/// Notes the number of blocks in a cluster at the module. The conversion to layouts does so too,
/// but ops of clusters are verified before it.
void setClusterSize(TritonOpBuilder &builder, Value size) {
  OpBuilder &plain = builder.getBuilder();
  auto module = plain.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  module->setAttr(ttg::AttrNumCTAsName, plain.getI32IntegerAttr(constantOf(size)));
}

/// The special registers Python can name, in its order.
struct Register {
  llvm::StringLiteral intrinsic;
  unsigned bits;
};
constexpr Register registers[] = {
    {"llvm.nvvm.read.ptx.sreg.tid.x", 32},
    {"llvm.nvvm.read.ptx.sreg.tid.y", 32},
    {"llvm.nvvm.read.ptx.sreg.tid.z", 32},
    {"llvm.nvvm.read.ptx.sreg.clock64", 64},
    {"llvm.nvvm.read.ptx.sreg.cluster.ctarank", 32},
    {"llvm.nvvm.read.ptx.sreg.cluster.nctarank", 32},
    {"llvm.amdgcn.workitem.id.x", 32},
    {"llvm.amdgcn.workitem.id.y", 32},
    {"llvm.amdgcn.workitem.id.z", 32},
    {"llvm.amdgcn.s.memtime", 64},
};

/// Builds PTX that writes nothing to registers.
void buildAssembly(TritonOpBuilder &builder, StringRef text, StringRef constraints,
                   ArrayRef<Value> operands) {
  builder.create<LLVM::InlineAsmOp>(
      TypeRange(), operands, text, constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

/// Returns the address of a whole buffer in shared memory, which what a view is converted to later
/// has first.
Value sharedAddress(TritonOpBuilder &builder, Value view) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> fields = {LLVM::LLVMPointerType::get(context, 3)};
  fields.append(cast<ttg::MemDescType>(view.getType()).getRank(),
                builder.getBuilder().getI32Type());
  auto structure = LLVM::LLVMStructType::getLiteral(context, fields);
  Value converted = builder.create<UnrealizedConversionCastOp>(structure, view).getResult(0);
  return builder.create<LLVM::ExtractValueOp>(converted, ArrayRef<int64_t>{0});
}

Value globalAddress(TritonOpBuilder &builder, Value pointer) {
  Type type = LLVM::LLVMPointerType::get(builder.getContext(), 1);
  return builder.create<UnrealizedConversionCastOp>(type, pointer).getResult(0);
}

/// The start of PTX that the predicate p lets one thread of a task run: $0 is the warp in the task.
constexpr llvm::StringLiteral oneThread =
    "{ .reg .pred p; elect.sync _|p, -1; setp.eq.and.u32 p, $0, 0, p; ";

} // namespace

namespace tritonext::tlx {

void buildMergeTasks(TritonOpBuilder &builder, std::vector<Value> &values) {
  OpBuilder &plain = builder.getBuilder();
  ttg::WarpSpecializeOp merged;
  SmallVector<ttg::WarpSpecializeOp> others;
  SmallVector<int32_t> warps, registers;
  for (Operation &op :
       llvm::make_range(plain.getInsertionBlock()->begin(), plain.getInsertionPoint())) {
    auto count = dyn_cast_or_null<IntegerAttr>(op.removeAttr("tlx.task_warps"));
    if (!count)
      continue;
    auto task = cast<ttg::WarpSpecializeOp>(op);
    if (count.getInt() == 0) {
      merged = task;
      continue;
    }
    others.push_back(task);
    warps.push_back(count.getInt());
    if (auto budget = dyn_cast_or_null<IntegerAttr>(op.removeAttr("tlx.task_registers")))
      registers.push_back(budget.getInt());
  }
  values[0] = values[1];
  if (others.empty())
    return inlineDefaultTask(merged);

  merged->moveBefore(plain.getInsertionBlock(), plain.getInsertionPoint());
  merged.setPartitionNumWarps(warps);
  if (!registers.empty())
    merged.setRequestedRegisters(registers);
  OpBuilder nested(merged.getContext());
  nested.createBlock(&merged.getPartitionOpHolder());
  auto partitions =
      ttg::WarpSpecializePartitionsOp::create(nested, merged.getLoc(), ValueRange(), others.size());
  for (auto [region, task] : llvm::zip_equal(partitions.getPartitionRegions(), others)) {
    region.takeBody(task.getDefaultRegion());
    task.erase();
  }
  isolate(merged);
}

void buildAsyncDescriptorLoad(TritonOpBuilder &builder, std::vector<Value> &values) {
  ArrayRef<Value> operands = ArrayRef(values).drop_front();
  IntegerAttr mask;
  bool alone = matchPattern(operands[5], m_Constant(&mask)) && mask.getValue().isZero();
  builder.create<AsyncDescriptorLoadOp>(operands[0], operands.drop_front(7), operands[1],
                                        operands[2], operands[3], alone ? Value() : operands[5],
                                        evictionPolicy(builder.getBuilder(), operands[4]),
                                        /*inPair=*/constantOf(operands[6]) != 0);
}

void buildAsyncDescriptorStore(TritonOpBuilder &builder, std::vector<Value> &values) {
  ArrayRef<Value> operands = ArrayRef(values).drop_front();
  tt::DescriptorReduceKindAttr kind;
  if (int64_t index = constantOf(operands[3]); index >= 0)
    kind = tt::DescriptorReduceKindAttr::get(builder.getContext(),
                                             static_cast<tt::DescriptorReduceKind>(index));
  builder.create<AsyncDescriptorStoreOp>(operands[0], operands.drop_front(4), operands[1], kind,
                                         evictionPolicy(builder.getBuilder(), operands[2]));
}

void buildAsyncDescriptorPrefetch(TritonOpBuilder &builder, std::vector<Value> &values) {
  ArrayRef<Value> operands = ArrayRef(values).drop_front();
  constexpr StringRef policies[] = {"", "evict_first", "evict_last"};
  builder.create<AsyncDescriptorPrefetchOp>(operands[0], operands.drop_front(3), operands[1],
                                            policies[constantOf(operands[2])]);
}

void buildReadRegister(TritonOpBuilder &builder, std::vector<Value> &values) {
  const Register &source = registers[constantOf(values[1])];
  auto name = StringAttr::get(builder.getContext(), source.intrinsic);
  Type type = builder.getBuilder().getIntegerType(source.bits);
  values[0] = builder.create<LLVM::CallIntrinsicOp>(type, name, ValueRange()).getResult(0);
}

void buildVoteBallot(TritonOpBuilder &builder, std::vector<Value> &values) {
  auto name = StringAttr::get(builder.getContext(), "llvm.nvvm.vote.ballot.sync");
  values[0] = builder
                  .create<LLVM::CallIntrinsicOp>(builder.getBuilder().getI32Type(), name,
                                                 ValueRange{values[1], values[2]})
                  .getResult(0);
}

void buildThreadArrive(TritonOpBuilder &builder, std::vector<Value> &values) {
  // The stock op lets one thread arrive for all. What a view of rank 1 is converted to later has
  // its address first.
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context, 3);
  auto fields =
      LLVM::LLVMStructType::getLiteral(context, {pointer, builder.getBuilder().getI32Type()});
  Value view = builder.create<UnrealizedConversionCastOp>(fields, values[1]).getResult(0);
  Value address = builder.create<LLVM::ExtractValueOp>(view, ArrayRef<int64_t>{0});
  builder.create<LLVM::InlineAsmOp>(
      TypeRange(), ValueRange{address, values[2]},
      StringRef("@$1 mbarrier.arrive.shared::cta.b64 _, [$0];"), StringRef("r,b,~{memory}"),
      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT), /*operand_attrs=*/ArrayAttr());
}

void buildLocalBarrier(TritonOpBuilder &builder, std::vector<Value> &values) {
  builder.create<ttg::BarrierOp>(ttg::AddrSpace::Local);
}

void buildNamedBarrier(TritonOpBuilder &builder, std::vector<Value> &values) {
  // Intrinsics are convergent, which inline assembly is not: control flow passes could otherwise
  // clone one barrier into two that wait for different threads.
  StringRef name = constantOf(values[1]) == 0 ? "llvm.nvvm.barrier.cta.sync.aligned.count"
                                              : "llvm.nvvm.barrier.cta.arrive.aligned.count";
  auto barrier = builder.create<LLVM::CallIntrinsicOp>(StringAttr::get(builder.getContext(), name),
                                                       ValueRange{values[2], values[3]});
  barrier->setAttr(tritonext::tlx::kernelWarpsName,
                   builder.getBuilder().getI32IntegerAttr(constantOf(values[4])));
}

void buildFence(TritonOpBuilder &builder, std::vector<Value> &values) {
  constexpr StringRef scopes[] = {"device", "", "agent"};
  builder.create<LLVM::FenceOp>(LLVM::AtomicOrdering::acq_rel, scopes[constantOf(values[1])]);
}

void buildFenceBarrierInit(TritonOpBuilder &builder, std::vector<Value> &values) {
  if (constantOf(values[1]) == 1) {
    buildBarrierInitFence(builder.getBuilder(), builder.getLastLoc());
    return;
  }
  setClusterSize(builder, values[1]);
  builder.create<ttng::FenceMBarrierInitReleaseClusterOp>();
}

void buildClusterBarrier(TritonOpBuilder &builder, std::vector<Value> &values) {
  if (constantOf(values[1]) == 1) {
    builder.create<ClusterBarrierOp>();
    return;
  }
  setClusterSize(builder, values[1]);
  builder.create<ttng::ClusterBarrierOp>();
}

void buildAliasSpec(TritonOpBuilder &builder, std::vector<Value> &values) {
  IntegerAttr size;
  if (int64_t bytes = constantOf(values[1]))
    size = builder.getBuilder().getI32IntegerAttr(bytes);
  values[0] = builder.create<AliasSpecOp>(builder.getBuilder().getI32Type(), size).getResult();
}

void buildAliasStorage(TritonOpBuilder &builder, std::vector<Value> &values) {
  OpBuilder &plain = builder.getBuilder();
  auto number = [&](size_t index) { return plain.getI32IntegerAttr(constantOf(values[index])); };
  if (values.size() == 3)
    builder.create<AliasStorageOp>(values[1], values[2], plain.getI32IntegerAttr(0), IntegerAttr(),
                                   plain.getI32IntegerAttr(1));
  else
    builder.create<AliasStorageOp>(values[1], values[2], number(3), number(4), number(5));
}

void buildBulkLoad(TritonOpBuilder &builder, std::vector<Value> &values) {
  // The copy is no op that stock knows the accesses of: what others read from the buffer before,
  // and the initialisation of the barrier, have to be over.
  builder.create<ttg::BarrierOp>(ttg::AddrSpace::Local);
  constexpr StringRef policies[] = {"", "L2::evict_first", "L2::evict_last"};
  StringRef policy = policies[constantOf(values[5])];
  std::string text = oneThread.str();
  if (!policy.empty())
    text += (".reg .b64 c; createpolicy.fractional." + policy + ".b64 c, 1.0; ").str();
  text += "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
  text +=
      policy.empty() ? " [$1], [$2], $3, [$4]; }" : ".L2::cache_hint [$1], [$2], $3, [$4], c; }";
  buildAssembly(builder, text, "r,r,l,r,r,~{memory}",
                {builder.create<ttg::WarpIdOp>(), sharedAddress(builder, values[2]),
                 globalAddress(builder, values[1]), values[3], sharedAddress(builder, values[4])});
}

void buildBulkStore(TritonOpBuilder &builder, std::vector<Value> &values) {
  // What all threads stored has to be there.
  builder.create<ttg::BarrierOp>(ttg::AddrSpace::Local);
  std::string text = oneThread.str();
  text += "@p cp.async.bulk.global.shared::cta.bulk_group [$1], [$2], $3; "
          "@p cp.async.bulk.commit_group; }";
  buildAssembly(builder, text, "r,l,r,r,~{memory}",
                {builder.create<ttg::WarpIdOp>(), globalAddress(builder, values[1]),
                 sharedAddress(builder, values[2]), values[3]});
}

void buildPrefetchDescriptor(TritonOpBuilder &builder, std::vector<Value> &values) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value address = builder.create<UnrealizedConversionCastOp>(pointer, values[1]).getResult(0);
  buildAssembly(builder, "{ .reg .pred p; elect.sync _|p, -1; @p prefetch.tensormap [$0]; }", "l",
                {address});
}

void buildDescriptorMemory(TritonOpBuilder &builder, std::vector<Value> &values) {
  constexpr int32_t alignment = 128;
  Type type = tt::PointerType::get(builder.getBuilder().getI8Type(), tt::PtrAddrSpace::Global);
  values[0] = builder.create<ttg::GlobalScratchAllocOp>(type, constantOf(values[1]), alignment,
                                                        /*third_party_allocation=*/UnitAttr(),
                                                        /*shared_cluster_state=*/UnitAttr());
}

void buildStoreDescriptor(TritonOpBuilder &builder, std::vector<Value> &values) {
  builder.create<StoreDescriptorOp>(values[1], values[2]);
}

void buildLoadDescriptor(TritonOpBuilder &builder, std::vector<Value> &values) {
  values[0] = builder.create<LoadDescriptorOp>(values[2].getType(), values[1]).getDesc();
}

void buildInspectLayout(TritonOpBuilder &builder, std::vector<Value> &values) {
  Value other = values.size() == 3 ? values[2] : Value();
  Attribute expected;
  if (values.size() == 4) {
    auto holder = values[3].getDefiningOp<RequireLayoutOp>();
    expected = holder.getLayout();
    holder.erase();
  }
  builder.create<InspectLayoutOp>(values[1], other, expected);
}

void buildRequireLayout(TritonOpBuilder &builder, std::vector<Value> &values) {
  // Python sets the layout right after.
  values[0] = builder.create<RequireLayoutOp>(values[1].getType(), values[1],
                                              builder.getBuilder().getUnitAttr());
}

void buildRemoteArrive(TritonOpBuilder &builder, std::vector<Value> &values) {
  int64_t count = constantOf(values[4]), bytes = constantOf(values[5]);
  auto op =
      builder.create<RemoteArriveOp>(values[1], values[2], values[3], std::max<int64_t>(count, 1),
                                     /*bytes=*/IntegerAttr(), /*perThread=*/count == 0);
  if (bytes)
    op.setBytes(bytes);
}

void buildRemoteStore(TritonOpBuilder &builder, std::vector<Value> &values) {
  builder.create<RemoteStoreOp>(values[1], values[2], values[3],
                                values.size() == 5 ? values[4] : Value());
}

void buildRemoteLoad(TritonOpBuilder &builder, std::vector<Value> &values) {
  auto buffer = cast<ttg::MemDescType>(values[1].getType());
  auto type = RankedTensorType::get(buffer.getShape(), buffer.getElementType());
  values[0] = builder.create<RemoteLoadOp>(type, values[1], values[2]).getResult();
}

} // namespace tritonext::tlx
