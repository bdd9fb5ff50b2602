//===- Builders.h - Scopes and marks for Python -----------------*- C++ -*-===//
//
// Python passes values only, so a name comes as constants.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_PROFILER_IR_BUILDERS_H
#define TRITONEXT_PROFILER_IR_BUILDERS_H

#include "mlir/IR/Value.h"

#include <vector>

class TritonOpBuilder;

namespace tritonext::profiler {

/// What a note is, the first value that Python passes.
enum class Note { Enter, Exit, Mark, MarkInteger, MarkFloat };

/// Builds the op of a note. Its kind is followed by the value of a mark that has one, an i64, and
/// by the bytes of its name.
void buildNote(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

} // namespace tritonext::profiler

#endif // TRITONEXT_PROFILER_IR_BUILDERS_H
