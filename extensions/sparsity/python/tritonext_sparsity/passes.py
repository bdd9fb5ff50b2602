"""The pipeline of kernels that use sparse products."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import tritonext
from tritonext.pipeline import Pipeline, StageInfo, assembler_log, from_manifest, wrap_stage

__all__ = ["SerializationWarning", "pipeline"]


class SerializationWarning(UserWarning):
    """The assembler lets asynchronous products of a kernel wait for each other: the kernel is right, and slow."""


def pipeline() -> Pipeline:
    """Return the passes of the manifest at their anchors, and a look at what the assembler of cuda:90 says."""
    declared = from_manifest(tritonext.extension("sparsity").manifest)
    return dataclasses.replace(declared, steps=(*declared.steps, wrap_stage("cubin", assemble, targets=("cuda:90",))))


def assemble(inner: Any, source: str, metadata: dict[str, Any], info: StageInfo) -> bytes:
    """Assemble a kernel, and warn where its sparse products do not stay asynchronous."""
    if "wgmma.mma_async.sp" not in source:
        return inner(source, metadata)
    with assembler_log() as texts:
        result = inner(source, metadata)
    # C7510 and its kin, each with the reason: "… wgmma.mma_async instructions are serialized due to …".
    reasons = [line.strip() for text in texts for line in text.splitlines() if "serialized" in line]
    if reasons:
        message = f"the assembler lets the asynchronous products of {metadata['name']} wait for each other: "
        warnings.warn(message + "; ".join(dict.fromkeys(reasons)), SerializationWarning, stacklevel=2)
    return result
