#include "tritonext_tlx/IR/Dialect.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "tlx-place-aliases"

using namespace mlir;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_PLACEALIASESPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

// The allocation is cut into pieces of as many bytes, which every plain buffer is aligned to.
constexpr int64_t pieceBytes = 16;

// Of a column of tensor memory in each row.
constexpr int64_t columnBytes = 4;

bool isInTensorMemory(ttg::MemDescType type) {
  return isa<ttng::TensorMemorySpaceAttr>(type.getMemorySpace());
}

bool isAllocation(Value buffer) {
  return isa_and_present<ttg::LocalAllocOp, ttng::TMEMAllocOp>(buffer.getDefiningOp());
}

/// A buffer and where its slots start: in bytes of shared memory, or in columns of tensor memory.
struct Placement {
  Value buffer;
  int64_t offset = 0;
  int64_t stride = 0;
  int64_t group = 1;
  /// What says so; null for slots that follow each other from the start.
  AliasStorageOp overlap;

  Operation *alloc() { return buffer.getDefiningOp(); }
  ttg::MemDescType type() { return cast<ttg::MemDescType>(buffer.getType()); }
  int64_t slots() { return type().getShape().front(); }
  ttg::MemDescType slotType() {
    return ttg::MemDescType::get(type().getShape().drop_front(), type().getElementType(),
                                 type().getEncoding(), type().getMemorySpace(),
                                 type().getMutableMemory());
  }
  int64_t rows() { return ttng::getTmemAllocSizes(slotType()).numRows; }
  int64_t slotSize() {
    if (isInTensorMemory(type()))
      return ttng::getTmemAllocSizes(slotType()).numCols;
    int64_t elements = ShapedType::getNumElements(type().getShape().drop_front());
    return elements * type().getElementTypeBitWidth() / 8;
  }
  /// Whether a slot has the same number in a view from the start of the memory.
  bool isPlain() {
    return !overlap || (offset == 0 && (stride == group * slotSize() || slots() == group));
  }
  /// The number of a slot in a view from the start of the memory.
  int64_t place(int64_t slot) {
    if (isPlain())
      return slot;
    return slot / group * (stride / slotSize()) + offset / slotSize() + slot % group;
  }
  int64_t placedSlots() { return place(slots() - 1) + 1; }
};

class PlaceAliasesPass : public impl::PlaceAliasesPassBase<PlaceAliasesPass> {
public:
  using impl::PlaceAliasesPassBase<PlaceAliasesPass>::PlaceAliasesPassBase;

  void runOnOperation() override {
    llvm::MapVector<AliasSpecOp, SmallVector<AliasStorageOp>> specs;
    getOperation().walk([&](AliasSpecOp spec) { specs[spec]; });
    WalkResult found = getOperation().walk([&](AliasStorageOp storage) {
      auto spec = storage.getSpec().getDefiningOp<AliasSpecOp>();
      if (!spec || !isAllocation(storage.getBuffer())) {
        storage->emitError("expected a storage_alias_spec and its buffer outside of tasks and of "
                           "functions that are not inlined, got a value from elsewhere");
        return WalkResult::interrupt();
      }
      specs[spec].push_back(storage);
      return WalkResult::advance();
    });
    if (found.wasInterrupted())
      return signalPassFailure();
    for (auto &[spec, storages] : specs)
      if (failed(place(spec, storages)))
        return signalPassFailure();
  }

private:
  static LogicalResult place(AliasSpecOp spec, ArrayRef<AliasStorageOp> storages) {
    llvm::MapVector<Value, Placement> placements;
    for (AliasStorageOp storage : storages)
      if (!storage.getStride())
        placements[storage.getBuffer()].buffer = storage.getBuffer();
    if (failed(checkMemory(placements)) || failed(readOverlap(spec, storages, placements)))
      return failure();

    OpBuilder builder(spec);
    if (!placements.empty()) {
      int64_t needed = 0;
      for (auto &[buffer, placement] : placements)
        needed = std::max(needed, placement.placedSlots() * placement.slotSize());
      Placement &first = placements.front().second;
      int64_t unit = isInTensorMemory(first.type()) ? first.rows() * columnBytes : 1;
      int64_t bytes = spec.getSize().value_or(needed * unit);
      if (bytes < needed * unit)
        return spec->emitError("expected buffer_size_bytes of ")
               << needed * unit << " or more, which the buffers need, got " << bytes;
      Value memory =
          isInTensorMemory(first.type())
              ? allocateColumns(builder, spec.getLoc(), llvm::divideCeil(bytes, unit), first)
              : allocate(builder, spec.getLoc(), bytes, placements);
      for (auto &[buffer, placement] : placements)
        if (failed(moveTo(memory, placement)))
          return failure();
    }
    for (AliasStorageOp storage : storages)
      storage.erase();
    for (auto &[buffer, placement] : placements)
      placement.alloc()->erase();
    if (!spec.use_empty())
      return spec->emitError(
          "expected a storage_alias_spec that only buffers use, got another use");
    spec.erase();
    return success();
  }

