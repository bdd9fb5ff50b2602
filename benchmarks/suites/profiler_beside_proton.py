"""This profiler and Proton's instrumentation mode on the same kernels: what they cost, record, write and show.

A sample is the time of a launch as a program sees it, waiting included. ``off`` is the kernel without either; ``ours``
records each change of category in the blocks that it chooses, and ``ours-all`` in all; ``proton`` has scopes by hand
around loads, arithmetic and stores, which it needs, and records all blocks. ``device_us`` in the parameters is the
kernel alone, as the profiler of torch measures it.
"""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
import triton.profiler as proton
import triton.profiler.language as pl

import harness
import tritonext_profiler
from harness import Environment, HostTimer, Metric, Record, Samples, Timer
from tritonext_profiler import proton as proton_files

SUITE = "profiler-beside-proton"
# Proton keeps each launch in memory and writes it as text, so that few are enough.
LAUNCHES = {"off": 20, "ours": 20, "ours-all": 1, "proton": 1}
ROUNDS = 4

Call = Callable[[bool], Any]


@triton.jit
def gemm(a, b, c, N, K, BLOCK: tl.constexpr, BK: tl.constexpr, SCOPES: tl.constexpr):
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


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, SCOPES: tl.constexpr):
    first = tl.program_id(1) * length
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns, depth = tl.arange(0, BN), tl.arange(0, D)
    query = tl.load(q + (first + rows[:, None]) * D + depth[None, :])
    most = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        if SCOPES:
            pl.enter_scope("load")
        at = (first + start + columns[:, None]) * D + depth[None, :]
        key, value = tl.load(k + at), tl.load(v + at)
        if SCOPES:
            pl.exit_scope("load")
            pl.enter_scope("dot")
        scores = tl.dot(query, key.T) * scale
        if SCOPES:
            pl.exit_scope("dot")
            pl.enter_scope("softmax")
        now = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        shrink = tl.exp2(most - now)
        total = total * shrink + tl.sum(weights, 1)
        acc = acc * shrink[:, None]
        most = now
        if SCOPES:
            pl.exit_scope("softmax")
            pl.enter_scope("dot2")
        acc = tl.dot(weights.to(tl.float16), value, acc)
        if SCOPES:
            pl.exit_scope("dot2")
    if SCOPES:
        pl.enter_scope("store")
    tl.store(out + (first + rows[:, None]) * D + depth[None, :], (acc / total[:, None]).to(tl.float16))
    if SCOPES:
        pl.exit_scope("store")


@triton.jit
def layer_norm(x, y, columns, BLOCK: tl.constexpr, SCOPES: tl.constexpr):
    column = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    if SCOPES:
        pl.enter_scope("load")
    value = tl.load(x + column).to(tl.float32)
    if SCOPES:
        pl.exit_scope("load")
        pl.enter_scope("moments")
    mean = tl.sum(value, 0) / columns
    centred = value - mean
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / columns + 1e-5)
    if SCOPES:
        pl.exit_scope("moments")
        pl.enter_scope("store")
    tl.store(y + column, (centred * scale).to(tl.float16))
    if SCOPES:
        pl.exit_scope("store")


