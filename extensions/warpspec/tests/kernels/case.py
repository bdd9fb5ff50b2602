"""What a kernel of the corpus comes with: arguments, reference, tolerance, grid, and what is expected of the pass."""

from __future__ import annotations

from dataclasses import dataclass

from tritonext.testing import cases
from tritonext.testing.cases import Arguments, Descriptor, Shape, Tensor, Tolerance, normal, output, within

__all__ = [
    "NO_PRODUCT",
    "POINTERS",
    "SPECIALIZED",
    "USED_BETWEEN",
    "Arguments",
    "Case",
    "Descriptor",
    "Shape",
    "Tensor",
    "Tolerance",
    "normal",
    "output",
    "within",
]

SPECIALIZED = "specialized"
"""What is expected of a kernel that the pass turns into one with a producer and consumers."""

NO_PRODUCT = "the loop has no product of warp groups"
POINTERS = "an operand is loaded through pointers"
USED_BETWEEN = "the loop computes an operand of a product from another product, and does not end with such a product"
"""Reasons of several kernels to be left to the stock schedule."""


@dataclass(frozen=True, kw_only=True)
class Case(cases.Case):
    """A kernel of plain Triton and everything needed to compile, run and judge it.

    Its constant ``WS`` annotates the loop that the pass shall specialize.

    Args:
        row: What stock does differently with it than with others; groups the tables.
        expected: On sm_90: ``SPECIALIZED``, or the part of the remark that says why the kernel is left alone.
    """

    row: str
    expected: str = SPECIALIZED
