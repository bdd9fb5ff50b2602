#include "tritonext/Remarks.h"
#include "tritonext_{{cookiecutter.id}}/Transforms/Passes.h"

#include "triton/Dialect/Triton/IR/Dialect.h"

#define DEBUG_TYPE "{{cookiecutter.__flag}}-{{cookiecutter.__pass_snake.replace('_', '-')}}"

using namespace mlir;

namespace tritonext::{{cookiecutter.id}} {

#define GEN_PASS_DEF_{{cookiecutter.__pass.upper()}}PASS
#include "tritonext_{{cookiecutter.id}}/Transforms/Passes.h.inc"

namespace {

/// Returns how many bytes a program stores with `store`.
int64_t bytesOf(triton::StoreOp store) {
  Type type = store.getValue().getType();
  int64_t elements = 1;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    elements = tensor.getNumElements();
  Type element = getElementTypeOrSelf(type);
  // Pointers have no width in MLIR; those of a GPU have 64 bits.
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return elements * bits / 8;
}

class {{cookiecutter.__pass}}Pass : public impl::{{cookiecutter.__pass}}PassBase<{{cookiecutter.__pass}}Pass> {
public:
  using impl::{{cookiecutter.__pass}}PassBase<{{cookiecutter.__pass}}Pass>::{{cookiecutter.__pass}}PassBase;

  void runOnOperation() override {
    if (minBytes < 0) {
      getOperation()->emitError("expected min-bytes of at least 0, got ") << minBytes.getValue();
      return signalPassFailure();
    }
    getOperation()->walk([&](triton::StoreOp store) { visit(store); });
  }

private:
  void visit(triton::StoreOp store) {
    auto streaming = triton::CachePolicyAttr::get(&getContext(), triton::CacheModifier::CS,
                                                  triton::EvictionPolicy::NORMAL);
    if (store.getCachePolicyAttr() == streaming)
      return;
    if (store.getCachePolicyAttr())
      return missed(store, "the store says itself how caches treat it");
    if (int64_t bytes = bytesOf(store); bytes < minBytes)
      return missed(store, Twine(bytes) + " bytes are fewer than min-bytes = " + Twine(minBytes));
    store.setCachePolicyAttr(streaming);
    emitRemark(RemarkKind::Applied, store, DEBUG_TYPE, "the store streams through the caches");
  }

  static void missed(triton::StoreOp store, const Twine &reason) {
    emitRemark(RemarkKind::Missed, store, DEBUG_TYPE, reason);
  }
};

} // namespace
} // namespace tritonext::{{cookiecutter.id}}
