"""What the host functions of the extension refuse."""

from __future__ import annotations

from tritonext.errors import UserError

__all__ = ["OperandError"]


class OperandError(UserError):
    """A tensor has a shape, type, device or layout that the operation does not take; the message names the tensor."""
