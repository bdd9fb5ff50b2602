"""Warp specialization of plain kernels. Importing loads and registers the passes; it activates none.

Activate them with ``tritonext.use("warpspec")`` or ``TRITONEXT_ENABLE=warpspec``; loops opt in with
``tl.range(..., warp_specialize=True)``, or all loops with products with the option ``loops="all"``.
"""

import tritonext

from .passes import pipeline

__all__ = ["pipeline"]

tritonext.load("warpspec")