def _half(*shape: int) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def _gemm(size: int, depth: int) -> tuple[Call, int]:
    a, b, c = _half(size, depth), _half(depth, size), _half(size, size)
    grid, options = (size // 128, size // 128), {"BLOCK": 128, "BK": 64, "num_warps": 8, "num_stages": 3}
    call = lambda scopes: gemm[grid](a, b, c, size, depth, SCOPES=scopes, **options)  # noqa: E731
    return call, grid[0] * grid[1] * 8 * (2 * depth // 64 + 1)


def _attention(heads: int, length: int) -> tuple[Call, int]:
    q, k, v, out = (_half(heads * length, 64) for _ in range(4))
    grid, options = (length // 128, heads), {"BM": 128, "BN": 64, "D": 64, "num_warps": 4, "num_stages": 3}
    call = lambda scopes: attention[grid](q, k, v, out, length, 0.18, SCOPES=scopes, **options)  # noqa: E731
    return call, grid[0] * grid[1] * 4 * (4 * length // 64 + 1)


def _layer_norm(rows: int, columns: int) -> tuple[Call, int]:
    x, y = _half(rows, columns), _half(rows, columns)
    call = lambda scopes: layer_norm[(rows,)](x, y, columns, BLOCK=columns, SCOPES=scopes, num_warps=8)  # noqa: E731
    return call, rows * 8 * 3


# Each with the times that a warp of the launch enters a scope.
CASES = {
    "gemm": lambda: _gemm(2048, 1024),
    "gemm-deep": lambda: _gemm(1024, 4096),
    "attention": lambda: _attention(16, 1024),
    "layer-norm": lambda: _layer_norm(2048, 4096),
}


def _resources(compiled: Any) -> dict[str, int]:
    # The binary is loaded, and its registers are known, with its first launch.
    return {"registers": compiled.n_regs, "spills": compiled.n_spills, "shared": compiled.metadata.shared}


class _Variants:
    """Times launches of one kernel in several variants, and notes what the device did in between."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        # The profiler of torch takes seconds to start, so that one session sees all variants, in this order.
        self._order: list[str] = []
        self.samples: dict[str, Samples] = {}
        self.resources: dict[str, dict[str, int]] = {}

    def run(self, name: str, call: Callable[[], Any]) -> None:
        """Launch once to compile, and then :data:`ROUNDS` times :data:`LAUNCHES`."""
        self.resources[name] = _resources(call())
        self.samples[name] = harness.measure({name: call}, HostTimer(LAUNCHES[name], wait=True), ROUNDS, warmup=0)[name]
        self._order += [name] * (1 + ROUNDS * LAUNCHES[name])

    def device(self, seen: torch.profiler.profile) -> dict[str, float]:
        """Return the kernel's own median time in us, by variant."""
        events = sorted(
            (event for event in seen.events() if event.name == self._kernel and event.device_time),
            key=lambda event: event.time_range.start,
        )
        if len(events) != len(self._order):
            raise RuntimeError(f"expected {len(self._order)} launches of {self._kernel}, torch saw {len(events)}")
        times: dict[str, list[float]] = {}
        for name, event in zip(self._order, events):
            times.setdefault(name, []).append(event.device_time)
        # The first of each follows a compilation.
        return {name: float(np.median(values[1:])) for name, values in times.items()}


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    for name, make in CASES.items():
        if wanted in name:
            with tempfile.TemporaryDirectory() as directory:
                yield _case(name, *make(), pathlib.Path(directory), environment)


def _case(name: str, call: Call, scopes: int, directory: pathlib.Path, environment: Environment) -> Record:
    kernel = name.split("-deep")[0].replace("-", "_")
    variants = _Variants(kernel)
    recordings: dict[str, tritonext_profiler.profile] = {}
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        variants.run("off", lambda: call(False))
        for which, sample in (("ours", None), ("ours-all", 1)):
            with tritonext_profiler.profile(kernel, sample=sample, buffer=1 << 28) as recordings[which]:
                variants.run(which, lambda: call(False))
        pl.enable_semantic("triton")
        proton.start(str(directory / "proton"), backend="instrumentation", data="trace")
        variants.run("proton", lambda: call(True))
        proton.finalize()
        pl.disable_semantic("triton")
        torch.cuda.synchronize()
    sizes, recorded, shown = {}, {}, {}
    for which, recording in recordings.items():
        sizes[which], recorded[which], shown[which] = _ours(recording, directory)
    sizes["proton"], recorded["proton"], shown["proton"] = _theirs(directory, scopes)
    params = {
        "device_us": variants.device(seen),
        "resources": variants.resources,
        "bytes_per_launch": sizes,
        "recorded": recorded,
        "shown": shown,
    }
    return harness.record(SUITE, name, params, Metric.microseconds(), variants.samples, environment)


def _ours(recording: tritonext_profiler.profile, directory: pathlib.Path) -> tuple[int, dict, dict]:
    """Return bytes of a launch in a file, what was recorded of a launch, and the shares of categories."""
    path = directory / "ours.npz"
    recording.save(path)
    data, [analysis] = recording.data, recording.analyses
    # Some found no room, where launches followed each other faster than their records were read.
    most = data.launches["ctas"] == data.launches["ctas"].max()
    whole, counts = data.launches[most], np.bincount(data.warps["launch"], data.warps["count"], len(data.launches))
    recorded = {
        "records": int(np.median(counts[most])),
        "blocks": float(whole["ctas"].max() / whole["grid"].max()),
        "launches": len(data.launches),
        "lost": int(data.loss.launches + data.loss.records + data.loss.segments),
        "time": 1 - analysis.unrecorded,
    }
    shares = {row.name: row.share for row in analysis.categories}
    return round(path.stat().st_size / len(data.launches)), recorded, shares


def _theirs(directory: pathlib.Path, scopes: int) -> tuple[int, dict, dict]:
    """Return the same of what Proton wrote, ``scopes`` being the scopes that a launch enters.

    Its trace does not tell launches apart, so shares are those of the time in scopes.
    """
    [path] = directory.glob("proton*")
    launches = 1 + LAUNCHES["proton"] * ROUNDS
    trace = proton_files.read_trace(path)
    [analysis] = tritonext_profiler.analyze(trace)
    # Time between scopes has a row of its own, which Proton did not write.
    written = int(np.count_nonzero(trace.spans["region"]))
    recorded = {
        "records": written / launches,
        "blocks": 1.0,
        "launches": launches,
        "scopes": written / launches / scopes,
    }
    inside = sum(row.share for row in analysis.scopes)
    return round(path.stat().st_size / launches), recorded, {row.name: row.share / inside for row in analysis.scopes}


def problems(entry: Record) -> list[str]:
    """Say where ours is behind."""
    found = []
    device = entry.params["device_us"]
    if device["ours"] > device["proton"]:
        found.append(
            f"the kernel takes {device['ours']:.1f} us with our records and {device['proton']:.1f} with Proton's"
        )
    return found
