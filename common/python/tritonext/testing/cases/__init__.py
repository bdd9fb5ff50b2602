"""Kernels with everything needed to compile, run and judge them, for corpora that extensions are judged by.

Numbers of a case are float64 or int64 arrays of NumPy; :mod:`.formats` says how they lie in memory, :mod:`.running`
runs cases on a GPU and on the simulator of TTGIR, and :mod:`.interpreter` in Triton's interpreter.
"""

from .case import Arguments, Case, Descriptor, Shape, Tensor, Tolerance, normal, output, within
from .formats import decode, encode, epsilon, rounded

__all__ = [
    "Arguments",
    "Case",
    "Descriptor",
    "Shape",
    "Tensor",
    "Tolerance",
    "decode",
    "encode",
    "epsilon",
    "normal",
    "output",
    "rounded",
    "within",
]
