//===- Precompiled.h - Headers that almost every source includes -*- C++ -*-===//
//
// CMake compiles this once per library. Sources still include what they use.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_PRECOMPILED_H
#define TRITONEXT_PRECOMPILED_H

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
