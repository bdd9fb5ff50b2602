#include "tritonext_tlx/Transforms/Passes.h"

#include "triton/Dialect/TritonGPU/IR/LinearLayoutConversions.h"

#define DEBUG_TYPE "tlx-inspect-layouts"

using namespace mlir;
namespace ttg = mlir::triton::gpu;

namespace tritonext::tlx {

#define GEN_PASS_DEF_INSPECTLAYOUTSPASS
#include "tritonext_tlx/Transforms/Passes.h.inc"

namespace {

/// Returns what a value was before conversions, which stock passes put in front of ops they do not
/// know.
Value origin(Value value) {
  while (auto conversion = value.getDefiningOp<ttg::ConvertLayoutOp>())
    value = conversion.getSrc();
  return value;
}

Attribute layoutOf(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getEncoding();
  return cast<ttg::MemDescType>(type).getEncoding();
}

mlir::triton::LinearLayout linear(Type type, Attribute layout) {
  return ttg::toLinearLayout(cast<ShapedType>(type).getShape(), layout);
}

/// Prints where the user wrote something, behind names and calls.
void printPlace(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    llvm::errs() << file.getFilename().getValue() << ':' << file.getLine() << ':'
                 << file.getColumn() << ": ";
  else if (auto name = dyn_cast<NameLoc>(loc))
    printPlace(name.getChildLoc());
  else if (auto call = dyn_cast<CallSiteLoc>(loc))
    printPlace(call.getCallee());
}

class InspectLayoutsPass : public impl::InspectLayoutsPassBase<InspectLayoutsPass> {
public:
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](InspectLayoutOp op) {
      Value value = origin(op.getValue());
      Attribute layout = layoutOf(value.getType());
      Attribute other = op.getOther() ? layoutOf(origin(op.getOther()).getType())
                                      : op.getExpected().value_or(Attribute());
      if (!other) {
        printPlace(op.getLoc());
        llvm::errs() << "the layout of " << value.getType() << " is " << layout << ", which is"
                     << linear(value.getType(), layout).toString() << '\n';
      } else if (layout != other &&
                 linear(value.getType(), layout) != linear(value.getType(), other)) {
        op->emitError("expected the layout ") << other << ", got " << layout;
        return WalkResult::interrupt();
      }
      op.erase();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tritonext::tlx
