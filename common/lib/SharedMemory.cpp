#include "tritonext/SharedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using mlir::triton::LinearLayout;
namespace ttg = mlir::triton::gpu;

namespace {

Value constant(OpBuilder &builder, Location loc, int32_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

StringAttr dimension(MLIRContext *context, unsigned index) {
  return StringAttr::get(context, "dim" + Twine(index));
}

} // namespace

namespace tritonext {

SideEffects::Resource *sharedMemoryResource(ttg::MemDescType type) {
  static SideEffects::Resource *resource = [&] {
    OpBuilder builder(type.getContext());
    auto mutableType =
        ttg::MemDescType::get(type.getShape(), type.getElementType(), type.getEncoding(),
                              type.getMemorySpace(), /*mutableMemory=*/true);
    Operation *alloc =
        ttg::LocalAllocOp::create(builder, builder.getUnknownLoc(), mutableType, Value());
    SmallVector<MemoryEffects::EffectInstance> effects;
    cast<MemoryEffectOpInterface>(alloc).getEffects(effects);
    SideEffects::Resource *found = effects.front().getResource();
    alloc->erase();
    return found;
  }();
  return resource;
}

SharedView viewOf(OpBuilder &builder, Location loc, Value view) {
  int64_t rank = cast<ttg::MemDescType>(view.getType()).getRank();
  SmallVector<Type> fields(rank + 1, builder.getI32Type());
  fields[0] = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  Value parts = UnrealizedConversionCastOp::create(builder, loc, type, view).getResult(0);
  SharedView result{LLVM::ExtractValueOp::create(builder, loc, parts, ArrayRef<int64_t>{0}), {}};
  for (int64_t i = 1; i <= rank; ++i)
    result.begin.push_back(LLVM::ExtractValueOp::create(builder, loc, parts, ArrayRef<int64_t>{i}));
  return result;
}

LinearLayout elementsOf(ttg::MemDescType buffer) {
  MLIRContext *context = buffer.getContext();
  LinearLayout inverse = ttg::toLinearLayout(buffer).pseudoinvert();
  return inverse.sublayout(llvm::to_vector(inverse.getInDimNames()),
                           StringAttr::get(context, "offset"));
}

int32_t elementAt(const LinearLayout &elements, ArrayRef<int64_t> coordinates) {
  SmallVector<std::pair<StringAttr, int32_t>> inputs;
  for (auto [name, at] : llvm::zip_equal(elements.getInDimNames(), coordinates))
    inputs.push_back({name, int32_t(at)});
  return elements.apply(inputs).front().second;
}

Value selectBases(OpBuilder &builder, Location loc, Value bits, ArrayRef<int32_t> bases) {
  Value result = constant(builder, loc, 0);
  for (auto [position, basis] : llvm::enumerate(bases)) {
    if (basis == 0)
      continue;
    Value bit =
        arith::ShRUIOp::create(builder, loc, bits, constant(builder, loc, int32_t(position)));
    bit = arith::AndIOp::create(builder, loc, bit, constant(builder, loc, 1));
    Value part = arith::MulIOp::create(builder, loc, bit, constant(builder, loc, basis));
    result = arith::XOrIOp::create(builder, loc, result, part);
  }
  return result;
}

Value beginOf(OpBuilder &builder, Location loc, const SharedView &view,
              const LinearLayout &elements) {
  Value result = constant(builder, loc, 0);
  for (auto [index, at] : llvm::enumerate(view.begin)) {
    StringAttr name = dimension(builder.getContext(), index);
    SmallVector<int32_t> bases;
    for (int32_t bit = 0; bit < elements.getInDimSizeLog2(name); ++bit)
      bases.push_back(elements.getBasis(name, bit).front());
    result = arith::XOrIOp::create(builder, loc, result, selectBases(builder, loc, at, bases));
  }
  return result;
}

Value inFirstWarp(OpBuilder &builder, Location loc, Value condition) {
  Value warp = ttg::WarpIdOp::create(builder, loc, /*omitUniformHint=*/false);
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, warp,
                                      constant(builder, loc, 0));
  return arith::AndIOp::create(builder, loc, first, condition);
}

Value remoteAddress(OpBuilder &builder, Location loc, Value address, Value rank) {
  return LLVM::InlineAsmOp::create(
             builder, loc, builder.getI32Type(), ValueRange{address, rank},
             "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None,
             LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      .getResult(0);
}

Value specialRegister(OpBuilder &builder, Location loc, StringRef name) {
  StringAttr intrinsic = builder.getStringAttr("llvm.nvvm.read.ptx.sreg." + name);
  return LLVM::CallIntrinsicOp::create(builder, loc, builder.getI32Type(), intrinsic, ValueRange())
      .getResult(0);
}

ResultRange buildAsm(OpBuilder &builder, Location loc, TypeRange results, ValueRange operands,
                     StringRef text, StringRef constraints) {
  return LLVM::InlineAsmOp::create(
             builder, loc, results, operands, text, constraints, /*has_side_effects=*/true,
             /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
             LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      ->getResults();
}

void buildBarrierInitFence(OpBuilder &builder, Location loc) {
  buildAsm(builder, loc, TypeRange(), ValueRange(), "fence.mbarrier_init.release.cluster;",
           "~{memory}");
}

} // namespace tritonext
