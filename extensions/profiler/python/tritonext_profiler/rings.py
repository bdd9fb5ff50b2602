"""Rings of segments on a GPU: made at the first launch that needs one, emptied meanwhile, closed at the end.

A ring belongs to one kernel, grid and stream, or to one launch that was captured into a graph, so that launches of one
ring never overlap and can be told apart. ``docs/records.md`` describes the memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from . import format
from .decode import Chunk, heads
from .format import SEGMENT, SLOT, UNIT
from .model import LAUNCHES

__all__ = ["PIECE", "Blank", "Memory", "Ring", "Rings", "sampling"]

_SLAB = 1 << 16
_FOUR_GIB = 1 << 32
# Bytes of all rings of a GPU; where less than a wish is left, half of it is given.
_TOTAL = 1 << 30
# Launches of a kernel that may overlap their successors take turns.
_TURNS = 4
# What one launch may take of a ring, and what it may while the ring is nearly full.
_SHARES = (8, 64)
# Blocks of a launch that record more than begin and end without a wish: one in so many, but not fewer than the first
# number and not more than the second. A launch has seldom more to tell, and those that record are slower.
_PART, _FEWEST, _BLOCKS = 32, 128, 512
# Segments of so many bytes are read whole, and of others first the heads.
_NARROW = 256
# Bytes of a ring that are read at once, and so what the host has beyond what it keeps, twice: as read, and as kept.
PIECE = 8 << 20
# What of the host's memory is for records; the rest is for begin and end of launches whose records found no room.
_RECORDS_SHARE = 7 / 8

_TIMES = np.dtype(
    [("ring", np.int64), ("launch", np.int64), ("start", np.int64), ("end", np.int64), ("segments", np.int64)]
)


class Memory(Protocol):
    """What of :class:`.gpu.Gpu` is used here."""

    index: int

    def current(self) -> contextlib.AbstractContextManager: ...
    def allocate(self, size: int) -> int: ...
    def free(self, address: int) -> None: ...
    def read(self, address: int, size: int) -> np.ndarray: ...
    def read_rows(self, address: int, pitch: int, width: int, count: int) -> np.ndarray: ...
    def write(self, address: int, data: np.ndarray) -> None: ...


def sampling(blocks: int, block_bytes: int, sample: int | None, budget: int, most: int = 1 << 31) -> tuple[int, int]:
    """Choose the blocks that record: those below ``first``, and each ``every``-th.

    Without a wish, as many as fit the budget: up to half of them the first ones, which run at the same time, and the
    others evenly from all waves.

    Args:
        blocks: Blocks of the grid.
        block_bytes: Bytes that the segments of one take.
        sample: Record one of so many, rounded up to a power of two; None for no wish.
        budget: Bytes that one launch may take.
        most: Blocks of a launch that may record, unless wished for.

    Returns:
        ``first``, a power of two, and ``every``; all blocks are ``(0x80000000, 0)``.
    """
    if sample is not None:
        return (1 << 31, 0) if sample == 1 else (1, min(_power(sample), 1 << 31))
    most = max(min(budget // block_bytes, most), 2)
    if blocks <= most:
        return 1 << 31, 0
    first = _power(most // 2 + 1) // 2
    return first, _power(-(-blocks // (most - first)))


def _key(ring: int | np.ndarray, launch: np.ndarray) -> np.ndarray:
    """Return one number for each launch of a ring."""
    return np.left_shift(ring, 40, dtype=np.int64) | launch


def _power(least: int) -> int:
    """Return the smallest power of two that is not below ``least``."""
    return 1 << (least - 1).bit_length()


@dataclasses.dataclass(eq=False)
class Ring:
    """One ring with its slot.

    Attributes:
        slot: Address of the slot.
        pointer: What the kernel gets for it.
        number: Counts the rings of a session.
        kernel: Index of the kernel.
        table: Its table.
        stream: Handle of the stream.
        captured: Whether a graph launches it.
        grid: Blocks in the three dimensions.
        per_launch: Segments of one launch.
        segments: Address of the ring.
        count: Its segments.
        begun: Segments of launches that have ended, as far as read.
        tail: First segment that is not read.
        issued: Segments of all launches that were given the ring.
        lost: Segments that were overwritten before they were read.
        lasting: Whether the slot may be used when the session has ended, by a graph, or by a launch of which nobody
            says when the GPU has it.
    """

    slot: int
    pointer: int
    number: int
    kernel: int
    table: Mapping[str, Any]
    stream: int
    captured: bool
    grid: tuple[int, int, int]
    per_launch: int
    segments: int
    count: int
    begun: int = 0
    tail: int = 0
    issued: int = 0
    lost: int = 0
    lasting: bool = False

    def data_ptr(self) -> int:
        """What the kernel gets."""
        return self.pointer

    @property
    def bytes(self) -> int:
        """Bytes of one segment."""
        return int(self.table["segment_bytes"])


@dataclasses.dataclass
class Blank:
    """Stands for a ring where there is no room: its slot lets a kernel record nothing, whoever has it next."""

    slot: int
    lasting: bool = False

    def data_ptr(self) -> int:
        return self.slot


class Rings:
    """The rings of one GPU in one session.

    Args:
        memory: The GPU.
        size: Bytes that a ring may have.
        keep: Bytes that are kept on the host: of segments, then of begin and end of launches.
        sample: See :func:`sampling`.
    """

    def __init__(self, memory: Memory, size: int, keep: int, sample: int | None = None) -> None:
        self.memory = memory
        self.chunks: list[Chunk] = []
        self.full = False
        self._size = size
        self._keep = int(keep * _RECORDS_SHARE)
        self._keep_times = (keep - self._keep) // _TIMES.itemsize
        self._sample = sample
        self._rings: dict[tuple, Ring] = {}
        self._used = 0
        self._turns: dict[tuple, int] = {}
        self._blank: Blank | None = None
        # Launches that found no room, by kernel, and the segments that they would have had.
        self.skipped: dict[int, list[int]] = {}
        self._lock = threading.Lock()
        self._closed = False
        # Of launches of which nothing else is kept; one that was read in parts has a row of each.
        self._times: list[np.ndarray] = []
        # Launches of which not even that is, or as many parts of them.
        self.untold = 0

    @property
    def rings(self) -> list[Ring]:
        """All rings."""
        with self._lock:
            return list(self._rings.values())

    def ring(
        self,
        kernel: int,
        table: Mapping[str, Any],
        grid: tuple[int, ...],
        stream: int,
        captured: bool,
        overlaps: bool,
        lasting: bool = False,
    ) -> Ring | Blank:
        """Return the ring for a launch, in the thread that launches.

        How much each launch writes is known, and so whether there is room. With little room, fewer blocks record, in a
        second ring; with none, the launch is not recorded, and counted.

        Args:
            kernel: Index of the kernel.
            table: Its table.
            grid: As it is launched.
            stream: Handle of the stream.
            captured: Whether a graph is made; each such launch has a ring of its own.
            overlaps: Whether the next launch on the stream may begin before this one has ended.
            lasting: Whether the GPU may get the launch when the session has ended.

        Raises:
            UserError: There is no memory.
        """
        with self._lock:
            ring = self._nothing() if self._closed else self._choose(kernel, table, grid, stream, captured, overlaps)
            ring.lasting |= lasting
            return ring

    def _choose(
        self, kernel: int, table: Mapping[str, Any], grid: tuple[int, ...], stream: int, captured: bool, overlaps: bool
    ) -> Ring | Blank:
        key: tuple = (kernel, grid, stream)
        # Nearly every launch is one of these.
        ring = self._rings.get((key, _SHARES[0]))
        if ring is not None and not captured and not overlaps:
            waiting = ring.issued - ring.tail
            if not waiting or waiting + ring.per_launch <= ring.count:
                ring.issued += ring.per_launch
                return ring
        if not math.prod(grid):
            return self._nothing()
        if captured:
            key = (*key, len(self._rings))
            ring = self._rings[key] = self._make(kernel, table, grid, stream, True, _SHARES[0])
            ring.lasting = True
            return ring
        if overlaps:
            turn = self._turns[key] = (self._turns.get(key, -1) + 1) % _TURNS
            key = (*key, -1, turn)
        for share in _SHARES:
            ring = self._rings.get((key, share))
            if ring is None:
                ring = self._rings[key, share] = self._make(kernel, table, grid, stream, False, share)
            waiting = ring.issued - ring.tail
            if not waiting or waiting + ring.per_launch <= ring.count:
                ring.issued += ring.per_launch
                return ring
        counts = self.skipped.setdefault(kernel, [0, 0])
        counts[0] += 1
        counts[1] += max(other.per_launch for place, other in self._rings.items() if place[0] == key)
        return self._nothing()

    def take_back(self, ring: Ring) -> None:
        """Make room again, where the GPU did not get a launch that was given a ring."""
        with self._lock:
            if not ring.captured:
                ring.issued -= ring.per_launch

    def _nothing(self) -> Blank:
        if self._blank is None:
            self._blank = Blank(_take_slot(self.memory))
        return self._blank

    def _make(
        self, kernel: int, table: Mapping[str, Any], grid: tuple[int, ...], stream: int, captured: bool, share: int
    ) -> Ring:
        x, y, z = (*grid, 1, 1, 1)[:3]
        shape = (int(x) * int(table["num_ctas"]), int(y), int(z))
        blocks, warps, size = math.prod(shape), int(table["segments"]), int(table["segment_bytes"])
        most = blocks if table["mode"] == "header" else min(max(blocks // _PART, _FEWEST), _BLOCKS)
        room = self._size if self._used + self._size <= _TOTAL else max((_TOTAL - self._used) // 2, size)
        first, every = sampling(blocks, warps * size, self._sample, room // share, most)
        per_launch = format.recorded(blocks, first, every) * warps
        fits = max(room // size, 1)
        count = 1 << (fits.bit_length() - 1)
        # What has room for a launch gets one whole.
        if count < per_launch <= fits:
            count *= 2
        address = self._within_four_gib(count * size)
        self._used += count * size
        slot = _take_slot(self.memory)
        filled = format.slot(address, count, first, every, blocks)
        self.memory.write(slot, filled)
        pointer, number = format.tagged(slot, filled[0]), len(self._rings)
        return Ring(slot, pointer, number, kernel, table, stream, captured, shape, per_launch, address, count)

    def _within_four_gib(self, size: int) -> int:
        """Allocate memory that does not cross a multiple of 4 GiB."""
        crossing: list[int] = []
        try:
            while True:
                address = self.memory.allocate(size)
                if address // _FOUR_GIB == (address + size - 1) // _FOUR_GIB:
                    return address
                # Held until there is one that fits, or it would come again.
                crossing.append(address)
        finally:
            for other in crossing:
                self.memory.free(other)

    # --- reading -----------------------------------------------------------------------------------------------------

    def drain(self, final: bool = False) -> bool:
        """Read what is new in all rings.

        Args:
            final: Whether nothing runs any more, so that segments that are not whole never will be.

        Returns:
            Whether a ring was so full that the next look should not wait.
        """
        hurry, rings = False, self.rings
        with self.memory.current():
            for ring, begun in zip(rings, self._cursors(rings)):
                ring.begun = begun
                hurry |= begun - ring.tail > ring.count // 4
                while ring.tail < begun and self._drain(ring, begun, final):
                    pass
        return hurry

    def leave_out_torn(self) -> list[Ring]:
        """Leave out rings in which other blocks ended than were launched, when nothing runs, and return them."""
        # Graphs may be replayed at any time.
        rings = [ring for ring in self.rings if not ring.lasting]
        with self.memory.current():
            slots = list(self._filled(rings))
        torn = [
            ring
            for ring, slot in zip(rings, slots)
            if not format.complete(slot, int(ring.table["segments"]), ring.issued // ring.per_launch)
        ]
        numbers = [ring.number for ring in torn]
        self.chunks = [chunk for chunk in self.chunks if chunk.slot not in numbers]
        self._times = [rows[~np.isin(rows["ring"], numbers)] for rows in self._times]
        for ring in torn:
            ring.lost = 0
        return torn

    def _cursors(self, rings: Sequence[Ring]) -> Iterator[int]:
        """Yield the segments of launches that have ended, of each ring."""
        for ring, slot in zip(rings, self._filled(rings)):
            yield format.launches(slot, int(ring.table["segments"])) * ring.per_launch

    def _filled(self, rings: Sequence[Ring]) -> Iterator[np.ndarray]:
        """Yield the slot of each ring as the GPU has it, from as few copies as possible."""
        slabs: dict[int, list[Ring]] = {}
        for ring in rings:
            slabs.setdefault(_slab(self.memory, ring.slot), []).append(ring)
        slots = {}
        for members in slabs.values():
            first = min(ring.slot for ring in members)
            data = self.memory.read(first, max(ring.slot for ring in members) + SLOT.itemsize - first)
            for ring in members:
                slots[ring.slot] = data[ring.slot - first :][: SLOT.itemsize].view(SLOT)[0]
        for ring in rings:
            yield slots[ring.slot]

    def _drain(self, ring: Ring, begun: int, final: bool) -> bool:
        """Read a piece of what is new; return whether it was whole, so that the next one may be."""
        if begun - ring.tail > ring.count:
            ring.lost += begun - ring.count - ring.tail
            ring.tail = begun - ring.count
        first, width = ring.tail, ring.bytes if ring.bytes <= _NARROW else SEGMENT.itemsize
        data = self._read(ring, first, min(begun, first + PIECE // width), width)
        whole = self._whole(ring, first, data)
        units = int(heads(data)["attempted"][whole].max(initial=0))
        width = min(SEGMENT.itemsize + units * UNIT.itemsize, ring.bytes)
        if width > data.shape[1] and not self.full:
            # Only what was written of the places for records, often a small part.
            data = self._read(ring, first, first + min(len(data), max(PIECE // width, 1)), width)
            # One that has become whole meanwhile may be wider than what was asked for.
            whole = whole[: len(data)] & self._whole(ring, first, data)
        # What was begun while we read may have taken the places of the oldest.
        [now] = self._cursors([ring])
        overwritten = max(now - ring.count - first, 0)
        whole[:overwritten] = False
        # What is not whole yet is read again, with what comes after it.
        missing = np.flatnonzero(~whole[overwritten:])
        stop = len(whole) if final or not len(missing) else overwritten + int(missing[0])
        ring.lost += int(np.count_nonzero(~whole[:stop]))
        ring.tail = first + stop
        self._store(ring, data if stop == len(data) and whole.all() else data[:stop][whole[:stop]])
        return stop == len(data)

    @staticmethod
    def _whole(ring: Ring, first: int, data: np.ndarray) -> np.ndarray:
        """Return which of the segments that were read are those that they should be, and complete."""
        head = heads(data)
        expected = np.arange(first, first + len(data), dtype=np.uint64) + np.uint64(1)
        whole = (head["sequence"] == expected) & (head["done"] == expected.astype(np.uint32))
        return whole & (head["kernel"] == np.uint64(int(str(ring.table["kernel_id"]), 16)))

    def _read(self, ring: Ring, first: int, last: int, width: int) -> np.ndarray:
        """Return the beginnings of segments ``first`` to ``last``, which may go around the ring's end."""
        begin, count, size = first % ring.count, last - first, ring.bytes
        ahead = min(count, ring.count - begin)
        data = self.memory.read_rows(ring.segments + begin * size, size, width, ahead)
        if count == ahead:
            return data
        return np.concatenate([data, self.memory.read_rows(ring.segments, size, width, count - ahead)])

    def _store(self, ring: Ring, data: np.ndarray) -> None:
        if not len(data):
            return
        head = heads(data)
        most = min(int(head["attempted"].max()) * UNIT.itemsize, ring.bytes - SEGMENT.itemsize)
        width = SEGMENT.itemsize + most
        if self._keep >= len(data) * width and not self.full:
            self._keep -= len(data) * width
            kept = data if data.shape[1] == width and data.base is None else data[:, :width].copy()
            place = (ring.kernel, self.memory.index, ring.number, ring.stream, ring.captured, ring.grid)
            self.chunks.append(Chunk(*place, ring.per_launch, kept))
            return
        # From here on, so that no launch is kept in part.
        self.full = True
        launch = (head["sequence"].astype(np.int64) - 1) // ring.per_launch
        numbers, place, counts = np.unique(launch, return_inverse=True, return_counts=True)
        rows = np.zeros(len(numbers), _TIMES)
        rows["ring"], rows["launch"], rows["segments"] = ring.number, numbers, counts
        rows["start"] = np.iinfo(np.int64).max
        np.minimum.at(rows["start"], place, head["time_start"].astype(np.int64))
        np.maximum.at(rows["end"], place, head["time_end"].astype(np.int64))
        told = min(len(rows), self._keep_times)
        self._keep_times -= told
        self.untold += len(rows) - told
        if told:
            self._times.append(rows[:told])

    def times(self) -> np.ndarray:
        """Return rows of ``model.LAUNCHES`` for the launches of which nothing but begin and end is kept."""
        by_number = {ring.number: ring for ring in self.rings}
        kept = [np.zeros(0, np.int64), *(_key(chunk.slot, np.unique(self._launches(chunk))) for chunk in self.chunks)]
        parts = np.concatenate([np.zeros(0, _TIMES), *self._times])
        keys = _key(parts["ring"], parts["launch"])
        rest = np.isin(keys, np.concatenate(kept), invert=True)
        parts, keys = parts[rest], keys[rest]
        order = np.argsort(keys, kind="stable")
        parts = parts[order]
        firsts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        whole = parts[firsts]
        if len(parts):
            whole["start"] = np.minimum.reduceat(parts["start"], firsts)
            whole["end"] = np.maximum.reduceat(parts["end"], firsts)
            whole["segments"] = np.add.reduceat(parts["segments"], firsts)
        result = np.zeros(len(whole), LAUNCHES)
        for number in np.unique(whole["ring"]):
            ring = by_number[int(number)]
            rows = np.flatnonzero(whole["ring"] == number)
            mine = result[rows]
            tick = 1e9 / int(ring.table["timer_hz"])
            mine["kernel"], mine["device"], mine["stream"] = ring.kernel, self.memory.index, ring.stream
            mine["replay"], mine["grid"] = ring.captured, math.prod(ring.grid)
            for name in ("start", "end"):
                # Nanoseconds since 1970 are more than a float holds.
                mine[name] = whole[name][rows] if tick == 1 else np.rint(whole[name][rows] * tick)
            mine["ctas"] = whole["segments"][rows] // int(ring.table["segments"])
            result[rows] = mine
        return result

    @staticmethod
    def _launches(chunk: Chunk) -> np.ndarray:
        return (heads(chunk.data)["sequence"].astype(np.int64) - 1) // chunk.per_launch

    def needed(self) -> int:
        """Return the bytes of a ring in which nothing would have been lost; 0 where nothing was."""
        wanted = [_power(ring.begun) * ring.bytes for ring in self.rings if ring.lost]
        for kernel, (_, segments) in self.skipped.items():
            rings = [ring for ring in self.rings if ring.kernel == kernel]
            wanted.append(max(_power(sum(r.issued for r in rings) + segments) * ring.bytes for ring in rings))
        return max(wanted, default=0)

    # --- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let graphs that go on, and launches, record nothing. Kernels that run already may record until they end."""
        with self._lock:
            self._closed = True
        for ring in self.rings:
            self.memory.write(ring.slot, np.zeros(SLOT["magic"].itemsize, np.uint8))

    def free(self, keep_slots: bool = False) -> None:
        """Give the rings back, after :meth:`close` and when nothing runs that had begun before it.

        Args:
            keep_slots: Whether a launch may come yet, which records nothing as long as nobody else has its slot.
        """
        with self._lock:
            for ring in self._rings.values():
                self.memory.free(ring.segments)
                if not (ring.lasting or keep_slots):
                    _give_slot(self.memory, ring.slot)
            self._rings.clear()
            self._used = 0
            if self._blank is not None:
                _give_slot(self.memory, self._blank.slot)
                self._blank = None


# Slots by GPU. Those of captured launches are never given back: a graph may use them at any time.
_slots: weakref.WeakKeyDictionary[Memory, list[int]] = weakref.WeakKeyDictionary()
_slabs: weakref.WeakKeyDictionary[Memory, list[int]] = weakref.WeakKeyDictionary()
_slots_lock = threading.Lock()


def _take_slot(memory: Memory) -> int:
    with _slots_lock:
        free = _slots.setdefault(memory, [])
        if not free:
            slab = memory.allocate(_SLAB + SLOT.itemsize)
            _slabs.setdefault(memory, []).append(slab)
            first = -(-slab // SLOT.itemsize) * SLOT.itemsize
            free.extend(range(first, first + _SLAB, SLOT.itemsize))
        slot = free.pop()
    # One that was used before has a ring's address in it.
    memory.write(slot, np.zeros(1, SLOT))
    return slot


def _slab(memory: Memory, slot: int) -> int:
    """Return the address of the allocation that a slot is in."""
    return next(slab for slab in _slabs[memory] if slab <= slot < slab + _SLAB + SLOT.itemsize)


def _give_slot(memory: Memory, slot: int) -> None:
    with _slots_lock:
        _slots[memory].append(slot)
