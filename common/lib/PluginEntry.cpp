//===- PluginEntry.cpp - Entry points of an extension library -------------===//
//
// Compiled into every extension together with PluginTable.inc, which the build generates from the
// extension's manifest. Nothing here runs when the library is loaded: a static initialiser that
// touched MLIR would run before Triton could check that the library fits.
//
//===----------------------------------------------------------------------===//

#include "DiagnosticCollection.h"
#include "RemarkCollection.h"
#include "tritonext/Extension.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"
#include "triton/Tools/PluginUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

using namespace mlir;
namespace plugin = mlir::triton::plugin;

namespace {

struct PassRecord {
  const char *name;
  std::unique_ptr<Pass> (*create)();
};

struct DialectRecord {
  const char *name;
  void (*insert)(DialectRegistry *);
};

struct OpRecord {
  const char *name;
  void (*build)(TritonOpBuilder &, std::vector<Value> &);
};

template <typename DialectT>
void insertDialect(DialectRegistry *registry) {
  registry->insert<DialectT>();
}

} // namespace

#include "PluginTable.inc"

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

/// Stands in for a pass whose options do not parse: an op-located error when the pipeline runs,
/// where the caller expects one, instead of a failure while the pipeline is built.
class RejectOptionsPass : public PassWrapper<RejectOptionsPass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RejectOptionsPass)

  RejectOptionsPass(llvm::StringRef pass, std::string reason)
      : pass(pass), reason(std::move(reason)) {}

  llvm::StringRef getName() const override { return pass; }

  void runOnOperation() override {
    getOperation()->emitError() << "pass '" << pass << "': " << reason;
    signalPassFailure();
  }

private:
  llvm::StringRef pass;
  std::string reason;
};

/// Parses `options` into `pass`; on failure `reason` says what is wrong.
LogicalResult parseOptions(Pass &pass, llvm::StringRef options, std::string &reason) {
  std::string accepted;
  llvm::raw_string_ostream os(accepted);
  pass.printAsTextualPipeline(os);
  LogicalResult parsed = pass.initializeOptions(options, [&](const llvm::Twine &message) {
    reason = llvm::StringRef(message.str()).trim().str();
    return failure();
  });
  if (failed(parsed))
    reason = "expected options like " + accepted + ", got '" + options.str() + "'" +
             (reason.empty() ? std::string() : ": " + reason);
  return parsed;
}

template <size_t Index>
void addPass(PassManager *manager, const std::vector<std::string> &options) {
  tritonext::detail::collectFrom(*manager);
  const PassRecord &record = passRecords[Index];
  std::unique_ptr<Pass> pass = record.create();
  std::string reason;
  if (failed(parseOptions(*pass, llvm::join(options, " "), reason)))
    pass = std::make_unique<RejectOptionsPass>(record.name, std::move(reason));

  // Triton's pass managers run on modules, and adding a pass for another op to one is a fatal
  // error. "any" pass managers have no name and accept every pass, but run it on the module.
  std::optional<llvm::StringRef> opName = pass->getOpName();
  if (opName && *opName != manager->getOpName().value_or(ModuleOp::getOperationName()))
    manager->nest(*opName).addPass(std::move(pass));
  else
    manager->addPass(std::move(pass));
}

template <size_t Index>
void registerPassEntry() {
  registerPass([] { return passRecords[Index].create(); });
}

const PassRecord *findPass(llvm::StringRef flagOrName) {
  for (const PassRecord &record : passRecords)
    if (flagOrName == record.name || record.create()->getArgument() == flagOrName)
      return &record;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Remembers whether the last op that a builder callback inserted has results. It does not keep the
/// op, which the callback may have erased again.
class LastInserted : public OpBuilder::Listener {
public:
  explicit LastInserted(OpBuilder &builder) : builder(builder), previous(builder.getListener()) {
    builder.setListener(this);
  }
  ~LastInserted() override { builder.setListener(previous); }

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint from) override {
    hasNoResult = op->getNumResults() == 0;
    if (previous)
      previous->notifyOperationInserted(op, from);
  }
  void notifyBlockInserted(Block *block, Region *from, Region::iterator position) override {
    if (previous)
      previous->notifyBlockInserted(block, from, position);
  }

  bool hasNoResult = false;

private:
  OpBuilder &builder;
  OpBuilder::Listener *previous;
};

