"""What a profile says about a kernel: where the time goes, by category, line, phase, iteration, role and SM."""

from __future__ import annotations

import dataclasses

import numpy as np

from .assemble import UNRECORDED
from .model import CATEGORIES, WAITS, Device, Kernel, Profile

__all__ = [
    "PHASES",
    "Analysis",
    "Iterations",
    "Line",
    "Roofline",
    "Row",
    "Waves",
    "analyze",
    "peak_flops_per_cycle",
]

PHASES = ("warm-up", "steady", "drain")

# An iteration at the beginning that takes this much longer than the median is part of the warm-up.
_SLOW = 1.5

# Launches of which the distribution over SMs is looked at.
_WAVE_LAUNCHES = 200

# Dense 16-bit multiply-adds with 32-bit sums, as FLOPs per SM (or compute unit) and cycle; from the vendors' peak
# figures divided by units and boost clock: A100 312e12/108/1.41e9, H100 SXM 989e12/132/1.83e9, B200 2250e12/148/1.85e9,
# RTX 4090 165e12/128/2.52e9, MI300X 1307e12/304/2.1e9, MI355X 2516e12/256/2.4e9.
_PEAKS = {
    "cuda:80": 2048,
    "cuda:86": 512,
    "cuda:89": 512,
    "cuda:90": 4096,
    "cuda:100": 8192,
    "cuda:103": 8192,
    "cuda:120": 512,
    "hip:gfx942": 2048,
    "hip:gfx950": 4096,
}


def peak_flops_per_cycle(target: str) -> int | None:
    """Return the dense 16-bit tensor-core peak of an SM per cycle, None for a target that is not known."""
    return _PEAKS.get(target)


@dataclasses.dataclass(frozen=True)
class Row:
    """Time of one category, or of one user scope.

    Attributes:
        name: Category or scope.
        share: Of the lifetime of all recorded warps.
        cycles: Mean per warp.
        phases: Share of each phase's own time, by the order of :data:`PHASES`.
        entries: Mean number of stays per warp.
    """

    name: str
    share: float
    cycles: float
    phases: tuple[float, float, float]
    entries: float


@dataclasses.dataclass(frozen=True)
class Mark:
    """The marks of one place in the source.

    Attributes:
        name: As the kernel names it.
        place: ``file.py:12``.
        count: How many were recorded.
        entries: Mean number per warp.
        least: Smallest value; None for marks without values.
        median: Median of the values.
        most: Largest one.
    """

    name: str
    place: str
    count: int
    entries: float
    least: float | None = None
    median: float | None = None
    most: float | None = None


@dataclasses.dataclass(frozen=True)
class Line:
    """Time of one source line.

    Attributes:
        file: Source file.
        line: Number of the line; 0 for what belongs to none.
        text: The line, empty when unknown.
        share: Of the lifetime of all recorded warps.
        categories: Shares of the same by category, largest first.
    """

    file: str
    line: int
    text: str
    share: float
    categories: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Iterations:
    """How long the iterations of a role's innermost loop take, in cycles.

    Attributes:
        role: Name of the role.
        count: Iterations that were measured.
        median: Median, and so on for the other percentiles.
        jitter: 99th percentile relative to the median, less one.
        worst: Place of the longest one: launch, CTA, warp, iteration.
        warmup: Median number of iterations at the beginning that are much longer than the median.
        mean_by_index: Mean by iteration number.
        max_by_index: Longest by iteration number.
    """

    role: str
    count: int
    median: float
    p95: float
    p99: float
    longest: float
    jitter: float
    worst: tuple[int, int, int, int]
    warmup: int
    mean_by_index: np.ndarray
    max_by_index: np.ndarray


