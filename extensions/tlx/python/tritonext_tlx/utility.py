"""Special registers."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from ._arguments import choice
from .definition import ALL, op, target_of

__all__ = ["clock64", "thread_id"]

# Places in the table of lib/IR/AsyncBuilders.cpp.
_THREAD = {"cuda": 0, "hip": 6}
_CLOCK = {"cuda": 3, "hip": 9}


def read_register(index: int, dtype: tl.dtype, semantic: Any) -> tl.tensor:
    """Return a special register of the target as a scalar."""
    builder = semantic.builder
    return tl.tensor(builder.create_tlx_read_register([builder.get_int32(index)]), dtype)


def _backend(semantic: Any) -> str:
    return target_of(semantic).partition(":")[0]


@op(targets=ALL)
def thread_id(axis: Any = 0, _semantic: Any = None) -> tl.tensor:
    """Return the index of the thread in its block, an int32 that differs between the threads of a scalar program.

    It counts from the first thread of the block in a task too.

    Args:
        axis: 0, 1 or 2, a constant. Triton lays threads along axis 0.

    Raises:
        UserError: There is no such axis.
    """
    index = choice("thread_id", "axis", axis, (0, 1, 2))
    return read_register(_THREAD[_backend(_semantic)] + index, tl.int32, _semantic)


@op(targets=ALL)
def clock64(_semantic: Any = None) -> tl.tensor:
    """Return the cycle counter of the processor that runs the block, an int64, read at this place."""
    return read_register(_CLOCK[_backend(_semantic)], tl.int64, _semantic)
