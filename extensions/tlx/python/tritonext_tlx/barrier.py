"""Barriers in shared memory (mbarriers), hardware named barriers, and fences."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.language.core import base_type, base_value, builtin

from tritonext.language import typed_builder

from ._arguments import bounded, choice, predicate
from .cluster import launched_blocks, remote_rank, spread_over
from .definition import ALL, NVIDIA, NVIDIA_TMA, constant, op, refuse, scalar, shown, target_of
from .types import remote_value

__all__ = [
    "alloc_barriers",
    "alloc_warp_barrier",
    "barrier_arrive",
    "barrier_expect_bytes",
    "barrier_wait",
    "fence",
    "fence_async_shared",
    "fence_mbarrier_init_cluster",
    "mbarrier",
    "mbarrier_type",
    "named_barrier_arrive",
    "named_barrier_wait",
]

# PTX ISA, mbarrier object: pending arrivals and transferred bytes are at most 2**20 - 1.
_LIMIT = 2**20 - 1


class mbarrier_type(base_type):
    """Type of one barrier, or of an array of barriers.

    Attributes:
        arrive_count: Arrivals that complete a phase.
        num: Length of an array; 0 for one barrier.
        per_thread: Whether each thread arrives for itself, and not one for its task.
    """

    def __init__(self, arrive_count: int, num: int, ir_type: Any, per_thread: bool = False) -> None:
        self.arrive_count = arrive_count
        self.num = num
        self.per_thread = per_thread
        # A plain builder cannot make it again, and functions that take a barrier ask for it.
        self.ir_type = ir_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, mbarrier_type) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return (self.arrive_count, self.num, self.per_thread)

    def __str__(self) -> str:
        name = "warp_barrier" if self.per_thread else "mbarrier"
        return f"{name}<{self.num} x {self.arrive_count}>" if self.num else f"{name}<{self.arrive_count}>"

    __repr__ = __str__

    def mangle(self) -> str:
        return f"TLXM{self.arrive_count}N{self.num}{'T' if self.per_thread else ''}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self.ir_type)

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[mbarrier, int]:
        return mbarrier(handles[cursor], self), cursor + 1


class mbarrier(base_value):
    """A barrier in shared memory, or an array of them made by :func:`alloc_barriers`; ``barriers[i]`` is one of it."""

    def __init__(self, handle: Any, type: mbarrier_type) -> None:
        self.handle = handle
        self.type = type

    def __str__(self) -> str:
        return str(self.type)

    @builtin
    def __getitem__(self, index: Any, _semantic: Any = None) -> mbarrier:
        return barrier_at(self, index, _semantic)

    def _flatten_ir(self, handles: list[Any]) -> None:
        handles.append(self.handle)

    def _set_name(self, builder: Any, name: str) -> None:
        self.handle.set_loc(builder.create_name_loc(name, self.handle.get_loc()))


class remote_mbarrier(remote_value):
    """A barrier of another block of the cluster."""


def _ir_type(builder: Any, shape: list[int]) -> Any:
    layout = builder.get_swizzled_shared_layout(1, 1, 1, [0], [])
    return builder.get_shared_mem_desc_ty(builder.get_int64_ty(), shape, layout, shape)


def barrier_at(barriers: mbarrier, index: Any, semantic: Any) -> mbarrier:
    """Return one barrier of an array.

    Raises:
        UserError: There is no array, or the index is out of range or no integer.
    """
    name = "local_view"
    if not barriers.type.num:
        raise refuse(name, "the argument is one barrier already", "buffer", expected="an array", found=barriers)
    at = constant(index)
    if isinstance(at, int) and not 0 <= at < barriers.type.num:
        raise refuse(name, "the slot is out of range", "index", expected=f"0 to {barriers.type.num - 1}", found=at)
    number = scalar(name, "index", at, semantic)
    builder = typed_builder(semantic)
    type_ = _ir_type(builder, [1])
    handle = builder.create_memdesc_index(type_, barriers.handle, number.handle)
    return mbarrier(handle, mbarrier_type(barriers.type.arrive_count, 0, type_, barriers.type.per_thread))


def name_parts(semantic: Any, **parts: mbarrier) -> None:
    """Name arrays of barriers after the variable that gets what they are parts of, as ``ring.full``."""
    # Triton names the place of a statement after what it assigns.
    whole = semantic.builder.get_loc().get_name()
    if whole:
        for name, barriers in parts.items():
            barriers._set_name(semantic.builder, f"{whole}.{name}")


def require_barrier(name: str, argument: str, value: Any) -> mbarrier:
    """Return an argument that is one barrier.

    Raises:
        UserError: It is none, or an array of them.
    """
    if not isinstance(value, mbarrier):
        found = shown(value)
        raise refuse(name, "an argument is not a barrier", argument, expected="a barrier", found=found)
    if value.type.num:
        hint = "choose one, as in barriers[0]"
        raise refuse(name, "an argument is an array", argument, expected="one barrier", found=value, hint=hint)
    return value


@op(targets=NVIDIA_TMA)
def alloc_barriers(num_barriers: Any, arrive_count: Any = 1, _semantic: Any = None) -> mbarrier:
    """Allocate barriers in shared memory and initialize them.

    One thread arrives for all warps that execute :func:`barrier_arrive`, so a task counts as one, a task of two
    replicas as two, and :func:`barrier_expect_bytes` as one. A phase completes with its last arrival, and not before
    the bytes that were announced in it have come.

    Args:
        num_barriers: How many, a constant.
        arrive_count: Arrivals that complete a phase, a constant.

    Returns:
        An array of barriers.

    Raises:
        UserError: An argument is no constant, or out of range.
    """
    name = "alloc_barriers"
    count = bounded(name, "arrive_count", arrive_count, 1, _LIMIT)
    return _allocate(name, num_barriers, count, _semantic)


def _allocate(name: str, num_barriers: Any, count: int, semantic: Any, per_thread: bool = False) -> mbarrier:
    # Of 8 bytes each; no block has the shared memory for more.
    number = bounded(name, "num_barriers", num_barriers, 1, 1024)
    blocks = semantic.builder.options.num_ctas
    if blocks != 1:
        raise refuse(name, "barriers of clusters are not supported", expected="num_ctas of 1", found=blocks)
    builder = typed_builder(semantic)
    type_ = _ir_type(builder, [number, 1])
    barriers = mbarrier(builder.create_local_alloc(type_), mbarrier_type(count, number, type_, per_thread))
    for index in range(number):
        one = barrier_at(barriers, index, semantic)
        typed_builder(semantic).create_mbarrier_init(one.handle, count)
    return barriers


@op(targets=NVIDIA_TMA)
def alloc_warp_barrier(num_barriers: Any, num_warps: Any = 1, num_arrivals: Any = 1, _semantic: Any = None) -> mbarrier:
    """Allocate barriers at which each thread arrives for itself, so that the warps of a task need not meet before.

    Args:
        num_barriers: How many, a constant.
        num_warps: Warps whose threads arrive, a constant.
        num_arrivals: How often each thread arrives in a phase, a constant.

    Returns:
        An array of barriers.

    Raises:
        UserError: An argument is no constant, or out of range.
    """
    name = "alloc_warp_barrier"
    warps = bounded(name, "num_warps", num_warps, 1, 32)
    arrivals = bounded(name, "num_arrivals", num_arrivals, 1, _LIMIT // (32 * warps))
    barriers = _allocate(name, num_barriers, 32 * warps * arrivals, _semantic, per_thread=True)
    # One thread initializes, and stock knows nothing of the others arriving.
    builder = _semantic.builder
    builder.create_tlx_local_barrier([builder.get_int32(0)])
    return barriers


@op(targets=NVIDIA_TMA)
def barrier_expect_bytes(bar: Any, size: Any, pred: Any = None, _semantic: Any = None) -> None:
    """Announce the bytes that copies bring in this phase, and arrive once.

    A copy to several blocks brings each of them, at its own barrier, all of its bytes.

    Args:
        bar: The barrier, also one of :func:`remote_view`.
        size: Bytes of all copies of the phase together, a constant.
        pred: Condition; does nothing when false.

    Raises:
        UserError: An argument is of the wrong kind or out of range.
    """
    name = "barrier_expect_bytes"
    remote = bar if isinstance(bar, remote_mbarrier) else None
    barrier = remote.local if remote else require_barrier(name, "bar", bar)
    if barrier.type.per_thread:
        hint = "use a barrier of tlx.alloc_barriers for copies"
        raise refuse(name, "one thread announces bytes for all", "bar", expected="mbarrier", found=barrier, hint=hint)
    count = bounded(name, "size", size, 1, _LIMIT)
    condition = predicate(name, pred, _semantic)
    if remote:
        _arrive_remotely(barrier, remote.rank, condition, 1, count, _semantic)
    else:
        typed_builder(_semantic).create_mbarrier_expect(barrier.handle, count, condition)


@op(targets=NVIDIA_TMA)
def barrier_wait(bar: Any, phase: Any, pred: Any = None, _semantic: Any = None) -> None:
    """Wait until the phase of a parity has completed.

    A new barrier is in its first phase, of parity 0: waiting for 0 waits for that one, waiting for 1 returns at once.
    Of use number ``i`` of a ring, ``slot, phase = tlx.get_bufidx_phase(i, slots)`` are slot and parity.

    Args:
        bar: The barrier.
        phase: 0 or 1, a constant or a scalar.
        pred: Condition; does nothing when false.

    Raises:
        UserError: An argument is of the wrong kind, or a constant phase neither 0 nor 1.
    """
    name = "barrier_wait"
    barrier = require_barrier(name, "bar", bar)
    parity = constant(phase)
    if not isinstance(parity, tl.tensor):
        parity = int(choice(name, "phase", parity, (0, 1)))
    elif not parity.type.is_block() and parity.dtype.is_int():
        # A comparison gives a parity too, which a signed conversion would turn to -1.
        parity = _semantic.cast(parity, tl.uint32) if parity.dtype.is_int1() else parity
    number = scalar(name, "phase", parity, _semantic)
    condition = predicate(name, pred, _semantic)
    typed_builder(_semantic).create_mbarrier_wait(barrier.handle, number.handle, condition, [])


@op(targets=NVIDIA_TMA)
def barrier_arrive(
    bar: Any, arrive_count: Any = 1, remote_cta_rank: Any = None, pred: Any = None, _semantic: Any = None
) -> None:
    """Arrive at a barrier, once for all warps of the task; at one of :func:`alloc_warp_barrier` with each thread.

    An arrival at another block tells it of accesses to shared memory; of global memory only behind ``fence("gpu")``.

    Args:
        bar: The barrier, also one of :func:`remote_view`.
        arrive_count: Arrivals to count, a constant up to that of the barrier.
        remote_cta_rank: The block of the cluster at whose barrier, of the same place, to arrive; None for the own one.
        pred: Condition; does nothing when false.

    Raises:
        UserError: An argument is of the wrong kind or out of range, or the kernel has no clusters.
    """
    name = "barrier_arrive"
    rank = constant(remote_cta_rank)
    if isinstance(bar, remote_mbarrier):
        if rank is not None:
            raise refuse(name, "the block is given twice", "remote_cta_rank", expected=None, found=bar)
        barrier, rank = bar.local, bar.rank
    else:
        barrier = require_barrier(name, "bar", bar)
        rank = None if rank is None else remote_rank(name, "remote_cta_rank", rank, _semantic)
    count = bounded(name, "arrive_count", arrive_count, 1, 1 if barrier.type.per_thread else barrier.type.arrive_count)
    condition = predicate(name, pred, _semantic)
    if rank is not None:
        _arrive_remotely(barrier, rank, condition, 0 if barrier.type.per_thread else count, 0, _semantic)
    elif barrier.type.per_thread:
        _semantic.builder.create_tlx_thread_arrive([barrier.handle, condition])
    else:
        typed_builder(_semantic).create_mbarrier_arrive(barrier.handle, count, condition)


def _arrive_remotely(barrier: mbarrier, rank: tl.tensor, condition: Any, count: int, size: int, semantic: Any) -> None:
    builder = semantic.builder
    numbers = [builder.get_int32(value) for value in (count, size)]
    builder.create_tlx_remote_arrive([barrier.handle, rank.handle, condition, *numbers])


def _named_barrier(name: str, kind: int, bar: Any, arrive_count: Any, semantic: Any) -> None:
    number = bounded(name, "bar", bar, 0, 15)
    count = bounded(name, "arrive_count", arrive_count, 32, 1024, 32)
    builder = semantic.builder
    facts = (kind, number, count, builder.options.num_warps)
    builder.create_tlx_named_barrier([builder.get_int32(value) for value in facts])


@op(targets=NVIDIA)
def named_barrier_wait(bar: Any, arrive_count: Any, _semantic: Any = None) -> None:
    """Arrive at a hardware barrier of the block and wait for it.

    The compiler takes barriers too: 0 for the kernel's own warps, 1 for the start and end of tasks, and from 2 on one
    for each task but the default one. Number yours from 15 down.

    Args:
        bar: Number of the barrier, a constant from 0 to 15.
        arrive_count: Threads that wait and arrive, together: a constant multiple of 32.

    Raises:
        UserError: An argument is no constant, or out of range.
    """
    _named_barrier("named_barrier_wait", 0, bar, arrive_count, _semantic)


@op(targets=NVIDIA)
def named_barrier_arrive(bar: Any, arrive_count: Any, _semantic: Any = None) -> None:
    """Arrive at a hardware barrier without waiting for it.

    Args:
        bar: As of :func:`named_barrier_wait`.
        arrive_count: As of :func:`named_barrier_wait`.

    Raises:
        UserError: An argument is no constant, or out of range.
    """
    _named_barrier("named_barrier_arrive", 1, bar, arrive_count, _semantic)


@op(targets=ALL)
def fence(scope: Any, _semantic: Any = None) -> None:
    """Order the memory accesses before it and after it.

    Args:
        scope: ``"gpu"`` or ``"sys"``, an acquire-release fence among the threads of the device or of the system; or
            ``"async_shared"``, between plain accesses to shared memory and those of TMA and MMA, which belongs between
            a store to a buffer and a copy or MMA that reads it.

    Raises:
        UserError: There is no such scope, or the target lacks it.
    """
    name = "fence"
    kind = choice(name, "scope", scope, ("gpu", "sys", "async_shared"))
    target = target_of(_semantic)
    if kind == "async_shared":
        if target not in NVIDIA_TMA:
            expected = ", ".join(NVIDIA_TMA)
            raise refuse(
                name, "the target has one kind of access to shared memory", "scope", expected=expected, found=target
            )
        _fence_async_shared(_semantic)
        return
    builder = _semantic.builder
    # Backends of LLVM name the scope of the device differently, and that of the system not at all.
    index = 1 if kind == "sys" else 0 if target.startswith("cuda") else 2
    builder.create_tlx_fence([builder.get_int32(index)])


@op(targets=NVIDIA_TMA)
def fence_async_shared(_semantic: Any = None) -> None:
    """Do what ``fence("async_shared")`` does."""
    _fence_async_shared(_semantic)


def _fence_async_shared(semantic: Any) -> None:
    # In a cluster also for stores to the buffers of other blocks.
    typed_builder(semantic).create_fence_async_shared(launched_blocks() > 1)


@op(targets=NVIDIA_TMA)
def fence_mbarrier_init_cluster(_semantic: Any = None) -> None:
    """Make initialized barriers known to the other blocks of the cluster, before a :func:`cluster_barrier`.

    A kernel needs neither before its first remote access: that much is done for it.

    Raises:
        UserError: The kernel has no clusters.
    """
    builder = _semantic.builder
    spread = spread_over("fence_mbarrier_init_cluster", _semantic)
    builder.create_tlx_fence_barrier_init([builder.get_int32(spread)])
