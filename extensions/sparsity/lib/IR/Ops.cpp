#include "tritonext/SharedMemory.h"
#include "tritonext_sparsity/IR/Dialect.h"
#include "tritonext_sparsity/IR/Layouts.h"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

#define GET_OP_CLASSES
#include "tritonext_sparsity/IR/Ops.cpp.inc"

namespace tritonext::sparsity {

bool areMultiplied(Type values, Type b) {
  auto isOcp = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  auto isFnuz = [](Type type) { return isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(type); };
  if (isFp8(values))
    return (isOcp(values) && isOcp(b)) || (isFnuz(values) && isFnuz(b));
  return values == b &&
         (values.isF16() || values.isBF16() || values.isF32() || values.isInteger(8));
}

bool canAccumulate(Type values, Type acc) {
  if (values.isInteger(8))
    return acc.isInteger(32);
  return acc.isF32() || (acc.isF16() && (values.isF16() || isFp8(values)));
}

namespace {

/// Checks what every form of the product has to obey.
LogicalResult verifyProduct(Operation *op, ShapedType values, ShapedType meta, ShapedType b,
                            ShapedType acc, bool hasUnsigned) {
  for (ShapedType type : {values, meta, b, acc})
    if (type.getRank() != 2)
      return op->emitOpError("expected matrices, got ") << type;
  Type element = values.getElementType();
  if (!areMultiplied(element, b.getElementType()))
    return op->emitOpError("expected values and b of f16, bf16, f32 or i8, or both of 8-bit floats "
                           "of one kind, got ")
           << element << " and " << b.getElementType();
  if (!canAccumulate(element, acc.getElementType()))
    return op->emitOpError("expected an accumulator of f32, of f16 for f16 and 8-bit floats, or of "
                           "i32 for i8, got ")
           << acc.getElementType() << " for " << element;
  if (hasUnsigned && !element.isInteger(8))
    return op->emitOpError("expected unsigned operands to be of i8, got ") << element;
  if (!meta.getElementType().isInteger(8))
    return op->emitOpError("expected metadata of i8, got ") << meta.getElementType();
  int64_t m = values.getShape()[0], k = 2 * values.getShape()[1], n = b.getShape()[1];
  int64_t bytes = k / columnsPerByte(element);
  if (b.getShape()[0] != k)
    return op->emitOpError("expected b with ")
           << k << " rows, two for each column of the values, got " << b;
  if (meta.getShape() != ArrayRef<int64_t>{m, bytes})
    return op->emitOpError("expected metadata of ")
           << m << " x " << bytes << " bytes for values " << values << ", got " << meta;
  if (acc.getShape() != ArrayRef<int64_t>{m, n})
    return op->emitOpError("expected an accumulator of ") << m << " x " << n << ", got " << acc;
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// DotOp
//===----------------------------------------------------------------------===//

Value DotOp::getA() { return getValues(); }

// The verifier says what is wrong with sizes; stock speaks of operands of one K.
bool DotOp::verifyDims() { return true; }
bool DotOp::verifyOutputDims() { return true; }

// Stock spreads the layout of the result over the loop of the product, as for its own products.
bool DotOp::getEfficientLayout() {
  return isa_and_nonnull<ttg::MmaEncodingTrait>(getD().getType().getEncoding());
}

LogicalResult DotOp::verify() {
  return verifyProduct(*this, getValues().getType(), getMeta().getType(), getB().getType(),
                       getAcc().getType(), getUnsignedValues() || getUnsignedB());
}

//===----------------------------------------------------------------------===//
// AsyncDotOp
//===----------------------------------------------------------------------===//

LogicalResult AsyncDotOp::verify() {
  return verifyProduct(*this, cast<ShapedType>(getValues().getType()), getMeta().getType(),
                       cast<ShapedType>(getB().getType()), getAcc().getType(),
                       getUnsignedValues() || getUnsignedB());
}

//===----------------------------------------------------------------------===//
// ExpandOp
//===----------------------------------------------------------------------===//

LogicalResult ExpandOp::verify() {
  RankedTensorType dense = getDense().getType(), values = getValues().getType(),
                   meta = getMeta().getType();
  Type element = dense.getElementType();
  if (dense.getRank() != 2 || values.getElementType() != element ||
      !meta.getElementType().isInteger(8))
    return emitOpError("expected values of the matrix and metadata of i8, got ")
           << values << " and " << meta << " for " << dense;
  int64_t m = dense.getShape()[0], k = dense.getShape()[1];
  if (values.getShape() != ArrayRef<int64_t>{m, k / 2} ||
      meta.getShape() != ArrayRef<int64_t>{m, k / columnsPerByte(element)})
    return emitOpError("expected values of ")
           << m << " x " << k / 2 << " and metadata of " << m << " x "
           << k / columnsPerByte(element) << ", got " << values << " and " << meta;
  return success();
}

//===----------------------------------------------------------------------===//
// WarpGroupDotOp
//===----------------------------------------------------------------------===//

Value WarpGroupDotOp::getA() { return getValues(); }
bool WarpGroupDotOp::verifyDims() { return true; }
bool WarpGroupDotOp::verifyOutputDims() { return true; }
bool WarpGroupDotOp::getEfficientLayout() { return true; }

LogicalResult WarpGroupDotOp::verify() {
  auto values = cast<ShapedType>(getValues().getType());
  ttg::MemDescType b = getB().getType();
  RankedTensorType acc = getAcc().getType(), meta = getMeta().getType();
  if (failed(verifyProduct(*this, values, meta, cast<ShapedType>(b), acc,
                           getUnsignedValues() || getUnsignedB())))
    return failure();
  auto mma = dyn_cast_or_null<ttg::NvidiaMmaEncodingAttr>(acc.getEncoding());
  if (!mma || !mma.isHopper())
    return emitOpError("expected an accumulator in a layout of MMA version 3, got ") << acc;
  int numWarps = ttg::lookupNumWarps(*this);
  if (numWarps % 4)
    return emitOpError("expected whole warp groups of 4 warps, got ") << numWarps << " warps";
  Type element = values.getElementType();
  int64_t step = columnsPerStep(element), k = b.getShape()[0];
  if (acc.getShape()[0] % 64 || acc.getShape()[1] % 8 || k % step)
    return emitOpError("expected M a multiple of 64, N of 8 and K of ")
           << step << ", got " << acc.getShape()[0] << ", " << acc.getShape()[1] << " and " << k;
  auto isShared = [](Attribute layout) { return isa<ttg::NVMMASharedEncodingAttr>(layout); };
  if (auto memory = dyn_cast<ttg::MemDescType>(getValues().getType())) {
    if (!isShared(memory.getEncoding()))
      return emitOpError("expected values in an NVMMA layout of shared memory, got ") << memory;
  } else {
    auto layout = dyn_cast_or_null<ttg::DotOperandEncodingAttr>(
        cast<RankedTensorType>(getValues().getType()).getEncoding());
    unsigned width = 32 / element.getIntOrFloatBitWidth();
    if (!layout || layout.getParent() != mma || layout.getOpIdx() != 0 ||
        layout.getKWidth() != width)
      return emitOpError("expected values in the layout of the first operand of the accumulator, "
                         "kWidth ")
             << width << ", got " << getValues().getType();
  }
  if (!isShared(b.getEncoding()))
    return emitOpError("expected b in an NVMMA layout of shared memory, got ") << b;
  ttg::LinearEncodingAttr expected = metadataLayout(acc, element, meta.getShape()[1]);
  if (meta.getEncoding() != expected)
    return emitOpError("expected metadata in the layout ") << expected << ", got " << meta;
  return success();
}

void WarpGroupDotOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  // Stock places barriers and fences by the kind of an effect, and overlooks one without.
  auto kind = ttg::SharedKindAttr::get(getContext(), ttg::SharedKind::Async);
  auto read = [&](OpOperand &operand) {
    effects.emplace_back(MemoryEffects::Read::get(), &operand, kind,
                         sharedMemoryResource(getB().getType()));
  };
  if (isa<ttg::MemDescType>(getValues().getType()))
    read(getValuesMutable());
  read(getBMutable());
}

} // namespace tritonext::sparsity
