"""Fixture extension of the SDK's own tests."""

import triton.language as tl

import tritonext
from tritonext import language

__all__ = ["twice"]

tritonext.load("probe")


@language.builtin(extension="probe")
def twice(x, _semantic=None):
    """Return ``x + x``, through an op of the extension's dialect."""
    return tl.tensor(_semantic.builder.create_probe_twice([x.handle]), x.type)
