//===- NarrowIndices.cpp - Gathers by indices of fewer bits ---------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "tritonext/Remarks.h"

namespace tritonext::layout {
#define GEN_PASS_DECL_NARROWINDICESPASS
#define GEN_PASS_DEF_NARROWINDICESPASS
#include "tritonext_layout/Transforms/Passes.h.inc"
} // namespace tritonext::layout

#define DEBUG_TYPE "layout-narrow-indices"

using namespace mlir;
using namespace mlir::triton;

namespace tritonext::layout {
namespace {

class NarrowIndicesPass : public impl::NarrowIndicesPassBase<NarrowIndicesPass> {
public:
  using NarrowIndicesPassBase::NarrowIndicesPassBase;

  void runOnOperation() override {
    getOperation().walk([](GatherOp gather) {
      Value indices = gather.getIndices();
      auto type = cast<RankedTensorType>(indices.getType());
      if (type.getElementTypeBitWidth() <= 32)
        return;
      int64_t size = gather.getSrc().getType().getDimSize(gather.getAxis());
      unsigned bits = size <= (1 << 15) ? 16 : 32;
      OpBuilder builder(gather);
      auto narrow = type.clone(builder.getIntegerType(bits));
      Value narrowed;
      auto extension = indices.getDefiningOp<arith::ExtSIOp>();
      if (extension && extension.getIn().getType() == narrow)
        narrowed = extension.getIn();
      else
        narrowed = arith::TruncIOp::create(builder, gather.getLoc(), narrow, indices);
      gather.getIndicesMutable().assign(narrowed);
      emitRemark(RemarkKind::Applied, gather, DEBUG_TYPE,
                 "indices into " + Twine(size) + " elements take " + Twine(bits) +
                     " bits instead of " + Twine(type.getElementTypeBitWidth()));
    });
  }
};

} // namespace
} // namespace tritonext::layout
