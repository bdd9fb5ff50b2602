"""The pipeline of kernels that use TLX."""

from __future__ import annotations

import dataclasses
from typing import Any

import tritonext
from tritonext.errors import OptionError
from tritonext.pipeline import PassRef, Pipeline, disable_pass, from_manifest, insert_after, insert_before

from .definition import AMD, BLACKWELL, HOPPER, NVIDIA, NVIDIA_TMA

__all__ = ["pipeline"]


# A wait of a kernel that works takes less by far, and time for a report has to be left.
_LEAST_LIMIT = 1_000_000


def pipeline(wait_limit: Any = None, pingpong: Any = False) -> Pipeline:
    """Return the passes of the manifest at their anchors, without stock passes that overrule the author of a kernel.

    Args:
        wait_limit: Nanoseconds that a wait for a barrier may last, at least a million. One that lasts longer is
            reported with its task, line and barrier, and ends the kernel; see :func:`tritonext_tlx.watch`. None waits
            forever, as hardware does, and compiles to the same code as ever.
        pingpong: Whether two tasks that multiply take turns with the tensor cores of Hopper, so that one computes while
            the other multiplies. It is worth a measurement where they do not take turns by barriers of their own,
            and has gained nothing yet (README.md). Results are the same, and a kernel without two such tasks compiles
            to the same code.

    Raises:
        OptionError: The limit is no such number, or ``pingpong`` neither true nor false.
    """
    declared = from_manifest(tritonext.extension("tlx").manifest)
    # It shrinks tasks to the warps their tensors need, whatever number they ask for and their barriers count.
    fixed = disable_pass("ttgir", "ttgpuir.optimize_partition_warps", targets=BLACKWELL)
    # It sinks loads of tensor memory to their uses, past barriers that it does not know.
    still = disable_pass("ttgir", "nvidia.ttnvgpuir.interleave_tmem", targets=BLACKWELL)
    # Stock runs it for Gluon only. Without stages it changes nothing.
    stages = insert_after("ttgir", "common.symbol_dce", "amd.ttgpuir.warp_pipeline", targets=AMD)
    # Stock runs the pass in front of it with the concurrency sanitizer only, which does not know named barriers.
    known = insert_before("llir", "ttgpuir.prepare_consan_captures?", "tlx_replace_named_barriers", targets=NVIDIA)
    steps = [*declared.steps, fixed, still, stages, known]
    if wait_limit is not None:
        limited = PassRef("tlx_limit_waits", {"limit": _nanoseconds(wait_limit)}, extension="tlx")
        # Behind every pass that looks for waits: what comes is the conversion to LLVM.
        steps.append(insert_before("llir", "nvidia.ttgpuir.to_llvmir", limited, targets=NVIDIA_TMA))
    if _switch(pingpong):
        turns = PassRef("tlx_pingpong_tasks", extension="tlx")
        # Behind every pass that moves products.
        steps.append(insert_after("ttgir", "common.canonicalizer#-1", turns, targets=HOPPER))
    return dataclasses.replace(declared, steps=tuple(steps))


def _switch(value: Any) -> bool:
    """Return whether something is on, which may come as text.

    Raises:
        OptionError: It is neither true nor false.
    """
    known = {"true": True, "1": True, "false": False, "0": False}
    switch = known.get(str(value).lower())
    if switch is None:
        raise OptionError("a switch has two positions", expected="pingpong=true or pingpong=false", found=repr(value))
    return switch


def _nanoseconds(value: Any) -> int:
    """Return a limit, which may come as text.

    Raises:
        OptionError: It is no whole number, or too small or large.
    """
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or not _LEAST_LIMIT <= int(text) < 2**63:
        raise OptionError(
            "the limit of waits is out of range",
            expected=f"wait_limit=N, whole nanoseconds from {_LEAST_LIMIT} (a millisecond)",
            found=repr(value),
        )
    return int(text)
