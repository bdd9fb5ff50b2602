"""What a profile is: tables of launches, warps and spans as columns, and what the compiler knows about each kernel.

Nothing here depends on how the data came about; :mod:`.decode` makes it from rings, :mod:`.storage` from files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = [
    "CATEGORIES",
    "LAUNCHES",
    "MARKS",
    "SPANS",
    "WAITS",
    "WARPS",
    "Device",
    "HostEvent",
    "Kernel",
    "Loop",
    "Loss",
    "Profile",
    "Region",
]

# Categories of time, in the order in which reports show them.
CATEGORIES = (
    "copy_issue",
    "copy_wait",
    "mma_issue",
    "mma_wait",
    "global_load",
    "global_store",
    "shared_load",
    "shared_store",
    "layout_conversion",
    "barrier",
    "mbarrier_wait",
    "reduction",
    "atomic",
    "elementwise",
    "epilogue",
    "idle",
    "scope",
    "entry",
    "other",
)

# Those in which a warp waits for somebody else.
WAITS = frozenset({"copy_wait", "mma_wait", "barrier", "mbarrier_wait", "idle"})

# One row for each launch that ran, replays of graphs included.
LAUNCHES = np.dtype(
    [
        ("kernel", np.int32),  # index into Profile.kernels
        ("ticket", np.uint32),  # counts the recorded launches of a kernel on a device
        ("device", np.int32),
        ("stream", np.int64),  # handle of the stream; of a replay, that of the capture
        ("replay", np.bool_),  # whether a graph launched it
        ("start", np.int64),  # ns of the GPU's global timer; first start of a recorded warp
        ("end", np.int64),
        ("ctas", np.int32),  # recorded ones
        ("grid", np.int32),  # all of them
        (
            "first",
            np.int64,
        ),  # its warps are rows first to first + count of Profile.warps; may be none
        ("count", np.int64),
    ]
)

# One row for each recorded warp.
WARPS = np.dtype(
    [
        ("launch", np.int32),  # row of Profile.launches
        ("cta", np.int32),
        ("warp", np.int16),
        ("role", np.int16),  # index into Kernel.roles
        ("sm", np.int16),
        ("start", np.int64),  # ns of the global timer, aligned over the SM by its cycle counter
        ("end", np.int64),
        ("cycles", np.int64),  # lifetime by the cycle counter
        ("recording", np.int64),  # those of them that records took, which no span has
        ("dropped", np.int32),  # records that found no place
        ("closed", np.bool_),  # the spans add up to the lifetime by construction; False where that is impossible
        ("first", np.int64),  # its spans are rows first to first + count of Profile.spans
        ("count", np.int64),
    ]
)

# One row for each stay of a warp in a region, in the order of time within a warp.
SPANS = np.dtype(
    [
        ("warp", np.int32),  # row of Profile.warps
        ("region", np.int16),  # id in Kernel.regions
        ("iteration", np.int32),
        ("start", np.int64),  # cycles since the warp began
        ("cycles", np.int64),
    ]
)


# One row for each mark of the user, by warp and time.
MARKS = np.dtype(
    [
        ("warp", np.int32),  # row of Profile.warps
        ("region", np.int16),  # id in Kernel.regions, whose `mark` is its name
        ("iteration", np.int32),
        ("start", np.int64),  # cycles since the warp began
        ("value", np.float64),  # NaN for a mark without a value; integers beyond 2**53 are rounded
    ]
)


@dataclasses.dataclass(frozen=True)
class Region:
    """A stretch of a kernel's code between two records.

    Attributes:
        id: Its number in the records.
        category: One of :data:`CATEGORIES`.
        op: What is done there, in the terms of the IR: ``ttng.warp_group_dot``.
        file: Source file, empty when unknown.
        line: Source line, 0 when unknown.
        depth: Number of loops around it.
        role: Index into ``Kernel.roles``.
        flops: Floating-point operations of one execution by one CTA.
        bytes: Bytes of global memory moved by one execution by one CTA.
        scope: Names of the user's scopes around it, from the outermost on, with slashes between; empty for none.
        loop: Index into ``Kernel.loops`` of the innermost loop around it, -1 for none.
        enters: Whether it begins where a scope is entered.
        mark: Name of the user's mark at which it begins, empty for none.
        value: ``int`` or ``float`` for a mark with a value.
    """

    id: int
    category: str
    op: str = ""
    file: str = ""
    line: int = 0
    depth: int = 0
    role: int = 0
    flops: int = 0
    bytes: int = 0
    scope: str = ""
    loop: int = -1
    enters: bool = False
    mark: str = ""
    value: str = ""

    @property
    def place(self) -> str:
        """``file.py:12``, or the op where no line is known."""
        if not self.line:
            return self.op or self.category
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


@dataclasses.dataclass(frozen=True)
class Loop:
    """A loop of a kernel.

    Attributes:
        parent: Index of the loop around it, -1 for none.
        pace: Region that each iteration enters once, -1 when there is none.
        trip_count: Iterations, -1 when they are not static.
        line: Source line.
    """

    parent: int = -1
    pace: int = -1
    trip_count: int = -1
    line: int = 0


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A compiled kernel as it was measured.

    Attributes:
        name: Name of the function.
        key: Hash of the compiled kernel.
        target: ``cuda:90``.
        mode: Which records were compiled in: ``header``, ``auto``, ``all`` or ``scopes``.
        num_warps: Warps of a CTA, those of all roles together.
        num_stages: Stages of the pipeliner.
        roles: Names of the partitions of a warp-specialized kernel; a single ``"default"`` otherwise.
        regions: By id, without gaps.
        resources: ``registers``, ``spills``, ``shared`` (bytes) and ``ctas_per_sm`` of the measured kernel, as far as
            known; with the prefix ``plain_`` those of the kernel without records.
        source: Lines of the source by ``file:line``, for reports.
        loops: Its loops.
        moved: Regions whose operation the assembler moved out of them; None when that is not known.
        ir: TTGIR of the kernel without records, without places in the source.
        opcodes: Machine instructions of the kernel without records, by name.
    """

    name: str
    key: str = ""
    target: str = ""
    mode: str = "auto"
    num_warps: int = 4
    num_stages: int = 0
    roles: tuple[str, ...] = ("default",)
    regions: tuple[Region, ...] = (Region(0, "entry"),)
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    source: Mapping[str, str] = dataclasses.field(default_factory=dict)
    loops: tuple[Loop, ...] = ()
    moved: tuple[int, ...] | None = None
    ir: str = ""
    opcodes: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def column(self, name: str) -> np.ndarray:
        """Return a field of all regions, by id."""
        return np.array([getattr(region, name) for region in self.regions])


