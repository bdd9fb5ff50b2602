//===- Remarks.cpp - Collection of remarks per thread ---------------------===//

#include "tritonext/Remarks.h"
#include "RemarkCollection.h"
#include "UserLocation.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

using namespace mlir;

namespace {

/// Remarks of one thread. An outer collection contains the remarks of the ones nested in it, so a
/// collection is only the position at which it began.
struct Collector {
  std::vector<std::string> lines;
  std::vector<size_t> starts;
  std::string result;
};

thread_local Collector collector;

llvm::StringRef kindName(tritonext::RemarkKind kind) {
  switch (kind) {
  case tritonext::RemarkKind::Applied:
    return "applied";
  case tritonext::RemarkKind::Missed:
    return "missed";
  case tritonext::RemarkKind::Analysis:
    return "analysis";
  }
  llvm_unreachable("covered switch");
}

} // namespace

bool tritonext::remarksEnabled() { return !collector.starts.empty(); }

void tritonext::emitRemark(RemarkKind kind, Operation *op, llvm::StringRef pass,
                           const llvm::Twine &message) {
  if (!remarksEnabled())
    return;
  std::string where;
  if (auto frames = detail::userFrames(op->getLoc()); !frames.empty()) {
    FileLineColLoc loc = frames.front();
    where = (loc.getFilename().getValue() + ":" + llvm::Twine(loc.getLine()) + ":" +
             llvm::Twine(loc.getColumn()))
                .str();
  }
  Operation *function =
      isa<FunctionOpInterface>(op) ? op : op->getParentOfType<FunctionOpInterface>();
  llvm::StringRef name =
      function ? cast<FunctionOpInterface>(function).getName() : llvm::StringRef();

  std::string line;
  llvm::raw_string_ostream os(line);
  llvm::json::OStream json(os);
  // Symbol and file names are arbitrary bytes, which JSON cannot hold.
  json.object([&] {
    json.attribute("kind", kindName(kind));
    json.attribute("pass", pass);
    json.attribute("function", llvm::json::fixUTF8(name));
    json.attribute("loc", llvm::json::fixUTF8(where));
    json.attribute("message", llvm::json::fixUTF8(message.str()));
  });
  collector.lines.push_back(std::move(line));
}

void tritonext::detail::beginRemarks() { collector.starts.push_back(collector.lines.size()); }

const char *tritonext::detail::endRemarks() {
  collector.result.clear();
  if (collector.starts.empty())
    return "";
  for (size_t i = collector.starts.back(); i < collector.lines.size(); ++i)
    collector.result += collector.lines[i] + "\n";
  collector.starts.pop_back();
  if (collector.starts.empty())
    collector.lines.clear();
  return collector.result.c_str();
}
