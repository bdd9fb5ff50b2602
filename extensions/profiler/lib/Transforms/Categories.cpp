#include "tritonext_profiler/Transforms/Categories.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "triton/Analysis/Utility.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;

namespace tritonext::profiler {

namespace {

constexpr llvm::StringLiteral names[] = {
    "copy_issue",  "copy_wait",    "mma_issue",         "mma_wait", "global_load",   "global_store",
    "shared_load", "shared_store", "layout_conversion", "barrier",  "mbarrier_wait", "reduction",
    "atomic",      "elementwise",  "epilogue",          "idle",     "scope",         "other",
};

/// Returns the category of an op whose name decides it. By name, because the headers of AMD's
/// dialect and those of other extensions are not there.
std::optional<Category> byName(StringRef name) {
  return llvm::StringSwitch<std::optional<Category>>(name)
      .Cases({"ttg.async_copy_global_to_local", "ttg.async_commit_group",
              "ttng.async_tma_copy_global_to_local", "ttng.async_tma_copy_local_to_global",
              "ttng.async_tma_gather", "ttng.async_tma_scatter", "ttng.async_tma_reduce"},
             Category::CopyIssue)
      .Cases({"ttng.barrier_expect", "ttng.tmem_copy", "ttng.async_copy_mbarrier_arrive",
              "amdg.buffer_load_to_local", "amdg.async_tdm_copy_global_to_local",
              "amdg.async_tdm_copy_local_to_global", "amdg.async_copy_local_to_global"},
             Category::CopyIssue)
      .Cases({"ttg.async_wait", "ttng.async_tma_store_wait", "amdg.async_wait",
              "amdg.async_tdm_wait", "amdg.async_tdm_intrinsic_wait"},
             Category::CopyWait)
      .Cases({"tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma",
              "ttng.tc_gen5_mma_scaled", "ttng.tc_gen5_commit"},
             Category::MmaIssue)
      .Case("ttng.warp_group_dot_wait", Category::MmaWait)
      .Cases({"tt.load", "tt.descriptor_load", "tt.descriptor_gather", "amdg.buffer_load",
              "amdg.masked_load"},
             Category::GlobalLoad)
      .Cases({"tt.store", "tt.descriptor_store", "tt.descriptor_scatter", "tt.descriptor_reduce",
              "amdg.buffer_store", "amdg.masked_store"},
             Category::GlobalStore)
      .Cases({"ttg.local_load", "ttg.local_gather", "ttng.tmem_load",
              "amdg.local_load_packed_transposed"},
             Category::SharedLoad)
      .Cases({"ttg.local_store", "ttg.local_scatter", "ttng.tmem_store", "ttng.async_shared_store"},
             Category::SharedStore)
      .Cases({"ttg.barrier", "gpu.barrier", "rocdl.barrier", "rocdl.s.barrier", "nvvm.barrier0",
              "nvvm.barrier", "ttng.cluster_barrier"},
             Category::Barrier)
      .Cases({"amdg.cluster_barrier_arrive", "amdg.cluster_barrier_wait", "ttg.warp_yield"},
             Category::Barrier)
      .Cases({"ttng.wait_barrier", "amdg.wait_barrier"}, Category::MbarrierWait)
      .Cases({"tt.reduce", "tt.scan", "tt.histogram", "tt.gather"}, Category::Reduction)
      .Cases({"tt.atomic_rmw", "tt.atomic_cas", "amdg.buffer_atomic_rmw", "amdg.buffer_atomic_cas",
              "ttg.local_atomic_scatter_rmw"},
             Category::Atomic)
      .Case("ttg.warp_return", Category::Idle)
      .Cases({"tt.elementwise_inline_asm", "tt.extern_elementwise", "ttg.fp4_to_fp"},
             Category::Elementwise)
      .Cases({"tt.call", "tt.print", "tt.assert"}, Category::Other)
      .Default(std::nullopt);
}

/// Returns the category of PTX that an extension wrote.
std::optional<Category> byAssembly(StringRef text) {
  for (auto [part, category] : {std::pair(StringRef("try_wait"), Category::MbarrierWait),
                                std::pair(StringRef("tcgen05.mma"), Category::MmaIssue),
                                std::pair(StringRef("tcgen05.commit"), Category::MmaIssue),
                                std::pair(StringRef("wgmma.wait"), Category::MmaWait),
                                std::pair(StringRef("wgmma.mma"), Category::MmaIssue),
                                std::pair(StringRef("mma.sp"), Category::MmaIssue),
                                std::pair(StringRef("cp.async.bulk"), Category::CopyIssue),
                                std::pair(StringRef("bar"), Category::Barrier)})
    if (text.contains(part))
      return category;
  return std::nullopt;
}

bool isTensorOf(Type type, llvm::function_ref<bool(Type)> accepts) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && accepts(tensor.getElementType());
}

/// Whether an op computes with floats in tensors; views and constants do not.
bool isArithmetic(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect != "arith" && dialect != "math" &&
      !isa<tt::FpToFpOp, tt::ClampFOp, tt::MulhiUIOp>(op))
    return false;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return false;
  auto isFloat = [](Type type) {
    return isTensorOf(type, [](Type of) { return isa<FloatType>(of); });
  };
  return llvm::any_of(op->getOperandTypes(), isFloat) ||
         llvm::any_of(op->getResultTypes(), isFloat);
}