  static LogicalResult checkMemory(llvm::MapVector<Value, Placement> &placements) {
    for (auto &[buffer, placement] : placements) {
      Placement &first = placements.front().second;
      StringRef differs;
      if (placement.type().getMemorySpace() != first.type().getMemorySpace())
        differs = "memory";
      else if (isInTensorMemory(first.type()) && placement.rows() != first.rows())
        differs = "number of rows";
      else
        continue;
      InFlightDiagnostic error = placement.alloc()->emitError("expected buffers of one ")
                                 << differs << " in a storage_alias_spec, got another";
      error.attachNote(first.alloc()->getLoc()) << "the first one is here";
      return error;
    }
    return success();
  }

  static LogicalResult readOverlap(AliasSpecOp spec, ArrayRef<AliasStorageOp> storages,
                                   llvm::MapVector<Value, Placement> &placements) {
    AliasStorageOp first;
    for (AliasStorageOp storage : storages) {
      if (!storage.getStride())
        continue;
      auto entry = placements.find(storage.getBuffer());
      if (entry == placements.end())
        return storage->emitError("expected a buffer that reuses this storage_alias_spec, got one "
                                  "with memory of its own or of another");
      Placement &placement = entry->second;
      if (placement.overlap) {
        InFlightDiagnostic error =
            storage->emitError("expected one overlap for a storage_alias_spec, got a second one");
        error.attachNote(placement.overlap->getLoc()) << "the first one is here";
        return error;
      }
      placement.overlap = storage;
      placement.offset = storage.getOffset();
      placement.stride = *storage.getStride();
      placement.group = storage.getGroup();
      first = storage;
    }
    for (auto &[buffer, placement] : placements) {
      if (!first || placement.overlap)
        continue;
      InFlightDiagnostic error = first->emitError(
          "expected an overlap of all buffers of the storage_alias_spec, got one without a place");
      error.attachNote(placement.alloc()->getLoc()) << "allocated here";
      return error;
    }
    return success();
  }

  static Value allocate(OpBuilder &builder, Location loc, int64_t bytes,
                        llvm::MapVector<Value, Placement> &placements) {
    MLIRContext *context = builder.getContext();
    int64_t alignment = 1;
    for (auto &[buffer, placement] : placements)
      alignment = std::max<int64_t>(
          alignment, cast<ttg::LocalAllocOp>(placement.alloc()).getAlignmentOrDefault());
    Attribute space = placements.front().second.type().getMemorySpace();
    auto layout = ttg::SwizzledSharedEncodingAttr::get(
        context, 1, 1, 1, {0}, ttg::CGAEncodingAttr::get1CTALayout(context, 1));
    int64_t pieces = (bytes + pieceBytes - 1) / pieceBytes;
    auto type = ttg::MemDescType::get({pieces, pieceBytes}, builder.getI8Type(), layout, space,
                                      /*mutableMemory=*/true);
    return ttg::LocalAllocOp::create(builder, loc, type, Value(), alignment);
  }

