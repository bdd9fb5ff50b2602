"""Special registers, votes, and facts about types."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from ._arguments import bounded, choice
from .definition import ALL, NVIDIA, constant, op, refuse, target_of

__all__ = ["clock64", "dtype_of", "size_of", "thread_id", "vote_ballot_sync"]

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


@op(targets=NVIDIA)
def vote_ballot_sync(mask: Any, pred: Any, _semantic: Any = None) -> tl.tensor:
    """Return, to each thread of a warp, for which of its threads a condition holds: an int32 of one bit a thread.

    Args:
        mask: The threads that take part, a constant of one bit a thread; ``0xFFFFFFFF`` for all.
        pred: A scalar condition, which may differ between threads as :func:`thread_id` does.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "vote_ballot_sync"
    bits = bounded(name, "mask", mask, 1, 0xFFFFFFFF)
    condition = constant(pred)
    if isinstance(condition, tl.tensor) and condition.type.is_block():
        raise refuse(name, "a condition is not a scalar", "pred", expected="a scalar", found=condition.type)
    value = _semantic.cast(_semantic.to_tensor(condition), tl.int1)
    builder = _semantic.builder
    # A signed constant of the same bits.
    threads = builder.get_int32(bits - (bits >> 31 << 32))
    return tl.tensor(builder.create_tlx_vote_ballot([threads, value.handle]), tl.int32)


@op(targets=ALL)
def dtype_of(v: Any, _semantic: Any = None) -> tl.constexpr:
    """Return the type of the elements of a tensor, pointer, buffer or descriptor, as a constant.

    Raises:
        UserError: The argument has no elements.
    """
    dtype = getattr(v, "dtype", None)
    if not isinstance(dtype, tl.dtype):
        raise refuse("dtype_of", "an argument has no elements", "v", expected="a value", found=type(v).__name__)
    return tl.constexpr(dtype.element_ty if dtype.is_ptr() else dtype)


@op(targets=ALL)
def size_of(dtype: Any, _semantic: Any = None) -> tl.constexpr:
    """Return how many bytes an element of a type has, as a constant.

    Raises:
        UserError: The argument is no type of whole bytes.
    """
    kind = constant(dtype)
    if not isinstance(kind, tl.dtype) or kind.primitive_bitwidth % 8:
        raise refuse("size_of", "an argument is not a type of whole bytes", "dtype", expected="a type", found=kind)
    return tl.constexpr(kind.primitive_bitwidth // 8)
