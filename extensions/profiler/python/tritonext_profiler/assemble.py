"""From segments and records to the columns of a profile: clocks unwrapped, frequencies measured, SMs aligned.

Everything is arithmetic on whole columns; the time is linear in the number of records but for one sort of the warps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from .model import LAUNCHES, MARKS, SPANS, WARPS, Device, Kernel, Profile

__all__ = ["SEGMENTS", "UNRECORDED", "Assembled", "assemble", "fit_clocks", "number_launches", "timer_step"]

# What a warp left behind, without its records.
SEGMENTS = np.dtype(
    [
        ("kernel", np.int32),  # index into the kernels
        ("device", np.int32),
        ("slot", np.int32),  # launches of one slot are told apart by their number
        ("launch", np.int64),
        ("cta", np.int32),
        ("warp", np.int16),
        ("role", np.int16),
        ("sm", np.int16),
        ("grid", np.int32),
        ("stream", np.int64),
        ("replay", np.bool_),
        ("start_ns", np.int64),
        ("end_ns", np.int64),
        ("start_clock", np.int64),
        ("end_clock", np.int64),
        ("count", np.int64),
        ("dropped", np.int64),
        ("own", np.int64),  # cycles of a record where nothing hides them, as the warp measured them
    ]
)

# Region of the time after the last record that found a place.
UNRECORDED = -1

# With fewer steps of the timer than this between the first and the last stamp of an SM, the frequency of all SMs
# together is the better estimate for it: one step is then more than half a percent.
_STEPS = 200


@dataclasses.dataclass(frozen=True)
class Assembled:
    """The tables of a profile, and what to say about them."""

    launches: np.ndarray
    warps: np.ndarray
    spans: np.ndarray
    notices: tuple[str, ...] = ()
    marks: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, MARKS))

    def profile(self, kernels: Sequence[Kernel], devices: Sequence[Device] = ()) -> Profile:
        """Return a profile of these tables."""
        return Profile(
            tuple(kernels),
            self.launches,
            self.warps,
            self.spans,
            tuple(devices),
            notices=self.notices,
            marks=self.marks,
        )


def assemble(
    segments: np.ndarray,
    clocks: np.ndarray,
    regions: np.ndarray,
    iterations: np.ndarray,
    marks: np.ndarray | None = None,
    values: np.ndarray | None = None,
) -> Assembled:
    """Make the tables of a profile.

    Args:
        segments: Rows of :data:`SEGMENTS`.
        clocks: Low 32 bits of the cycle counter of each record, in the order of the segments and of time.
        regions: Region that begins there.
        iterations: Iteration of the innermost loop it begins in.
        marks: Whether it is a mark.
        values: Its value as a mark.
    """
    if marks is None or values is None:
        marks, values = np.zeros(len(clocks), bool), np.zeros(len(clocks))
    finished = segments["end_clock"] != 0
    notices = []
    if not finished.all():
        notices.append(f"{np.count_nonzero(~finished):,} warps had not ended when the data was read, and are left out")
        kept = np.repeat(finished, segments["count"])
        clocks, regions, iterations, segments = clocks[kept], regions[kept], iterations[kept], segments[finished]
        marks, values = marks[kept], values[kept]
    order = np.lexsort([segments[name] for name in ("warp", "cta", "launch", "slot", "kernel", "device")])
    records = _gather(segments["count"], order)
    segments, clocks, regions, iterations = segments[order], clocks[records], regions[records], iterations[records]
    marks, values = marks[records], values[records]
    launch, launches = _launches(segments)

    warps = np.zeros(len(segments), WARPS)
    for name in ("cta", "warp", "role", "sm", "dropped"):
        warps[name] = segments[name]
    warps["launch"] = launch
    warps["cycles"] = segments["end_clock"] - segments["start_clock"]
    spans, warps["closed"], warps["recording"] = _spans(segments, clocks, regions, iterations)
    warps["count"] = segments["count"] + 1
    warps["first"] = np.cumsum(warps["count"]) - warps["count"]
    warps["start"], warps["end"] = _align(segments, launch)

    if len(launches):
        launches["start"] = np.minimum.reduceat(warps["start"], launches["first"])
        launches["end"] = np.maximum.reduceat(warps["end"], launches["first"])
        # Sorted by CTA within a launch, so each change is one more.
        another = np.ones(len(warps), bool)
        another[1:] = (warps["cta"][1:] != warps["cta"][:-1]) | (launch[1:] != launch[:-1])
        launches["ctas"] = np.add.reduceat(another.astype(np.int64), launches["first"])
    open_ended = np.count_nonzero(~warps["closed"])
    if open_ended:
        notices.append(f"the records of {open_ended:,} warps do not add up to the time that the warp lived")
    # Each warp has a span before its first record.
    places = np.arange(len(clocks)) + np.repeat(np.arange(len(segments)), segments["count"]) + 1
    noted = _marks(spans[places[marks]], regions[marks], values[marks])
    return Assembled(*_in_time(launches, warps, spans), tuple(notices), noted)


def timer_step(stamps: np.ndarray) -> int:
    """Return the step of the global timer in ns: the greatest common divisor of the differences between stamps."""
    if len(stamps) < 2:
        return 1
    return int(np.gcd.reduce(np.abs(stamps - stamps[0]))) or 1


def fit_clocks(
    group: np.ndarray, groups: int, clock: np.ndarray, time: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit ``time = offset + clock * slope`` for each group, by least squares.

    A group whose stamps are too near each other for the steps of the timer takes the slope of all groups together.

    Args:
        group: Number of the group of each stamp.
        groups: Number of groups.
        clock: Cycles, not negative; small enough for a float64 to hold exactly.
        time: ns, likewise.
        step: ns of a step of the timer.

    Returns:
        Offsets and slopes by group, and which groups have a slope of their own.
    """
    count = np.maximum(np.bincount(group, minlength=groups), 1)
    mean_clock = np.bincount(group, clock, groups) / count
    mean_time = np.bincount(group, time, groups) / count
    across, along = clock - mean_clock[group], time - mean_time[group]
    covariance = np.bincount(group, across * along, groups)
    variance = np.bincount(group, across * across, groups)
    total = variance.sum()
    pooled = covariance.sum() / total if total else 1.0
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, group, time)
    np.maximum.at(high, group, time)
    own = (variance > 0) & (high - low >= _STEPS * step)
    slope = np.where(own, covariance / np.where(variance > 0, variance, 1), pooled)
    # A stamp is the last step of the timer, half a step too early on average.
    return mean_time - mean_clock * slope + step / 2, slope, own


