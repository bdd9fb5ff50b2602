//===- Layouts.h - Where sparse products have their metadata ----*- C++ -*-===//
//
// The metadata of a product is an ordinary tensor of bytes. Which thread holds which byte is a
// linear layout of that tensor, so stock ops load, convert and reshape it.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_SPARSITY_IR_LAYOUTS_H
#define TRITONEXT_SPARSITY_IR_LAYOUTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "triton/Dialect/TritonGPU/IR/Dialect.h"

namespace tritonext::sparsity {

/// Returns how many columns of the sparse matrix a byte of metadata describes: 4 for 32-bit floats,
/// 8 for the others.
inline int64_t columnsPerByte(mlir::Type element) {
  return element.getIntOrFloatBitWidth() == 32 ? 4 : 8;
}

/// Returns whether the elements are floats of 8 bits.
inline bool isFp8(mlir::Type element) {
  return llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
}

/// Returns whether the tensor cores of some target multiply values and elements of b of these
/// types.
bool areMultiplied(mlir::Type values, mlir::Type b);

/// Returns whether the tensor cores of some target add products of such values in that type.
bool canAccumulate(mlir::Type values, mlir::Type acc);

/// Returns how many columns of the sparse matrix one instruction of the tensor cores multiplies.
inline int64_t columnsPerStep(mlir::Type element) { return 512 / element.getIntOrFloatBitWidth(); }

/// Returns the layout of an accumulator that warp groups add products of `element` to: rows go to
/// groups first, like the stock choice for a dot that feeds no other dot.
mlir::triton::gpu::NvidiaMmaEncodingAttr warpGroupLayout(mlir::RankedTensorType acc,
                                                         mlir::Type element, int numWarps);

/// Returns a tensor in a layout, itself where it has that already.
mlir::Value inLayout(mlir::OpBuilder &builder, mlir::Value tensor, mlir::Attribute layout);

/// Returns the layout of the metadata of a product with an accumulator in the layout of MMA version
/// 2 or 3. `element` is the type of the values, and a row of the metadata has `bytes` bytes.
///
/// The first four registers of a thread are the 32-bit operand of an instruction, in order. Of
/// types of 8 bits that serves one instruction. Of others it serves two that follow each other
/// along K: selector 0 takes the even pair of lanes of each quad, selector 1 the odd one. Registers
/// then go on along K, by twice `columnsPerStep` or once, and then along M as those of the
/// accumulator do.
///
/// Source: PTX ISA, sparse matrix storage of mma.sp and of wgmma.mma_async.sp.
mlir::triton::gpu::LinearEncodingAttr metadataLayout(mlir::RankedTensorType acc, mlir::Type element,
                                                     int64_t bytes);

/// Returns how many columns of the sparse matrix one instruction of a wave multiplies, by 16 rows,
/// of a product with `k` of them: on gfx950 (`version` 4 of MFMA) twice as many where they fill it.
inline int64_t columnsPerWaveStep(mlir::Type element, int64_t k, unsigned version) {
  int64_t step = columnsPerStep(element);
  return version >= 4 && k % (2 * step) == 0 ? 2 * step : step;
}

/// Returns the layout of the metadata of a product with an accumulator in the layout of MFMA, whose
/// instructions multiply `step` columns.
///
/// A thread has the bytes of the values that it has of an instruction: one, two or four of a row,
/// by element and step. Registers then go on along K, so that four of them are an index register,
/// of which ABID takes the bytes of one instruction; and then along M as those of the accumulator.
///
/// Source: CDNA3 ISA, sparse matrices; tritonext_sparsity/emulator/fragments.py.
mlir::triton::gpu::LinearEncodingAttr waveMetadataLayout(mlir::RankedTensorType acc, int64_t step,
                                                         int64_t bytes);

} // namespace tritonext::sparsity

#endif // TRITONEXT_SPARSITY_IR_LAYOUTS_H
