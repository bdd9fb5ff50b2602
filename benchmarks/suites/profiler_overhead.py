"""What recording costs: the time of kernels with records against the same kernels without, and host time of a launch.

``off`` is the plain kernel, launched in the same block. A mode may cost 1 % (``header``), 5 % (``auto``) and 10 %
(``all``) in the median over the kernels, and the host 20 us for a launch.

``beside-proton`` is a GEMM as a program sees it, launches and all that a profiler does meanwhile: with this profiler
(``ours``), with Proton's instrumentation mode and three scopes by hand (``proton``), and without either (``off``).
"""

from __future__ import annotations

import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

import torch
import triton
import triton.language as tl
import triton.profiler as proton
import triton.profiler.language as pl

import harness
import tritonext_profiler
from harness import Environment, Metric, Record, Timer
from tritonext.testing import kernels
from tritonext_profiler import proton as proton_files

SUITE = "profiler-overhead"
MAXIMUM = {"header": 0.01, "auto": 0.05, "all": 0.10}
LAUNCHES = 500
ROUNDS = 40
MAXIMUM_US = 20.0


def _half(*shape: int) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def _gemm(size: int, depth: int) -> Callable[[], object]:
    a, b, c = _half(size, depth), _half(depth, size), _half(size, size)
    grid = ((size // 128) ** 2,)
    tile = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3}
    return lambda: kernels.gemm[grid](a, b, c, c, size, size, depth, **tile)


def _experts(rows: int, size: int, experts: int) -> Callable[[], object]:
    a, b, c = _half(rows, size), _half(experts * size, size), _half(rows, size)
    order = torch.randperm(rows, device="cuda", dtype=torch.int32)
    chosen = torch.randint(0, experts, (rows // 128,), device="cuda", dtype=torch.int32)
    grid = (rows // 128, size // 128)
    tile = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3}
    return lambda: kernels.gemm_gather[grid](a, b, c, order, chosen, size, size, **tile)


def _attention(heads: int, length: int) -> Callable[[], object]:
    q, k, v, out = (_half(heads * length, 64) for _ in range(4))
    sums = torch.empty(heads * length, device="cuda")
    grid = (length // 128, heads)
    tile = {"BM": 128, "BN": 64, "D": 64, "num_warps": 4, "num_stages": 3}
    return lambda: kernels.attention_forward[grid](q, k, v, out, sums, length, 0.125, **tile)


def _layer_norm(rows: int, columns: int) -> Callable[[], object]:
    x, y, weight, bias = _half(rows, columns), _half(rows, columns), _half(columns), _half(columns)
    mean, deviation = (torch.empty(rows, device="cuda") for _ in range(2))
    options = {"BLOCK": columns, "num_warps": 8}
    return lambda: kernels.layer_norm[(rows,)](x, y, weight, bias, mean, deviation, columns, 1e-5, **options)


def _column_sum(rows: int, columns: int) -> Callable[[], object]:
    x, y = _half(rows, columns), torch.empty(columns, device="cuda")
    return lambda: kernels.column_sum[(columns // 64,)](x, y, rows, columns, BM=64, BN=64, num_warps=4)


CASES = {
    "gemm-4096": lambda: _gemm(4096, 4096),
    "gemm-4096-shallow": lambda: _gemm(4096, 512),
    "experts": lambda: _experts(8192, 2048, 8),
    "attention": lambda: _attention(64, 2048),
    "layer-norm": lambda: _layer_norm(8192, 4096),
    "column-sum": lambda: _column_sum(4096, 8192),
}


def _paused(recording: tritonext_profiler.profile, call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        with recording.pause():
            call()

    return run


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    for name, make in CASES.items():
        if not any(wanted in f"{name}-{mode}" for mode in MAXIMUM):
            continue
        call = make()
        for mode, maximum in MAXIMUM.items():
            if wanted not in f"{name}-{mode}":
                continue
            with tritonext_profiler.profile(mode=mode) as recording:
                candidates = {"ours": call, "off": _paused(recording, call)}
                rounds = harness.rounds_for(candidates, timer, seconds)
                samples = harness.measure(candidates, timer, rounds)
            [analysis] = recording.analyses
            resources = analysis.kernel.resources
            params = {
                "mode": mode,
                "maximum": maximum,
                "recorded_ctas": analysis.waves.recorded,
                "grid": analysis.waves.grid,
                "ctas_per_sm": [resources["plain_ctas_per_sm"], resources["ctas_per_sm"]],
                "registers": [resources["plain_registers"], resources["registers"]],
                "closure": analysis.closure,
                "lost": recording.data.loss.segments + recording.data.loss.records,
            }
            yield harness.record(SUITE, f"{name}-{mode}", params, Metric.microseconds(), samples, environment)
    if wanted in "launch":
        yield _launch(environment)
    if wanted in "beside-proton":
        yield _beside_proton(environment)


class _HostTimer:
    """Times the host, the device idle at the start, and at the end with ``wait``."""

    def __init__(self, launches: int = LAUNCHES, wait: bool = False) -> None:
        self._launches = launches
        self._wait = wait
        self._times: list[float] = []

    def run(self, candidate: Callable[[], object]) -> None:
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(self._launches):
            candidate()
        if self._wait:
            torch.cuda.synchronize()
        self._times.append((time.perf_counter_ns() - start) * 1e-6 / self._launches)

    def times(self) -> list[float]:
        times, self._times = self._times, []
        return times


def _launch(environment: Environment) -> Record:
    """Measure the host's time of a launch; the kernel is so short that the device keeps up."""
    call = _column_sum(64, 64)
    with tritonext_profiler.profile() as recording:
        call()
        within = harness.measure({"ours": call}, _HostTimer(), ROUNDS)
    call()
    outside = harness.measure({"off": call}, _HostTimer(), ROUNDS)
    added = (statistics.median(within["ours"].times) - statistics.median(outside["off"].times)) * 1e3
    params = {"launches": LAUNCHES, "added_us": added, "maximum_us": MAXIMUM_US, "lost": recording.data.loss.segments}
    return harness.record(SUITE, "launch", params, Metric.microseconds(), within | outside, environment)


@triton.jit
def scoped_gemm(a, b, c, N, K, BLOCK: tl.constexpr, BK: tl.constexpr, SCOPES: tl.constexpr):
    """C = A @ B with scopes of Proton around loads, products and stores."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BK)
    a_at = a + rows[:, None] * K + inner[None, :]
    b_at = b + inner[:, None] * N + columns[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, K, BK):
        if SCOPES:
            pl.enter_scope("load")
        x, y = tl.load(a_at), tl.load(b_at)
        if SCOPES:
            pl.exit_scope("load")
            pl.enter_scope("dot")
        acc = tl.dot(x, y, acc)
        if SCOPES:
            pl.exit_scope("dot")
        a_at += BK
        b_at += BK * N
    if SCOPES:
        pl.enter_scope("store")
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(tl.float16))
    if SCOPES:
        pl.exit_scope("store")


def _beside_proton(environment: Environment) -> Record:
    size, launches = 2048, 5
    a, b, c = _half(size, size), _half(size, size), _half(size, size)

    def call(scopes: bool) -> None:
        options = {"BLOCK": 128, "BK": 64, "SCOPES": scopes, "num_warps": 8, "num_stages": 3}
        scoped_gemm[(size // 128, size // 128)](a, b, c, size, size, **options)

    timer = _HostTimer(launches, wait=True)
    samples = harness.measure({"off": lambda: call(False)}, timer, 10)
    with tritonext_profiler.profile(sample=1) as recording:
        samples |= harness.measure({"ours": lambda: call(False)}, timer, 10)
    [analysis] = recording.analyses
    pl.enable_semantic("triton")
    with tempfile.TemporaryDirectory() as directory:
        name = str(pathlib.Path(directory) / "proton")
        proton.start(name, backend="instrumentation", data="trace")
        samples |= harness.measure({"proton": lambda: call(True)}, timer, 4, warmup=1)
        proton.finalize()
        [path] = pathlib.Path(directory).glob("proton*")
        trace = proton_files.read_trace(path)
        trace_bytes = path.stat().st_size
    params = {
        "size": size,
        "ctas": analysis.waves.grid,
        "launches": {"ours": len(recording.data.launches), "proton": launches * 5},
        "spans": {"ours": len(recording.data.spans), "proton": len(trace.spans)},
        "iterations": {"ours": analysis.iterations[0].count, "loop": size // 64},
        "proton_trace_bytes": trace_bytes,
        "categories": {row.name: row.share for row in analysis.categories},
        "scopes": {row.name: row.share for entry in tritonext_profiler.analyze(trace) for row in entry.scopes},
        "lost": recording.data.loss.segments,
    }
    return harness.record(SUITE, "beside-proton", params, Metric.microseconds(), samples, environment)


def problems(entry: Record) -> list[str]:
    """Say which bound a record exceeds; those of kernels hold for the median over them, and are reported by each."""
    found = []
    if entry.params.get("added_us", 0) > MAXIMUM_US:
        found.append(f"a launch costs {entry.params['added_us']:.1f} us more, at most {MAXIMUM_US} is promised")
    if "ctas_per_sm" in entry.params and len(set(entry.params["ctas_per_sm"])) > 1:
        before, after = entry.params["ctas_per_sm"]
        found.append(f"{after} instead of {before} CTAs fit on an SM")
    return found