  /// Allocates columns of 32 bits, as slots of one, in the rows of a buffer.
  static Value allocateColumns(OpBuilder &builder, Location loc, int64_t columns,
                               Placement &first) {
    MLIRContext *context = builder.getContext();
    int64_t rows = first.rows();
    auto layout = ttng::TensorMemoryEncodingAttr::get(context, rows, /*blockN=*/1, /*colStride=*/1,
                                                      ttg::getCGALayout(first.type().getEncoding()),
                                                      /*twoCTAs=*/false, /*fp4Padded=*/false);
    auto type = ttg::MemDescType::get({columns, rows, 1}, builder.getI32Type(), layout,
                                      first.type().getMemorySpace(), /*mutableMemory=*/true);
    return ttng::TMEMAllocOp::create(builder, loc, type, Type(), Value());
  }

  static LogicalResult moveTo(Value memory, Placement &placement) {
    OpBuilder builder(placement.alloc());
    ttg::MemDescType type = placement.type();
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = placement.placedSlots();
    auto viewType = ttg::MemDescType::get(shape, type.getElementType(), type.getEncoding(),
                                          type.getMemorySpace(), type.getMutableMemory());
    Value view =
        ttg::MemDescReinterpretOp::create(builder, placement.alloc()->getLoc(), viewType, memory);
    if (!placement.isPlain())
      return renumber(placement.buffer, view, placement);
    placement.buffer.replaceUsesWithIf(
        view, [](OpOperand &use) { return !isa<AliasStorageOp>(use.getOwner()); });
    return success();
  }

  /// Replaces a buffer whose slots lie apart, or the argument of a task for it, by a view of more
  /// slots.
  static LogicalResult renumber(Value buffer, Value view, Placement &placement) {
    for (OpOperand &use : llvm::make_early_inc_range(buffer.getUses())) {
      Operation *user = use.getOwner();
      if (isa<AliasStorageOp>(user))
        continue;
      if (auto index = dyn_cast<ttg::MemDescIndexOp>(user)) {
        OpBuilder builder(index);
        index.getIndexMutable().assign(placed(builder, index, placement));
        index.getSrcMutable().assign(view);
        continue;
      }
      auto partitions = dyn_cast<ttg::WarpSpecializePartitionsOp>(user);
      if (!partitions) {
        InFlightDiagnostic error =
            user->emitError("expected a buffer whose slots lie apart to be indexed where it is "
                            "allocated or in a task, got another use");
        error.attachNote(placement.overlap->getLoc()) << "placed here";
        return error;
      }
      for (Region &region : partitions.getPartitionRegions()) {
        BlockArgument argument = region.getArgument(use.getOperandNumber());
        argument.setType(view.getType());
        if (failed(renumber(argument, argument, placement)))
          return failure();
      }
      use.set(view);
    }
    return success();
  }

  static Value placed(OpBuilder &builder, ttg::MemDescIndexOp index, Placement &placement) {
    Location loc = index.getLoc();
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
    };
    APInt constant;
    if (matchPattern(index.getIndex(), m_ConstantInt(&constant)))
      return number(placement.place(constant.getSExtValue()));
    Value slot = index.getIndex(), group = number(placement.group);
    Value first =
        arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, slot, group),
                              number(placement.stride / placement.slotSize()));
    Value rest =
        arith::AddIOp::create(builder, loc, arith::RemUIOp::create(builder, loc, slot, group),
                              number(placement.offset / placement.slotSize()));
    return arith::AddIOp::create(builder, loc, first, rest);
  }
};

} // namespace
} // namespace tritonext::tlx
