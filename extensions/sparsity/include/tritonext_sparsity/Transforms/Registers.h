//===- Registers.h - Registers of tensors by what they hold -----*- C++ -*-===//
//
// Products are lowered before stock converts tensors to LLVM, in terms of the structs of registers
// that these will be.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_SPARSITY_TRANSFORMS_REGISTERS_H
#define TRITONEXT_SPARSITY_TRANSFORMS_REGISTERS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <map>

namespace tritonext::sparsity {

/// The registers of a tensor, by the row and the column of what they hold in the first thread.
/// Another thread has what lies as far away in each of its registers. Where several hold the same
/// element, they are one.
class Registers {
public:
  using Place = std::pair<int64_t, int64_t>;

  /// Reads the registers of `tensor` at the insertion point of `builder`.
  Registers(mlir::OpBuilder &builder, mlir::TypedValue<mlir::RankedTensorType> tensor);

  /// Where each register stands.
  llvm::ArrayRef<Place> places() const { return all; }

  mlir::Value &at(int64_t row, int64_t column) { return values[registers.at({row, column})]; }

  /// Returns the registers at places as one value of 32 bits.
  mlir::Value word(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Place> where);

  /// Returns a tensor of the type of the first that has these registers.
  mlir::Value pack(mlir::OpBuilder &builder, mlir::Location loc);

private:
  mlir::RankedTensorType type;
  std::vector<Place> all;
  std::map<Place, int64_t> registers;
  llvm::SmallVector<mlir::Value> values;
};

/// Returns the registers of a tensor in order, one value for each element.
llvm::SmallVector<mlir::Value> registersOf(mlir::OpBuilder &builder, mlir::Location loc,
                                           mlir::TypedValue<mlir::RankedTensorType> tensor);

/// Returns the tensor that has these registers.
mlir::Value tensorOf(mlir::OpBuilder &builder, mlir::Location loc,
                     llvm::ArrayRef<mlir::Value> elements, mlir::RankedTensorType type);

/// Returns a vector of values.
mlir::Value vectorOf(mlir::OpBuilder &builder, mlir::Location loc,
                     llvm::ArrayRef<mlir::Value> elements);

/// Returns registers of 32 bits, each of consecutive elements that are narrower.
llvm::SmallVector<mlir::Value> packed(mlir::OpBuilder &builder, mlir::Location loc,
                                      llvm::ArrayRef<mlir::Value> elements);

/// Returns the elements of such registers.
llvm::SmallVector<mlir::Value> unpacked(mlir::OpBuilder &builder, mlir::Location loc,
                                        llvm::ArrayRef<mlir::Value> words, mlir::Type element);

} // namespace tritonext::sparsity

#endif // TRITONEXT_SPARSITY_TRANSFORMS_REGISTERS_H
