#ifndef TRITONEXT_SPARSITY_IR_DIALECT_TD
#define TRITONEXT_SPARSITY_IR_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Sparsity_Dialect : Dialect {
  let name = "sparsity";
  let cppNamespace = "::tritonext::sparsity";
  let summary = "Matrix products with an operand of 2:4 structured sparsity";
  let description = [{
    Of a matrix [M, K] that is 2:4 sparse along K, each group of four elements has two that are kept. `values` [M, K/2]
    are those, in order. `meta`, 8-bit integers [M, K/8], says where they stand: a nibble for each group, `i | j << 2`
    with positions `i < j`, the nibble of the lower group in the lower half of a byte. 32-bit floats are 1:2 sparse: one
    of two elements is kept, and a nibble for each pair is 4 where that is the first and 14 where it is the second, so
    `meta` is [M, K/4].
  }];
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::triton::gpu::TritonGPUDialect"];
}

#endif // TRITONEXT_SPARSITY_IR_DIALECT_TD
