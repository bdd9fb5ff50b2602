"""Made-up kernels and what they leave behind: segments and records whose truth is known."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from typing import Any

import numpy as np

from . import format
from .assemble import SEGMENTS
from .format import MAGIC, SEGMENT, SLOT, UNIT, UNIT_RECORDS, VERSION
from .model import CATEGORIES, Device, Kernel, Loop, Region

__all__ = [
    "H200",
    "FakeMemory",
    "Recording",
    "emulate",
    "gemm_kernel",
    "gemm_plan",
    "read_trace",
    "record",
    "specialized_kernel",
    "specialized_team",
    "table",
]

H200 = Device(0, "NVIDIA H200", "cuda:90", sms=132, shared=232_448, bandwidth=4_800_000_000_000)


def gemm_kernel(stages: int = 3, shared: int = 98_304) -> Kernel:
    """Return a pipelined GEMM with tiles of 128 by 128 by 64, as the compiler would describe it."""
    flops, tile = 2 * 128 * 128 * 64, 2 * 128 * 64 * 2
    regions = (
        Region(0, "entry", "", "gemm.py", 10),
        Region(1, "copy_issue", "ttg.async_copy_global_to_local", "gemm.py", 12, 0, bytes=tile),
        Region(2, "copy_wait", "ttg.async_wait", "gemm.py", 15, 1, loop=0),
        Region(3, "mma_issue", "ttng.warp_group_dot", "gemm.py", 17, 1, flops=flops, loop=0),
        Region(4, "mma_wait", "ttng.warp_group_dot_wait", "gemm.py", 17, 1, loop=0),
        Region(5, "copy_issue", "ttg.async_copy_global_to_local", "gemm.py", 15, 1, bytes=tile, loop=0),
        Region(6, "mma_wait", "ttng.warp_group_dot_wait", "gemm.py", 17, 0),
        Region(7, "layout_conversion", "ttg.convert_layout", "gemm.py", 20, 0),
        Region(8, "global_store", "tt.store", "gemm.py", 20, 0, bytes=128 * 128 * 2),
    )
    source = {"gemm.py:10": "    pid = tl.program_id(0)", "gemm.py:12": "    for k in range(0, tl.cdiv(K, BLOCK_K)):"}
    source |= {
        "gemm.py:15": "        a = tl.load(a_ptrs)",
        "gemm.py:17": "        acc = tl.dot(a, b, acc)",
        "gemm.py:20": "    tl.store(c_ptrs, c)",
    }
    resources = {"registers": 128, "spills": 0, "shared": shared, "ctas_per_sm": 2, "plain_ctas_per_sm": 2}
    loops = (Loop(pace=2),)
    return Kernel("gemm", "5eed", "cuda:90", "auto", 4, stages, ("default",), regions, resources, source, loops)


def specialized_kernel() -> Kernel:
    """Return a GEMM with a producer and two consumers."""
    regions = (
        Region(0, "entry", "", "ws.py", 5),
        Region(1, "mbarrier_wait", "ttng.wait_barrier", "ws.py", 9, 1, 1),
        Region(2, "copy_issue", "ttng.async_tma_copy_global_to_local", "ws.py", 10, 1, 1, bytes=32_768),
        Region(3, "mbarrier_wait", "ttng.wait_barrier", "ws.py", 14, 1, 0),
        Region(4, "mma_issue", "ttng.warp_group_dot", "ws.py", 15, 1, 0, flops=2 * 128 * 128 * 64),
        Region(5, "mma_wait", "ttng.warp_group_dot_wait", "ws.py", 15, 1, 0),
        Region(6, "global_store", "tt.store", "ws.py", 20, 0, 0, bytes=32_768),
    )
    return Kernel("ws_gemm", "cafe", "cuda:90", "auto", 12, 4, ("consumer", "producer"), regions)


@dataclasses.dataclass
class Recording:
    """What :func:`record` made.

    Attributes:
        segments: Rows of ``assemble.SEGMENTS``.
        clocks: Low halves of the counter, by record.
        regions: Regions, by record.
        iterations: Iterations, by record.
        starts: True time in ns at which each segment began.
        lengths: True cycles of each span, the first of each warp included, in the order of the segments.
        frequency: True frequency of each SM in GHz.
    """

    segments: np.ndarray
    clocks: np.ndarray
    regions: np.ndarray
    iterations: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    frequency: np.ndarray

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arguments of :func:`assemble.assemble`."""
        return self.segments, self.clocks, self.regions, self.iterations


