"""What the compiler says about a kernel with records, as the rest of the package knows it."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import Any

import numpy as np

from tritonext.errors import UserError

from .format import VERSION
from .model import CATEGORIES, Kernel, Loop, Region

__all__ = ["iterations", "kernel_of", "table_of"]

# PTX ISA, clusterlaunchcontrol.try_cancel.
_TAKES_OVER = "clusterlaunchcontrol.try_cancel"


def table_of(compiled: Any) -> Mapping[str, Any]:
    """Return the table of a compiled kernel, with the blocks that the launcher starts for each of the grid.

    The compiler does not know of clusters whose blocks are programs of their own, as TLX has them.

    Raises:
        UserError: It has none, or one of another version, or its blocks take over the work of others: launches are told
            apart by the blocks that ended, and blocks whose work was taken over never begin.
    """
    table = getattr(compiled.metadata, "tritonext_profiler", None)
    if table is None:
        raise UserError("the kernel was compiled without records", where=compiled.metadata.name)
    if table["version"] != VERSION:
        raise UserError(
            "the kernel was compiled by another release of the profiler",
            expected=f"version {VERSION}",
            found=table["version"],
            hint="clear Triton's cache",
        )
    if _TAKES_OVER in compiled.asm.get("ptx", ""):
        raise UserError(
            "launches of a kernel whose blocks take over the work of others cannot be told apart",
            where=compiled.metadata.name,
            found=_TAKES_OVER,
            hint="profile a version whose blocks fetch their tiles from a counter, or have a tile each",
        )
    return {**table, "num_ctas": compiled.metadata.num_ctas}


def kernel_of(table: Mapping[str, Any], *, num_stages: int = 0, resources: Mapping[str, int] | None = None) -> Kernel:
    """Return the description of a kernel from its table.

    Args:
        table: See ``docs/records.md``.
        num_stages: Of the pipeliner.
        resources: See :class:`.model.Kernel`.
    """
    regions = tuple(
        Region(
            id=number,
            # A category of a later version is shown as what no category is known of.
            category=entry["category"] if entry["category"] in CATEGORIES else "other",
            op=entry["op"],
            file=entry["file"],
            line=entry["line"],
            depth=entry["depth"],
            role=max(entry["role"], 0),
            flops=entry["flops"],
            bytes=entry["bytes"],
            scope=entry["name"],
            loop=entry["loop"],
            enters=entry["enters"],
            mark=entry["mark"],
            value=entry["value"],
        )
        for number, entry in enumerate(table["regions"])
    )
    places = {(region.file, region.line) for region in regions if region.line}
    return Kernel(
        name=table["kernel"],
        key=table["kernel_id"],
        target=table["target"],
        mode=table["mode"],
        num_warps=table["num_warps"],
        num_stages=num_stages,
        roles=tuple(role["name"] for role in table["roles"]),
        regions=regions,
        resources=dict(resources or {}),
        source={f"{file}:{line}": linecache.getline(file, line).rstrip() for file, line in sorted(places)},
        loops=tuple(Loop(loop["parent"], loop["pace"], loop["trip_count"], loop["line"]) for loop in table["loops"]),
    )


def iterations(kernel: Kernel, counts: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """Return the iteration of the innermost loop that each record belongs to; 0 outside of loops.

    A loop's *pace* is recorded once in each iteration. Regions in front of it in the table come before it, so they
    belong to the iteration that it is about to count.

    Args:
        kernel: The kernel.
        counts: Records of each warp.
        regions: Region of each record, warp by warp.
    """
    result = np.zeros(len(regions), np.uint32)
    if not len(regions) or not kernel.loops:
        return result
    first = np.zeros(len(regions), bool)
    first[(np.cumsum(counts) - counts)[counts > 0]] = True
    innermost = kernel.column("loop")
    places = np.arange(len(regions))
    for number, loop in enumerate(kernel.loops):
        if loop.pace < 0:
            continue
        inside = np.array([_within(kernel, here, number) for here in innermost])[regions]
        before = np.concatenate(([False], inside[:-1])) & ~first
        entered = np.maximum.accumulate(np.where(inside & ~before, places, 0))
        paced = regions == loop.pace
        so_far = np.cumsum(paced)
        count = so_far - (so_far - paced)[entered] - (regions >= loop.pace)
        if loop.trip_count > 0:
            # A loop that is entered again with nothing between is not seen to be.
            count = np.where(count >= 0, count % loop.trip_count, 0)
        here = innermost[regions] == number
        result[here] = np.maximum(count[here], 0)
    return result


def _within(kernel: Kernel, loop: int, other: int) -> bool:
    """Whether a loop is another one or inside it."""
    while loop >= 0 and loop != other:
        loop = kernel.loops[loop].parent
    return loop == other
