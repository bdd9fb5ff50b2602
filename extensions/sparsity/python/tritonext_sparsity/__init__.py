"""2:4 structured sparsity on the stock wheel: ``import tritonext_sparsity as sparsity`` and use its ops in kernels.

Importing loads the library and changes no kernel. A kernel that uses an op compiles under the extension's pipeline.
"""

import tritonext

__all__: list[str] = []

tritonext.load("sparsity")
