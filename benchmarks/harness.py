"""Measuring kernels so that the numbers can be compared: interleaved timing, checked results, complete records.

All candidates of a case run in one process, in turns, each after a flush of the L2 cache: clocks and temperature then
drift for all of them alike. A candidate's result is checked against a reference of higher precision, written over
poisoned memory. A record names everything needed to judge or repeat it.
"""

from __future__ import annotations

import datetime
import json
import pathlib
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

__all__ = [
    "CudaTimer",
    "Environment",
    "Error",
    "Metric",
    "Record",
    "Samples",
    "Timer",
    "TurnTimer",
    "Worker",
    "check",
    "measure",
    "record",
    "relative_error",
    "rounds_for",
    "write",
]

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Many times the L2 cache of any GPU the suites run on (60 MB on H200), so that writing it also takes longer than the
# host needs for a launch.
FLUSH_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Metric:
    """What is reported, computed from milliseconds.

    Args:
        name: Unit, as shown.
        from_ms: Value of a time in milliseconds.
        higher_is_better: Whether larger values are better.
    """

    name: str
    from_ms: Callable[[float], float]
    higher_is_better: bool

    @classmethod
    def tflops(cls, operations: float) -> Metric:
        """Rate of a kernel that performs ``operations`` floating-point operations."""
        return cls("TFLOPS", lambda ms: operations / ms * 1e-9, True)

    @classmethod
    def microseconds(cls) -> Metric:
        """The time itself."""
        return cls("us", lambda ms: ms * 1e3, False)


@dataclass(frozen=True)
class Error:
    """How far a result is from the reference.

    Args:
        value: Largest absolute difference over the largest absolute reference; NaN when the result has a NaN.
        tolerance: Largest acceptable value.
        reference: What it was compared with.
        bit_equal: Whether the result equals that of a baseline in every bit, by baseline.
    """

    value: float
    tolerance: float
    reference: str
    bit_equal: Mapping[str, bool] = field(default_factory=dict)

    @property
    def acceptable(self) -> bool:
        """Whether the value is within the tolerance; a NaN is not."""
        return self.value <= self.tolerance


@dataclass(frozen=True)
class Environment:
    """Where and with what a record was made."""

    device: str
    driver: str
    triton: str
    torch: str
    commit: str
    date: str

    @property
    def directory(self) -> str:
        """Name of the device's directory of results."""
        return "-".join(self.device.lower().split())

    @classmethod
    def current(cls, commit: str | None = None) -> Environment:
        """Describe this machine; ``commit`` replaces the one of the working tree, which may not be a clone."""
        import torch
        import triton

        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
        if commit is None:
            git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
            commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        return cls(
            device=torch.cuda.get_device_name(),
            driver=driver,
            triton=triton.__version__,
            torch=torch.__version__,
            commit=commit,
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        )


@dataclass(frozen=True)
class Samples:
    """Times of one candidate in milliseconds."""

    times: Sequence[float]

    @property
    def median(self) -> float:
        """Median time."""
        return statistics.median(self.times)

    @property
    def spread(self) -> float:
        """Distance between the quartiles over the median."""
        low, _, high = statistics.quantiles(self.times, n=4)
        return (high - low) / self.median


@dataclass(frozen=True)
class Record:
    """One measured case, as stored.

    Args:
        suite: Name of the suite.
        case: Name of the case, unique in the suite.
        params: Shape, types and configuration.
        metric: Unit of ``ours`` and ``baselines``.
        ours: Median of the measured candidate.
        baselines: Medians of what it is compared with.
        ratio: How many times better than each baseline; more than 1 is better, whatever the metric.
        error: Distance to the reference.
        spread: Distance between quartiles over the median, by candidate.
        code: Counts of the machine code by candidate, where it was inspected.
    """

    suite: str
    case: str
    params: Mapping[str, Any]
    metric: str
    ours: float
    baselines: Mapping[str, float]
    ratio: Mapping[str, float]
    error: Error | None
    spread: Mapping[str, float]
    environment: Environment
    code: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the record with the environment's fields beside its own."""
        data = asdict(self)
        return data | data.pop("environment")


class Timer(Protocol):
    """Runs candidates on a device and tells how long each took."""

    def run(self, candidate: Callable[[], object]) -> None:
        """Run once and keep the time."""

    def times(self) -> list[float]:
        """Return the times kept so far, in milliseconds, and forget them."""


class CudaTimer:
    """Times with CUDA events, each run after a flush of the L2 cache.

    The flush also keeps the device busy while the host prepares the launch, so that host time is not measured.
    """

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
        self._events: list[tuple[Any, Any]] = []

    def run(self, candidate: Callable[[], object]) -> None:
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._flush.zero_()
        start.record()
        candidate()
        end.record()
        self._events.append((start, end))

    def times(self) -> list[float]:
        self._torch.cuda.synchronize()
        times = [start.elapsed_time(end) for start, end in self._events]
        self._events.clear()
        return times


class HostTimer:
    """Times the host, the device idle at the start.

    Args:
        launches: How often a candidate runs each time; a time is that of one.
        wait: Whether a time lasts until the device is idle again.
    """

    def __init__(self, launches: int, wait: bool = False) -> None:
        import torch

        self._torch = torch
        self._launches = launches
        self._wait = wait
        self._times: list[float] = []

    def run(self, candidate: Callable[[], object]) -> None:
        self._torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(self._launches):
            candidate()
        if self._wait:
            self._torch.cuda.synchronize()
        self._times.append((time.perf_counter_ns() - start) * 1e-6 / self._launches)

    def times(self) -> list[float]:
        times, self._times = self._times, []
        return times


