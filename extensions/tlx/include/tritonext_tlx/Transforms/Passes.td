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

def LimitLoopsPass : Pass<"tlx-limit-loops", "::mlir::ModuleOp"> {
  let summary = "Keep stock software pipelining out of loops that are pipelined by hand";
  let description = [{
    A loop with asynchronous copies, asynchronous dots, barriers or stores to buffers, in itself or in a loop inside, is
    scheduled by its author. It gets `tt.num_stages = 1`, on which the stock pipeliners leave it alone. `tl.range(num_stages=)` with
    more stages on such a loop is an error. Loops without such ops are pipelined as ever.
  }];
}

def LowerAsyncDotsPass : Pass<"tlx-lower-async-dots", "::mlir::ModuleOp"> {
  let summary = "Turn asynchronous dots into warp-group MMA";
  let description = [{
    Gives the accumulator of each `tlx.async_dot` the layout of warp-group MMA and replaces the op by
    `ttng.warp_group_dot`. The layout follows the accumulator through waits, loops and conditionals, so that registers
    that an MMA still writes are never moved. Where other ops make or use the accumulator its layout is converted.

    A use of the result of a dot that is not behind a wait is an error.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def HideAsyncOpsPass : Pass<"tlx-hide-async-ops", "::mlir::ModuleOp"> {
  let summary = "Hide waits, asynchronous dots and loads of buffers from stock passes";
  let description = [{
    The stock pipeliners own every asynchronous op they see, in whatever loop: they recompute the counts of waits from
    tokens that waits by hand do not have, and put a wait behind each asynchronous dot. Other stock passes take for
    granted that a buffer is written once, and move its loads into loops or to the iteration before. This pass turns
    `ttg.async_wait` into `tlx.async_load_wait`, asynchronous `ttng.warp_group_dot` into `tlx.async_dot` and
    `ttg.local_load` into `tlx.local_load` while they run. Ops with tokens are the pipeliner's own, and stay.
  }];
}

def ShowAsyncOpsPass : Pass<"tlx-show-async-ops", "::mlir::ModuleOp"> {
  let summary = "Bring back what was hidden from the stock pipeliners";
  let description = [{
    Turns waits and dots back that `tlx-hide-async-ops` hid. A `tlx.async_dot` whose accumulator has no layout of MMA is
    an error.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def ShowLocalLoadsPass : Pass<"tlx-show-local-loads", "::mlir::ModuleOp"> {
  let summary = "Bring back the loads of buffers that were hidden from stock passes";
  let description = [{
    Turns the loads back that `tlx-hide-async-ops` hid. It comes behind `ttgpuir.reorder_instructions`, which would move
    a load with one use into the loop of that use, past stores to the buffer.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect"];
}

def CheckAsyncCopiesPass : Pass<"tlx-check-async-copies", "::mlir::ModuleOp"> {
  let summary = "Refuse asynchronous copies that are too narrow for the hardware";
  let description = [{
    A thread copies 4 bytes at once, or more. What is narrower, because the alignment of pointers or the bounds in a mask
    are not known, is an error here, with the remedy. So is a copy of fewer bytes in all, and a cache modifier that would
    be dropped.
  }];
}

def WidenAsyncCopiesPass : Pass<"tlx-widen-async-copies", "::mlir::ModuleOp"> {
  let summary = "Give threads 4 bytes of an asynchronous copy, where they would get less";
  let description = [{
    Stock spreads the elements of a copy over all threads before one gets a second, and hardware copies 4 bytes at
    least. A copy of elements of less than that, whose pointers and mask allow more at once, gets a layout in which each
    thread has 4 bytes and the threads that are left over have none of their own.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect"];
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

def CheckNamedBarriersPass : Pass<"tlx-check-named-barriers", "::mlir::ModuleOp"> {
  let summary = "Refuse named barriers that the compiler uses itself, or that never complete";
  let description = [{
    Hardware has 16 named barriers for a block. Triton takes 0, and in a kernel with tasks 1 and one from 2 on for each
    task but the default one. A kernel that waits at one of those would wait with the wrong threads. A barrier that wants
    more threads than all tasks that use it have is an error too.
  }];
}

def CheckBarriersPass : Pass<"tlx-check-barriers", "::mlir::ModuleOp"> {
  let summary = "Refuse barriers whose phases cannot complete, or that nobody waits for";
  let description = [{
    Looks at all that a kernel does with each array of barriers, in all tasks: waits without an arrival and arrivals
    without a wait; arrivals that cannot add up to those of a phase, or that surely exceed them; announced bytes that
    differ from those of the copies on the barrier. What it reports is wrong on every run. A barrier that is used in ways
    it does not understand, such as from another block of the cluster, is left alone.
  }];
}

def CheckBufferReadsPass : Pass<"tlx-check-buffer-reads", "::mlir::ModuleOp"> {
  let summary = "Refuse reads of a buffer for whose copy nobody waited";
  let description = [{
    Follows each copy through its block to the first read of the same slot, counting groups on the way, and looks for any
    wait when a buffer is filled by copies alone.
  }];
}

def CheckSlotsPass : Pass<"tlx-check-slots", "::mlir::ModuleOp"> {
  let summary = "Refuse slots out of range that only simplification shows";
  let description = [{
    The op refuses constants that are out of range. Here functions are inlined and arithmetic is folded, and the bounds of
    loops are known.
  }];
}

def CheckSharedMemoryPass : Pass<"tlx-check-shared-memory", "::mlir::ModuleOp"> {
  let summary = "Refuse kernels that need more shared memory than a block can have";
  let description = [{
    Runs behind the allocation of shared memory, and shows which buffer got what. Stock Triton finds out at the launch.
  }];
}

def PruneUnusedBarriersPass : Pass<"tlx-prune-unused-barriers", "::mlir::ModuleOp"> {
  let summary = "Leave out barriers that nobody waits for or arrives at";
  let description = [{
    A configuration may need fewer barriers than a kernel makes. Where functions are inlined and branches of constants
    are decided, an array whose barriers are made, perhaps invalidated, and nothing else loses all of that, its memory and
    its places among the captures of tasks. An array of which anything else is done, in any slot, stays.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def InvalidateBarriersPass : Pass<"tlx-invalidate-barriers", "::mlir::ModuleOp"> {
  let summary = "End the life of barriers where their block ends";
  let description = [{
    Shared memory that held a barrier may hold something else only after the barrier was invalidated, and nothing tells
    the allocation of shared memory so. An `ttng.inval_barrier` at the end of the block that allocates a barrier does
    that, and keeps its memory until then.
  }];
  let dependentDialects = ["::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def PlaceAliasesPass : Pass<"tlx-place-aliases", "::mlir::ModuleOp"> {
  let summary = "Put buffers that share memory into one allocation";
  let description = [{
    Makes one `ttg.local_alloc` or `ttng.tmem_alloc` of each `tlx.alias_spec`, as large and as aligned as its buffers
    need, and views of it of the buffers. Where slots of a buffer do not follow each other the view has more slots, and
    the indices into it are computed anew, in tasks too.

    A size that the buffers do not fit in, a buffer that is placed twice, of another spec or left out, and one that goes
    through a loop or a branch although its slots lie apart, are errors. So are buffers of both memories, and buffers in
    tensor memory with different numbers of rows.
  }];
  let dependentDialects = [
    "::mlir::triton::gpu::TritonGPUDialect", "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect",
    "::mlir::arith::ArithDialect"
  ];
}

def LowerTensorMemoryPass : Pass<"tlx-lower-tensor-memory", "::mlir::ModuleOp"> {
  let summary = "Load and store tensor memory in the layouts that the instructions have";
  let description = [{
    Turns `tlx.tmem_load` and `tlx.tmem_store` into stock ops. Those take tensors in a layout for the instruction and the
    warps around it; the tensor is converted behind a load and before a store.

    On targets with tensor memory a `tlx.async_dot`, whose accumulator is a tensor, becomes what `tt.dot` becomes there: a
    store of the accumulator to tensor memory, an MMA that is waited for, and a load. Stock passes keep the accumulator
    there around loops.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

def CoalesceBufferOpsPass : Pass<"tlx-coalesce-buffer-ops", "::mlir::ModuleOp"> {
  let summary = "Give AMD's buffer ops layouts in which threads access wide pieces";
  let description = [{
    What `tritongpu-coalesce` does for loads and stores of tensors of pointers, for those of a pointer and offsets. A copy
    to shared memory of which a thread would move less than 4 bytes is an error.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect"];
}

def LowerRequiredLayoutsPass : Pass<"tlx-lower-required-layouts", "::mlir::ModuleOp"> {
  let summary = "Convert tensors to the layouts that the kernel requires of them";
  let description = [{
    Puts a conversion before and behind each `tlx.require_layout`, whose tensor then is in the layout. The op stays, so
    that stock passes do not take the conversions for detours. A load of a buffer for it alone loads in the layout.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect"];
}

def FreeRequiredLayoutsPass : Pass<"tlx-free-required-layouts", "::mlir::ModuleOp"> {
  let summary = "Take out the ops that kept required layouts";
  let description = [{
    Comes where no pass chooses layouts any more. A `tlx.require_layout` of a tensor in another layout is an error.
  }];
}

def InspectLayoutsPass : Pass<"tlx-inspect-layouts", "::mlir::ModuleOp"> {
  let summary = "Print and compare layouts";
  let description = [{
    Prints the layouts that the kernel wants to see, and compares those that it expects to be the same, when all passes
    that choose layouts have run. Conversions that stand in front of this op only are looked through. Layouts that differ
    as functions from registers, lanes and warps to elements are an error.
  }];
}

def SynchronizeClustersPass : Pass<"tlx-synchronize-clusters", "::mlir::ModuleOp"> {
  let summary = "Let blocks of a cluster meet before the first and after the last remote access";
  let description = [{
    A block may access the memory of another one only while that one runs, and its barriers once they are initialised.
    A kernel with remote accesses gets a cluster barrier before the first one, behind a fence for barriers, and one at
    each end of the kernel. A barrier that the kernel has at such a place already is enough, and the one at the end is
    left out behind tasks with the attribute `tlx.no_ending_cluster_sync`. In such a kernel a request for more work is a
    remote access too, since the response comes to all blocks.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerRemoteAccessesPass : Pass<"tlx-lower-remote-accesses", "::mlir::ModuleOp"> {
  let summary = "Turn accesses to other blocks of a cluster into instructions";
  let description = [{
    `tlx.remote_arrive`, `tlx.remote_store` and `tlx.remote_load` become inline assembly on addresses of the cluster. A
    tensor is moved to a layout in which each thread has up to 16 bytes that lie next to each other in the buffer. Where
    there are plain loads and stores, arrivals release and waits acquire at the scope of the cluster; where there are
    none, fences for the asynchronous proxy are narrowed to the block's own memory.

    A buffer without 4 bytes in a row for an asynchronous store is an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::triton::gpu::TritonGPUDialect"];
}

def LowerPairDotsPass : Pass<"tlx-lower-pair-dots", "::mlir::ModuleOp"> {
  let summary = "Turn matrix products of two blocks into instructions";
  let description = [{
    `tlx.pair_dot`, `tlx.pair_dot_scaled` and `tlx.pair_commit` become inline assembly, with descriptors of the operands
    made from their layouts, and `tlx.pair_copy` a stock copy. The module is marked as one whose tensor memory belongs to
    pairs of blocks, so that a stock copy is one in both of them.

    All tensor core instructions of a kernel work on one block, or all on two: other products and copies to tensor
    memory beside these are errors, and so are operands in a layout that the instruction does not read.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::triton::gpu::TritonGPUDialect"];
}

def LowerClusterBarriersPass : Pass<"tlx-lower-cluster-barriers", "::mlir::ModuleOp"> {
  let summary = "Let all warps of a block meet at cluster barriers";
  let description = [{
    Hardware waits for all threads, those included that run tasks and wait for the next ones meanwhile. In a kernel with
    tasks `tlx.cluster_barrier` becomes a block of tasks in which every warp meets the cluster. It runs once the number
    of warps is known. A barrier inside of a task is an error.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::triton::gpu::TritonGPUDialect"];
}

def ExtendLifetimesPass : Pass<"tlx-extend-lifetimes", "::mlir::ModuleOp"> {
  let summary = "Keep buffers until asynchronous work with them is over";
  let description = [{
    The allocation of shared memory ends the life of a buffer behind its last use in the IR, where stores by descriptor
    and warp-group MMA still read it, and copies write it. A `ttg.local_dealloc` behind the first wait that surely covers
    all such work keeps the buffer until then; without one it lives to the end of the kernel. An allocation in a loop, a
    branch or a task that the work outlasts is moved in front of it.

    A buffer that blocks of a cluster access in each other lives between the meetings of the cluster around its uses, or
    from the start and to the end of the kernel. For a product of two blocks, which reads buffers of both, a wait counts only
    outside of branches and without a predicate: others may be those of one block.

    A function that is not inlined has to wait itself, because a caller's buffers may lie where its buffers did.
  }];
  let dependentDialects = ["::mlir::triton::gpu::TritonGPUDialect"];
}

def PingpongTasksPass : Pass<"tlx-pingpong-tasks", "::mlir::ModuleOp"> {
  let summary = "Let two tasks take turns with the tensor cores";
  let description = [{
    Of two tasks that multiply and compute in a loop, one computes while the other has the tensor cores, if they happen to be
    that far apart. This pass keeps them so: each waits for the other to have had as many turns. A turn is what a task
    starts of warp-group products up to the next wait for them, where the loop around them also computes something else;
    a loop of nothing but products is one turn of the loop around it.

    Turns are counted in shared memory, by each warp. A warp that has waited for `limit` cycles goes on, and the two
    then run as if without this pass until their tasks end; so does a warp whose partner has left its task. Hence tasks
    of different numbers of turns, or that wait for each other in other ways, never stop.

    A block of tasks without exactly two such tasks, of one number of warps, is left alone. It is in no pipeline by
    default: `tlx:pingpong=true` puts it there.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::triton::gpu::TritonGPUDialect"];
  let options = [Option<"limit", "limit", "int64_t", /*default=*/"20000",
                        "cycles that a warp may wait for its turn">];
}

def LimitWaitsPass : Pass<"tlx-limit-waits", "::mlir::ModuleOp"> {
  let summary = "Report a wait for a barrier that lasts too long, and stop the kernel";
  let description = [{
    Turns each `ttng.wait_barrier` into a wait that looks at `%globaltimer`. One that lasts longer than the limit prints
    the task, the line, the barrier with its slot, the parity it waits for and that of the phase the barrier is in, once
    for a warp. It then traps, but only after as much time again, in which other waits of the same deadlock are reported too.

    It comes right before the conversion to LLVM, behind all passes that look for waits, and is in no pipeline by default:
    `tlx:wait_limit=…` puts it there.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::arith::ArithDialect"];
  let options = [Option<"limit", "limit", "int64_t", /*default=*/"1000000000",
                        "nanoseconds that a wait may last, at least a million">];
}

def ReplaceNamedBarriersPass : Pass<"tlx-replace-named-barriers", "::mlir::ModuleOp"> {
  let summary = "Make barriers in shared memory of named ones, for the concurrency sanitizer";
  let description = [{
    The sanitizer follows barriers in shared memory and would report what named ones order as races. So each
    becomes a barrier in shared memory with an arrival for each warp. Who waits reads the phase first, which cannot end
    before it arrives itself.

    A named barrier in a function that is not inlined is an error.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::triton::gpu::TritonGPUDialect",
                           "::mlir::triton::nvidia_gpu::TritonNvidiaGPUDialect"];
}

#endif // TRITONEXT_TLX_TRANSFORMS_PASSES_TD
