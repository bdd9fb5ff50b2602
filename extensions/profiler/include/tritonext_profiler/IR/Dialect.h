#ifndef TRITONEXT_PROFILER_IR_DIALECT_H
#define TRITONEXT_PROFILER_IR_DIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "tritonext_profiler/IR/Dialect.h.inc"

#define GET_OP_CLASSES
#include "tritonext_profiler/IR/Ops.h.inc"

namespace tritonext::profiler {

/// Attribute of the module: an array with a dictionary for each region.
inline constexpr llvm::StringLiteral regionsName = "profiler.regions";
/// Attribute of the module: an array with a dictionary for each loop.
inline constexpr llvm::StringLiteral loopsName = "profiler.loops";
/// Attribute of the module: an array with a dictionary for each group of warps.
inline constexpr llvm::StringLiteral rolesName = "profiler.roles";
/// Attribute of the module: the mode in which records were placed.
inline constexpr llvm::StringLiteral modeName = "profiler.mode";
/// Attribute of the module: how many records a warp may write.
inline constexpr llvm::StringLiteral capacityName = "profiler.capacity";
/// Attribute of the module: a digest of the kernel in which records were placed.
inline constexpr llvm::StringLiteral digestName = "profiler.digest";
/// Attribute of the module: the table of the kernel, as JSON.
inline constexpr llvm::StringLiteral tableName = "profiler.table";

/// Returns the 64-bit FNV-1a digest of a text, the same in each process.
uint64_t digestOf(llvm::StringRef text);

} // namespace tritonext::profiler

#endif // TRITONEXT_PROFILER_IR_DIALECT_H
