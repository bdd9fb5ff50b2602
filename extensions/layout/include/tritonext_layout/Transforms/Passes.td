#ifndef TRITONEXT_LAYOUT_TRANSFORMS_PASSES
#define TRITONEXT_LAYOUT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def LocalizeStoresPass : Pass<"layout-localize-stores", "mlir::ModuleOp"> {
  let summary = "Give stores a layout in which each warp keeps the elements it computed";

  let description = [{
    A `tt.store` whose value comes from a tensor-core accumulator is preceded by
    a `ttg.convert_layout` into a blocked layout. That conversion hands elements
    from one warp to another, through shared memory and with barriers that stop
    the whole CTA.

    This pass replaces the store's layout by a `#ttg.linear` layout that assigns
    to every warp exactly the elements the warp already holds, and arranges them
    over lanes and registers so that the store is as wide and touches no more
    memory segments than before. The conversion then stays inside a warp. The
    pointer and mask of the store are recomputed in the new layout from their
    cheap producers; no pointer goes through shared memory.

    The same is done for a `tt.load` whose only use is a conversion to the
    accumulator's layout, as for a residual that is added in the epilogue.

    An access that would not become better, or whose rewrite cannot be proven
    legal, is left alone, and a missed remark says why.
  }];

  let dependentDialects = [
    "mlir::triton::TritonDialect",
    "mlir::triton::gpu::TritonGPUDialect",
  ];

  let options = [
    Option<"minVectorBits", "min-vector-bits", "unsigned", /*default=*/"0",
           "leave an access alone if a thread would move fewer bits at once than this">,
    Option<"minBarriers", "min-barriers", "unsigned", /*default=*/"2",
           "leave an access outside of loops alone if fewer barriers would fall">,
    Option<"loads", "loads", "bool", /*default=*/"true",
           "also localize loads that feed the accumulator's layout">,
  ];
}

def ReportConversionsPass : Pass<"layout-report-conversions", "mlir::ModuleOp"> {
  let summary = "Say what each layout conversion costs";

  let description = [{
    Records a remark for each `ttg.convert_layout`: a JSON object that says how
    stock Triton lowers the conversion, what that takes, and between which ops
    it stands. `tritonext explain` shows them as a table. The IR stays as it is.
  }];

  let dependentDialects = [
    "mlir::triton::TritonDialect",
    "mlir::triton::gpu::TritonGPUDialect",
  ];

  let options = [
    Option<"shuffles", "shuffles", "bool", /*default=*/"false",
           "price each conversion that shuffles can do as if they were forced">,
  ];
}

def PlaceConversionsPass : Pass<"layout-place-conversions", "mlir::ModuleOp"> {
  let summary = "Choose layouts over whole components, so that conversions are few and cheap";

  let description = [{
    Stock Triton decides layouts conversion by conversion. This pass looks at
    everything that a layout can flow to: elementwise and shape ops, loads,
    stores and atomics, exact reductions, and what loops and `scf.if` carry.

    For each conversion, the layout at either end is spread over its
    neighbourhood, and a minimum cut decides which ops take it, keep theirs, or
    are computed in both. The price of a choice is the cycles of the conversions
    that it needs, of memory accesses in the layouts they get, and of arithmetic
    on elements that several threads hold; work in a loop counts for each
    iteration. Choices are made one after the other while they save cycles, and
    none adds barriers, scratch memory or conversions in loops.

    No op combines floating-point numbers in another order, and no access that a
    barrier may keep in order with another one to the same memory is touched.
  }];

  let dependentDialects = [
    "mlir::triton::TritonDialect",
    "mlir::triton::gpu::TritonGPUDialect",
  ];

  let options = [
    Option<"workLimit", "work-limit", "uint64_t", /*default=*/"4000000",
           "steps after which the search for each function ends">,
  ];
}

def DeferReductionsPass : Pass<"layout-defer-reductions", "mlir::ModuleOp"> {
  let summary = "Let threads finish the reductions that a loop accumulates after the loop";

  let description = [{
    `acc += tl.sum(x, axis)` in a loop makes threads exchange what they have in
    each iteration, with shuffles, and with barriers if several warps share a
    slice. This pass lets each thread accumulate its own part, over any axis and
    in any layout, and exchanges once, after the loop.

    Minima, maxima and integers stay the same to the bit. A sum or product of
    floating-point numbers is added up in another order, as stock's
    `optimize-thread-locality` does for the innermost axis.
  }];

  let dependentDialects = [
    "mlir::triton::TritonDialect",
    "mlir::triton::gpu::TritonGPUDialect",
  ];

  let options = [
    Option<"reorderSums", "reorder-sums", "bool", /*default=*/"true",
           "also defer sums and products of floating-point numbers">,
  ];
}

