#ifndef TRITONEXT_SPARSITY_TRANSFORMS_PASSES_TD
#define TRITONEXT_SPARSITY_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CarryForeignOpsPass : Pass<"sparsity-carry-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Take sparse products past the stock conversion to layouts";
  let description = [{
    The stock conversion fails on ops with tensors that it has no patterns for, so each becomes a call of a private
    function with the op's types, which the conversion knows. `sparsity-restore-foreign-ops` rebuilds the op from the call
    right after the conversion.
  }];
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::ub::UBDialect"];
}

def RestoreForeignOpsPass : Pass<"sparsity-restore-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Rebuild the ops that were taken past the conversion to layouts";
  let description = [{
    The other half of `sparsity-carry-foreign-ops`: each op gets the operands and result types that its call got.
  }];
}

def FuseExpansionsPass : Pass<"sparsity-fuse-expansions", "::mlir::ModuleOp"> {
  let summary = "Multiply sparse matrices instead of their expansions";
  let description = [{
    A `tt.dot` of the result of `sparsity.expand`, or of its transposition on the right, becomes a `sparsity.dot` where the
    target has one. All other uses get the matrix as stock ops expand it in registers, and a remark says why.
  }];
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::triton::gpu::TritonGPUDialect"];
}

def HoistTranspositionsPass : Pass<"sparsity-hoist-transpositions", "::mlir::ModuleOp"> {
  let summary = "Carry the accumulators of products with a sparse matrix on the right transposed";
  let description = [{
    Such a product is the transposed one, and its accumulator is transposed before and behind it. Where a loop carries
    the accumulator, the loop gets it transposed, so that nothing in the loop reads what a product still writes.
  }];
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::triton::gpu::TritonGPUDialect"];
}

def AccelerateDotsPass : Pass<"sparsity-accelerate-dots", "::mlir::ModuleOp"> {
  let summary = "Give sparse products the layouts of the tensor cores of the target";
  let description = [{
    On cuda:90 a product of whole warp groups, with M a multiple of 64, becomes `sparsity.warp_group_dot`: its values and
    `b` are put into shared memory. Any other product gets the layouts of `mma.sp`: its operands stay in registers.

    A product that the target does not have is an error. So are 8-bit floats by `mma.sp` where hardware only emulates
    them, which is everywhere but on cuda:89 and cuda:120.

    On hip:gfx942 and hip:gfx950 a product gets the layouts of `smfmac` of 16 x 16, on the latter of the doubled K where K
    is a multiple of it.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def LowerAsyncDotsPass : Pass<"sparsity-lower-async-dots", "::mlir::ModuleOp"> {
  let summary = "Give asynchronous sparse products the layouts of warp-group MMA";
  let description = [{
    Each `sparsity.async_dot` becomes an asynchronous `sparsity.warp_group_dot`. Its result is read by one product that adds
    to it, or by one `ttng.warp_group_dot_wait` that covers it; either stands in the same block, because the instructions
    read registers of metadata until they are over, which the next round of a loop writes. Another reader is an error.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def HideDotsPass : Pass<"sparsity-hide-dots", "::mlir::ModuleOp"> {
  let summary = "Let stock passes pipeline sparse products of warp groups as dense ones";
  let description = [{
    The stock pipeliner knows `ttng.warp_group_dot` by its class: it gives loads of its operands one more buffer, lets one
    product go on while the next begins, and puts waits. So while it runs, a `sparsity.warp_group_dot` of shared memory is
    a `ttng.warp_group_dot` of its values and of half the rows of `b`, with a `sparsity.hold_metadata` as its flag.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def ShowDotsPass : Pass<"sparsity-show-dots", "::mlir::ModuleOp"> {
  let summary = "Bring back the sparse products that were hidden from the stock pipeliner";
  let description = [{
    The other half of `sparsity-hide-dots`. A product is asynchronous where the pipeliner decided so. The waits are those
    that it put, but wait for all products, at the end of the iteration: an instruction reads registers of metadata until
    it is over, which the next iteration writes. So copies for later iterations begin while a product goes on.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def LowerDotsPass : Pass<"sparsity-lower-dots", "::mlir::ModuleOp"> {
  let summary = "Turn sparse products of registers into instructions";
  let description = [{
    Each `sparsity.dot` becomes `mma.sp::ordered_metadata` instructions on the registers of its operands, which have the
    layouts that `sparsity-accelerate-dots` chose. A product in other layouts is an error.

    Source: PTX ISA, warp-level matrix instructions for mma.sp.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

def LowerWarpGroupDotsPass : Pass<"sparsity-lower-warp-group-dots", "::mlir::ModuleOp"> {
  let summary = "Lower sparse products of warp groups to wgmma.mma_async.sp";
  let description = [{
    Each `sparsity.warp_group_dot` becomes a fence, the instructions for its rows, columns and steps along K, and a
    commit, as inline assembly: neither NVVM nor Triton has an op for the sparse form. A product that is not asynchronous
    is followed by a wait. It runs behind the passes that place barriers and fences, which see what the product reads.

    The instructions read their registers, the metadata and perhaps the values, until a wait covers them, so these stay as
    they are until there. Where no wait of the same block covers a product, one is added at the end of the block.

    Where `maxNumImpreciseAcc` is below K, products of 8-bit floats add up that many elements at a time from zero, and
    the sums are added to the accumulator as 32-bit floats, like those of the stock `ttng.warp_group_dot`.

    Source: PTX ISA, wgmma.mma_async.sp and the matrix descriptor of wgmma.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::triton::gpu::TritonGPUDialect",
    "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"
  ];
}

def LowerWaveDotsPass : Pass<"sparsity-lower-wave-dots", "::mlir::ModuleOp"> {
  let summary = "Turn sparse products of waves into instructions";
  let description = [{
    Each `sparsity.dot` becomes `smfmac` instructions of 16 x 16 on the registers of its operands, which have the layouts
    that `sparsity-accelerate-dots` chose. A product in other layouts is an error. ABID lets instructions that follow each
    other along K share an index register.

    Source: CDNA3 ISA and CDNA4 ISA, sparse matrices.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::triton::TritonDialect"];
}

#endif // TRITONEXT_SPARSITY_TRANSFORMS_PASSES_TD
