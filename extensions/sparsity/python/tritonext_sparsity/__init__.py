"""2:4 structured sparsity on the stock wheel: ``import tritonext_sparsity as sparsity`` and use its ops in kernels.

Importing loads the library and changes no kernel. A kernel that uses an op compiles under the extension's pipeline.
"""

import tritonext

from .language import dot_sparse, expand24, sparse_dot
from .passes import SerializationWarning, pipeline
from .warp_group import async_sparse_dot, metadata_layout

__all__ = [
    "SerializationWarning",
    "async_sparse_dot",
    "dot_sparse",
    "expand24",
    "metadata_layout",
    "pipeline",
    "sparse_dot",
]

tritonext.load("sparsity")
