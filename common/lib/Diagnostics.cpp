//===- Diagnostics.cpp - Collection of the errors of passes ---------------===//
//
// Triton prints errors of passes, a dump of the module behind them, and throws an exception that
// says nothing. While a collection is open, the errors of a pass that fails are kept instead.
//
//===----------------------------------------------------------------------===//

#include "tritonext/Diagnostics.h"
#include "DiagnosticCollection.h"
#include "UserLocation.h"

#include "mlir/IR/Operation.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using namespace mlir;

namespace mlir::detail {

/// The part of MLIR's internal class that is used below; libtriton exports it.
class PassCrashReproducerGenerator {
public:
  void finalize(Operation *rootOp, LogicalResult executionResult);
};

} // namespace mlir::detail

namespace {

constexpr llvm::StringLiteral resourceKey = "tritonext.resource";

//===----------------------------------------------------------------------===//
// Reproducers
//===----------------------------------------------------------------------===//

/// Gives a private member a name: explicit instantiation may name what is private.
template <auto Member>
struct GeneratorAccess {
  friend detail::PassCrashReproducerGenerator *generatorOf(PassManager &manager) {
    return (manager.*Member).get();
  }
};
template struct GeneratorAccess<&PassManager::crashReproGenerator>;
detail::PassCrashReproducerGenerator *generatorOf(PassManager &manager);

/// Keeps `manager` from printing the module when the pass that runs fails. That is for crashes, and
/// the reader of an error in a kernel has no use for it. Somebody who asked for reproducers gets
/// them.
void withholdReproducer(PassManager &manager) {
  const char *path = std::getenv("TRITON_REPRODUCER_PATH");
  if (path && *path)
    return;
  // Told that nothing failed, the generator forgets the module it kept. It prints as soon as a pass
  // has failed, before later instrumentations hear of that, so it is told when the pass reports an
  // error.
  if (auto *generator = generatorOf(manager))
    generator->finalize(/*rootOp=*/nullptr, success());
}

//===----------------------------------------------------------------------===//
// Collections
//===----------------------------------------------------------------------===//

// Not `std::shared_ptr`, which asks the C library whether there are threads in a way older ones
// lack.
struct Collection : public llvm::ThreadSafeRefCountedBase<Collection> {
  bool open = true;
  std::vector<std::string> lines;
  llvm::SmallPtrSet<PassManager *, 4> managers;
};

// A pass may run on another thread than the one that built its pipeline, so each instrumentation
// shares the collection that was open there.
thread_local std::vector<llvm::IntrusiveRefCntPtr<Collection>> collections;

void writeFrames(llvm::json::OStream &json, Location loc) {
  json.attributeArray("frames", [&] {
    for (FileLineColLoc frame : tritonext::detail::userFrames(loc))
      json.object([&] {
        json.attribute("file", llvm::json::fixUTF8(frame.getFilename().getValue()));
        json.attribute("line", frame.getLine());
        json.attribute("column", frame.getColumn());
      });
  });
}

void writeResource(llvm::json::OStream &json, Diagnostic &error) {
  ArrayRef<DiagnosticArgument> metadata = error.getMetadata();
  auto isKey = [](const DiagnosticArgument &argument) {
    return argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::String &&
           argument.getAsString() == resourceKey;
  };
  const auto *key = llvm::find_if(metadata, isKey);
  if (metadata.end() - key < 4)
    return;
  json.attributeObject("resource", [&] {
    json.attribute("name", key[1].getAsString());
    json.attribute("required", key[2].getAsInteger());
    json.attribute("limit", key[3].getAsInteger());
  });
}

std::string describe(ArrayRef<std::string> passes, ArrayRef<std::unique_ptr<Diagnostic>> errors) {
  std::string line;
  llvm::raw_string_ostream os(line);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attributeArray("passes", [&] {
      for (const std::string &pass : passes)
        json.value(pass);
    });
    json.attributeArray("errors", [&] {
      for (const std::unique_ptr<Diagnostic> &error : errors)
        json.object([&] {
          json.attribute("message", llvm::json::fixUTF8(error->str()));
          writeFrames(json, error->getLocation());
          writeResource(json, *error);
          json.attributeArray("notes", [&] {
            for (Diagnostic &note : error->getNotes())
              json.object([&] {
                json.attribute("message", llvm::json::fixUTF8(note.str()));
                writeFrames(json, note.getLocation());
              });
          });
        });
    });
  });
  return line;
}

