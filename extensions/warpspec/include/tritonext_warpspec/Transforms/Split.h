//===- Split.h - Consumers as two tasks of a warp group each ----*- C++ -*-===//

#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_SPLIT_H
#define TRITONEXT_WARPSPEC_TRANSFORMS_SPLIT_H

#include "tritonext_warpspec/Transforms/Plan.h"

namespace tritonext::warpspec {

/// Makes two tasks of four warps out of the one that multiplies, as the schedule of the plan says.
///
/// *Cooperative*: each has half of the rows of every product, and of all that follows from one.
/// *Ping-pong*: each has every other iteration of the loop around the products.
/// What comes behind the tasks goes into them. Returns what is in the way, if anything is; the
/// kernel is then no longer what it was, and has to be put back.
std::optional<Obstacle> splitConsumers(const Plan &plan, mlir::triton::gpu::WarpSpecializeOp tasks);

} // namespace tritonext::warpspec

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_SPLIT_H
