"""The memory that profiled kernels write, as NumPy types; `docs/records.md` of the extension explains the fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = [
    "MAGIC",
    "REGION_BITS",
    "SEGMENT",
    "SLOT",
    "UNIT",
    "UNIT_RECORDS",
    "VERSION",
    "launches",
    "rank",
    "recorded",
    "slot",
    "tagged",
    "written",
]

VERSION = 2
"""Version of the memory and of the table."""

MAGIC = int.from_bytes(b"TXTPROF1", "little")
"""First field of a slot in which a kernel records."""

REGION_BITS = 12
"""Low bits of a unit's ``region`` that are the region; the others are zero."""

SLOT = np.dtype(
    {
        "names": ["magic", "segments", "mask", "base", "blocks", "shift", "first", "step", "ended"],
        "formats": ["<u8", "<u8", "<u4", "<i4", "<u4", "<u4", "<u4", "<u4", ("<u8", (32, 8))],
        "offsets": [0, 8, 16, 20, 24, 28, 32, 36, 128],
        "itemsize": 4096,
    }
)
"""Launch slot, at a multiple of its size: what the host fills in, and counters of warps, first in rows of ``ended``."""

NEVER = 31
"""``first`` of a slot all of whose blocks record, and ``step`` of one where only the first ones do."""

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
            "one",
            "other",
            "done",
        ],
        "formats": [
            "<u8",
            "<u8",
            "<u4",
            "<u4",
            "<u4",
            "<u2",
            "<u2",
            "<u8",
            "<u8",
            "<u8",
            "<u8",
            "<u4",
            "<u4",
            "<u4",
            "<u4",
        ],
        "offsets": [0, 8, 16, 20, 24, 28, 30, 32, 40, 48, 56, 64, 68, 72, 76],
        "itemsize": 80,
    }
)
"""Head of a warp's segment; units follow."""

UNIT_RECORDS = 3
"""Records of a unit at most."""

UNIT = np.dtype([("region", "<u4"), ("clocks", "<u4", (UNIT_RECORDS,))])
"""Some records of regions that follow each other, the first of which is ``region``."""


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
        first: See :func:`recorded`; a power of two, or at least ``blocks``.
        every: See :func:`recorded`; a power of two.
        blocks: Blocks of the grid, those of clusters counted one by one.

    Raises:
        ValueError: What should be a power of two is none.
    """
    if first >= blocks:
        first, every = 1 << NEVER, 0
    if count < 1 or first < 1 or count & (count - 1) or every & (every - 1) or first & (first - 1):
        raise ValueError(f"expected powers of two, got {count}, {first} and {every}")
    chosen = recorded(blocks, first, every)
    result = np.zeros(1, SLOT)
    result["magic"], result["segments"], result["mask"] = MAGIC, segments, count - 1
    result["first"], result["blocks"] = first.bit_length() - 1, chosen
    result["step"] = every.bit_length() - 1 if every else NEVER
    result["base"] = first + (-first // every) if every else 0
    result["shift"] = (chosen - 1).bit_length()
    return result


def tagged(address: int, filled: np.ndarray) -> int:
    """Return what a kernel gets for a slot: its address, whose low bits say which blocks record.

    Args:
        address: Of the slot, a multiple of its size.
        filled: The slot.
    """
    return address | 1 | int(filled["first"]) << 1 | int(filled["step"]) << 6


def rank(filled: np.ndarray, block: int) -> int | None:
    """Return which of the blocks that record the one of linear number ``block`` is, or None."""
    if not block >> int(filled["first"]):
        return block
    step = int(filled["step"])
    return None if block & ((1 << step) - 1) else int(filled["base"]) + (block >> step)


def launches(filled: np.ndarray, segments: int) -> int:
    """Return the launches of a slot that have ended, of blocks with so many segments each."""
    return int(filled["ended"].reshape(32, 8)[:segments, 0].min()) >> int(filled["shift"])


def complete(filled: np.ndarray, segments: int, launches: int) -> bool:
    """Return whether the blocks that ended are those of whole launches, at most so many, and nothing runs."""
    ended = filled["ended"].reshape(32, 8)[:segments, 0]
    count, rest = divmod(int(ended[0]), 1 << int(filled["shift"]))
    return bool((ended == ended[0]).all()) and not rest and count <= launches


def written(attempted: int, regions: np.ndarray, table: Mapping[str, Any]) -> int:
    """Return how many units of a segment were written.

    Args:
        attempted: The field of the segment.
        regions: Field ``region`` of its ``capacity`` units, uint32.
        table: The table of the kernel.
    """
    limit = int(table["batch_limit"])
    if attempted <= limit or len(regions) <= limit:
        return min(attempted, len(regions))
    # The unit at the limit is of the last batch that was begun in time.
    index, size = table["regions"][int(regions[limit]) & ((1 << REGION_BITS) - 1)]["batch"]
    return min(attempted, limit - index + size)
