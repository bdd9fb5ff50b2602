"""The pipeline of kernels that are profiled."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import tritonext
from tritonext.errors import OptionError
from tritonext.pipeline import Pipeline, StageInfo, assembler_log, from_manifest, wrap_stage

__all__ = ["MODES", "pipeline"]

MODES = ("header", "auto", "all", "scopes")
"""What is recorded: begin and end of each CTA, each change of category, each operation, or scopes of the user alone."""

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
    steps = [*declared.steps, wrap_stage("llir", _keep_table)]
    if mode != "header":
        steps.append(wrap_stage("cubin", _keep_occupancy, targets=("cuda",)))
    return dataclasses.replace(declared, steps=tuple(steps))


def _keep_table(inner: Any, source: Any, metadata: dict[str, Any], info: StageInfo) -> Any:
    """Run the stage, and put the kernel's table where Triton's cache keeps it."""
    result = inner(source, metadata)
    table = source.get_operation().get_str_attr("profiler.table")
    metadata["tritonext_profiler"] = json.loads(table) if table else None
    return result


def _keep_occupancy(inner: Any, source: Any, metadata: dict[str, Any], info: StageInfo) -> Any:
    """Assemble a kernel, with as many registers as let so many blocks run on a multiprocessor as without records.

    Both versions of the kernel share its registers. Those of the one without records are known once the assembler finds
    that no block can choose the other: with a slot that is 0.
    """
    result, registers = _assembled(inner, source, metadata)
    # Where warps are specialized the kernel has a limit of its own.
    slot = re.match(r"ld\.param\.b64\s+(%rd\d+),", _last_parameter(source) or "")
    if slot is None or ".maxnreg" in source or not registers:
        return result
    alone = source.replace(slot.string, f"mov.b64 {slot[1]}, 0;")
    _, plain = _assembled(inner, alone, dict(metadata))
    threads = metadata["num_warps"] * 32
    # No multiprocessor has more shared memory than this.
    wanted = min(_blocks(plain, threads) if plain else 0, _SHARED // max(metadata["shared"], 1))
    if _blocks(registers, threads) >= wanted:
        return result
    # Registers are given to warps in units of 8 for each thread.
    most = _REGISTERS // (wanted * threads) // 8 * 8
    limited = re.sub(r"^(\.reqntid [^\n]*)$", rf"\1\n.maxnreg {most}", source, count=1, flags=re.MULTILINE)
    return _assembled(inner, limited, metadata)[0]


_REGISTERS, _SHARED = 1 << 16, 228 << 10


def _blocks(registers: int, threads: int) -> int:
    """Return how many blocks of a kernel the registers of a multiprocessor are enough for."""
    return _REGISTERS // (-(-registers // 8) * 8 * threads)


def _assembled(inner: Any, source: Any, metadata: dict[str, Any]) -> tuple[Any, int]:
    """Return the machine code of a kernel and its registers, 0 when the assembler does not say how many."""
    with assembler_log() as logs:
        result = inner(source, metadata)
    used = [int(count) for log in logs for count in re.findall(r"Used (\d+) registers", log)]
    return result, max(used, default=0)


def _last_parameter(source: str) -> str | None:
    """Return the statement of a kernel that reads its last parameter, which is the slot."""
    parameters = re.findall(r"^\s*\.param .*?(\w+_param_\d+)", source, re.MULTILINE)
    found = re.search(rf"ld\.param\.b64\s+%rd\d+, \[{parameters[-1]}\];", source) if parameters else None
    return found[0] if found else None
