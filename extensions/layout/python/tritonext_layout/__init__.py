"""Layout optimizations for stock Triton: stores that keep data in its warp.

Importing loads and registers the passes; it activates none. Activate them with ``tritonext.use("layout")`` or
``TRITONEXT_ENABLE=layout``.
"""

import tritonext

__all__: list[str] = []

tritonext.load("layout")
