"""What an active pipeline costs: host time of a launch, and compile time.

``off`` is the same kernel with no pipeline active. A launch may cost 1 us more, a compilation with an empty pipeline
3 %. Compilations are compared by processor time, Triton's subprocesses included: their wall time varies by a third from
round to round on a shared host, far more than what is measured.
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Iterator

import torch
import triton
import triton.language as tl

import harness
import tritonext
from harness import Environment, Metric, Record, Timer
from tritonext.testing import kernels

SUITE = "sdk-launch"
LAUNCHES = 200
LAUNCH_ROUNDS = 300
COMPILE_ROUNDS = 20
MAXIMUM_US = 1.0
MAXIMUM_COMPILE = 1.03


@triton.jit
def touch(x, n, BLOCK: tl.constexpr):
    """A kernel so short that the host never waits for the device."""
    at = tl.arange(0, BLOCK)
    tl.store(x + at, at.to(tl.float32), mask=at < n)


def processor_time_ns() -> float:
    """Return the processor time that this process and its finished children have used, in nanoseconds."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) * 1e9


class HostTimer:
    """Times with a clock of the host, garbage collection held off, the device idle at the start.

    Collecting between runs would empty the host's caches and slow what comes next by more than what is measured.
    """

    def __init__(self, repetitions: int, clock: Callable[[], float] = time.perf_counter_ns) -> None:
        self._repetitions = repetitions
        self._clock = clock
        self._times: list[float] = []

    def run(self, candidate: Callable[[], object]) -> None:
        torch.cuda.synchronize()
        gc.disable()
        try:
            start = self._clock()
            candidate()
            self._times.append((self._clock() - start) * 1e-6 / self._repetitions)
        finally:
            gc.enable()

    def times(self) -> list[float]:
        times, self._times = self._times, []
        return times


def _launches(kernel: object) -> Callable[[], None]:
    x = torch.empty(128, device="cuda")

    def run() -> None:
        for _ in range(LAUNCHES):
            kernel[(1,)](x, 128, BLOCK=128, num_warps=1)

    return run


def _within(scope: tritonext.use, run: Callable[[], None]) -> Callable[[], None]:
    def scoped() -> None:
        with scope:
            run()

    return scoped


def _compilation() -> Callable[[], None]:
    def run() -> None:
        with triton.knobs.compilation.scope():
            triton.knobs.compilation.always_compile = True
            kernels.compile("gemm_fp16", "cuda:90")

    return run


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``; host times need neither ``timer`` nor ``seconds``."""
    empty = tritonext.use(tritonext.Pipeline(name="empty"))
    layout = tritonext.use("layout")
    off = _launches(touch)
    launches = {
        "launch-empty": _within(empty, off),
        "launch-layout": _within(layout, off),
        "launch-layout-decorated": _launches(layout(touch)),
    }
    metric = Metric.microseconds()
    for case, ours in launches.items():
        if wanted in case:
            samples = harness.measure({"ours": ours, "off": off}, HostTimer(LAUNCHES), LAUNCH_ROUNDS)
            added = (samples["ours"].median - samples["off"].median) * 1e3
            params = {"launches": LAUNCHES, "rounds": LAUNCH_ROUNDS, "added_us": added, "maximum_us": MAXIMUM_US}
            yield harness.record(SUITE, case, params, metric, samples, environment)
    case = "compile-empty"
    if wanted in case:
        stock = _compilation()
        candidates = {"ours": _within(empty, stock), "off": stock}
        samples = harness.measure(candidates, HostTimer(1, processor_time_ns), COMPILE_ROUNDS, warmup=1)
        params = {"kernel": "gemm_fp16", "rounds": COMPILE_ROUNDS, "maximum_factor": MAXIMUM_COMPILE}
        yield harness.record(SUITE, case, params, metric, samples, environment)


def problems(entry: Record) -> list[str]:
    """Say which bound a record exceeds."""
    found = []
    if entry.params.get("added_us", 0) > MAXIMUM_US:
        found.append(f"a launch costs {entry.params['added_us']:.2f} us more, at most {MAXIMUM_US} is promised")
    if "maximum_factor" in entry.params and (factor := 1 / entry.ratio["off"]) > MAXIMUM_COMPILE:
        found.append(f"a compilation takes {factor:.3f} times as long, at most {MAXIMUM_COMPILE} is promised")
    return found
