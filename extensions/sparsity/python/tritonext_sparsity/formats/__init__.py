"""Formats of 2:4 sparse matrices: the canonical one, prepacks for tensor cores, and those of other projects.

NumPy alone is needed. :mod:`tritonext_sparsity.formats.canonical` defines the canonical format.
"""

from .canonical import FORMAT_VERSION, CompressedMatrix, FormatError, compress, decompress, prune, validate
from .interchange import (
    from_bitmask,
    from_cusparselt,
    from_cutlass_sm90,
    from_torch_cutlass,
    to_bitmask,
    to_cusparselt,
    to_cutlass_sm90,
    to_torch_cutlass,
)
from .prepack import FragmentOrder, Orders, mma_orders, smfmac_orders, wgmma_orders

__all__ = [
    "FORMAT_VERSION",
    "CompressedMatrix",
    "FormatError",
    "FragmentOrder",
    "Orders",
    "compress",
    "decompress",
    "from_bitmask",
    "from_cusparselt",
    "from_cutlass_sm90",
    "from_torch_cutlass",
    "mma_orders",
    "prune",
    "smfmac_orders",
    "to_bitmask",
    "to_cusparselt",
    "to_cutlass_sm90",
    "to_torch_cutlass",
    "validate",
    "wgmma_orders",
]