/// Takes the errors of each pass of one pass manager. A pass that fails leaves them in the
/// collection; those of one that does not go to whoever would have got them.
class ErrorCollector : public PassInstrumentation {
public:
  ErrorCollector(PassManager &manager, llvm::IntrusiveRefCntPtr<Collection> collection)
      : manager(manager), collection(std::move(collection)) {}

  ~ErrorCollector() override {
    if (handler)
      manager.getContext()->getDiagEngine().eraseHandler(*handler);
    collection->managers.erase(&manager);
  }

  void runBeforePass(Pass *, Operation *) override {
    // The handler that Triton registers when the run starts is older than this one, so this one is
    // asked first.
    if (depth++ == 0 && collection->open)
      handler = manager.getContext()->getDiagEngine().registerHandler(
          [this](Diagnostic &diagnostic) { return take(diagnostic); });
  }

  void runAfterPass(Pass *, Operation *) override {
    if (--depth != 0 || !stop())
      return;
    for (std::unique_ptr<Diagnostic> &error : errors)
      manager.getContext()->getDiagEngine().emit(std::move(*error));
    errors.clear();
    failedPasses.clear();
  }

  void runAfterPassFailed(Pass *pass, Operation *) override {
    llvm::StringRef name = pass->getArgument();
    failedPasses.push_back((name.empty() ? pass->getName() : name).str());
    if (--depth != 0 || !stop())
      return;
    if (!errors.empty())
      collection->lines.push_back(describe(failedPasses, errors));
    errors.clear();
    failedPasses.clear();
  }

private:
  LogicalResult take(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    if (errors.empty())
      withholdReproducer(manager);
    errors.push_back(std::make_unique<Diagnostic>(std::move(diagnostic)));
    return success();
  }

  bool stop() {
    if (!handler)
      return false;
    manager.getContext()->getDiagEngine().eraseHandler(*handler);
    handler.reset();
    return true;
  }

  PassManager &manager;
  llvm::IntrusiveRefCntPtr<Collection> collection;
  /// Passes that run inside one another: a pass may run a pipeline.
  unsigned depth = 0;
  std::optional<DiagnosticEngine::HandlerID> handler;
  std::vector<std::unique_ptr<Diagnostic>> errors;
  std::vector<std::string> failedPasses;
};

} // namespace

void tritonext::setExhaustedResource(InFlightDiagnostic &error, llvm::StringRef name,
                                     int64_t required, int64_t limit) {
  if (Diagnostic *diagnostic = error.getUnderlyingDiagnostic()) {
    auto &metadata = diagnostic->getMetadata();
    metadata.emplace_back(llvm::StringRef(resourceKey));
    metadata.emplace_back(name);
    metadata.emplace_back(required);
    metadata.emplace_back(limit);
  }
}

void tritonext::detail::collectFrom(PassManager &manager) {
  if (!collections.empty() && collections.back()->managers.insert(&manager).second)
    manager.addInstrumentation(std::make_unique<ErrorCollector>(manager, collections.back()));
}

void tritonext::detail::beginDiagnostics() {
  collections.push_back(llvm::makeIntrusiveRefCnt<Collection>());
}

const char *tritonext::detail::endDiagnostics() {
  thread_local std::string result;
  result.clear();
  if (collections.empty())
    return "";
  collections.back()->open = false;
  for (const std::string &line : collections.back()->lines)
    result += line + "\n";
  collections.pop_back();
  return result.c_str();
}