/// Runs the callback of an op. Python dereferences the result without looking, so a callback that
/// fails must still leave a value there: an op that no pipeline can lower, after an error that says
/// why it is there.
template <size_t Index>
void addOp(TritonOpBuilder &builder, std::vector<Value> &values) {
  const OpRecord &record = opRecords[Index];
  bool hasNoResult;
  {
    LastInserted last(builder.getBuilder());
    record.build(builder, values);
    hasNoResult = last.hasNoResult;
  }
  if (values.empty() || values.front() || hasNoResult)
    return;
  Location loc = builder.getLastLoc();
  emitError(loc) << "op builder '" << record.name << "' returned no value for " << values.size() - 1
                 << " operand(s)";
  Type type =
      values.size() > 1 && values[1] ? values[1].getType() : builder.getBuilder().getI32Type();
  values.front() = UnrealizedConversionCastOp::create(builder.getBuilder(), loc, type, ValueRange())
                       .getResult(0);
}

//===----------------------------------------------------------------------===//
// Description and self-test
//===----------------------------------------------------------------------===//

const char *describe() {
  thread_local std::string text;
  text.clear();
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attributeArray("passes", [&] {
      for (const PassRecord &record : passRecords) {
        std::unique_ptr<Pass> pass = record.create();
        std::string options;
        llvm::raw_string_ostream optionsStream(options);
        pass->printAsTextualPipeline(optionsStream);
        json.object([&] {
          json.attribute("flag", pass->getArgument());
          json.attribute("name", record.name);
          json.attribute("options", options);
        });
      }
    });
    json.attributeArray("dialects", [&] {
      for (const DialectRecord &record : dialectRecords)
        json.value(record.name);
    });
    json.attributeArray("ops", [&] {
      for (const OpRecord &record : opRecords)
        json.value(record.name);
    });
  });
  return text.c_str();
}

const char *checkPassOptions(const char *name, const char *options) {
  thread_local std::string reason;
  reason.clear();
  const PassRecord *record = findPass(name);
  if (!record) {
    reason = "the library has no pass '" + std::string(name) + "'";
    return reason.c_str();
  }
  return succeeded(parseOptions(*record->create(), options, reason)) ? nullptr : reason.c_str();
}

/// A question about an op of libtriton, and the answer that holds when both sides agree on
/// identities.
struct IdentityCheck {
  const char *op;
  const char *property;
  bool (*ask)(RegisteredOperationName);
  bool expected;
};

template <template <typename> class Trait>
bool hasTrait(RegisteredOperationName op) {
  return op.hasTrait<Trait>();
}
template <typename Interface>
bool hasInterface(RegisteredOperationName op) {
  return op.hasInterface<Interface>();
}

constexpr IdentityCheck terminatorChecks[] = {
    {"scf.yield", "IsTerminator", hasTrait<OpTrait::IsTerminator>, true},
    {"tt.return", "IsTerminator", hasTrait<OpTrait::IsTerminator>, true},
    {"cf.cond_br", "IsTerminator", hasTrait<OpTrait::IsTerminator>, true},
    {"arith.addf", "IsTerminator", hasTrait<OpTrait::IsTerminator>, false},
};

constexpr IdentityCheck traitChecks[] = {
    {"builtin.module", "SymbolTable", hasTrait<OpTrait::SymbolTable>, true},
    {"builtin.module", "IsIsolatedFromAbove", hasTrait<OpTrait::IsIsolatedFromAbove>, true},
    {"arith.addi", "IsCommutative", hasTrait<OpTrait::IsCommutative>, true},
    {"arith.constant", "ConstantLike", hasTrait<OpTrait::ConstantLike>, true},
    {"tt.func", "AutomaticAllocationScope", hasTrait<OpTrait::AutomaticAllocationScope>, true},
    {"tt.make_range", "ZeroOperands", hasTrait<OpTrait::ZeroOperands>, true},
    {"tt.store", "ConstantLike", hasTrait<OpTrait::ConstantLike>, false},
};

