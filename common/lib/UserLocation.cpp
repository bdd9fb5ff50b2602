//===- UserLocation.cpp - Where the user wrote an op ----------------------===//

#include "UserLocation.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace {

bool isTritonSource(FileLineColLoc loc) {
  llvm::StringRef file = loc.getFilename().getValue();
  return file.contains("/triton/language/") || file.contains("/triton/experimental/");
}

void collectFrames(Location loc, llvm::SmallVectorImpl<FileLineColLoc> &frames) {
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    frames.push_back(file);
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    collectFrames(name.getChildLoc(), frames);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    collectFrames(call.getCallee(), frames);
    collectFrames(call.getCaller(), frames);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    size_t before = frames.size();
    for (Location part : fused.getLocations()) {
      collectFrames(part, frames);
      if (frames.size() != before)
        return;
    }
  }
}

} // namespace

llvm::SmallVector<FileLineColLoc> tritonext::detail::userFrames(Location loc) {
  llvm::SmallVector<FileLineColLoc> frames;
  collectFrames(loc, frames);
  llvm::SmallVector<FileLineColLoc> users;
  llvm::copy_if(frames, std::back_inserter(users),
                [](FileLineColLoc frame) { return !isTritonSource(frame); });
  return users.empty() ? frames : users;
}
