"""TLX kernels on a CPU: their numbers, and what they do wrong, without a GPU.

``docs/tlx-simulator.md`` of the repository says what is checked and what is not.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from tritonext.errors import UserError

from .errors import (
    BarrierMisuse,
    ByteCountMismatch,
    Deadlock,
    ExecutionError,
    Finding,
    LaunchMisuse,
    Leak,
    MissingFence,
    OutOfRange,
    OverwrittenRead,
    Race,
    ReadBeforeCompletion,
    UninitializedRead,
    UnsupportedOperation,
)

if TYPE_CHECKING:
    from .runner import Descriptor, Report, Typed

__all__ = [
    "BarrierMisuse",
    "ByteCountMismatch",
    "Deadlock",
    "Descriptor",
    "ExecutionError",
    "Finding",
    "LaunchMisuse",
    "Leak",
    "MissingFence",
    "OutOfRange",
    "OverwrittenRead",
    "Race",
    "ReadBeforeCompletion",
    "Report",
    "Typed",
    "UninitializedRead",
    "UnsupportedOperation",
    "simulate",
]


def simulate(kernel: Any, grid: Any, *args: Any, seed: int = 0, **kwargs: Any) -> Report:
    """Run a kernel on the CPU, and write what it stores into the arrays it is given.

    Tasks run interleaved, and asynchronous copies end late, in an order that ``seed`` draws. The same seed makes the
    same run.

    Args:
        kernel: A function decorated with ``@triton.jit``.
        grid: Sizes of the grid, or a function of the arguments that returns them.
        *args: Arguments of the kernel: NumPy arrays for pointers, :class:`Typed` for arrays of types that NumPy lacks,
            :class:`Descriptor` for tensor descriptors, numbers.
        seed: Of all choices.
        **kwargs: Further arguments by name, and the options ``num_warps``, ``num_stages``, ``num_ctas``, ``maxnreg``,
            and ``ctas_per_cga`` for clusters of programs.

    Raises:
        Finding: The kernel does something wrong; its classes say what.
        UnsupportedOperation: The kernel does something that is not simulated.
        UserError: The arguments do not fit, or NumPy is not installed.
    """
    _require_numpy()
    from .runner import run

    return run(kernel, grid, args, seed, kwargs)


def _require_numpy() -> None:
    if importlib.util.find_spec("numpy") is None:
        raise UserError(
            "a simulation needs NumPy",
            expected="the package numpy",
            hint="pip install numpy, or install tritonext-tlx with its extra simulator",
        )


def __getattr__(name: str) -> Any:
    if name in ("Descriptor", "Report", "Typed"):
        _require_numpy()
        from . import runner

        return getattr(runner, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