@dataclasses.dataclass(frozen=True)
class Device:
    """What the analysis needs to know about a GPU.

    Attributes:
        index: Its number in this process.
        name: Marketing name.
        target: ``cuda:90``.
        sms: Number of SMs.
        shared: Bytes of shared memory that one CTA may use.
        bandwidth: Bytes per second of its memory; 0 when unknown.
    """

    index: int = 0
    name: str = ""
    target: str = ""
    sms: int = 0
    shared: int = 0
    bandwidth: int = 0


@dataclasses.dataclass(frozen=True)
class HostEvent:
    """Something that happened on the host: a launch, a compilation, or the choice of an autotuner.

    Attributes:
        kind: ``launch``, ``compile`` or ``tune``.
        name: Of the kernel.
        start: ns of ``time.perf_counter_ns``.
        end: The same, when it was over.
        thread: Identifier of the thread.
        device: Device that was current.
        stream: Handle of the stream; 0 for the default one.
        label: ``capture`` or empty.
        detail: Of a compilation, what Triton says of it; of a choice, the median ms of each configuration, best first.
    """

    kind: str
    name: str
    start: int
    end: int
    thread: int = 0
    device: int = 0
    stream: int = 0
    label: str = ""
    detail: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Loss:
    """What was not recorded, and why.

    Attributes:
        launches: Launches that were not recorded because there was no room.
        segments: Warps whose place was taken before it was read.
        records: Transitions that found no place in that of their warp.
        capacity: Bytes of the buffer of a kernel.
        needed: Bytes with which no warp would have been lost.
        needed_records: Records of a warp with which no transition would have been.
        kernels: Names of the kernels concerned.
    """

    launches: int = 0
    segments: int = 0
    records: int = 0
    capacity: int = 0
    needed: int = 0
    needed_records: int = 0
    kernels: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.launches or self.segments or self.records)

    def __str__(self) -> str:
        parts = []
        if self.launches or self.segments:
            lost = ((self.launches, "launches"), (self.segments, "warps"))
            what = " and ".join(f"{count:,} {name}" for count, name in lost if count)
            parts.append(
                f"{what} are missing: a buffer of {self.capacity:,} bytes was not read in time, "
                f"{self.needed:,} would have held all"
            )
        if self.records:
            parts.append(
                f"{self.records:,} records are missing: a warp came to as many as {self.needed_records:,} of them"
            )
        return "; ".join(parts) or "nothing is missing"


