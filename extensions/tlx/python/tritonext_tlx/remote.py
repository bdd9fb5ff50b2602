"""Shared memory of other blocks of the cluster (distributed shared memory)."""

from __future__ import annotations

from typing import Any

from .barrier import mbarrier, remote_mbarrier, require_barrier
from .cluster import remote_rank
from .definition import NVIDIA_TMA, op, refuse, tensor
from .memory import check_like
from .types import buffered_tensor, remote_buffer, require_buffer

__all__ = ["async_remote_shmem_store", "remote_shmem_store", "remote_view"]


@op(targets=NVIDIA_TMA)
def remote_view(local_allocated_buffer: Any, remote_cta_rank: Any, _semantic: Any = None) -> Any:
    """Return what another block of the cluster has at the place of a barrier or slot of this one.

    Both blocks have to run the same allocations, as they do in a kernel without allocations in branches.

    Args:
        local_allocated_buffer: One barrier, for :func:`barrier_arrive` and :func:`barrier_expect_bytes`; or one slot,
            for :func:`local_load` and :func:`local_store`.
        remote_cta_rank: The other block, an integer.

    Raises:
        UserError: An argument is of the wrong kind or out of range, or the kernel has no clusters.
    """
    name = "remote_view"
    argument = "local_allocated_buffer"
    if isinstance(local_allocated_buffer, buffered_tensor):
        slot = require_buffer(name, argument, local_allocated_buffer, slots=False)
        return remote_buffer(slot, remote_rank(name, "remote_cta_rank", remote_cta_rank, _semantic))
    if not isinstance(local_allocated_buffer, mbarrier):
        found = getattr(local_allocated_buffer, "type", local_allocated_buffer)
        raise refuse(name, "an argument has no place in a block", argument, expected="a barrier or a slot", found=found)
    barrier = require_barrier(name, argument, local_allocated_buffer)
    return remote_mbarrier(barrier, remote_rank(name, "remote_cta_rank", remote_cta_rank, _semantic))


def _store(name: str, dst: Any, src: Any, remote_cta_rank: Any, semantic: Any) -> list[Any]:
    slot = require_buffer(name, "dst", dst, slots=False)
    check_like(name, "src", tensor(name, "src", src), slot.type.shape, slot.type.element_ty)
    rank = remote_rank(name, "remote_cta_rank", remote_cta_rank, semantic)
    return [src.handle, slot.handle, rank.handle]


@op(targets=NVIDIA_TMA)
def remote_shmem_store(dst: Any, src: Any, remote_cta_rank: Any, _semantic: Any = None) -> None:
    """Store a tensor to a slot of another block of the cluster.

    That block may load it behind a barrier at which this one arrives, or a :func:`cluster_barrier`.

    Args:
        dst: The slot at the same place of this block.
        src: A tensor of the same shape and type.
        remote_cta_rank: The other block, an integer.

    Raises:
        UserError: An argument is of the wrong kind or out of range, or the kernel has no clusters.
    """
    operands = _store("remote_shmem_store", dst, src, remote_cta_rank, _semantic)
    _semantic.builder.create_tlx_remote_store(operands)


@op(targets=NVIDIA_TMA)
def async_remote_shmem_store(dst: Any, src: Any, remote_cta_rank: Any, barrier: Any, _semantic: Any = None) -> None:
    """Start a store of a tensor to a slot of another block of the cluster, and signal its bytes to a barrier there.

    The other block announces the bytes with :func:`barrier_expect_bytes`, and waits for the barrier before it loads.

    Args:
        dst: The slot at the same place of this block. A row of it has at least 4 bytes.
        src: A tensor of the same shape and type.
        remote_cta_rank: The other block, an integer.
        barrier: The barrier at the same place of this block.

    Raises:
        UserError: An argument is of the wrong kind or out of range, or the kernel has no clusters.
    """
    name = "async_remote_shmem_store"
    operands = _store(name, dst, src, remote_cta_rank, _semantic)
    signalled = require_barrier(name, "barrier", barrier)
    if signalled.type.per_thread:
        hint = "use a barrier of tlx.alloc_barriers"
        raise refuse(name, "the barrier takes no bytes", "barrier", expected="mbarrier", found=signalled, hint=hint)
    _semantic.builder.create_tlx_remote_store([*operands, signalled.handle])