int64_t bytesOf(Type type) {
  ArrayRef<int64_t> shape;
  Type element;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    shape = tensor.getShape();
    element = tensor.getElementType();
  } else if (auto memory = dyn_cast<ttg::MemDescType>(type)) {
    shape = memory.getShape();
    element = memory.getElementType();
  } else {
    element = type;
  }
  if (auto pointer = dyn_cast<tt::PointerType>(element))
    element = pointer.getPointeeType();
  if (!element.isIntOrFloat())
    return 0;
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements * element.getIntOrFloatBitWidth() / 8;
}

ArrayRef<int64_t> shapeOf(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getShape();
  if (auto memory = dyn_cast<ttg::MemDescType>(type))
    return memory.getShape();
  return {};
}

} // namespace

ArrayRef<llvm::StringLiteral> categoryNames() { return names; }

StringRef nameOf(Category category) { return names[size_t(category)]; }

std::optional<Category> categoryOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (std::optional<Category> category = byName(name))
    return category;
  if (auto conversion = dyn_cast<ttg::ConvertLayoutOp>(op)) {
    if (cvtReordersRegisters(conversion.getSrc().getType(), conversion.getType()))
      return std::nullopt;
    return Category::LayoutConversion;
  }
  if (name == "ttg.local_alloc" || name == "ttng.tmem_alloc")
    return op->getNumOperands() ? std::optional(Category::SharedStore) : std::nullopt;
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op))
    return byAssembly(assembly.getAsmString());
  if (isArithmetic(op))
    return Category::Elementwise;
  StringRef dialect = op->getName().getDialectNamespace();
  // The products of other extensions, such as sparse ones.
  if (dialect != "tt" && dialect != "ttg" && dialect != "ttng" && dialect != "amdg" &&
      name.contains("dot"))
    return Category::MmaIssue;
  return std::nullopt;
}

Work workOf(Operation *op, Category category) {
  Work work;
  switch (category) {
  case Category::MmaIssue: {
    if (op->getNumOperands() < 2)
      break;
    ArrayRef<int64_t> a = shapeOf(op->getOperand(0).getType()),
                      b = shapeOf(op->getOperand(1).getType());
    if (a.size() < 2 || a.size() != b.size())
      break;
    work.flops = 2 * b.back();
    for (int64_t size : a)
      work.flops *= size;
    break;
  }
  case Category::Elementwise:
  case Category::Epilogue:
    for (Type type : op->getResultTypes())
      if (isTensorOf(type, [](Type of) { return isa<FloatType>(of); }))
        work.flops += cast<RankedTensorType>(type).getNumElements();
    break;
  case Category::Reduction:
    for (Type type : op->getOperandTypes())
      if (isTensorOf(type, [](Type of) { return isa<FloatType>(of); }))
        work.flops += cast<RankedTensorType>(type).getNumElements();
    break;
  case Category::GlobalLoad:
  case Category::SharedLoad:
    for (Type type : op->getResultTypes())
      work.bytes += isa<RankedTensorType>(type) || type.isIntOrFloat() ? bytesOf(type) : 0;
    break;
  case Category::GlobalStore:
    if (op->getNumOperands() > 1)
      work.bytes = bytesOf(op->getOperand(1).getType());
    break;
  case Category::SharedStore:
    work.bytes = bytesOf(op->getOperand(0).getType());
    break;
  case Category::Atomic:
    for (Type type : op->getResultTypes())
      work.bytes += bytesOf(type);
    break;
  case Category::CopyIssue:
    // One of the operands is the buffer in shared memory.
    for (Type type : op->getOperandTypes())
      if (auto memory = dyn_cast<ttg::MemDescType>(type))
        if (memory.getShape().size() > 1 || !memory.getElementType().isInteger(64))
          work.bytes = std::max(work.bytes, bytesOf(memory));
    break;
  default:
    break;
  }
  return work;
}

} // namespace tritonext::profiler