@dataclasses.dataclass
class Profile:
    """Everything that was recorded in one block.

    Attributes:
        kernels: What was compiled with records.
        launches: Rows of :data:`LAUNCHES`, in the order in which they began.
        warps: Rows of :data:`WARPS`, by launch.
        spans: Rows of :data:`SPANS`, by warp.
        devices: By index.
        events: What happened on the host.
        loss: What was not recorded.
        notices: What the user should know about the measurement itself, one sentence each.
        host_offset: ns to add to the host's clock to get the GPU's timer; None when unknown.
        marks: Rows of :data:`MARKS`, by warp.
    """

    kernels: tuple[Kernel, ...] = ()
    launches: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, LAUNCHES))
    warps: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, WARPS))
    spans: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, SPANS))
    devices: tuple[Device, ...] = ()
    events: tuple[HostEvent, ...] = ()
    loss: Loss = Loss()
    notices: tuple[str, ...] = ()
    host_offset: int | None = None
    marks: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, MARKS))

    @property
    def timed(self) -> np.ndarray:
        """Whether begin and end of each launch are known: not where few of its CTAs found room, others than usual."""
        launches = self.launches
        _, same = np.unique(launches[["kernel", "device", "grid"]], return_inverse=True)
        most = np.zeros(len(launches), np.int32)
        np.maximum.at(most, same, launches["ctas"])
        return launches["ctas"] * 2 >= most[same]

    @property
    def marked(self) -> np.ndarray:
        """The row of :attr:`spans` that each mark begins."""
        width = int(max(self.spans["start"].max(initial=0), self.marks["start"].max(initial=0))) + 1
        place = self.spans["warp"].astype(np.int64) * width + self.spans["start"]
        # A span of no length begins where the next one does.
        return np.searchsorted(place, self.marks["warp"].astype(np.int64) * width + self.marks["start"], "right") - 1

    def marks_of(self, warp: int) -> list[tuple[Region, int, int, float | int | None]]:
        """Return the marks of a warp: region, iteration, cycles since the warp began, and the value if it has one."""
        first, last = np.searchsorted(self.marks["warp"], [warp, warp + 1])
        kernel = self.kernels[self.launches["kernel"][self.warps["launch"][warp]]]
        result = []
        for _, number, iteration, start, value in self.marks[first:last].tolist():
            region = kernel.regions[number]
            told = int(value) if region.value == "int" else value if region.value else None
            result.append((region, iteration, start, told))
        return result

    def device(self, index: int) -> Device:
        """Return the device of that number; one without properties when nothing is known about it."""
        return next((device for device in self.devices if device.index == index), Device(index))

    def of(self, kernel: int | str) -> np.ndarray:
        """Return the row numbers of the launches of a kernel, given by index or name."""
        if isinstance(kernel, str):
            wanted = [index for index, entry in enumerate(self.kernels) if entry.name == kernel]
            return np.flatnonzero(np.isin(self.launches["kernel"], wanted))
        return np.flatnonzero(self.launches["kernel"] == kernel)

    def warps_of(self, launches: Iterable[int] | np.ndarray) -> np.ndarray:
        """Return the row numbers of the warps of some launches."""
        return _expand(self.launches, np.asarray(launches, np.int64))

    def spans_of(self, warps: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the row numbers of the spans of some warps."""
        return _expand(self.warps, np.asarray(warps, np.int64))


def _expand(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return ``first`` to ``first + count`` of each row, one after the other."""
    counts = table["count"][rows]
    total = int(counts.sum())
    starts = np.repeat(table["first"][rows] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    return starts + np.arange(total)