@dataclasses.dataclass(frozen=True)
class Roofline:
    """Rates of a line with known FLOPs or bytes, or of the whole kernel (line 0).

    Attributes:
        place: ``file.py:12``, or ``kernel``.
        flops: FLOPs of one launch.
        bytes: Bytes of global memory that one launch asks for; caches may serve some of them.
        flop_rate: FLOPs per second over the duration of the launch.
        byte_rate: Bytes per second, likewise.
        inside: FLOPs per cycle and CTA while its warps are at the line.
        intensity: FLOPs per byte, 0 where there are no bytes.
        peak: FLOPs per second that tensor cores reach with 16-bit operands at the measured frequency; 0 when unknown.
        bandwidth: Bytes per second of the memory; 0 when unknown.
    """

    place: str
    flops: float
    bytes: float
    flop_rate: float
    byte_rate: float
    inside: float
    intensity: float
    peak: float
    bandwidth: float

    @property
    def cached(self) -> bool:
        """Whether more bytes were asked for than the memory could have moved in the time."""
        return bool(self.bandwidth) and self.byte_rate > self.bandwidth

    @property
    def bound(self) -> str:
        """The lower roof at this intensity: ``compute``, ``memory``, or ``cache`` where caches must have served some.

        Empty when a roof is not known.
        """
        if not (self.peak and self.bandwidth and self.flops and self.bytes):
            return ""
        if self.intensity * self.bandwidth > self.peak:
            return "compute"
        return "cache" if self.cached else "memory"

    @property
    def fraction(self) -> float:
        """Share of the nearer roof that was reached, less than 1 or unknown (0): the memory is none for what it cannot
        have moved."""
        compute = self.flop_rate / self.peak if self.peak else 0.0
        memory = self.byte_rate / self.bandwidth if self.bandwidth and not self.cached else 0.0
        return max(compute, memory)


@dataclasses.dataclass(frozen=True)
class Waves:
    """How CTAs were spread over SMs and time; medians over launches.

    Attributes:
        grid: CTAs of a launch.
        recorded: Of these, those that were recorded.
        sms: SMs that ran any.
        resident: Most CTAs of the kernel on one SM at a time.
        waves: ``grid / (sms * resident)``.
        tail: Share of the launch between the moment the first SM ran out of work and its end.
        idle: Share of all SM time that the tail leaves idle.
        imbalance: Busiest SM relative to the mean, less one.
        slow_sm: SM whose CTAs take longest on average.
        slowdown: How much longer than the median SM, less one.
        spread: ns between the first and the last SM's first CTA.
    """

    grid: int
    recorded: int
    sms: int
    resident: int
    waves: float
    tail: float
    idle: float
    imbalance: float
    slow_sm: int
    slowdown: float
    spread: float


@dataclasses.dataclass(frozen=True)
class Analysis:
    """Everything about one kernel on one device.

    Attributes:
        kernel: The kernel.
        device: Where it ran.
        rows: Rows of ``Profile.launches`` that were looked at.
        timed: Those of them whose begin and end are known.
        durations: ns of each of these, first start to last end.
        gaps: ns between the end of a launch and the start of the next of any kernel on the device.
        frequency: Measured GHz, mean over SMs.
        frequencies: Measured GHz by SM; NaN for one that ran nothing.
        categories: By category, largest first; empty where only headers were recorded.
        scopes: By user scope.
        marks: By mark of the user, as the source has them.
        lines: By source line, largest first.
        phases: Share of each phase of the lifetime of all warps; empty for a kernel without a loop.
        iterations: By role.
        rooflines: The whole kernel first.
        waves: Spread over SMs.
        roles: By role: its share of time in each category.
        unrecorded: Share of warp time after a warp's records were full.
        closure: Largest difference between the spans of a warp and its lifetime less what records took, relative to it.
    """

    kernel: Kernel
    device: Device
    rows: np.ndarray
    timed: np.ndarray
    durations: np.ndarray
    gaps: np.ndarray
    frequency: float
    frequencies: np.ndarray
    categories: tuple[Row, ...]
    scopes: tuple[Row, ...]
    marks: tuple[Mark, ...]
    lines: tuple[Line, ...]
    phases: tuple[float, ...]
    iterations: tuple[Iterations, ...]
    rooflines: tuple[Roofline, ...]
    waves: Waves
    roles: dict[str, dict[str, float]]
    unrecorded: float
    closure: float

    @property
    def duration(self) -> float:
        """Median ns of a launch."""
        return float(np.median(self.durations))

    @property
    def total(self) -> float:
        """ns of all launches, those that are not timed taken for as long as the others."""
        return float(self.durations.mean()) * len(self.rows)

    def waiting(self, role: str) -> float:
        """Return the share of a role's time in which its warps wait for somebody else."""
        return sum(share for category, share in self.roles.get(role, {}).items() if category in WAITS)

    def share(self, category: str, *, phase: str | None = None, role: str | None = None) -> float:
        """Return the share of a category, of a phase's time or of a role's where one is given."""
        if role is not None:
            return self.roles.get(role, {}).get(category, 0.0)
        for row in self.categories:
            if row.name == category:
                return row.share if phase is None or not self.phases else row.phases[PHASES.index(phase)]
        return 0.0


