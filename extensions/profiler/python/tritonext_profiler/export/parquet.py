"""All spans as one Parquet table, for DuckDB, pandas, Polars and what else reads columns.

A row is a stay of a warp in a region, with the mark that begins it, if any; a warp of which no span is kept, as in mode
``header``, has one row for its life.
"""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import numpy as np

from tritonext.errors import UserError

from ..assemble import UNRECORDED
from ..model import Profile

__all__ = ["require", "write"]

# Rows that are put together at a time.
_ROWS = 1 << 20


def require() -> None:
    """Check that tables can be written.

    Raises:
        UserError: The package ``pyarrow`` is not installed.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise UserError(
            "a Parquet table needs the package pyarrow", found=str(error), hint="pip install 'pyarrow>=15'"
        ) from error


def write(profile: Profile, path: str | pathlib.Path) -> None:
    """Write a table.

    Args:
        profile: What was recorded.
        path: File to write.

    Raises:
        UserError: The package ``pyarrow`` is not installed.
    """
    require()
    import pyarrow.parquet

    # The mark that begins each span.
    marked = np.full(len(profile.spans), -1)
    marked[profile.marked] = np.arange(len(profile.marks))
    ends = np.cumsum(np.maximum(profile.warps["count"], 1))
    stops = np.searchsorted(ends, np.arange(_ROWS, (ends[-1] if len(ends) else 0) + _ROWS, _ROWS), side="right")
    writer, first = None, 0
    try:
        for stop in [*stops.tolist(), len(profile.warps)]:
            # A table of no rows has its columns nevertheless.
            if writer is not None and stop <= first:
                continue
            table = _table(profile, np.arange(first, stop), marked)
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
            first = stop
    finally:
        if writer is not None:
            writer.close()


def _table(profile: Profile, rows: np.ndarray, marked: np.ndarray):
    """Return the rows of some warps as a table of Arrow."""
    import pyarrow

    warps = profile.warps[rows]
    counts = np.maximum(warps["count"], 1)
    owner = np.repeat(np.arange(len(rows)), counts)
    warp = warps[owner]
    launch = profile.launches[warp["launch"]]
    spans = np.zeros(len(owner), profile.spans.dtype)
    spans["cycles"], spans["region"] = warp["cycles"], UNRECORDED
    spans[warp["count"] > 0] = profile.spans[profile.spans_of(rows)]
    scale = (warp["end"] - warp["start"]) / np.maximum(warp["cycles"], 1)

    # Regions of all kernels in one list; the last entry is what was not recorded.
    regions = [region for kernel in profile.kernels for region in kernel.regions]
    firsts = np.cumsum([0, *(len(kernel.regions) for kernel in profile.kernels)])
    place = np.where(spans["region"] == UNRECORDED, len(regions), firsts[launch["kernel"]] + spans["region"])
    mark = np.full(len(spans), -1)
    mark[warp["count"] > 0] = marked[profile.spans_of(rows)]
    marks = np.zeros(len(spans), profile.marks.dtype)
    marks[mark >= 0] = profile.marks[mark[mark >= 0]]
    marks["value"][mark < 0] = np.nan
    mark_place = np.where(mark < 0, len(regions), firsts[launch["kernel"]] + marks["region"])
    roles = [role for kernel in profile.kernels for role in kernel.roles]
    first_roles = np.cumsum([0, *(len(kernel.roles) for kernel in profile.kernels)])

    def text(values: Sequence[str], index: np.ndarray):
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(index.astype(np.int32)), pyarrow.array(values))

    def of_region(name: str, missing: object) -> list:
        return [*(getattr(region, name) for region in regions), missing]

    return pyarrow.table(
        {
            "kernel": text([kernel.name for kernel in profile.kernels], launch["kernel"]),
            "device": launch["device"],
            "stream": launch["stream"],
            "launch": warp["launch"],
            "ticket": launch["ticket"],
            "replay": launch["replay"],
            "sm": warp["sm"],
            "cta": warp["cta"],
            "warp": warp["warp"],
            "role": text(roles, first_roles[launch["kernel"]] + warp["role"]),
            "category": text(of_region("category", "not recorded"), place),
            "scope": text(of_region("scope", ""), place),
            "mark": text(of_region("mark", ""), mark_place),
            "value": pyarrow.array(marks["value"], from_pandas=True),
            "file": text(of_region("file", ""), place),
            "line": np.array(of_region("line", 0), np.int32)[place],
            "iteration": spans["iteration"],
            "start_ns": warp["start"] + np.rint(spans["start"] * scale).astype(np.int64),
            "duration_ns": spans["cycles"] * scale,
            "cycles": spans["cycles"],
        }
    )
