//===- AsyncBuilders.h - Builders of tasks, descriptor copies and intrinsics -*- C++ -*-===//
//
// What kernels call through Triton's builder. Callbacks get values alone, so a constant operand
// carries what is no value: an index into an enumeration that Python mirrors.
//
//===----------------------------------------------------------------------===//

#ifndef TRITONEXT_TLX_IR_ASYNCBUILDERS_H
#define TRITONEXT_TLX_IR_ASYNCBUILDERS_H

#include "mlir/IR/Value.h"

#include <vector>

class TritonOpBuilder;

namespace tritonext::tlx {

/// Merges the tasks in front of the insertion point, each a `ttg.warp_specialize` that holds its
/// code in the default region and its warps in the attribute `tlx.task_warps`, into the one that
/// has 0 warps, the default task. Constants are cloned into the other tasks and other values become
/// captures. A tensor cannot be captured; the attribute `tlx.captured_tensor` of the op,
/// "name|line|column", then says which and where. A default task that is alone is inlined.
///
/// `values[1]` is any value and becomes the result.
void buildMergeTasks(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.async_descriptor_load` of descriptor, buffer, barrier, predicate, eviction policy,
/// the mask of the blocks that get the tile or the constant 0 for the own one alone, and the
/// coordinates.
void buildAsyncDescriptorLoad(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.async_descriptor_store` of descriptor, buffer, eviction policy, kind of reduction or
/// -1, and the coordinates.
void buildAsyncDescriptorStore(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.async_descriptor_prefetch` of descriptor, predicate, eviction policy and the
/// coordinates.
void buildAsyncDescriptorPrefetch(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Reads the special register that `values[1]` names.
void buildReadRegister(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Collects the condition `values[2]` of the threads in the mask `values[1]` of each warp.
void buildVoteBallot(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Lets each thread for which the condition `values[2]` holds arrive at the barrier `values[1]`.
void buildThreadArrive(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Lets all threads see what each of them stored to shared memory.
void buildLocalBarrier(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Waits (`values[1]` is 0) or arrives (1) at the named barrier `values[2]` of `values[3]` threads.
void buildNamedBarrier(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds an acquire-release fence of the scope that `values[1]` names.
void buildFence(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Makes initialised barriers visible to the other blocks of the cluster. `values[1]` is how many
/// blocks a tensor is spread over.
void buildFenceBarrierInit(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds a barrier of all threads of a cluster. `values[1]` is how many blocks a tensor is spread
/// over.
void buildClusterBarrier(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.alias_spec` of `values[1]` bytes, or of as many as needed when that is 0.
void buildAliasSpec(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.alias_storage` of spec, buffer and, when there are more values, offset, stride and
/// group.
void buildAliasStorage(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Lets one thread of the task copy `values[3]` bytes from the pointer `values[1]` to the buffer
/// `values[2]` and tell the barrier `values[4]`, with the eviction policy that `values[5]` names.
void buildBulkLoad(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Lets one thread of the task copy `values[3]` bytes from the buffer `values[2]` to the pointer
/// `values[1]`, as a group of its own among the descriptor stores.
void buildBulkStore(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Lets one thread of each warp fetch the descriptor `values[1]` itself.
void buildPrefetchDescriptor(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Allocates `values[1]` bytes of global memory of the program, aligned for descriptors.
void buildDescriptorMemory(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.store_descriptor` of descriptor and slot.
void buildStoreDescriptor(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.load_descriptor` of the slot `values[1]` and the type of `values[2]`.
void buildLoadDescriptor(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.inspect_layout` of `values[1]` and, when there is a third value, another one. The
/// layout to expect is that of the op `values[3]`, which is erased.
void buildInspectLayout(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.require_layout` of `values[1]`; Python sets the layout.
void buildRequireLayout(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.remote_arrive` of barrier, rank, predicate, arrivals (0 for one of each thread) and
/// bytes (0 for none).
void buildRemoteArrive(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.remote_store` of tensor, buffer, rank and, when there is a fourth value, barrier.
void buildRemoteStore(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

/// Builds `tlx.remote_load` of buffer and rank.
void buildRemoteLoad(TritonOpBuilder &builder, std::vector<mlir::Value> &values);

} // namespace tritonext::tlx

#endif // TRITONEXT_TLX_IR_ASYNCBUILDERS_H