def analyze(profile: Profile) -> tuple[Analysis, ...]:
    """Analyze each kernel of a profile on each device, those that took most time first."""
    result = []
    for index, kernel in enumerate(profile.kernels):
        rows = profile.of(index)
        for device in np.unique(profile.launches["device"][rows]):
            chosen = rows[profile.launches["device"][rows] == device]
            result.append(_analyze(profile, kernel, profile.device(int(device)), chosen))
    return tuple(sorted(result, key=lambda entry: -entry.total))


def _analyze(profile: Profile, kernel: Kernel, device: Device, every: np.ndarray) -> Analysis:
    timed = profile.timed
    rows = every[timed[every]]
    launches = profile.launches[rows]
    both = profile.launches[every], launches
    warps = profile.warps[profile.warps_of(every)]
    spans = profile.spans[_ranges(warps)]
    # Number of its warp in `warps`, not in the profile.
    owner = np.repeat(np.arange(len(warps)), warps["count"])
    lifetimes = (warps["cycles"] - warps["recording"]).astype(float)
    lifetime = max(float(lifetimes.sum()), 1.0)
    frequencies = _frequencies(warps, device)
    frequency = float(np.nanmean(frequencies)) if np.isfinite(frequencies).any() else 1.0

    depth = kernel.column("depth")
    deepest = _deepest(kernel)
    role = warps["role"].astype(np.int64)[owner]
    known = spans["region"] != UNRECORDED
    region = np.where(known, spans["region"], 0).astype(np.int64)
    inner = known & (depth[region] > 0) & (depth[region] == deepest[role])
    iterations, boundaries = _iterations(kernel, warps, spans, owner, inner)
    phase = _phases(spans, owner, boundaries)

    unrecorded = float(spans["cycles"][~known].sum())
    weights = np.where(known, spans["cycles"], 0).astype(float)
    sums = np.bincount(owner, spans["cycles"], len(warps))
    gaps = (profile.launches["start"][1:] - np.maximum.accumulate(profile.launches["end"])[:-1])[timed[:-1]]
    header = kernel.mode == "header"
    grouping = (region, phase, weights, known, len(warps), lifetime)
    category = [entry.category for entry in kernel.regions]
    return Analysis(
        kernel=kernel,
        device=device,
        rows=every,
        timed=rows,
        durations=(launches["end"] - launches["start"]).astype(float),
        gaps=gaps[gaps > 0].astype(float),
        frequency=frequency,
        frequencies=frequencies,
        categories=() if header else _grouped(category, *grouping),
        scopes=_scopes(kernel, *grouping),
        marks=_marks(kernel, profile.marks[np.isin(profile.marks["warp"], profile.warps_of(every))], len(warps)),
        lines=() if header else _lines(kernel, np.bincount(region, weights, len(kernel.regions)) / lifetime),
        phases=tuple(np.bincount(phase, weights, 3) / lifetime) if boundaries is not None else (),
        iterations=iterations,
        rooflines=() if header else _rooflines(kernel, device, *both, warps, region, known, weights, frequency),
        waves=_waves(kernel, launches, profile.warps[profile.warps_of(rows)], device),
        roles={} if header else _roles(kernel, role, region, weights),
        unrecorded=unrecorded / lifetime,
        closure=float((np.abs(sums - lifetimes) / np.maximum(lifetimes, 1)).max(initial=0)),
    )


def _ranges(warps: np.ndarray) -> np.ndarray:
    counts = warps["count"]
    ends = np.cumsum(counts)
    return np.repeat(warps["first"] - (ends - counts), counts) + np.arange(int(counts.sum()))


def _frequencies(warps: np.ndarray, device: Device) -> np.ndarray:
    """Return GHz by SM. Times are read from the fit of each SM, so their ratio to cycles is its slope."""
    sms = max(device.sms, int(warps["sm"].max(initial=-1)) + 1)
    cycles = np.bincount(warps["sm"], warps["cycles"], sms)
    time = np.bincount(warps["sm"], warps["end"] - warps["start"], sms)
    return np.where(time > 0, cycles / np.where(time > 0, time, 1), np.nan)


def _deepest(kernel: Kernel) -> np.ndarray:
    """Return by role the depth of its innermost loop."""
    result = np.zeros(len(kernel.roles), np.int64)
    for region in kernel.regions:
        result[region.role] = max(result[region.role], region.depth)
    return result


