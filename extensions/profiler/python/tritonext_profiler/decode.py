"""From the bytes of segments to the columns of a profile."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .assemble import SEGMENTS, Assembled, assemble, number_launches
from .format import REGION_BITS, SEGMENT, UNIT, UNIT_RECORDS
from .model import Kernel
from .table import iterations

__all__ = ["Chunk", "add_launches", "decode", "heads", "written"]


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Whole segments of one slot.

    Attributes:
        kernel: Index of the kernel.
        device: Index of the device.
        slot: Number of the slot.
        stream: Handle of the stream.
        replay: Whether a graph launched it.
        grid: Blocks in the three dimensions.
        per_launch: Segments of one launch.
        data: Segments, uint8 of shape (segments, bytes); cut behind the last unit that any of them has.
    """

    kernel: int
    device: int
    slot: int
    stream: int
    replay: bool
    grid: tuple[int, int, int]
    per_launch: int
    data: np.ndarray


def heads(data: np.ndarray) -> np.ndarray:
    """Return the heads of segments, as rows of ``format.SEGMENT``.

    Args:
        data: uint8 of shape (segments, bytes).
    """
    return np.ascontiguousarray(data[:, : SEGMENT.itemsize]).view(SEGMENT)[:, 0]


def written(attempted: np.ndarray, units: np.ndarray, table: Mapping[str, Any]) -> np.ndarray:
    """Return how many units of each segment were written; ``format.written`` for many at once.

    Args:
        attempted: The field of the segments.
        units: Their units, of shape (segments, units).
        table: The table of the kernel.
    """
    width, limit = units.shape[1], int(table["batch_limit"])
    count = np.minimum(attempted, width)
    full = attempted > limit
    if width <= limit or not full.any():
        return count
    batches = np.array([region["batch"] for region in table["regions"]])
    region = units["region"][full, limit] & ((1 << REGION_BITS) - 1)
    # The unit at the limit is of the last batch that was begun in time.
    index, size = batches[region].T
    count[full] = np.minimum(attempted[full], limit - index + size)
    return np.minimum(count, width)


def decode(chunks: Sequence[Chunk], kernels: Sequence[Kernel], tables: Sequence[Mapping[str, Any]]) -> Assembled:
    """Make the tables of a profile.

    Args:
        chunks: What was read.
        kernels: By index.
        tables: Their tables.
    """
    segments, clocks, regions, numbers, marks, values = [], [], [], [], [], []
    for chunk in chunks:
        kernel, table = kernels[chunk.kernel], tables[chunk.kernel]
        head = heads(chunk.data)
        width = (chunk.data.shape[1] - SEGMENT.itemsize) // UNIT.itemsize
        body = chunk.data[:, SEGMENT.itemsize : SEGMENT.itemsize + width * UNIT.itemsize]
        units = np.ascontiguousarray(body).view(UNIT)
        attempted = head["attempted"].astype(np.int64)
        count = written(attempted, units, table)
        kept = units[np.arange(width) < count[:, None]]
        first = (kept["region"] & ((1 << REGION_BITS) - 1)).astype(np.int64)
        sizes = np.array([max(region["unit"][1], 1) for region in table["regions"]])[first]
        present = np.arange(UNIT_RECORDS) < sizes[:, None]
        region = (first[:, None] + np.arange(UNIT_RECORDS))[present]
        ends = np.cumsum(sizes)
        of_segment = np.diff(np.concatenate(([0], ends))[np.concatenate(([0], np.cumsum(count)))])
        # What a unit has room for is known of all units together.
        dropped = -(-np.maximum(attempted - count, 0) * max(table["records"], 1) // max(table["capacity"], 1))
        segments.append(_segments(chunk, table, head, of_segment, dropped))
        clocks.append(kept["clocks"][present])
        regions.append(region)
        numbers.append(iterations(kernel, of_segment, region))
        marks.append(np.array([bool(entry.mark) for entry in kernel.regions])[region])
        values.append(_values(kernel, first, kept)[np.repeat(np.arange(len(kept)), sizes)])
    if not segments:
        return assemble(np.zeros(0, SEGMENTS), *(np.zeros(0, np.uint32) for _ in range(3)))
    return assemble(*(np.concatenate(columns) for columns in (segments, clocks, regions, numbers, marks, values)))


def _values(kernel: Kernel, regions: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the value of each unit that is a mark with one, as float64; NaN for others."""
    kind = np.array([("", "int", "float").index(entry.value) for entry in kernel.regions])[regions]
    result = np.full(len(units), np.nan)
    halves = np.ascontiguousarray(units["clocks"][:, 1:])
    whole, low = halves.view("<i8")[:, 0], np.ascontiguousarray(halves[:, 0]).view("<f4")
    result[kind == 1] = whole[kind == 1]
    result[kind == 2] = low[kind == 2]
    return result


def _segments(
    chunk: Chunk, table: Mapping[str, Any], head: np.ndarray, count: np.ndarray, dropped: np.ndarray
) -> np.ndarray:
    result = np.zeros(len(head), SEGMENTS)
    across, up, _ = chunk.grid
    result["kernel"], result["device"], result["slot"] = chunk.kernel, chunk.device, chunk.slot
    result["stream"], result["replay"] = chunk.stream, chunk.replay
    result["launch"] = (head["sequence"].astype(np.int64) - 1) // chunk.per_launch
    result["cta"] = head["block_x"] + across * (head["block_y"] + up * head["block_z"].astype(np.int64))
    result["grid"] = int(np.prod(chunk.grid))
    result["warp"], result["sm"] = head["warp"], head["sm"]
    role = np.zeros(max(int(table["num_warps"]), 1), np.int16)
    for number, entry in enumerate(table["roles"]):
        role[entry["first_warp"] : entry["first_warp"] + entry["num_warps"]] = number
    result["role"] = role[np.minimum(head["warp"], len(role) - 1)]
    for name in ("start", "end"):
        result[f"{name}_clock"] = head[f"clock_{name}"]
        # In integers: the product would not fit a float, and may not fit 64 bits at other rates than 1 GHz.
        ticks, rate = head[f"time_{name}"].astype(np.int64), int(table["timer_hz"])
        result[f"{name}_ns"] = ticks * (1_000_000_000 // rate) if 1_000_000_000 % rate == 0 else ticks / rate * 1e9
    result["count"] = count
    result["dropped"], result["own"] = dropped, head["other"] - head["one"]
    return result


def add_launches(made: Assembled, times: np.ndarray) -> Assembled:
    """Add launches of which only begin and end are known.

    Args:
        made: The others.
        times: Rows of ``model.LAUNCHES``.
    """
    if not len(times):
        return made
    launches = np.concatenate([made.launches, times])
    order = np.argsort(launches["start"], kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    warps = made.warps.copy()
    warps["launch"] = place[warps["launch"]]
    launches = launches[order]
    number_launches(launches)
    return dataclasses.replace(made, launches=launches, warps=warps)