class Worker:
    """A process in which a candidate runs that cannot run in this one.

    Args:
        command: What to start; it answers each line of its input by a line that begins with ``answer``.
    """

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: Any = None) -> Any:
        """Return the answer to a question, or the milliseconds of one run without one.

        Raises:
            RuntimeError: The process has ended.
        """
        print("" if question is None else json.dumps(question), file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line.startswith("answer "):
                return json.loads(line.removeprefix("answer "))
        raise RuntimeError(f"the process of a candidate ended with status {self._process.wait()}; see its output above")

    def __call__(self) -> float:
        """Run once and return the milliseconds."""
        return self.ask()

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


class TurnTimer:
    """Times candidates of this process by another timer, and the runs of a :class:`Worker` by asking it."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._times: list[float] = []

    def run(self, candidate: Callable[[], object] | Worker) -> None:
        if isinstance(candidate, Worker):
            # This process has to be done with the GPU.
            self._times += self._timer.times()
            self._times.append(candidate())
        else:
            self._timer.run(candidate)

    def times(self) -> list[float]:
        times, self._times = self._times + self._timer.times(), []
        return times


def measure(
    candidates: Mapping[str, Callable[[], object]], timer: Timer, rounds: int, warmup: int = 3
) -> dict[str, Samples]:
    """Time ``candidates`` in turns.

    Each round runs every candidate once, and begins with another one than the round before, so that none always runs
    after the same neighbour.

    Args:
        candidates: What to run, by name.
        timer: How to time it.
        rounds: How often each runs; at least 4, which quartiles need.
        warmup: Rounds that are not kept.
    """
    if rounds < 4:
        raise ValueError(f"rounds must be at least 4, got {rounds}")
    names = list(candidates)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-warmup, rounds):
        shift = number % len(names)
        order = names[shift:] + names[:shift]
        for name in order:
            timer.run(candidates[name])
        times = timer.times()
        if number >= 0:
            for name, time in zip(order, times, strict=True):
                samples[name].append(time)
    return {name: Samples(times) for name, times in samples.items()}


def rounds_for(candidates: Mapping[str, Callable[[], object]], timer: Timer, seconds: float) -> int:
    """Return how many rounds fit into ``seconds`` of device time, between 20 and 400."""
    for candidate in candidates.values():
        timer.run(candidate)
    timer.times()
    for candidate in candidates.values():
        timer.run(candidate)
    return max(20, min(400, int(seconds * 1e3 / sum(timer.times()))))


def relative_error(result: Any, reference: Any) -> float:
    """Largest absolute difference over the largest absolute reference, both in the reference's precision.

    Args:
        result: Array or tensor of any floating type.
        reference: Array or tensor of the same shape in higher precision.
    """
    widened = result.to(reference.dtype) if hasattr(result, "to") else result.astype(reference.dtype)
    difference = float(abs(widened - reference).max())
    scale = float(abs(reference).max())
    return difference / scale if scale else difference


def check(
    outputs: Mapping[str, Sequence[Any]],
    references: Sequence[Any],
    tolerance: float,
    name: str,
    equal: Callable[[Any, Any], bool],
) -> Error:
    """Compare the results of ``ours`` with the references, and bit by bit with the other candidates'.

    Args:
        outputs: Results by candidate; ``ours`` is among them.
        references: The same results in higher precision.
        tolerance: Largest acceptable relative error.
        name: What the reference is.
        equal: Bitwise comparison of two results.
    """
    ours = outputs["ours"]
    errors = [relative_error(result, reference) for result, reference in zip(ours, references, strict=True)]
    bits = {
        other: all(equal(left, right) for left, right in zip(ours, results, strict=True))
        for other, results in outputs.items()
        if other != "ours"
    }
    # max() would drop a NaN that is not the first.
    worst = next((error for error in errors if error != error), max(errors))
    return Error(worst, tolerance, name, bits)


def record(
    suite: str,
    case: str,
    params: Mapping[str, Any],
    metric: Metric,
    samples: Mapping[str, Samples],
    environment: Environment,
    error: Error | None = None,
    code: Mapping[str, Mapping[str, Any]] | None = None,
) -> Record:
    """Build a record from samples, of which ``ours`` is the measured candidate and the others are baselines."""
    values = {name: metric.from_ms(sample.median) for name, sample in samples.items()}
    ours = values.pop("ours")
    ratio = {name: ours / value if metric.higher_is_better else value / ours for name, value in values.items()}
    spread = {name: sample.spread for name, sample in samples.items()}
    return Record(suite, case, params, metric.name, ours, values, ratio, error, spread, environment, code or {})


def write(records: Sequence[Record], directory: pathlib.Path) -> list[pathlib.Path]:
    """Write records to ``directory/<device>/<suite>.json``, replacing what is there; return the files."""
    files: dict[pathlib.Path, list[dict]] = {}
    for entry in records:
        path = directory / entry.environment.directory / f"{entry.suite}.json"
        files.setdefault(path, []).append(_rounded(entry.to_json()))
    for path, entries in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(entries, indent=1) + "\n")
    return list(files)


def _rounded(value: Any) -> Any:
    """Keep five significant digits of every number; the spread of a measurement is far larger."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
