"""Profiler that sees inside Triton kernels. Importing loads and registers the passes; it activates none.

:class:`profile` records what a block launches; :func:`load` and :func:`save` read and write what it recorded.
"""

import tritonext

from . import language
from .analysis import analyze
from .overhead import overhead
from .passes import pipeline
from .runtime import ProfileWarning, profile
from .saving import save
from .storage import load

__all__ = ["ProfileWarning", "analyze", "language", "load", "overhead", "pipeline", "profile", "save"]

tritonext.load("profiler")
