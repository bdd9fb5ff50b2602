"""TTGIR on a CPU: what a module computes, and what it does wrong, without a GPU. See :func:`simulate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tritonext.testing.findings import (
    AssertionFailure,
    BarrierMisuse,
    ByteCountMismatch,
    Deadlock,
    Finding,
    Leak,
    MissingFence,
    OutOfRange,
    Race,
    ReadBeforeCompletion,
    UninitializedRead,
    UnsupportedOperation,
)

from .elements import element
from .runner import Report, load, run

__all__ = [
    "AssertionFailure",
    "BarrierMisuse",
    "ByteCountMismatch",
    "Deadlock",
    "Finding",
    "Leak",
    "MissingFence",
    "OutOfRange",
    "Race",
    "ReadBeforeCompletion",
    "Report",
    "UninitializedRead",
    "UnsupportedOperation",
    "decode",
    "encode",
    "load",
    "simulate",
]


def simulate(
    source: Any,
    grid: Sequence[int],
    arguments: Sequence[Any] | Mapping[str, Any],
    *,
    seed: int = 0,
    order: str = "random",
    limit: int = 10_000_000,
    fences: bool = True,
) -> Report:
    """Run a module of TTGIR on the CPU, and write what it stores into the arrays it is given.

    The module may come from the end of the ``ttgir`` stage or from between its passes. Partitions run interleaved, and
    asynchronous operations end late, in an order that ``seed`` draws. The same seed makes the same run.

    Args:
        source: A compiled kernel, the text of a module, the path of a file, or what :func:`load` returned.
        grid: Sizes of the grid.
        arguments: Those of the module's function, in order or by name: NumPy arrays for pointers and for tensor
            descriptors, whose sizes and strides follow from the array, and numbers. NumPy lacks some types; their
            arrays hold bits (:func:`encode`).
        seed: Of all choices.
        order: When asynchronous work ends: at a ``random`` moment, as soon (``eager``) or as late (``lazy``) as it can.
        limit: Number of steps after which a run counts as one without an end.
        fences: Whether missing fences are an error. Stock compilation inserts them at the end of the ``ttgir`` stage;
            modules from the middle of it have none.

    Raises:
        Finding: The module does something wrong; its classes say what.
        UnsupportedOperation: The module has an operation or a type that is not simulated.
        UserError: The text is no valid module, or the arguments do not fit.
    """
    return run(load(source), grid, arguments, seed, order, limit, fences)


def encode(values: Any, name: str) -> Any:
    """Return numbers as they lie in memory, rounded to nearest even.

    Args:
        values: Numbers.
        name: The type as MLIR spells it, such as ``bf16`` or ``f8E4M3FN``.
    """
    return element(name).encode(values)


def decode(data: Any, name: str) -> Any:
    """Return the numbers that lie in memory as ``data``; the inverse of :func:`encode`."""
    return element(name).decode(data)