constexpr IdentityCheck interfaceChecks[] = {
    {"scf.for", "LoopLikeOpInterface", hasInterface<LoopLikeOpInterface>, true},
    {"scf.for", "RegionBranchOpInterface", hasInterface<RegionBranchOpInterface>, true},
    {"cf.cond_br", "BranchOpInterface", hasInterface<BranchOpInterface>, true},
    {"arith.addf", "ConditionallySpeculatable", hasInterface<ConditionallySpeculatable>, true},
    {"arith.addf", "MemoryEffectOpInterface", hasInterface<MemoryEffectOpInterface>, true},
    {"tt.load", "MemoryEffectOpInterface", hasInterface<MemoryEffectOpInterface>, true},
    {"tt.func", "FunctionOpInterface", hasInterface<FunctionOpInterface>, true},
    {"tt.func", "SymbolOpInterface", hasInterface<SymbolOpInterface>, true},
    {"tt.trans", "InferTypeOpInterface", hasInterface<InferTypeOpInterface>, true},
    {"ttg.local_alloc", "MemoryEffectOpInterface", hasInterface<MemoryEffectOpInterface>, true},
    {"arith.addf", "LoopLikeOpInterface", hasInterface<LoopLikeOpInterface>, false},
};

template <size_t Size>
void runChecks(llvm::json::OStream &json, llvm::StringRef key, const IdentityCheck (&checks)[Size],
               MLIRContext &context, std::vector<std::string> &wrong) {
  size_t right = 0;
  for (const IdentityCheck &check : checks) {
    std::optional<RegisteredOperationName> op = RegisteredOperationName::lookup(check.op, &context);
    if (op && check.ask(*op) == check.expected) {
      ++right;
      continue;
    }
    const char *found = !op ? " is not registered" : check.expected ? " lacks " : " has ";
    wrong.push_back(check.op + std::string(found) + (op ? check.property : ""));
  }
  json.attribute(key, right);
  json.attribute((key + "_expected").str(), Size);
}

const char *selfTest() {
  thread_local std::string text;
  text.clear();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, scf::SCFDialect,
                      triton::TritonDialect, triton::gpu::TritonGPUDialect>();
  std::vector<std::string> wrong;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    runChecks(json, "terminators", terminatorChecks, context, wrong);
    runChecks(json, "traits", traitChecks, context, wrong);
    runChecks(json, "interfaces", interfaceChecks, context, wrong);
    json.attributeArray("wrong", [&] {
      for (const std::string &line : wrong)
        json.value(line);
    });
  });
  return text.c_str();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

template <size_t... Index>
auto makePassTable(std::index_sequence<Index...>) {
  return std::array<plugin::PassInfo, sizeof...(Index)>{
      {{passRecords[Index].name, extensionVersion, addPass<Index>, registerPassEntry<Index>}...}};
}

template <size_t... Index>
auto makeOpTable(std::index_sequence<Index...>) {
  return std::array<plugin::OpInfo, sizeof...(Index)>{{{opRecords[Index].name, addOp<Index>}...}};
}

#define TRITONEXT_STRING(x) #x
#define TRITONEXT_VERSION(major, minor, patch)                                                     \
  TRITONEXT_STRING(major) "." TRITONEXT_STRING(minor) "." TRITONEXT_STRING(patch)
#ifdef __clang__
constexpr const char *compilerName =
    "clang " TRITONEXT_VERSION(__clang_major__, __clang_minor__, __clang_patchlevel__);
#else
constexpr const char *compilerName =
    "gcc " TRITONEXT_VERSION(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif

} // namespace

TRITON_PLUGIN_API plugin::PluginInfo *tritonGetPluginInfo() {
  static auto passes = makePassTable(std::make_index_sequence<passRecords.size()>());
  static auto ops = makeOpTable(std::make_index_sequence<opRecords.size()>());
  static auto dialects = [] {
    std::array<plugin::DialectInfo, dialectRecords.size()> table{};
    for (size_t i = 0; i < dialectRecords.size(); ++i)
      table[i] = {dialectRecords[i].name, extensionVersion, dialectRecords[i].insert};
    return table;
  }();
  static plugin::PluginInfo info = {
      TRITON_PLUGIN_API_VERSION, extensionId,     extensionVersion, passes.data(), passes.size(),
      dialects.data(),           dialects.size(), ops.data(),       ops.size(),    TRITON_VERSION};
  return &info;
}

extern "C" const tritonext::ExtensionInfo *tritonextGetExtensionInfo() {
  static const tritonext::ExtensionInfo info = {
      /*version=*/2,
      extensionId,
      extensionVersion,
      TRITON_VERSION,
      llvmCommit,
      compilerName,
      describe,
      checkPassOptions,
      selfTest,
      tritonext::detail::beginRemarks,
      tritonext::detail::endRemarks,
      tritonext::detail::beginDiagnostics,
      tritonext::detail::endDiagnostics,
  };
  return &info;
}
