"""Triton Language Extensions on the stock wheel: ``import tritonext_tlx as tlx`` and use its ops in kernels.

Importing loads the library and changes no kernel. A kernel that uses an op compiles under the extension's pipeline.
"""

import tritonext

from .definition import supported_ops
from .memory import (
    local_alloc,
    local_gather,
    local_load,
    local_reinterpret,
    local_reshape,
    local_scatter,
    local_slice,
    local_store,
    local_trans,
    local_view,
)
from .types import async_token, buffered_tensor, buffered_tensor_type, storage_kind

__all__ = [
    "async_token",
    "buffered_tensor",
    "buffered_tensor_type",
    "local_alloc",
    "local_gather",
    "local_load",
    "local_reinterpret",
    "local_reshape",
    "local_scatter",
    "local_slice",
    "local_store",
    "local_trans",
    "local_view",
    "storage_kind",
    "supported_ops",
]

tritonext.load("tlx")
