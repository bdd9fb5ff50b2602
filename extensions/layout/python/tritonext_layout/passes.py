"""The pipeline of the extension: its passes, and the guard over what they make of a kernel."""

from __future__ import annotations

import dataclasses
from typing import Any

import tritonext
from tritonext import Pipeline, guard_resources
from tritonext.errors import OptionError
from tritonext.pipeline import of_passes

__all__ = ["pipeline"]

# Vectors that are loaded in the layout of what uses them have cost `int8_rows_bf16` of the corpus 19 registers.
_REGISTERS = 24


def pipeline(guard: Any = True, **options: Any) -> Pipeline:
    """Return the pipeline that ``tritonext.use("layout")`` activates.

    Args:
        guard: Whether a kernel that spills more with the passes, of which fewer programs fit on a multiprocessor, or
            whose loops take longer, is kept as stock Triton compiles it.
        options: Options of the passes, with underscores where they have hyphens.

    Raises:
        OptionError: ``guard`` is neither true nor false, or no pass accepts an option.
    """
    if str(guard).lower() not in ("true", "false"):
        raise OptionError(
            "an option of the extension 'layout' is no truth value",
            expected="guard=true or guard=false",
            found=f"guard={guard}",
        )
    passes = of_passes(tritonext.extension("layout"), **options)
    if str(guard).lower() == "false":
        return passes
    return dataclasses.replace(passes, steps=(*passes.steps, guard_resources(registers=_REGISTERS, loops=True)))
