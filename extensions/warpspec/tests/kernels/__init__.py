"""Kernels of plain Triton that the pass is judged by: ``KERNELS``, by name.

Tests compile, simulate and run them, and benchmarks measure them. None imports anything of the extension.
"""

from . import attention, gemm, grouped, mixed, others
from .case import SPECIALIZED, Arguments, Case, Descriptor, Shape, Tensor, Tolerance

__all__ = ["KERNELS", "SPECIALIZED", "Arguments", "Case", "Descriptor", "Shape", "Tensor", "Tolerance"]

KERNELS: dict[str, Case] = {
    case.name: case for case in (*gemm.CASES, *mixed.CASES, *grouped.CASES, *attention.CASES, *others.CASES)
}
"""Every kernel by name."""
