"""What simulators find wrong in a program of a GPU, each with the operations it is about."""

from __future__ import annotations

from tritonext.errors import UserError

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
    "UninitializedRead",
    "UnsupportedOperation",
]


class Finding(UserError):
    """A program does what goes wrong on a GPU, at least sometimes."""


class AssertionFailure(Finding):
    """A ``tl.device_assert`` does not hold."""


class Deadlock(Finding):
    """Every thread of execution waits, and nothing that is under way wakes one; or there is no end."""


class Race(Finding):
    """Two accesses to the same bytes, one of them a write, are not ordered."""


class ReadBeforeCompletion(Finding):
    """The result of an asynchronous operation is used by who has not waited for it."""


class UninitializedRead(Finding):
    """Bytes of shared memory are read, or a barrier or a descriptor is used, that nothing has written."""


class MissingFence(Finding):
    """The async proxy reads what plain stores wrote with no fence in between."""


class OutOfRange(Finding):
    """A slot, a slice or an address lies outside of what it is part of."""


class ByteCountMismatch(Finding):
    """The bytes that a barrier was told to expect are not those that its copies bring."""


class BarrierMisuse(Finding):
    """A barrier gets more arrivals than it was made for, or is remade or invalidated while it is in use."""


class Leak(Finding):
    """A program or a part of it ends while asynchronous operations go on that nobody has waited for."""


class UnsupportedOperation(UserError):
    """The simulator does not know an operation, or a use of one."""
