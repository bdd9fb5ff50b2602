#ifndef TRITONEXT_TLX_TRANSFORMS_PASSES_TD
#define TRITONEXT_TLX_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CarryForeignOpsPass : Pass<"tlx-carry-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Take ops with tensors past the stock conversion to layouts";
  let description = [{
    A TLX kernel has ops of the GPU dialects, and of `tlx`, before its tensors have layouts. The stock conversion fails
    on those, so each becomes a call of a private function with the op's types, which the conversion knows.
    `tlx-restore-foreign-ops` rebuilds the op from the call right after the conversion.
  }];
  let dependentDialects = ["::mlir::triton::TritonDialect", "::mlir::ub::UBDialect"];
}

def RestoreForeignOpsPass : Pass<"tlx-restore-foreign-ops", "::mlir::ModuleOp"> {
  let summary = "Rebuild the ops that were taken past the conversion to layouts";
  let description = [{
    The other half of `tlx-carry-foreign-ops`: each op gets the operands and result types that its call got.
  }];
}

def ConvertPartitionsPass : Pass<"tlx-convert-partitions", "::mlir::ModuleOp"> {
  let summary = "Give the tensors of tasks layouts for the warps of the task";
  let description = [{
    The stock conversion gives every tensor of a module a layout for the warps of the kernel. A partition of
    `ttg.warp_specialize` with another number of warps is converted here first, by the same conversion in a module of
    its own. The kernel's target, warps, threads in a warp and blocks in a cluster are taken from the attributes
    `tlx.target`, `tlx.num_warps`, `tlx.threads_per_warp` and `tlx.num_ctas` of the op, which are removed.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect"];
}

def LowerDescriptorCopiesPass : Pass<"tlx-lower-descriptor-copies", "::mlir::ModuleOp"> {
  let summary = "Give descriptors the layouts of the buffers they fill, and copies their stock form";
  let description = [{
    A tensor descriptor gets the shared layout of the buffers that `tlx.async_descriptor_load` and
    `tlx.async_descriptor_store` use it with, through loops, branches, tasks and up to the arguments of the kernel.
    Buffers of two layouts on one descriptor, and layouts that the copy engine lacks, are errors.
  }];
  let dependentDialects = ["::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

#endif // TRITONEXT_TLX_TRANSFORMS_PASSES_TD
