//===- PrepareStock.cpp - Annotations that the stock pass can take --------===//
//
// On sm_100 the stock pass specializes loops, and fails on some. What it fails on is known: it
// takes one annotated loop of a nest, products of the annotated loop or of a loop right in it, and
// sums that fit into tensor memory.
//
//===----------------------------------------------------------------------===//

#include "tritonext_warpspec/Transforms/PrepareStock.h"

#include "tritonext_warpspec/Transforms/Plan.h"

#include "mlir/IR/Matchers.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Dialect/TritonNvidiaGPU/IR/Dialect.h"
#include "tritonext/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace tt = mlir::triton;
namespace ttg = mlir::triton::gpu;
namespace ttng = mlir::triton::nvidia_gpu;

namespace tritonext::warpspec {
namespace {

constexpr llvm::StringLiteral passName = "warpspec-specialize-loops";
// PTX ISA, tensor memory: 128 lanes of 512 columns of 32 bits.
constexpr int64_t lanes = 128, columns = 512, columnBits = 32;

int64_t columnsOf(ShapedType type) {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t bits = shape.back() * type.getElementTypeBitWidth();
  return llvm::divideCeil(shape.front(), lanes) * llvm::divideCeil(bits, columnBits);
}

/// Returns the tensor memory that the stock pass takes for the products of a loop: two buffers for
/// a sum that begins anew in each iteration, one for others and for a first operand that is
/// computed.
int64_t columnsOf(scf::ForOp loop) {
  int64_t sum = 0;
  for (auto dot : loop.getBody()->getOps<ttng::TCGen5MMAOp>()) {
    if (auto alloc = dot.getD().getDefiningOp<ttng::TMEMAllocOp>()) {
      bool isNew = alloc.getSrc() && matchPattern(alloc.getSrc(), m_Constant());
      sum += (isNew ? 2 : 1) * columnsOf(alloc.getType());
    }
    auto operand = dot.getA().getDefiningOp<ttg::LocalAllocOp>();
    if (operand && operand->getBlock() == loop.getBody() && operand.getSrc() &&
        !operand.getSrc().getDefiningOp<tt::DescriptorLoadOp>() &&
        !operand.getSrc().getDefiningOp<tt::LoadOp>())
      sum += columnsOf(operand.getType());
  }
  return sum;
}

bool hasAtomics(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<tt::AtomicRMWOp>(),
                      [](tt::AtomicRMWOp op) { return isa<RankedTensorType>(op.getType()); });
}

} // namespace

void prepareForStock(tt::FuncOp kernel) {
  SmallVector<scf::ForOp> annotated = findAnnotated(kernel);
  for (scf::ForOp loop : annotated) {
    bool isInside = llvm::any_of(annotated, [&](scf::ForOp other) {
      return other->hasAttr(annotation) && other->isProperAncestor(loop);
    });
    if (isInside) {
      loop->removeAttr(annotation);
      emitRemark(
          RemarkKind::Missed, loop, passName,
          "left to the annotation of the loop around it: the stock pass takes one of a nest");
      continue;
    }
    llvm::SmallSetVector<Operation *, 2> inner;
    loop.walk([&](ttng::TCGen5MMAOp dot) { inner.insert(dot->getParentOfType<scf::ForOp>()); });
    for (Operation *op : inner) {
      auto products = cast<scf::ForOp>(op);
      if (hasAtomics(products)) {
        loop->removeAttr(annotation);
        emitRemark(RemarkKind::Missed, products, passName,
                   "left without specialized warps: the stock pass fails on atomics in the loop");
      } else if (int64_t taken = columnsOf(products); taken > columns) {
        loop->removeAttr(annotation);
        emitRemark(RemarkKind::Missed, products, passName,
                   "left without specialized warps: the stock pass would take " + Twine(taken) +
                       " columns of tensor memory, of " + Twine(columns));
      }
    }
    if (!loop->hasAttr(annotation) || inner.size() != 1)
      continue;
    auto products = cast<scf::ForOp>(inner.front());
    bool hasDescriptors =
        loop.walk([](tt::DescriptorLoadLikeOpInterface) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (products != loop && !hasDescriptors) {
      loop->removeAttr(annotation);
      emitRemark(RemarkKind::Missed, products, passName,
                 "left without specialized warps: the stock pass needs a load by a descriptor");
    } else if (products != loop && products->getParentOp() != loop) {
      loop->removeAttr(annotation);
      products->setAttr(annotation, UnitAttr::get(kernel.getContext()));
      emitRemark(RemarkKind::Missed, loop, passName,
                 "moved the annotation to the loop of products: the stock pass fails on those that "
                 "are deeper in the loop");
    }
  }
}

} // namespace tritonext::warpspec
