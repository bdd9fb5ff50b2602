"""The pipeline of kernels that are profiled."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import tritonext
from tritonext.errors import OptionError
from tritonext.pipeline import Pipeline, StageInfo, from_manifest, wrap_stage

__all__ = ["MODES", "pipeline"]

MODES = ("header", "auto", "all")
"""What is recorded: begin and end of each warp, each change of category, or each operation."""

_MOST_RECORDS = 1 << 20


def pipeline(mode: Any = "auto", records: Any = 1024) -> Pipeline:
    """Return the pipeline that records what the warps of kernels do.

    Args:
        mode: One of :data:`MODES`.
        records: Records that a warp may write where the lengths of its loops are not known, up to 2**20.

    Raises:
        OptionError: An argument has no such value.
    """
    if mode not in MODES:
        raise OptionError("there is no such mode", expected=f"mode={', '.join(MODES)}", found=repr(mode))
    text = str(records)
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_RECORDS:
        raise OptionError(
            "the number of records is out of range", expected=f"records=1 to {_MOST_RECORDS}", found=repr(records)
        )
    options = {"profiler_place_records": {"mode": mode, "capacity": int(text)}}
    declared = from_manifest(tritonext.extension("profiler").manifest, options)
    return dataclasses.replace(declared, steps=(*declared.steps, wrap_stage("llir", _keep_table)))


def _keep_table(inner: Any, source: Any, metadata: dict[str, Any], info: StageInfo) -> Any:
    """Run the stage, and put the kernel's table where Triton's cache keeps it."""
    result = inner(source, metadata)
    table = source.get_operation().get_str_attr("profiler.table")
    metadata["tritonext_profiler"] = json.loads(table) if table else None
    return result
