"""What a simulation finds wrong in a kernel, each with the lines of the kernel it is about."""

from __future__ import annotations

from tritonext.errors import UserError
from tritonext.testing.findings import (
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

__all__ = [
    "BarrierMisuse",
    "ByteCountMismatch",
    "Deadlock",
    "ExecutionError",
    "Finding",
    "LaunchMisuse",
    "Leak",
    "MissingFence",
    "OutOfRange",
    "OverwrittenRead",
    "Race",
    "ReadBeforeCompletion",
    "UninitializedRead",
    "UnsupportedOperation",
]


class OverwrittenRead(Finding):
    """Bytes of a buffer are read that hold what was written to another buffer over the same memory."""


class LaunchMisuse(Finding):
    """A block asks for more work after it was told that none is left, or twice before a response was read."""


class ExecutionError(UserError):
    """A kernel fails for another reason; the error behind it is the cause."""
