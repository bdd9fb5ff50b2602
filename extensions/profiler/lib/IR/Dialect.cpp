#include "tritonext_profiler/IR/Dialect.h"
#include "tritonext_profiler/IR/Builders.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/InliningUtils.h"
#include "python/src/ir.h"

using namespace mlir;

#include "tritonext_profiler/IR/Dialect.cpp.inc"

#define GET_OP_CLASSES
#include "tritonext_profiler/IR/Ops.cpp.inc"

namespace {

/// Without it no function with scopes would be inlined.
struct ProfilerInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};

} // namespace

void tritonext::profiler::ProfilerDialect::initialize() {
  addInterfaces<ProfilerInlinerInterface>();
  addOperations<
#define GET_OP_LIST
#include "tritonext_profiler/IR/Ops.cpp.inc"
      >();
}

uint64_t tritonext::profiler::digestOf(llvm::StringRef text) {
  uint64_t digest = 0xcbf29ce484222325;
  for (unsigned char byte : text)
    digest = (digest ^ byte) * 0x100000001b3;
  return digest;
}

void tritonext::profiler::buildNote(TritonOpBuilder &builder, std::vector<Value> &values) {
  // The first place is for what is returned: nothing.
  SmallVector<Value> arguments(llvm::drop_begin(values));
  auto numberOf = [](Value value) {
    IntegerAttr attribute;
    return matchPattern(value, m_Constant(&attribute)) ? attribute.getValue().getSExtValue() : 0;
  };
  if (arguments.empty())
    return;
  auto note = static_cast<Note>(numberOf(arguments.front()));
  bool hasValue = note == Note::MarkInteger || note == Note::MarkFloat;
  std::string name;
  for (Value byte : llvm::drop_begin(arguments, hasValue ? 2 : 1))
    name.push_back(static_cast<char>(numberOf(byte)));
  switch (note) {
  case Note::Enter:
    builder.create<EnterOp>(name);
    break;
  case Note::Exit:
    builder.create<ExitOp>(name);
    break;
  case Note::Mark:
  case Note::MarkInteger:
  case Note::MarkFloat:
    builder.create<MarkOp>(name, hasValue ? arguments[1] : Value(), note == Note::MarkFloat);
    break;
  }
}
