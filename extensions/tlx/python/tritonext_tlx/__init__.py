"""Triton Language Extensions on the stock wheel: ``import tritonext_tlx as tlx`` and use its ops in kernels.

Importing loads the library and changes no kernel. A kernel that uses an op compiles under the extension's pipeline.
"""

import tritonext

__all__: list[str] = []

tritonext.load("tlx")
