//===- Precompiled.h - Headers that almost every source includes -*- C++ -*-===//
//
// CMake compiles this once per library. Sources still include what they use.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_PRECOMPILED_H
#define TRITONEXT_PRECOMPILED_H

// glibc 2.38 and later redirect strtol and its kin, which std::stoi calls, to symbols that older
// systems lack, and only so that 0b prefixes parse. The header's own switch turns that off when it
// is thrown before any other header is read.
#include <features.h>
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "triton/Dialect/Triton/IR/Dialect.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"

#endif // TRITONEXT_PRECOMPILED_H
