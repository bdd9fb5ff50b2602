"""Ops that kernels call. A kernel that uses one compiles under the extension's pipeline, and no other does."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from tritonext import language

__all__ = ["{{cookiecutter.__op}}"]


@language.builtin(extension="{{cookiecutter.id}}")
def {{cookiecutter.__op}}(x: tl.tensor, _semantic: Any = None) -> tl.tensor:
    """Return ``x`` where it is greater than zero and zero elsewhere, also where it is NaN.

    Args:
        x: A block of floats of 16, 32 or 64 bits.

    Raises:
        UserError: ``x`` is something else.
    """
    is_block = isinstance(x, tl.tensor) and x.type.is_block()
    if not (is_block and x.dtype.is_floating() and x.dtype.primitive_bitwidth >= 16):
        raise language.refuse(
            "{{cookiecutter.id}}",
            "{{cookiecutter.__op}}",
            "the op takes a block of floats",
            "x",
            expected="a block of fp16, bf16, fp32 or fp64",
            found=language.shown(x),
        )
    return tl.tensor(_semantic.builder.create_{{cookiecutter.id}}_{{cookiecutter.__op}}([x.handle]), x.type)
