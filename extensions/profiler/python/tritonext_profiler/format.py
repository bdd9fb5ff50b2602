"""The memory that profiled kernels write, as NumPy types; `docs/records.md` of the extension explains the fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["MAGIC", "RECORD", "REGION_BITS", "SEGMENT", "SLOT", "VERSION", "written"]

VERSION = 1
"""Version of the memory and of the table."""

MAGIC = int.from_bytes(b"TXTPROF1", "little")
"""First field of a slot in which a kernel records."""

REGION_BITS = 12
"""Low bits of a record's ``region`` that are the region; the others are a value."""

SLOT = np.dtype(
    {
        "names": ["magic", "segments", "count", "first", "every", "cursor"],
        "formats": ["<u8", "<u8", "<u4", "<u4", "<u4", "<u4"],
        "offsets": [0, 8, 16, 20, 24, 64],
        "itemsize": 128,
    }
)
"""Launch slot: what the host fills in, and the counter of segments."""

SEGMENT = np.dtype(
    {
        "names": [
            "sequence",
            "kernel",
            "block_x",
            "block_y",
            "block_z",
            "warp",
            "sm",
            "clock_start",
            "time_start",
            "clock_end",
            "time_end",
            "attempted",
            "done",
        ],
        "formats": ["<u8", "<u8", "<u4", "<u4", "<u4", "<u2", "<u2", "<u8", "<u8", "<u8", "<u8", "<u4", "<u8"],
        "offsets": [0, 8, 16, 20, 24, 28, 30, 32, 40, 48, 56, 64, 72],
        "itemsize": 96,
    }
)
"""Head of a warp's segment; records follow."""

RECORD = np.dtype([("clock", "<u4"), ("region", "<u4")])
"""One change of region."""


def written(attempted: int, regions: np.ndarray, table: Mapping[str, Any]) -> int:
    """Return how many records of a segment were written.

    Args:
        attempted: The field of the segment.
        regions: Field ``region`` of its ``capacity`` records, uint32.
        table: The table of the kernel.
    """
    limit = int(table["batch_limit"])
    if attempted <= limit or len(regions) <= limit:
        return min(attempted, len(regions))
    # The record at the limit is of the last batch that was begun in time.
    index, size = table["regions"][int(regions[limit]) & ((1 << REGION_BITS) - 1)]["batch"]
    return min(attempted, limit - index + size)
