#include "tritonext/Diagnostics.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "llvm/ADT/StringSwitch.h"

#include <tuple>

#define DEBUG_TYPE "tlx-check-shared-memory"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_CHECKSHAREDMEMORYPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// Returns the bytes of shared memory that a block of threads can have. CUDA C++ Programming Guide,
/// technical specifications per compute capability; AMD CDNA 3 and CDNA 4 instruction set
/// architectures, local data share.
std::optional<int64_t> limitOf(StringRef target) {
  return llvm::StringSwitch<std::optional<int64_t>>(target)
      .Case("cuda:80", 163 * 1024)
      .Cases({"cuda:90", "cuda:100"}, 227 * 1024)
      .Case("hip:gfx942", 64 * 1024)
      .Case("hip:gfx950", 160 * 1024)
      .Default(std::nullopt);
}

struct Buffer {
  ttg::LocalAllocOp op;
  int64_t offset;
  int64_t bytes;
};

std::string nameOf(Operation *op) {
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    return name.getName().str();
  return "unnamed";
}

std::string describe(Buffer &buffer) {
  auto type = buffer.op.getType();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << buffer.bytes << " bytes at " << buffer.offset << ": " << nameOf(buffer.op) << ", ";
  llvm::interleave(type.getShape(), os, "x");
  os << " of " << type.getElementType();
  if (auto line = buffer.op.getLoc()->findInstanceOf<FileLineColLoc>())
    os << ", line " << line.getLine();
  return text;
}

class CheckSharedMemoryPass : public impl::CheckSharedMemoryPassBase<CheckSharedMemoryPass> {
public:
  using impl::CheckSharedMemoryPassBase<CheckSharedMemoryPass>::CheckSharedMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto total = module->getAttrOfType<IntegerAttr>("ttg.shared");
    auto target = module->getAttrOfType<StringAttr>(ttg::AttrTargetName);
    std::optional<int64_t> limit = target ? limitOf(target.getValue()) : std::nullopt;
    if (!total || !limit || total.getInt() <= *limit)
      return;

    SmallVector<Buffer> buffers;
    module.walk([&](ttg::LocalAllocOp op) {
      if (auto offset = op->getAttrOfType<IntegerAttr>("allocation.offset")) {
        ttg::MemDescType type = op.getType();
        int64_t bits = type.getNumElements() * int64_t(type.getElementTypeBitWidth());
        buffers.push_back({op, offset.getInt(), (bits + 7) / 8});
      }
    });
    llvm::sort(buffers, [](const Buffer &a, const Buffer &b) {
      return std::tie(b.bytes, a.offset) < std::tie(a.bytes, b.offset);
    });

    Location loc = buffers.empty() ? module.getLoc() : buffers.front().op.getLoc();
    InFlightDiagnostic error = emitError(loc, "expected at most ")
                               << *limit << " bytes of shared memory, got " << total.getInt();
    setExhaustedResource(error, "shared memory", total.getInt(), *limit);
    for (Buffer &buffer : buffers)
      error << "\n" << describe(buffer);
    error << "\nthe rest is for conversions of layouts, reductions and alignment";
    error.attachNote() << "use smaller tiles or fewer slots";
    signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::tlx