def _iterations(
    kernel: Kernel, warps: np.ndarray, spans: np.ndarray, owner: np.ndarray, inner: np.ndarray
) -> tuple[tuple[Iterations, ...], tuple[np.ndarray, np.ndarray] | None]:
    """Return statistics by role, and by warp where its steady state begins and ends, in cycles.

    An iteration lasts from the first to the last of its spans in the innermost loop. What a persistent kernel does
    between two such loops is part of none.
    """
    rows = np.flatnonzero(inner)
    if not len(rows):
        return (), None
    owners, numbers = owner[rows], spans["iteration"][rows]
    new = np.ones(len(rows), bool)
    # A loop that is entered anew begins with number 0 again, or goes on after a span outside of it.
    new[1:] = (owners[1:] != owners[:-1]) | (numbers[1:] != numbers[:-1])
    begins = np.flatnonzero(new)
    lasts = rows[np.append(begins[1:], len(rows)) - 1]
    firsts = rows[begins]
    start = spans["start"][firsts]
    length = spans["start"][lasts] + spans["cycles"][lasts] - start
    warp, number = owner[firsts], spans["iteration"][firsts]
    role = warps["role"].astype(np.int64)[warp]
    rank = np.arange(len(warp)) - np.repeat(*_runs(warp))

    result, slow = [], np.zeros(len(warp), bool)
    for index, name in enumerate(kernel.roles):
        mine = np.flatnonzero(role == index)
        if not len(mine):
            continue
        taken = length[mine].astype(float)
        median, p95, p99 = np.percentile(taken, (50, 95, 99))
        slow[mine] = taken > _SLOW * median
        worst = mine[int(np.argmax(taken))]
        place = warps[warp[worst]]
        indices = np.minimum(number[mine], 4095)
        counts = np.maximum(np.bincount(indices), 1)
        longest = np.zeros(len(counts))
        np.maximum.at(longest, indices, taken)
        result.append(
            Iterations(
                role=name,
                count=len(mine),
                median=float(median),
                p95=float(p95),
                p99=float(p99),
                longest=float(taken.max()),
                jitter=float(p99 / median - 1) if median else 0.0,
                worst=(int(place["launch"]), int(place["cta"]), int(place["warp"]), int(number[worst])),
                warmup=0,
                mean_by_index=np.bincount(indices, taken) / counts,
                max_by_index=longest,
            )
        )
    # The first iteration of each warp that is not slow; the last one where all are.
    steady = np.full(len(warps), np.iinfo(np.int64).max)
    np.minimum.at(steady, warp[~slow], rank[~slow])
    begin = np.zeros(len(warps), np.int64)
    at = np.flatnonzero(rank == np.where(steady[warp] == np.iinfo(np.int64).max, 0, steady[warp]))
    begin[warp[at]] = start[at]
    end = np.zeros(len(warps), np.int64)
    np.maximum.at(end, warp, start + length)
    # A warp that never enters the loop is in its warm-up all the time.
    begin[end == 0] = end[end == 0] = np.iinfo(np.int64).max
    for position, entry in enumerate(result):
        mine = np.unique(warp[role == kernel.roles.index(entry.role)])
        counted = steady[mine][steady[mine] < np.iinfo(np.int64).max]
        warmup = int(np.median(counted)) if len(counted) else 0
        result[position] = dataclasses.replace(entry, warmup=warmup)
    return tuple(result), (begin, end)


def _runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each run of equal values begins, and how long it is."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(values)) + 1))
    return starts, np.diff(np.append(starts, len(values)))


def _phases(spans: np.ndarray, owner: np.ndarray, boundaries: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    """Return the phase of each span; all are steady in a kernel without a loop."""
    if boundaries is None:
        return np.ones(len(spans), np.int64)
    begin, end = boundaries
    return (spans["start"] >= begin[owner]).astype(np.int64) + (spans["start"] >= end[owner])


def _scopes(
    kernel: Kernel,
    region: np.ndarray,
    phase: np.ndarray,
    weights: np.ndarray,
    known: np.ndarray,
    warps: int,
    lifetime: float,
) -> tuple[Row, ...]:
    """Sum the spans of each scope of the user, and of those within it; entered as often as it begins."""
    paths = {entry.scope for entry in kernel.regions if entry.scope}
    paths |= {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 1)}
    rows = []
    for path in sorted(paths):
        inside = [f"{entry.scope}/".startswith(f"{path}/") for entry in kernel.regions]
        begins = [entry.enters and entry.scope == path for entry in kernel.regions]
        # Of what Proton wrote, each span is a stay.
        entries = np.isin(region, np.flatnonzero(begins if any(begins) else inside)) & known
        names = [path if within else "" for within in inside]
        for row in _grouped(names, region, phase, weights, known, warps, lifetime):
            rows.append(dataclasses.replace(row, entries=float(entries.sum() / max(warps, 1))))
    return tuple(sorted(rows, key=lambda row: -row.share))