def _gather(counts: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return where the records of reordered segments are."""
    firsts = (np.cumsum(counts) - counts)[order]
    counts = counts[order]
    return np.repeat(firsts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def _launches(segments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the launch of each sorted segment, and the table of launches without times."""
    if not len(segments):
        return np.zeros(0, np.int32), np.zeros(0, LAUNCHES)
    changes = np.zeros(len(segments), bool)
    for name in ("device", "kernel", "slot", "launch"):
        changes[1:] |= segments[name][1:] != segments[name][:-1]
    firsts = np.concatenate(([0], np.flatnonzero(changes)))
    launches = np.zeros(len(firsts), LAUNCHES)
    for name in ("kernel", "device", "grid", "stream", "replay"):
        launches[name] = segments[name][firsts]
    launches["first"] = firsts
    launches["count"] = np.diff(np.append(firsts, len(segments)))
    return np.cumsum(changes).astype(np.int32), launches


def _spans(
    segments: np.ndarray, clocks: np.ndarray, regions: np.ndarray, iterations: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the spans of all segments, whether those of each add up, and the cycles that records took in each.

    A span lasts until the next record, the last one until the warp's end. Before the first record the warp is in
    region 0. The counter's low half wraps: differences are taken modulo 2**32, and the warp's whole time by the
    counter's 64 bits shows when more than that passed between two records. From one read of the counter to the next
    passes some time even with nothing between: that is taken out of each span, and added up.
    """
    lengths = segments["count"] + 1
    firsts = np.cumsum(lengths) - lengths
    spans = np.zeros(int(lengths.sum()), SPANS)
    spans["warp"] = np.repeat(np.arange(len(segments)), lengths)
    inner = np.ones(len(spans), bool)
    inner[firsts] = False
    spans["region"][inner] = regions
    spans["iteration"][inner] = iterations
    stamps = np.empty(len(spans), np.uint32)
    stamps[inner] = clocks
    stamps[firsts] = (segments["start_clock"] & 0xFFFFFFFF).astype(np.uint32)
    following = np.empty_like(stamps)
    following[:-1] = stamps[1:]
    lasts = firsts + lengths - 1
    following[lasts] = (segments["end_clock"] & 0xFFFFFFFF).astype(np.uint32)
    spans["cycles"] = (following - stamps).astype(np.int64)

    lifetime = segments["end_clock"] - segments["start_clock"]
    # A warp without records is one span, whatever its length.
    alone = lengths == 1
    spans["cycles"][firsts[alone]] = lifetime[alone]
    totals = np.add.reduceat(spans["cycles"], firsts) if len(firsts) else lifetime
    running = np.cumsum(spans["cycles"]) - spans["cycles"]
    spans["start"] = running - np.repeat(running[firsts], lengths)
    # What came after the last record that found a place is not known.
    spans["region"][lasts[segments["dropped"] > 0]] = UNRECORDED
    own = np.repeat(np.where(alone, 0, segments["own"]), lengths)
    own = np.minimum(own, spans["cycles"])
    spans["cycles"] -= own
    recording = np.add.reduceat(own, firsts) if len(firsts) else lifetime
    return spans, totals == lifetime, recording


def _marks(spans: np.ndarray, regions: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the marks that begin some spans; the region of one may be given up where what follows is not known."""
    result = np.zeros(len(spans), MARKS)
    for name in ("warp", "iteration", "start"):
        result[name] = spans[name]
    result["region"], result["value"] = regions, values
    return result


def _align(segments: np.ndarray, launch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return start and end of each segment in ns, the same on all SMs to within a step of the timer.

    The timer moves in steps; the cycle counter does not, but starts anywhere on each SM. So a line is fitted through
    the stamps of an SM in a launch, and the times are read from it.
    """
    if not len(segments):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    keys = launch.astype(np.int64) << 16 | segments["sm"]
    _, group = np.unique(keys, return_inverse=True)
    groups = int(group.max()) + 1
    base = np.full(groups, np.iinfo(np.int64).max)
    np.minimum.at(base, group, segments["start_clock"])
    origin = int(segments["start_ns"].min())
    clock = np.concatenate([segments["start_clock"] - base[group], segments["end_clock"] - base[group]]).astype(float)
    stamps = np.concatenate([segments["start_ns"], segments["end_ns"]])
    twice = np.concatenate([group, group])
    offset, slope, _ = fit_clocks(twice, groups, clock, (stamps - origin).astype(float), timer_step(stamps))
    times = np.rint(offset[twice] + clock * slope[twice]).astype(np.int64) + origin
    return times[: len(segments)], times[len(segments) :]


def _in_time(launches: np.ndarray, warps: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort the launches by their beginning and count them. Warps and spans keep their places; references follow."""
    order = np.argsort(launches["start"], kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    warps["launch"] = place[warps["launch"]]
    launches = launches[order]
    number_launches(launches)
    return launches, warps, spans


def number_launches(launches: np.ndarray) -> None:
    """Count the launches of each kernel on each device, in the order of the rows."""
    key = launches["kernel"].astype(np.int64) << 32 | launches["device"]
    by_key = np.argsort(key, kind="stable")
    change = np.diff(key[by_key], prepend=-1) != 0
    count = np.arange(len(key))
    launches["ticket"][by_key] = count - np.maximum.accumulate(np.where(change, count, 0))
