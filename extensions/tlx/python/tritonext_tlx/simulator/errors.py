"""What a simulation finds wrong in a kernel, each with the lines of the kernel it is about."""

from __future__ import annotations

from tritonext.errors import UserError

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


class Finding(UserError):
    """A kernel does what goes wrong on a GPU, at least sometimes."""


class Deadlock(Finding):
    """Every task waits, and nothing that is under way wakes one."""


class Race(Finding):
    """Two accesses to the same bytes, one of them a write, are not ordered."""


class ReadBeforeCompletion(Finding):
    """The result of an asynchronous operation is read by who has not waited for it."""


class UninitializedRead(Finding):
    """Bytes of shared memory are read that nothing has written."""


class OverwrittenRead(Finding):
    """Bytes of a buffer are read that hold what was written to another buffer over the same memory."""


class MissingFence(Finding):
    """A descriptor copy reads what plain stores wrote with no fence in between."""


class OutOfRange(Finding):
    """A slot, a barrier or an address lies outside of what it is part of."""


class ByteCountMismatch(Finding):
    """The bytes a barrier was told to expect are not those that its copies bring."""


class BarrierMisuse(Finding):
    """A barrier gets more arrivals than it was made for."""


class LaunchMisuse(Finding):
    """A block asks for more work after it was told that none is left, or twice before a response was read."""


class Leak(Finding):
    """A kernel ends while asynchronous operations go on that nobody has waited for."""


class ExecutionError(UserError):
    """A kernel fails for another reason; the error behind it is the cause."""


class UnsupportedOperation(UserError):
    """The simulator does not know an operation, or a use of one."""
