"""The pipeline of kernels that are specialized."""

from __future__ import annotations

import dataclasses
from typing import Any

import tritonext
from tritonext import launch
from tritonext.errors import OptionError
from tritonext.pipeline import KernelOption, Pipeline, disable_pass, from_manifest

__all__ = ["pipeline"]

_HOPPER = ("cuda:90",)
_MOST_SLOTS = 8
_SCHEDULES = ("auto", "single", "cooperative", "pingpong")
_POINTERS = ("auto", "describe", "copy")


def pipeline(loops: Any = "annotated", slots: Any = 0, schedule: Any = "auto", pointers: Any = "auto") -> Pipeline:
    """Return the passes of the manifest at their anchors, without the stock pass that they stand in for.

    Args:
        loops: ``annotated`` for those with ``warp_specialize=True``, ``all`` for every loop of products.
        slots: Slots of the ring between producer and consumers, 2 to 8; 0 chooses by shared memory and the time a
            slot is held.
        schedule: How warp groups share the products: ``single`` for one task, ``cooperative`` for halves of the rows
            of each tile, ``pingpong`` for tiles in turns, ``auto`` for what suits. Where a schedule is not possible,
            there is one task.
        pointers: How operands are loaded that pointers address: ``describe`` by descriptors where possible, ``copy`` by
            asynchronous copies of threads; ``auto`` as is faster, or not at all where the stock schedule is.

    Raises:
        OptionError: An argument has no such value.
    """
    if loops not in ("annotated", "all"):
        raise OptionError(
            "there is no such choice of loops", expected="loops=annotated or loops=all", found=repr(loops)
        )
    text = str(slots)
    if not text.isdecimal() or not (int(text) == 0 or 2 <= int(text) <= _MOST_SLOTS):
        raise OptionError(
            "the number of slots is out of range", expected=f"slots=0, or 2 to {_MOST_SLOTS}", found=repr(slots)
        )
    if schedule not in _SCHEDULES:
        raise OptionError(
            "there is no such schedule", expected=f"schedule={', '.join(_SCHEDULES)}", found=repr(schedule)
        )
    if pointers not in _POINTERS:
        raise OptionError(
            "there is no such way to load through pointers",
            expected=f"pointers={', '.join(_POINTERS)}",
            found=repr(pointers),
        )
    # Descriptors that stand in for pointers lie there.
    launch.provide_scratch()
    options = {
        "all-loops": loops == "all",
        "slots": int(text),
        "num-stages": KernelOption("num_stages"),
        "schedule": str(schedule),
        "pointers": str(pointers),
    }
    separate = {"instrumentation": KernelOption("instrumentation_mode")}
    declared = from_manifest(
        tritonext.extension("warpspec").manifest,
        {"warpspec_specialize_loops": options, "warpspec_separate_warps": separate},
    )
    # It fails on pointers, descriptors of the host, atomics and loops one after another.
    replaced = disable_pass("ttgir", "nvidia.hopper.hopper_warpspec", targets=_HOPPER)
    return dataclasses.replace(declared, steps=(*declared.steps, replaced))
