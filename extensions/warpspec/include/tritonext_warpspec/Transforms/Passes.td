#ifndef TRITONEXT_WARPSPEC_TRANSFORMS_PASSES
#define TRITONEXT_WARPSPEC_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def SpecializeLoopsPass : Pass<"warpspec-specialize-loops", "mlir::ModuleOp"> {
  let summary = "Let one warp load the operands of a loop of products, and the others multiply";

  let description = [{
    A loop of `ttng.warp_group_dot` whose operands come from
    `tt.descriptor_load` becomes two tasks of a `ttg.warp_specialize`. The
    warps of the kernel multiply: each iteration waits for a slot of a ring in
    shared memory, starts its products, and gives the slot of the iteration
    before back, whose products have then ended. A task of one warp computes
    the addresses and fills the slots, as far ahead as there are slots; loops
    around the products run in both tasks, so loads go on during an epilogue.

    In a loop over tiles the task that multiplies becomes two, of one warp
    group each: they take turns with tiles, or have half of the rows of each,
    with everything that is computed and stored behind the products.

    In a loop over tiles, operands may come from `tt.load` as well. Blocks of a
    matrix, by their addresses and masks, are loaded through descriptors that
    the kernel makes; otherwise the task has four warps, which copy by
    `ttg.async_copy_global_to_local`.

    Every changed kernel is audited before it replaces the original: the tasks
    run on numbers, with late copies and products, for several lengths of each
    loop. A loop that is not specialized keeps the stock schedule, as if it had
    no annotation, and a missed remark says why. On sm_100
    the stock pass specializes, and this one moves or removes annotations on
    which that one fails; on other targets it changes nothing.
  }];

  let dependentDialects = [
    "mlir::arith::ArithDialect",
    "mlir::scf::SCFDialect",
    "mlir::triton::TritonDialect",
    "mlir::triton::gpu::TritonGPUDialect",
    "mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect",
  ];

  let options = [
    Option<"allLoops", "all-loops", "bool", /*default=*/"false",
           "take every loop of products, and not only those with `warp_specialize`">,
    Option<"slots", "slots", "unsigned", /*default=*/"0",
           "slots of the ring; 0 chooses by shared memory and the time a slot is held">,
    Option<"numStages", "num-stages", "unsigned", /*default=*/"3",
           "least slots of the ring of a loop that does not say `tt.num_stages`">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"auto\"",
           "auto, single, cooperative or pingpong: how warp groups share the products">,
    Option<"pointers", "pointers", "PointerLoads", /*default=*/"PointerLoads::Automatic",
           "how operands are loaded that pointers address",
           [{llvm::cl::values(
               clEnumValN(PointerLoads::Automatic, "auto", "as is faster, or not at all"),
               clEnumValN(PointerLoads::Describe, "describe", "by descriptors where possible"),
               clEnumValN(PointerLoads::Copy, "copy", "by asynchronous copies of threads"))}]>,
  ];
}

def SeparateWarpsPass : Pass<"warpspec-separate-warps", "mlir::ModuleOp"> {
  let summary = "Let each warp of a task wait for barriers and arrive at them by itself";

  let description = [{
    Replaces waits and arrivals that `warpspec-specialize-loops` has marked
    with `warpspec.separate_warps` by inline PTX, in which each warp waits and
    arrives once for itself. The stock lowering lets all warps of a task meet
    before one of them arrives. Where waits are marked for it, the two warp
    groups of a task take turns by named barriers. The pass runs in front of the one that places
    barriers between threads, which has to see neither. Where the concurrency
    sanitizer instruments, it follows stock waits alone, and all stay.
  }];

  let options = [
    Option<"instrumentation", "instrumentation", "std::string", /*default=*/"",
           "How the kernel is instrumented, as its option instrumentation_mode says">,
  ];
}

def AuditBarriersPass : Pass<"warpspec-audit-barriers", "mlir::ModuleOp"> {
  let summary = "Check that the tasks of a kernel wait for each other as they have to";

  let description = [{
    Runs the audit of `warpspec-specialize-loops` on a module as it is, and
    fails with an error at the op where the protocol breaks. It changes
    nothing.
  }];
}

#endif // TRITONEXT_WARPSPEC_TRANSFORMS_PASSES
