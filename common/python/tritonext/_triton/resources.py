"""Errors in kernels that are resource errors of Triton too."""

from __future__ import annotations

from triton.runtime.errors import OutOfResources

from tritonext.errors import KernelError

__all__ = ["KernelResourceError"]


class KernelResourceError(KernelError, OutOfResources):
    """A kernel needs more of a resource than there is. Triton's autotuner passes over such a configuration.

    Attributes:
        name: The resource.
        required: What the kernel needs.
        limit: What there is.
    """

    name: str = ""
    required: int = 0
    limit: int = 0

    def __reduce__(self):
        function, arguments, state = super().__reduce__()
        return function, arguments, {**state, "name": self.name, "required": self.required, "limit": self.limit}