def PipelineLoadsPass : Pass<"layout-pipeline-loads", "mlir::ModuleOp"> {
  let summary = "Let Triton pipeline loads by asynchronous copies that it would keep in registers";

  let description = [{
    Triton pipelines a load through shared memory if threads can copy 32 bits or
    more at once. Others stay where their use is, or their registers are handed
    on from iteration to iteration, which waits for them. In loops that multiply,
    this pass lets two kinds of them be copied:

    - Triton spreads a vector of scales over all threads, one to each. Each
      thread gets up to 128 adjacent bits, where memory has them together.
    - Weights of eight bits and less whose columns become the rows of an operand
      are converted to that layout, and Triton gives shared memory its order, in
      which neighbours in memory are apart. They get shared memory in the order
      of global memory, and are turned when they are read from it.
  }];

  let dependentDialects = [
    "mlir::triton::TritonDialect",
    "mlir::triton::gpu::TritonGPUDialect",
  ];
}

def PrefetchLoadsPass : Pass<"layout-prefetch-loads", "mlir::ModuleOp"> {
  let summary = "Issue the loads that Triton leaves in pipelined loops one iteration ahead";

  let description = [{
    Elements that are neither adjacent nor 32 bits wide cannot be copied
    asynchronously, such as the scales of weights that are stored by columns. In
    a loop with asynchronous copies, this pass issues such loads of iteration
    i + 1 in iteration i, behind the last use of what was loaded for i, and of
    the first iteration before the loop. The loop carries what they give.

    No load is issued that the kernel would not issue: a mask leaves out those
    of an iteration that does not run. Memory that the kernel may write, or that
    an atomic in the loop may guard, is left alone.
  }];

  let dependentDialects = [
    "mlir::arith::ArithDialect",
    "mlir::scf::SCFDialect",
    "mlir::triton::TritonDialect",
    "mlir::triton::gpu::TritonGPUDialect",
  ];

  let options = [
    Option<"maxRegisters", "max-registers", "unsigned", /*default=*/"8",
           "registers of a thread that a loop may carry for such loads">,
  ];
}

def ForceShufflesPass : Pass<"layout-force-shuffles", "mlir::ModuleOp"> {
  let summary = "Let conversions within a warp use shuffles where those are cheaper";

  let description = [{
    Stock sends a conversion within a warp through shared memory unless it takes
    fewer than two exchanges between registers and lanes. This pass compares the
    prices of both and sets `force_warp_shuffle`, which needs no shared memory
    and no barrier, where neither the time of a CTA nor the instructions of a
    multiprocessor grow.
  }];

  let dependentDialects = [
    "mlir::triton::gpu::TritonGPUDialect",
  ];
}

def WidenExchangesPass : Pass<"layout-widen-exchanges", "mlir::ModuleOp"> {
  let summary = "Let conversions between warps take one round where shared memory is free";

  let description = [{
    Stock lowers a large conversion between warps in rounds over a small piece
    of shared memory, with two barriers between one round and the next. At the
    end of a kernel the buffers of its main loop are free. This pass writes the
    whole tensor there and reads it back, with one barrier, in the layout that
    stock's rounds have. It uses Triton's allocator to see whether the kernel
    would need more shared memory, and leaves such conversions alone.
  }];

  let dependentDialects = [
    "mlir::triton::gpu::TritonGPUDialect",
  ];
}

def ShareGathersPass : Pass<"layout-share-gathers", "mlir::ModuleOp"> {
  let summary = "Gather through shared memory where shuffles and the exchanges around them take longer";

  let description = [{
    Stock gives `tt.gather` a layout in which a warp holds whole lines of the
    source, so that lanes can ask each other by shuffles, and converts source,
    indices and result. The other way of its lowering needs none of that: the
    source goes to shared memory as it is, and each thread reads the elements
    that its indices name. Both are priced, with the bank conflicts of random
    indices.

    Where shared memory would take longer, more barriers or more bytes, and in
    clusters of CTAs, the gather stays as it is.
  }];
}

def NarrowIndicesPass : Pass<"layout-narrow-indices", "mlir::ModuleOp"> {
  let summary = "Gather by indices of as many bits as the gathered dimension needs";

  let description = [{
    An index of `tt.gather` is below the size of the gathered dimension, so that
    16 or 32 bits hold it. Indices of 64 bits take up to four times the
    registers, and the shared memory where they are exchanged.
  }];

  let dependentDialects = [
    "mlir::arith::ArithDialect",
  ];
}

#endif // TRITONEXT_LAYOUT_TRANSFORMS_PASSES
