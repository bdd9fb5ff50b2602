"""What recording costs: the time of kernels with records against the same kernels without, and host time of a launch.

``off`` is the plain kernel, launched in the same block. A mode may cost 1 % (``header``), 5 % (``auto``) and 10 %
(``all``) in the median over the kernels, and the host 20 us for a launch.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import torch

import harness
import tritonext_profiler
from harness import Environment, HostTimer, Metric, Record, Timer
from tritonext.testing import kernels

from . import _warpspec
from .tlx_gemm import load_example

SUITE = "profiler-overhead"
MAXIMUM = {"header": 0.01, "auto": 0.05, "all": 0.10}
LAUNCHES = 500
ROUNDS = 40
MAXIMUM_US = 20.0
MAXIMUM_CLOSURE = 0.01


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


def _tasks(size: int) -> Callable[[], object]:
    a, b, out = _half(size, size), _half(size, size), _half(size, size)
    example = load_example()
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    return example.prepare(a, b, out, config=example.choose(size, size, size, processors))


def _specialized(size: int) -> Callable[[], object]:
    a, b, c = _half(size, size), _half(size, size), _half(size, size)
    kernel = _warpspec.extended(_warpspec.corpus().gemm.gemm)
    tile = {"BM": 128, "BN": 256, "BK": 64, "num_warps": 8, "num_stages": 3}
    return lambda: kernel[((size // 128) * (size // 256),)](a, b, c, c, c, size, size, size, **tile)


CASES = {
    "gemm-4096": lambda: _gemm(4096, 4096),
    "gemm-4096-shallow": lambda: _gemm(4096, 512),
    "experts": lambda: _experts(8192, 2048, 8),
    "attention": lambda: _attention(64, 2048),
    "layer-norm": lambda: _layer_norm(8192, 4096),
    "column-sum": lambda: _column_sum(4096, 8192),
    "tlx-gemm": lambda: _tasks(4096),
    "warpspec-gemm": lambda: _specialized(4096),
}


def _paused(recording: tritonext_profiler.profile, call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        with recording.pause():
            call()

    return run


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    _warpspec.prepare()
    for name, make in CASES.items():
        if not any(wanted in f"{name}-{mode}" for mode in MAXIMUM):
            continue
        call = make()
        for mode, maximum in MAXIMUM.items():
            if wanted not in f"{name}-{mode}":
                continue
            # A few launches tell what a record says; of the others only the times are kept. A warp of a persistent
            # kernel has some thousands of records.
            with tritonext_profiler.profile(mode=mode, records=1 << 13, memory=1 << 24) as recording:
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


def _launch(environment: Environment) -> Record:
    """Measure the host's time of a launch; the kernel is so short that the device keeps up.

    ``added_us`` is with the thread that reads the records, ``launching_us`` the part of the launching thread alone.
    """
    call = _column_sum(64, 64)
    samples, lost = {}, 0
    for name, interval in (("ours", 0.01), ("unread", 3600)):
        with tritonext_profiler.profile(buffer=1 << 28, interval=interval) as recording:
            call()
            samples |= harness.measure({name: call}, HostTimer(LAUNCHES), ROUNDS)
        lost += recording.data.loss.launches + recording.data.loss.segments
    call()
    samples |= harness.measure({"off": call}, HostTimer(LAUNCHES), ROUNDS)
    times = {name: statistics.median(sample.times) * 1e3 for name, sample in samples.items()}
    params = {
        "launches": LAUNCHES,
        "added_us": times["ours"] - times["off"],
        "launching_us": times["unread"] - times["off"],
        "maximum_us": MAXIMUM_US,
        "lost": lost,
    }
    return harness.record(SUITE, "launch", params, Metric.microseconds(), samples, environment)


def problems(entry: Record) -> list[str]:
    """Say which bound a record exceeds; those of kernels hold for the median over them, and are reported by each."""
    found = []
    if entry.params.get("added_us", 0) > MAXIMUM_US:
        found.append(f"a launch costs {entry.params['added_us']:.1f} us more, at most {MAXIMUM_US} is promised")
    if "ctas_per_sm" in entry.params and len(set(entry.params["ctas_per_sm"])) > 1:
        before, after = entry.params["ctas_per_sm"]
        found.append(f"{after} instead of {before} CTAs fit on an SM")
    if entry.params.get("closure", 0) > MAXIMUM_CLOSURE:
        found.append(f"spans and lifetimes of warps differ by {100 * entry.params['closure']:.2g} %")
    if "grid" in entry.params and (entry.params["lost"] or not entry.params["recorded_ctas"]):
        found.append(f"{entry.params['lost']} warps or records are missing")
    return found
