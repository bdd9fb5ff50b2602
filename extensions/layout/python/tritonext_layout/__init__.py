"""Layout optimizations for stock Triton: fewer and cheaper layout conversions.

Importing loads and registers the passes; it activates none. Activate them with ``tritonext.use("layout")`` or
``TRITONEXT_ENABLE=layout``.
"""

import tritonext

from .passes import pipeline
from .report import PricedConversion, conversions, explain_sections

__all__ = ["PricedConversion", "conversions", "explain_sections", "pipeline"]

tritonext.load("layout")