def record(
    plan: list[tuple[int, int, float]],
    *,
    seed: int,
    ctas: int = 264,
    warps: int = 4,
    sms: int = 132,
    per_sm: int = 1,
    launches: int = 1,
    kernel: int = 0,
    device: int = 0,
    jitter: float = 0.05,
    step: int = 32,
    roles: list[tuple[int, list[tuple[int, int, float]]]] | None = None,
    slow_sm: int | None = None,
    gap: int = 5_000,
) -> Recording:
    """Pretend to run a kernel.

    CTAs are put on the SM that is free first. Each SM has a frequency of its own near 1.7 GHz and a counter that starts
    anywhere, also just before its low half wraps; the global timer moves in steps.

    Args:
        plan: What each warp does: region, iteration, and mean cycles. The first entry is the time before any record.
        seed: Of the random numbers.
        ctas: Size of the grid.
        warps: Warps of a CTA that follow ``plan``.
        sms: Number of SMs.
        per_sm: CTAs that an SM holds at a time.
        launches: How often the grid runs.
        kernel: Index of the kernel.
        device: Index of the device.
        jitter: Relative standard deviation of each span.
        step: ns of a step of the timer.
        roles: Instead of ``plan`` for all: role and plan of each warp.
        slow_sm: An SM on which everything takes twice as long.
        gap: ns between launches.
    """
    random = np.random.default_rng(seed)
    frequency = random.normal(1.7, 0.002, sms)
    counter = random.integers(0, 1 << 44, sms) & ~0xFFFFFFFF | random.integers(0xFFFF0000, 0xFFFFFFFF, sms)
    team = roles or [(0, plan)] * warps
    rows, clocks, regions, iterations, starts, lengths = [], [], [], [], [], []
    now = 1_700_000_000_000_000_000 // 1000
    for ticket in range(launches):
        free = np.full(sms * per_sm, float(now)) + random.uniform(0, 300, sms * per_sm)
        for cta in range(ctas):
            slot = int(np.argmin(free))
            sm = slot % sms
            begin, over = free[slot], free[slot]
            for warp, (role, steps) in enumerate(team):
                mean = np.array([cycles for _, _, cycles in steps])
                spans = np.maximum(random.normal(mean, mean * jitter), 1).astype(np.int64)
                spans *= 2 if sm == slow_sm else 1
                clock = int(counter[sm] + (begin - now) * frequency[sm])
                stamps = clock + np.cumsum(spans)
                end = begin + spans.sum() / frequency[sm]
                place = (kernel, device, 0, ticket, cta, warp, role, sm, ctas, 0, False)
                stamps_ns = (int(begin // step * step), int(end // step * step))
                rows.append((*place, *stamps_ns, clock, int(stamps[-1]), len(steps) - 1, 0, 0))
                clocks.append(stamps[:-1] & 0xFFFFFFFF)
                regions.append([region for region, _, _ in steps[1:]])
                iterations.append([iteration for _, iteration, _ in steps[1:]])
                starts.append(begin)
                lengths.append(spans)
                over = max(over, end)
            free[slot] = over + random.uniform(50, 150)
        counter = counter + ((free.max() + gap - now) * frequency).astype(np.int64)
        now = int(free.max()) + gap
    return Recording(
        np.array(rows, SEGMENTS),
        np.concatenate(clocks).astype(np.uint32),
        np.concatenate(regions).astype(np.uint16),
        np.concatenate(iterations).astype(np.uint32),
        np.array(starts),
        np.concatenate(lengths),
        frequency,
    )


def gemm_plan(iterations: int = 64, wait: float = 300) -> list[tuple[int, int, float]]:
    """Return a plan for :func:`gemm_kernel`; ``wait`` is the mean of the cycles waited for copies in steady state."""
    plan: list[tuple[int, int, float]] = [(0, 0, 600), (1, 0, 250)]
    for index in range(iterations):
        slow = 3 if index < 2 else 1
        plan += [(2, index, wait * slow), (3, index, 60), (4, index, 400), (5, index, 90)]
    return [*plan, (6, 0, 300), (7, 0, 500), (8, 0, 900)]


def specialized_team(iterations: int = 32) -> list[tuple[int, list[tuple[int, int, float]]]]:
    """Return role and plan of the twelve warps of :func:`specialized_kernel`: consumers wait for a slow producer."""
    consumer: list[tuple[int, int, float]] = [(0, 0, 400)]
    producer: list[tuple[int, int, float]] = [(0, 0, 300)]
    for index in range(iterations):
        consumer += [(3, index, 700), (4, index, 50), (5, index, 250)]
        producer += [(1, index, 100), (2, index, 900)]
    consumer.append((6, 0, 800))
    return [(0, consumer)] * 8 + [(1, producer)] * 4


def table(kernel: Kernel, capacity: int = 512, first_warps: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """Return the table that the compiler would write for a kernel.

    Args:
        kernel: The kernel.
        capacity: Units of a segment.
        first_warps: First warp of each role.
    """
    ends = [*first_warps[1:], kernel.num_warps]
    units = [[0, 1] for _ in kernel.regions]
    for loop in {region.loop for region in kernel.regions if region.loop >= 0}:
        inside = [region.id for region in kernel.regions if region.loop == loop]
        for place, number in enumerate(inside):
            begin = place // UNIT_RECORDS * UNIT_RECORDS
            units[number] = [place - begin, len(inside[begin : begin + UNIT_RECORDS])]
    return {
        "version": VERSION,
        "kernel_id": f"{int(kernel.key, 16):016x}",
        "kernel": kernel.name,
        "mode": kernel.mode,
        "target": kernel.target,
        "num_warps": kernel.num_warps,
        "num_ctas": 1,
        "segments": kernel.num_warps,
        "segment_bytes": -(-(SEGMENT.itemsize + capacity * UNIT.itemsize) // 128) * 128,
        "capacity": capacity,
        "records": capacity,
        "batch_limit": capacity - 1,
        "timer_hz": 1_000_000_000,
        "roles": [
            {"name": name, "first_warp": begin, "num_warps": end - begin}
            for name, begin, end in zip(kernel.roles, first_warps, ends)
        ],
        "categories": list(CATEGORIES),
        "regions": [
            {
                "category": region.category,
                "op": region.op,
                "ops": 1,
                "file": region.file,
                "line": region.line,
                "column": 1,
                "loop": region.loop,
                "depth": region.depth,
                "role": region.role,
                "flops": region.flops,
                "bytes": region.bytes,
                "batch": [0, 1],
                "unit": units[region.id],
                "name": region.scope,
                "enters": region.enters,
                "mark": region.mark,
                "value": region.value,
            }
            for region in kernel.regions
        ],
        "loops": [
            {"parent": loop.parent, "file": "", "line": loop.line, "trip_count": loop.trip_count, "pace": loop.pace}
            for loop in kernel.loops
        ],
    }


class FakeMemory:
    """Memory of a GPU that is not there.

    Args:
        size: Bytes of it.
        base: Address of the first.
    """

    def __init__(self, size: int = 1 << 26, base: int = 1 << 40, index: int = 0) -> None:
        self.index = index
        self.base = base
        self.bytes = np.zeros(size, np.uint8)
        self.taken: dict[int, int] = {}
        self._next = 0

    def allocate(self, size: int) -> int:
        address = self.base + self._next
        self._next += -(-size // 512) * 512
        self.at(address, size)[:] = 0
        self.taken[address] = size
        return address

    def free(self, address: int) -> None:
        del self.taken[address]

    def at(self, address: int, size: int) -> np.ndarray:
        """Return a view of bytes."""
        begin = address - self.base
        if not 0 <= begin <= begin + size <= len(self.bytes):
            raise MemoryError(f"{size} bytes at {address:#x}")
        return self.bytes[begin : begin + size]

    def read(self, address: int, size: int) -> np.ndarray:
        return self.at(address, size).copy()

    def current(self) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext()

    def read_rows(self, address: int, pitch: int, width: int, count: int) -> np.ndarray:
        return np.stack([self.read(address + row * pitch, width) for row in range(count)])

    def write(self, address: int, data: np.ndarray) -> None:
        data = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        self.at(address, data.size)[:] = data


def emulate(memory: FakeMemory, pointer: int, entry: dict[str, Any], recording: Recording, launch: int = 0) -> None:
    """Write what a kernel with records would.

    Args:
        memory: Where to.
        pointer: What the kernel gets for its launch slot.
        entry: Table of the kernel.
        recording: What happens.
        launch: Which launch of it.
    """
    if not pointer & 1:
        return
    slot = memory.at(pointer & -SLOT.itemsize, SLOT.itemsize).view(SLOT)
    if slot["magic"][0] != MAGIC:
        return
    ring, blocks = (int(slot[name][0]) for name in ("segments", "blocks"))
    count = int(slot["mask"][0]) + 1
    before, ended = format.launches(slot[0], entry["segments"]), slot["ended"][0]
    size, capacity = entry["segment_bytes"], entry["capacity"]
    ends = np.cumsum(recording.segments["count"])
    for row in np.flatnonzero(recording.segments["launch"] == launch):
        segment = recording.segments[row]
        block = int(segment["cta"])
        rank = format.rank(slot[0], block)
        if rank is None:
            continue
        warp = int(segment["warp"])
        sequence = (before * blocks + rank) * entry["segments"] + warp
        place = memory.at(ring + sequence % count * size, size)
        head = place[: SEGMENT.itemsize].view(SEGMENT)
        head["sequence"] = sequence + 1
        head["kernel"] = int(entry["kernel_id"], 16)
        head["block_x"], head["warp"], head["sm"] = block, segment["warp"], segment["sm"]
        for name in ("start", "end"):
            head[f"clock_{name}"], head[f"time_{name}"] = segment[f"{name}_clock"], segment[f"{name}_ns"]
        records = slice(ends[row] - segment["count"], ends[row])
        regions, clocks = recording.regions[records], recording.clocks[records]
        units = np.array([region["unit"] for region in entry["regions"]])[regions]
        begins = np.flatnonzero(units[:, 0] == 0)
        written = np.zeros(len(begins), UNIT)
        written["region"] = regions[begins]
        for lane in range(UNIT_RECORDS):
            has = units[begins, 1] > lane
            written["clocks"][has, lane] = clocks[begins[has] + lane]
        head["attempted"] = len(written)
        written = written[:capacity]
        place[SEGMENT.itemsize : SEGMENT.itemsize + written.nbytes] = written.view(np.uint8)
        head["done"] = sequence + 1
        ended[warp, 0] += 1 if rank else (1 << int(slot["shift"][0])) - blocks + 1


def read_trace(path: pathlib.Path) -> tuple[list[tuple], dict[int, list], list[tuple]]:
    """Read a Perfetto trace with the messages of the package ``perfetto`` alone.

    Args:
        path: The file.

    Returns:
        Slices as path of the track, name, start and end in ns, and iteration or None; by arrow the slices where it
        begins and ends, as track, name, start and iteration; and instants as path, name, time, and annotations by name.
    """
    # An extra that only traces need.
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

    trace = protos.Trace.FromString(path.read_bytes())
    names, parents, tracks, clocks, words, open_slices = {}, {}, {}, {}, {}, {}
    slices, arrows, instants = [], {}, []

    def path_of(track: int) -> tuple[str, ...]:
        path = [names[track]]
        while track := parents[track]:
            path.insert(0, names[track])
        return tuple(path)

    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        if packet.HasField("track_descriptor"):
            names[packet.track_descriptor.uuid] = packet.track_descriptor.name
            parents[packet.track_descriptor.uuid] = packet.track_descriptor.parent_uuid
        if packet.HasField("trace_packet_defaults"):
            tracks[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("clock_snapshot"):
            clocks[sequence] = packet.clock_snapshot.clocks[1].timestamp
        for name in packet.interned_data.event_names:
            words[sequence, name.iid] = name.name
        for name in packet.interned_data.debug_annotation_names:
            words[sequence, "annotation", name.iid] = name.name
        if not packet.HasField("track_event"):
            continue
        if sequence in clocks:
            clocks[sequence] += packet.timestamp
            now = clocks[sequence]
        else:
            now = packet.timestamp
        event = packet.track_event
        track = event.track_uuid or tracks[sequence]
        if event.type == event.TYPE_SLICE_BEGIN:
            name = event.name or words[sequence, event.name_iid]
            number = event.debug_annotations[0].uint_value if event.name_iid and event.debug_annotations else None
            open_slices.setdefault(track, []).append((name, now, number))
            for identifier in event.flow_ids:
                arrows.setdefault(identifier, [None, None])[0] = (track, name, now, number)
            for identifier in event.terminating_flow_ids:
                arrows.setdefault(identifier, [None, None])[1] = (track, name, now, number)
        elif event.type == event.TYPE_INSTANT:
            notes = {
                words[sequence, "annotation", entry.name_iid]: getattr(entry, entry.WhichOneof("value"))
                for entry in event.debug_annotations
            }
            instants.append((path_of(track), words[sequence, event.name_iid], now, notes))
        else:
            name, start, number = open_slices[track].pop()
            slices.append((path_of(track), name, start, now, number))
    assert not any(open_slices.values())
    return slices, arrows, instants
