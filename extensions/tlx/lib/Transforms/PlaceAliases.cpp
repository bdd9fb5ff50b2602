#include "tritonext_tlx/IR/Dialect.h"
#include "tritonext_tlx/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "tlx-place-aliases"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_PLACEALIASESPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

// The allocation is cut into pieces of as many bytes, which every plain buffer is aligned to.
constexpr int64_t pieceBytes = 16;

/// A buffer and where its slots start.
struct Placement {
  ttg::LocalAllocOp alloc;
  int64_t offset = 0;
  int64_t stride = 0;
  int64_t group = 1;
  /// What says so; null for slots that follow each other from the start.
  AliasStorageOp overlap;

  ttg::MemDescType type() { return cast<ttg::MemDescType>(alloc.getType()); }
  int64_t slots() { return type().getShape().front(); }
  int64_t slotBytes() {
    int64_t elements = ShapedType::getNumElements(type().getShape().drop_front());
    return elements * type().getElementTypeBitWidth() / 8;
  }
  /// Whether a slot has the same number in a view from the start of the memory.
  bool isPlain() {
    return !overlap || (offset == 0 && (stride == group * slotBytes() || slots() == group));
  }
  /// The number of a slot in a view from the start of the memory.
  int64_t place(int64_t slot) {
    if (isPlain())
      return slot;
    return slot / group * (stride / slotBytes()) + offset / slotBytes() + slot % group;
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
      if (!spec || !storage.getBuffer().getDefiningOp<ttg::LocalAllocOp>()) {
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
        placements[storage.getBuffer()].alloc =
            storage.getBuffer().getDefiningOp<ttg::LocalAllocOp>();
    if (failed(readOverlap(spec, storages, placements)))
      return failure();

    int64_t bytes = 0, alignment = 1;
    for (auto &[buffer, placement] : placements) {
      bytes = std::max(bytes, placement.placedSlots() * placement.slotBytes());
      alignment = std::max<int64_t>(alignment, placement.alloc.getAlignmentOrDefault());
    }
    if (int64_t size = spec.getSize().value_or(bytes); size < bytes)
      return spec->emitError("expected buffer_size_bytes of ")
             << bytes << " or more, which the buffers need, got " << size;
    else
      bytes = size;

    OpBuilder builder(spec);
    if (!placements.empty()) {
      Value memory = allocate(builder, spec.getLoc(), bytes, alignment,
                              placements.front().second.type().getMemorySpace());
      for (auto &[buffer, placement] : placements)
        if (failed(moveTo(memory, placement)))
          return failure();
    }
    for (AliasStorageOp storage : storages)
      storage.erase();
    for (auto &[buffer, placement] : placements)
      placement.alloc.erase();
    if (!spec.use_empty())
      return spec->emitError(
          "expected a storage_alias_spec that only buffers use, got another use");
    spec.erase();
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
      error.attachNote(placement.alloc->getLoc()) << "allocated here";
      return error;
    }
    return success();
  }

  static Value allocate(OpBuilder &builder, Location loc, int64_t bytes, int64_t alignment,
                        Attribute space) {
    MLIRContext *context = builder.getContext();
    auto layout = ttg::SwizzledSharedEncodingAttr::get(
        context, 1, 1, 1, {0}, ttg::CGAEncodingAttr::get1CTALayout(context, 1));
    int64_t pieces = (bytes + pieceBytes - 1) / pieceBytes;
    auto type = ttg::MemDescType::get({pieces, pieceBytes}, builder.getI8Type(), layout, space,
                                      /*mutableMemory=*/true);
    return ttg::LocalAllocOp::create(builder, loc, type, Value(), alignment);
  }

  static LogicalResult moveTo(Value memory, Placement &placement) {
    OpBuilder builder(placement.alloc);
    ttg::MemDescType type = placement.type();
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = placement.placedSlots();
    auto viewType = ttg::MemDescType::get(shape, type.getElementType(), type.getEncoding(),
                                          type.getMemorySpace(), type.getMutableMemory());
    Value view =
        ttg::MemDescReinterpretOp::create(builder, placement.alloc.getLoc(), viewType, memory);
    if (!placement.isPlain())
      return renumber(placement.alloc.getResult(), view, placement);
    placement.alloc.getResult().replaceUsesWithIf(
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
                              number(placement.stride / placement.slotBytes()));
    Value rest =
        arith::AddIOp::create(builder, loc, arith::RemUIOp::create(builder, loc, slot, group),
                              number(placement.offset / placement.slotBytes()));
    return arith::AddIOp::create(builder, loc, first, rest);
  }
};

} // namespace
} // namespace tritonext::tlx