def _marks(kernel: Kernel, marks: np.ndarray, warps: int) -> tuple[Mark, ...]:
    """Count the marks of a kernel, and say how large their values are; copies of an unrolled loop are one."""
    names = {(entry.file, entry.line, entry.mark): entry for entry in kernel.regions if entry.mark}
    key = [(entry.file, entry.line, entry.mark) for entry in kernel.regions]
    rows = []
    for place in sorted(names):
        mine = marks[np.isin(marks["region"], [number for number, other in enumerate(key) if other == place])]
        row = Mark(names[place].mark, names[place].place, len(mine), len(mine) / max(warps, 1))
        if names[place].value and len(mine):
            least, median, most = np.quantile(mine["value"], [0, 0.5, 1]).tolist()
            row = dataclasses.replace(row, least=least, median=median, most=most)
        rows.append(row)
    return tuple(rows)


def _grouped(
    names: list[str],
    region: np.ndarray,
    phase: np.ndarray,
    weights: np.ndarray,
    known: np.ndarray,
    warps: int,
    lifetime: float,
) -> tuple[Row, ...]:
    """Sum the spans of the regions of equal name; a region without a name belongs to none."""
    groups = sorted({name for name in names if name}, key=lambda name: (name not in CATEGORIES, name))
    if not groups:
        return ()
    number = np.array([groups.index(name) if name else len(groups) for name in names])
    group = number[region]
    table = np.bincount(group * 3 + phase, weights, (len(groups) + 1) * 3).reshape(-1, 3)
    entries = np.bincount(group[known], minlength=len(groups) + 1)
    phases = np.maximum(table.sum(axis=0), 1)
    rows = [
        Row(
            name,
            float(table[index].sum() / lifetime),
            float(table[index].sum() / max(warps, 1)),
            tuple(float(value) for value in table[index] / phases),
            float(entries[index] / max(warps, 1)),
        )
        for index, name in enumerate(groups)
    ]
    return tuple(sorted((row for row in rows if row.entries), key=lambda row: -row.share))


def _lines(kernel: Kernel, shares: np.ndarray) -> tuple[Line, ...]:
    found: dict[tuple[str, int], dict[str, float]] = {}
    for region, share in zip(kernel.regions, shares):
        if share > 0:
            categories = found.setdefault((region.file, region.line), {})
            categories[region.category] = categories.get(region.category, 0.0) + float(share)
    lines = [
        Line(
            file,
            line,
            kernel.source.get(f"{file}:{line}", "").strip(),
            sum(categories.values()),
            dict(sorted(categories.items(), key=lambda item: -item[1])),
        )
        for (file, line), categories in found.items()
    ]
    return tuple(sorted(lines, key=lambda entry: -entry.share))


def _roles(kernel: Kernel, role: np.ndarray, region: np.ndarray, weights: np.ndarray) -> dict[str, dict[str, float]]:
    number = np.array([CATEGORIES.index(entry.category) for entry in kernel.regions])
    width = len(CATEGORIES)
    table = np.bincount(role * width + number[region], weights, len(kernel.roles) * width).reshape(-1, width)
    result = {}
    for name, row in zip(kernel.roles, table):
        if row.sum():
            shares = dict(zip(CATEGORIES, (float(value) for value in row / row.sum())))
            result[name] = {category: share for category, share in shares.items() if share}
    return result


