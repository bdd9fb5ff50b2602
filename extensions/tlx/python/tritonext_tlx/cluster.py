"""Clusters of blocks."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from tritonext.language import typed_builder

from .definition import NVIDIA_TMA, op
from .utility import read_register

__all__ = ["cluster_barrier", "cluster_cta_rank", "cluster_size_1d"]

# Places in the table of lib/IR/AsyncBuilders.cpp.
_RANK = 4
_SIZE = 5


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
    """Wait for all threads of the cluster."""
    typed_builder(_semantic).create_cluster_barrier(False)
