"""The ABI check: does a plugin see every C++ type the way libtriton does.

A plugin shares LLVM's and MLIR's classes with libtriton through headers alone, and nothing at build or load time tells
whether both sides agree. Debug information does: it records each class as its compiler laid it out.
"""

from __future__ import annotations

from .check import TABLE_NAME, check_plugin, examine
from .cli import main
from .comparison import Mismatch, Problem, Report, Uncovered, compare
from .table import Table, extract

__all__ = [
    "TABLE_NAME",
    "Mismatch",
    "Problem",
    "Report",
    "Table",
    "Uncovered",
    "check_plugin",
    "compare",
    "examine",
    "extract",
    "main",
]