def _rooflines(
    kernel: Kernel,
    device: Device,
    launches: np.ndarray,
    timed: np.ndarray,
    warps: np.ndarray,
    region: np.ndarray,
    known: np.ndarray,
    weights: np.ndarray,
    frequency: float,
) -> tuple[Roofline, ...]:
    flops, moved = kernel.column("flops").astype(float), kernel.column("bytes").astype(float)
    # What threads move to and from shared memory is no traffic of global memory.
    moved[np.isin(kernel.column("category"), ("shared_load", "shared_store"))] = 0
    if not (flops.any() or moved.any()) or not len(warps):
        return ()
    # Every warp of a role records an execution that the CTA does once.
    launches = launches[launches["count"] > 0]
    ctas = int(launches["ctas"].sum())
    team = np.bincount(warps["role"], minlength=len(kernel.roles)) / max(ctas, 1)
    owners = np.maximum(team[kernel.column("role")], 1e-9)
    # A sample stands for the whole grid.
    scale = float(launches["grid"].sum()) / max(ctas, 1) / max(len(launches), 1)
    executions = np.bincount(region[known], minlength=len(kernel.regions)) / owners * scale
    cycles = np.bincount(region, weights, len(kernel.regions)) / owners * scale
    seconds = max(float(np.mean(timed["end"] - timed["start"])) * 1e-9, 1e-12) if ctas else 1.0
    peak = (peak_flops_per_cycle(kernel.target) or 0) * device.sms * frequency * 1e9

    def line(place: str, chosen: np.ndarray) -> Roofline:
        work, traffic = float((flops * executions)[chosen].sum()), float((moved * executions)[chosen].sum())
        inside = work / max(float(cycles[chosen].sum()), 1.0)
        intensity = work / traffic if traffic else 0.0
        return Roofline(
            place, work, traffic, work / seconds, traffic / seconds, inside, intensity, peak, device.bandwidth
        )

    result = [line("kernel", np.ones(len(kernel.regions), bool))]
    places = np.array([entry.place for entry in kernel.regions])
    for place in dict.fromkeys(places[(flops > 0) | (moved > 0)]):
        chosen = places == place
        if executions[chosen & ((flops > 0) | (moved > 0))].any():
            result.append(line(str(place), chosen))
    return tuple(result)


def _waves(kernel: Kernel, launches: np.ndarray, warps: np.ndarray, device: Device) -> Waves:
    step = max(1, len(launches) // _WAVE_LAUNCHES)
    figures: list[tuple[float, ...]] = []
    durations: dict[int, list[float]] = {}
    offset = np.concatenate(([0], np.cumsum(launches["count"])))
    for number in range(0, len(launches), step):
        mine = warps[offset[number] : offset[number + 1]]
        if not len(mine):
            continue
        # Warps are sorted by CTA.
        firsts, _ = _runs(mine["cta"])
        start, end = np.minimum.reduceat(mine["start"], firsts), np.maximum.reduceat(mine["end"], firsts)
        sm = mine["sm"][firsts]
        used, place = np.unique(sm, return_inverse=True)
        figures.append(_spread(start, end, place, len(used)))
        for index, name in enumerate(used):
            durations.setdefault(int(name), []).append(float((end - start)[place == index].mean()))
    if not figures:
        return Waves(int(np.median(launches["grid"])), 0, 0, 0, 0.0, 0.0, 0.0, 0.0, -1, 0.0, 0.0)
    resident, tail, idle, imbalance, spread = (float(value) for value in np.median(np.array(figures), axis=0))
    means = {name: float(np.mean(values)) for name, values in durations.items()}
    typical = float(np.median(list(means.values())))
    slow_sm = max(means, key=lambda name: means[name])
    sms = device.sms or len(means)
    grid, recorded = int(np.median(launches["grid"])), int(np.median(launches["ctas"]))
    if recorded < grid:
        # CTAs that were not recorded were there too.
        resident = kernel.resources.get("ctas_per_sm", resident)
    return Waves(
        grid=grid,
        recorded=recorded,
        sms=len(means),
        resident=int(resident),
        waves=grid / max(sms * int(resident), 1),
        tail=tail,
        idle=idle,
        imbalance=imbalance,
        slow_sm=slow_sm,
        slowdown=means[slow_sm] / typical - 1 if typical else 0.0,
        spread=spread,
    )


def _spread(start: np.ndarray, end: np.ndarray, place: np.ndarray, sms: int) -> tuple[float, ...]:
    """Return resident CTAs, tail, idle share, imbalance and spread of the starts of one launch."""
    total = max(float(end.max() - start.min()), 1.0)
    # Ends before beginnings at the same moment: a place that becomes free is taken again.
    time = np.concatenate([end, start])
    change = np.concatenate([np.full(len(end), -1), np.full(len(start), 1)])
    both = np.concatenate([place, place])
    order = np.lexsort([change, time, both])
    running = np.cumsum(change[order])
    last, first = np.zeros(sms), np.full(sms, np.inf)
    np.maximum.at(last, place, end - start.min())
    np.minimum.at(first, place, start - start.min())
    busy = np.bincount(place, (end - start).astype(float), sms)
    tail = float(total - last.min())
    return (
        float(running.max()),
        tail / total,
        float((total - last).sum()) / (sms * total),
        float(busy.max() / max(busy.mean(), 1.0) - 1),
        float(first.max()),
    )
