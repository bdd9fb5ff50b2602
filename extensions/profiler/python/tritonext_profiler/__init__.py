"""Profiler that sees inside Triton kernels. Importing loads and registers the passes; it activates none."""

import tritonext

from .passes import pipeline

__all__ = ["pipeline"]

tritonext.load("profiler")
