// A plugin as small as one can be: Triton's entry point, the extension's entry point, and a native
// self-test that asks two ops of libtriton whether they are terminators. LLVM's headers add the
// rest.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "tritonext/Extension.h"

static bool isTerminator(mlir::MLIRContext &context, llvm::StringRef name) {
  mlir::OperationState state(mlir::UnknownLoc::get(&context), name);
  mlir::Operation *op = mlir::Operation::create(state);
  bool answer = op->hasTrait<mlir::OpTrait::IsTerminator>();
  op->destroy();
  return answer;
}

static const char *selfTest() {
  static std::string text;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::scf::SCFDialect, mlir::triton::TritonDialect>();
  int found = isTerminator(context, "scf.yield") + isTerminator(context, "tt.return");
  text = "{\"terminators\": " + std::to_string(found) +
         ", \"terminators_expected\": 2, \"wrong\": [" +
         (found == 2 ? "" : "\"tt.return lacks IsTerminator\"") + "]}";
  return text.c_str();
}

extern "C" const tritonext::ExtensionInfo *tritonextGetExtensionInfo() {
  static const tritonext::ExtensionInfo info = {2,   "small", "0",     "0",     "0",
                                                "0", nullptr, nullptr, selfTest};
  return &info;
}

struct PluginInfo {
  uint32_t version;
  const char *names[2];
  void *tables[6];
  const char *triton;
};

extern "C" __attribute__((visibility("default"))) PluginInfo *tritonGetPluginInfo() {
  static PluginInfo info = {2};
  return &info;
}
