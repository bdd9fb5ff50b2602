"""The memory that profiled kernels write, as NumPy types; `docs/records.md` of the extension explains the fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = [
    "MAGIC",
    "RECORD",
    "REGION_BITS",
    "SEGMENT",
    "SLOT",
    "VERSION",
    "launches",
    "rank",
    "recorded",
    "slot",
    "written",
]

VERSION = 1
"""Version of the memory and of the table."""

MAGIC = int.from_bytes(b"TXTPROF1", "little")
"""First field of a slot in which a kernel records."""

REGION_BITS = 12
"""Low bits of a record's ``region`` that are the region; the others are zero."""

SLOT = np.dtype(
    {
        "names": ["magic", "segments", "count", "first", "mask", "blocks", "base", "shift", "step", "ended"],
        "formats": ["<u8", "<u8", "<u4", "<u4", "<u4", "<u4", "<i4", "<u4", "<u4", ("<u8", (32, 16))],
        "offsets": [0, 8, 16, 20, 24, 28, 32, 36, 40, 128],
        "itemsize": 4224,
    }
)
"""Launch slot: what the host fills in, and the counters of warps, the first of each row of ``ended``."""

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


def recorded(blocks: int, first: int, every: int) -> int:
    """Return how many of ``blocks`` blocks record: those below ``first``, and each ``every``-th, or none for 0."""
    if first >= blocks:
        return blocks
    return first + (-(-blocks // every) - -(-first // every) if every else 0)


def slot(segments: int, count: int, first: int, every: int, blocks: int) -> np.ndarray:
    """Return a slot for a kernel that was not launched with it yet, one of :data:`SLOT`.

    Args:
        segments: Device address of the ring.
        count: Its segments, a power of two.
        first: See :func:`recorded`.
        every: See :func:`recorded`; a power of two.
        blocks: Blocks of the grid, those of clusters counted one by one.

    Raises:
        ValueError: ``count`` is no power of two, or no block records.
    """
    chosen = recorded(blocks, first, every)
    if count < 1 or count & (count - 1) or every & (every - 1) or chosen < 1:
        raise ValueError(f"expected powers of two and a block that records, got {count}, {every} and {chosen}")
    result = np.zeros(1, SLOT)
    result["magic"], result["segments"], result["count"] = MAGIC, segments, count
    result["first"], result["mask"], result["blocks"] = first, (every - 1) & 0xFFFFFFFF, chosen
    result["step"] = every.bit_length() - 1 if every else 31
    result["base"] = first + (-first // every) if every else 0
    result["shift"] = (chosen - 1).bit_length()
    return result


def rank(filled: np.ndarray, block: int) -> int | None:
    """Return which of the blocks that record the one of linear number ``block`` is, or None."""
    if block < int(filled["first"]):
        return block
    return None if block & int(filled["mask"]) else int(filled["base"]) + (block >> int(filled["step"]))


def launches(filled: np.ndarray, segments: int) -> int:
    """Return the launches of a slot that have ended, of blocks with so many segments each."""
    return int(filled["ended"].reshape(32, 16)[:segments, 0].min()) >> int(filled["shift"])


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
