#ifndef TRITONEXT_PROBE_IR_BUILDERS_H
#define TRITONEXT_PROBE_IR_BUILDERS_H

#include "mlir/IR/Value.h"

#include <vector>

class TritonOpBuilder;

namespace tritonext::probe {

/// Builds `probe.twice` of `values[1]` into `values[0]`; leaves `values[0]` null when the operand
/// is no tensor.
void buildTwice(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

} // namespace tritonext::probe

#endif // TRITONEXT_PROBE_IR_BUILDERS_H
