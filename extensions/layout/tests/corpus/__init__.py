"""Kernels of plain Triton that layouts are judged by: ``KERNELS``, by name.

The gate compiles them, tests and benchmarks run them. None imports anything of the extension.
"""

from . import (
    attention,
    convolution,
    gemm,
    indexing,
    linear_attention,
    mixed,
    pointwise,
    quantize,
    reductions,
    reported,
)
from .case import Case, Draw, define

__all__ = ["KERNELS", "Case", "Draw", "define"]

MODULES = (pointwise, reductions, quantize, gemm, mixed, attention, linear_attention, indexing, convolution, reported)

KERNELS: dict[str, Case] = {case.name: case for module in MODULES for case in module.CASES}
"""Every kernel by name."""
