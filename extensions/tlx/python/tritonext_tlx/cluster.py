"""Clusters of blocks."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from .definition import NVIDIA_TMA, op, refuse
from .utility import read_register

__all__ = ["cluster_barrier", "cluster_cta_rank", "cluster_size_1d"]

# Places in the table of lib/IR/AsyncBuilders.cpp.
_RANK = 4
_SIZE = 5


def cluster_size(name: str, semantic: Any) -> int:
    """Return the number of blocks in a cluster, of an op that needs more than one.

    Raises:
        UserError: The kernel has no clusters.
    """
    size = semantic.builder.options.num_ctas
    if size == 1:
        raise refuse(name, "the kernel has no clusters", expected="num_ctas of 2 or more", found=size)
    return size


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
    """Wait for all threads of the cluster.

    Raises:
        UserError: The kernel has no clusters.
    """
    builder = _semantic.builder
    builder.create_tlx_cluster_barrier([builder.get_int32(cluster_size("cluster_barrier", _semantic))])
