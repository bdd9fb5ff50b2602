"""The pipeline of kernels that use TLX."""

from __future__ import annotations

import dataclasses

import tritonext
from tritonext.pipeline import Pipeline, disable_pass, from_manifest, insert_after

from .definition import AMD, BLACKWELL

__all__ = ["pipeline"]


def pipeline() -> Pipeline:
    """Return the passes of the manifest at their anchors, without stock passes that overrule the author of a kernel."""
    declared = from_manifest(tritonext.extension("tlx").manifest)
    # It shrinks tasks to the warps their tensors need, whatever number they ask for and their barriers count.
    fixed = disable_pass("ttgir", "ttgpuir.optimize_partition_warps", targets=BLACKWELL)
    # It sinks loads of tensor memory to their uses, past barriers that it does not know.
    still = disable_pass("ttgir", "nvidia.ttnvgpuir.interleave_tmem", targets=BLACKWELL)
    # Stock runs it for Gluon only. Without stages it changes nothing.
    stages = insert_after("ttgir", "common.symbol_dce", "amd.ttgpuir.warp_pipeline", targets=AMD)
    return dataclasses.replace(declared, steps=(*declared.steps, fixed, still, stages))
