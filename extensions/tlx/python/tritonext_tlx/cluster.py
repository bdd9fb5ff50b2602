"""Clusters of blocks: their size, and where all of their threads meet.

A kernel launched with ``ctas_per_cga=(n, 1, 1)`` is compiled for one block, which owns its tensors and buffers; with
``num_ctas=n`` tensors are spread over the blocks. Ops that name another block belong to the first kind.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import triton.language as tl

import tritonext
from tritonext.errors import InternalError

from .definition import NVIDIA_TMA, constant, op, refuse, scalar
from .utility import read_register

__all__ = [
    "OPTION",
    "along_first_axis",
    "cluster_barrier",
    "cluster_cta_rank",
    "cluster_size_1d",
    "launched_as",
    "launched_blocks",
    "launched_shape",
]

OPTION = "ctas_per_cga"
"""The launch option by which published TLX asks for clusters."""

# Places in the table of lib/IR/AsyncBuilders.cpp.
_RANK = 4
_SIZE = 5

_REQUEST = "clusterlaunchcontrol.try_cancel"


class _Launch:
    """The last stage of a kernel whose blocks are launched as clusters.

    Args:
        shape: Blocks of a cluster along each axis.
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self.blocks = math.prod(shape)

    def __call__(self, inner: Callable, source: Any, metadata: dict[str, Any], info: Any) -> Any:
        binary = inner(source, metadata)
        if along_first_axis(self.shape):
            # Triton's launcher takes the size of the cluster from here. Compiled for one block, each block has an
            # index and tensors of its own.
            metadata["num_ctas"] = self.blocks
        return binary


class _Declare:
    """The stage that makes PTX, of a kernel with clusters.

    The response to a request for more work goes to all blocks, which stock asks for where tensors are spread over them:
    PTX ISA, clusterlaunchcontrol.try_cancel, ``.multicast::cluster::all``.

    A kernel that states the shape of its clusters has them by any launch: PTX ISA, ``.reqnctapercluster``. Triton's
    launcher asks for those along the first axis itself.
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape

    def __call__(self, inner: Callable, source: Any, metadata: dict[str, Any], info: Any) -> Any:
        text = inner(source, metadata)
        text, requests = re.subn(rf"({re.escape(_REQUEST)}\S*)(\.b128)", r"\1.multicast::cluster::all\2", text)
        if requests != text.count(_REQUEST):
            raise InternalError("the kernel asks for work in another way", where=OPTION, found=f"{requests} times")
        if along_first_axis(self.shape):
            return text
        stated = f".explicitcluster\n.reqnctapercluster {', '.join(map(str, self.shape))}\n"
        changed, count = re.subn(r"^\.reqntid ", stated + ".reqntid ", text, flags=re.MULTILINE)
        if count != 1:
            raise InternalError("the kernel states its threads in another way", where=OPTION, found=f"{count} times")
        return changed


def along_first_axis(shape: tuple[int, int, int]) -> bool:
    """Return whether clusters have more than one block along the first axis of the grid only."""
    return shape[1:] == (1, 1)


@functools.cache
def launched_as(blocks: int, *others: int) -> tritonext.use:
    """Return the scope in which kernels are compiled to be launched as clusters of so many blocks along each axis."""
    shape = (blocks, *others, *(1,) * (2 - len(others)))
    steps = [
        tritonext.wrap_stage("ptx", _Declare(shape), key=str(shape)),
        tritonext.wrap_stage("cubin", _Launch(shape), key=str(shape)),
    ]
    name = f"clusters of {' x '.join(map(str, shape))}"
    return tritonext.use(tritonext.Pipeline(steps, name=name, targets=NVIDIA_TMA))


def launched_shape() -> tuple[int, int, int]:
    """Return the blocks of a cluster along each axis, of the kernel that is being compiled, each with own tensors."""
    found = [
        step.function.shape
        for pipeline in tritonext.active()
        for step in pipeline.steps
        if isinstance(step.function, _Launch)
    ]
    return found[-1] if found else (1, 1, 1)


def launched_blocks() -> int:
    """Return the number of blocks in a cluster of the kernel that is being compiled, each with tensors of its own."""
    return math.prod(launched_shape())


def spread_over(name: str, semantic: Any) -> int:
    """Return the number of blocks that a tensor is spread over, of an op that needs a cluster.

    Raises:
        UserError: The kernel has no clusters.
    """
    spread = semantic.builder.options.num_ctas
    if spread == 1 and launched_blocks() == 1:
        raise _no_clusters(name, "ctas_per_cga=(n, 1, 1), or num_ctas of 2 or more, when the kernel is launched")
    return spread


def remote_blocks(name: str, semantic: Any) -> int:
    """Return the number of blocks in the cluster, of an op that names another one.

    Raises:
        UserError: The kernel has no clusters, or its tensors are spread over them.
    """
    blocks = launched_blocks()
    if semantic.builder.options.num_ctas != 1 or blocks == 1:
        raise _no_clusters(name, "ctas_per_cga=(n, 1, 1) when the kernel is launched")
    return blocks


def _no_clusters(name: str, expected: str) -> Exception:
    return refuse(
        name,
        "the kernel has no clusters",
        expected=expected,
        found="a cluster of 1",
        hint="tritonext_tlx.install_compat() teaches launches and triton.Config the option ctas_per_cga",
    )


def remote_rank(name: str, argument: str, value: Any, semantic: Any) -> tl.tensor:
    """Return the rank of a block of the cluster as a 32-bit value.

    Raises:
        UserError: It is no integer, or a constant out of range, or the kernel has no clusters.
    """
    blocks = remote_blocks(name, semantic)
    rank = constant(value)
    if isinstance(rank, int) and not 0 <= rank < blocks:
        raise refuse(
            name,
            "the cluster has no such block",
            argument,
            expected=f"0 to {blocks - 1}, of a cluster of {blocks}",
            found=rank,
        )
    return scalar(name, argument, value, semantic)


@op(targets=NVIDIA_TMA)
def cluster_cta_rank(_semantic: Any = None) -> tl.tensor:
    """Return the rank of the block in its cluster, an int32; 0 in a kernel without clusters."""
    return read_register(_RANK, tl.int32, _semantic)


@op(targets=NVIDIA_TMA)
def cluster_size_1d(_semantic: Any = None) -> tl.tensor:
    """Return the number of blocks in the cluster, an int32; 1 in a kernel without clusters."""
    return read_register(_SIZE, tl.int32, _semantic)


@op(targets=NVIDIA_TMA)
def cluster_barrier(_semantic: Any = None) -> None:
    """Wait for all threads of the cluster, outside of tasks.

    Kernels with remote accesses meet by themselves before the first one, with initialized barriers, and at their end.

    Raises:
        UserError: The kernel has no clusters, or a task is around.
    """
    name = "cluster_barrier"
    spread = spread_over(name, _semantic)
    region = getattr(_semantic, "tlx_region", None)
    if spread == 1 and region is not None:
        raise refuse(
            name,
            "a task waits for all warps of the cluster",
            expected="a call outside of tasks",
            hint="let tasks of two blocks meet at barriers, with tlx.barrier_arrive(…, remote_cta_rank=…)",
        )
    builder = _semantic.builder
    builder.create_tlx_cluster_barrier([builder.get_int32(spread)])
