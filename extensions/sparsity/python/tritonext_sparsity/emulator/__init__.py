"""Emulator of the sparse instructions of NVIDIA and AMD at the level of lanes and registers; it needs NumPy alone.

It is the oracle of tests that have no GPU: registers, selectors, descriptors and a copy of shared memory go in,
registers come out, and what the ISA documents rule out is an error. The maps behind it are in
:mod:`tritonext_sparsity.emulator.fragments`.
"""

from .amd import Smfmac, smfmac
from .fragments import Fragment, InstructionError
from .nvidia import MmaSp, WgmmaSp, mma_sp, wgmma_sp
from .shared import MatrixDescriptor, addresses, swizzle

__all__ = [
    "Fragment",
    "InstructionError",
    "MatrixDescriptor",
    "MmaSp",
    "Smfmac",
    "WgmmaSp",
    "addresses",
    "mma_sp",
    "smfmac",
    "swizzle",
    "wgmma_sp",
]
