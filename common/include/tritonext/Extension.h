//===- Extension.h - The SDK's entry point of an extension library -*- C++ -*-===//
//
// Triton asks a plugin for `tritonGetPluginInfo`; the Python half of the SDK asks the same library
// for `tritonextGetExtensionInfo`, which answers what Triton's table cannot say. Python mirrors
// this layout with ctypes, so fields are only ever appended, and `version` grows when one is.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_EXTENSION_H
#define TRITONEXT_EXTENSION_H

#include <cstdint>

namespace tritonext {

/// What the SDK knows about one extension library. Every string is owned by the library; one that a
/// function returns stays valid until the same thread calls the same function again.
struct ExtensionInfo {
  uint32_t version;

  const char *id;
  const char *extVersion;
  const char *tritonVersion;
  const char *llvmCommit;
  const char *compiler;

  /// Returns what the library contains, as a JSON object:
  /// `{"passes":[{"flag","name","options"}],"dialects":[name],"ops":[name]}`; `options` is the
  /// textual pipeline of a default-constructed pass.
  const char *(*describe)();

  /// Returns null when `options`, written `key=value key=value`, suit the pass of that flag or
  /// name; otherwise the reason.
  const char *(*checkPassOptions)(const char *pass, const char *options);

  /// Asks ops that libtriton registered for traits and interfaces through this library's type
  /// identities, and returns the counts as a JSON object, with each wrong answer under `wrong`.
  /// Counts below the expected ones mean that the two sides spell identities differently.
  const char *(*selfTest)();

  /// Starts collecting remarks on this thread; calls nest.
  void (*beginRemarks)();

  /// Ends the innermost collection and returns its remarks, one JSON object a line.
  const char *(*endRemarks)();

  /// Starts collecting the errors of passes on this thread; calls nest. It covers pass managers to
  /// which a pass of this library is added until the matching end, and keeps their errors off the
  /// standard error stream.
  void (*beginDiagnostics)();

  /// Ends the innermost collection and returns, one JSON object a line, each run of a pass that
  /// failed:
  /// `{"passes":[flag],"errors":[{"message","frames":[{"file","line","column"}],"resource"?,"notes"}]}`.
  const char *(*endDiagnostics)();
};

} // namespace tritonext

extern "C" __attribute__((visibility("default"))) const tritonext::ExtensionInfo *
tritonextGetExtensionInfo();

#endif // TRITONEXT_EXTENSION_H
