"""Profiles of kernels that run."""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib
import threading
import time

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext_profiler
from tritonext_profiler.analysis import analyze
from tritonext_profiler.format import SEGMENT
from tritonext_profiler.overhead import overhead
from tritonext_profiler.rings import PIECE
from tritonext_profiler.testing import read_trace

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu


@triton.jit
def matmul(a, b, c, K, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, 64)
    left = a + row[:, None] * K + inner[None, :]
    right = b + inner[:, None] * N + column[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, K, 64):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += 64
        right += 64 * N
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16))


@triton.jit
def layer_norm(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + column, mask=column < N, other=0.0).to(tl.float32)
    mean = tl.sum(value, 0) / N
    centred = tl.where(column < N, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / N + 1e-5)
    tl.store(y + row * N + column, centred * scale, mask=column < N)


@triton.jit
def touch(x):
    tl.atomic_add(x, 1)


class Gemm:
    """A GEMM of one size with inputs of its own."""

    def __init__(self, size=1024, block=128):
        self.a, self.b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
        self.c = torch.full_like(self.a, float("nan"))
        self.size, self.block = size, block

    @property
    def ctas(self):
        return (self.size // self.block) ** 2

    def __call__(self):
        grid = (self.size // self.block, self.size // self.block)
        matmul[grid](self.a, self.b, self.c, self.size, self.size, self.block, num_warps=4, num_stages=3)

    def result(self):
        self.c.fill_(float("nan"))
        self()
        return self.c.clone()


@pytest.mark.parametrize("mode", ["header", "auto", "all"])
def test_results_are_unchanged_and_the_time_adds_up(mode):
    gemm = Gemm()
    plain = gemm.result()
    with tritonext_profiler.profile("matmul", mode) as p:
        assert torch.equal(gemm.result(), plain)
    assert torch.equal(gemm.result(), plain)
    assert not p.data.loss
    [analysis] = analyze(p.data)
    assert (analysis.kernel.name, analysis.waves.grid) == ("matmul", gemm.ctas)
    assert 0.5 < analysis.frequency < 3
    assert analysis.closure < 0.01
    assert 1_000 < analysis.duration < 10_000_000
    if mode != "header":
        shares = {row.name: row.share for row in analysis.categories}
        assert sum(shares.values()) == pytest.approx(1, abs=0.01)
        assert {"copy_wait", "mma_wait"} <= shares.keys()
        assert analysis.rooflines[0].flops == pytest.approx(2 * gemm.size**3, rel=0.01)


def test_every_replay_of_a_graph_is_recorded():
    gemm = Gemm(512)
    gemm()
    replays = 300
    with tritonext_profiler.profile("matmul", "header") as p:
        # The kernel with records is loaded within the capture.
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gemm()
        for _ in range(replays):
            graph.replay()
    assert len(p.data.launches) == replays
    assert p.data.launches["replay"].all()
    assert not p.data.loss
    assert set(p.data.launches["ctas"]) == {gemm.ctas}
    gemm.c.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(gemm.c, gemm.a @ gemm.b, rtol=1e-2, atol=0.5)
    with tritonext_profiler.profile("layer_norm", "header") as later:
        graph.replay()
        torch.cuda.synchronize()
    assert not any(later.data.launches["ctas"] == gemm.ctas)


def resident():
    """Return the bytes of this process in memory, and those of the GPU in use."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    free, total = torch.cuda.mem_get_info()
    return pages * os.sysconf("SC_PAGE_SIZE"), total - free


@pytest.mark.parametrize("memory", [1 << 29, 1 << 16])
def test_ten_thousand_replays_are_recorded_in_the_memory_that_was_granted(memory):
    gemm = Gemm(512)
    gemm()
    replays, seen = 10_000, []
    with tritonext_profiler.profile("matmul", "header", memory=memory) as p:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gemm()
        for _ in range(2):
            for _ in range(replays // 2):
                graph.replay()
            torch.cuda.synchronize()
            # Until what is there has been read.
            time.sleep(0.5)
            seen.append(resident())
    (host, device), (host_later, device_later) = seen
    kept = min(memory, replays // 2 * gemm.ctas * SEGMENT.itemsize)
    # A piece as large as any, and what is kept of it, may come in the second half alone.
    assert host_later - host < kept + 2 * PIECE
    assert device_later == device
    assert not p.data.loss
    assert p.data.launches["replay"].all()
    assert (np.diff(p.data.launches["start"]) > 0).all()
    if memory > 1 << 20:
        assert len(p.data.launches) == replays
        assert set(p.data.launches["ctas"]) == {gemm.ctas}
    else:
        [told] = [text for text in p.data.notices if "only counted" in text]
        assert int(told.split()[0].replace(",", "")) + len(p.data.launches) == replays


def test_streams_and_threads_have_disjoint_and_complete_data():
    """Four streams of two threads launch one kernel with one grid: nothing but its stream tells a launch apart."""
    rounds = 40
    gemms = [Gemm(256, 64) for _ in range(4)]
    wanted = [gemm.result() for gemm in gemms]
    streams = [torch.cuda.Stream() for _ in gemms]
    starts = threading.Barrier(2)

    def work(mine):
        starts.wait()
        for _ in range(rounds):
            for number in mine:
                with torch.cuda.stream(streams[number]):
                    gemms[number]()

    for gemm in gemms:
        gemm.c.fill_(float("nan"))
    torch.cuda.synchronize()
    with tritonext_profiler.profile("matmul", sample=1, buffer=1 << 26) as p:
        threads = [threading.Thread(target=work, args=(mine,)) for mine in ((0, 1), (2, 3))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for gemm, result in zip(gemms, wanted):
        assert torch.equal(gemm.c, result)
    launches, warps = p.data.launches, p.data.warps
    assert not p.data.loss
    assert p.data.notices == ()
    found, counts = np.unique(launches["stream"], return_counts=True)
    assert dict(zip(found.tolist(), counts.tolist())) == {stream.cuda_stream: rounds for stream in streams}
    # Each warp of each launch once.
    places = (warps["launch"].astype(np.int64) * gemms[0].ctas + warps["cta"]) * 4 + warps["warp"]
    assert np.array_equal(np.sort(places), np.arange(4 * rounds * gemms[0].ctas * 4))
    assert warps["closed"].all()
    assert not warps["dropped"].any()
    # Launches of a stream follow each other, and every warp lies in its own.
    for stream in found:
        mine = launches[launches["stream"] == stream]
        assert (mine["start"][1:] >= mine["end"][:-1]).all()
    assert (warps["start"] >= launches["start"][warps["launch"]] - 64).all()
    assert (warps["end"] <= launches["end"][warps["launch"]] + 64).all()
    events = [event for event in p.data.events if event.kind == "launch"]
    assert len(events) == 4 * rounds
    assert len({event.thread for event in events}) == 2


def test_blocks_end_while_another_thread_launches():
    gemm, other = Gemm(256, 64), Gemm(256, 64)
    wanted, stop, wrong = gemm.result(), threading.Event(), []

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            while not stop.is_set():
                if not torch.equal(gemm.result(), wanted):
                    wrong.append(time.monotonic())

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for number in range(6):
            # Other segments each time, at the addresses of those before.
            with tritonext_profiler.profile("matmul", ("auto", "header", "all")[number % 3], sample=1) as p:
                other()
                time.sleep(0.02)
            launched = sum(event.kind == "launch" for event in p.data.events)
            # The threads may launch faster than the records are read; what finds no room is counted.
            assert len(p.data.launches) + p.data.loss.launches == launched > 1, (p.data.notices, p.data.loss)
            assert (p.data.notices, p.data.loss.segments, p.data.loss.records) == ((), 0, 0)
            assert p.data.warps["closed"].all()
    finally:
        stop.set()
        thread.join()
    assert not wrong


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_each_device_has_data_of_its_own():
    gemms, plain = [], []
    for device in range(2):
        with torch.cuda.device(device):
            gemms.append(Gemm(512, 64 << device))
            plain.append(gemms[-1].result())
    with tritonext_profiler.profile("matmul") as p:
        for _ in range(10):
            for device, gemm in enumerate(gemms):
                with torch.cuda.device(device):
                    gemm()
    for device, gemm in enumerate(gemms):
        assert torch.equal(gemm.c, plain[device])
        mine = p.data.launches[p.data.launches["device"] == device]
        assert mine["ctas"].tolist() == [gemm.ctas] * 10
    assert [device.index for device in p.data.devices] == [0, 1]
    assert not p.data.loss
    assert sorted(analysis.device.index for analysis in p.analyses) == [0, 1]


def test_the_profiler_of_torch_sees_the_same_launches():
    gemm = Gemm(2048)
    gemm()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as theirs:
        with tritonext_profiler.profile("matmul", "header") as ours:
            for _ in range(20):
                gemm()
        torch.cuda.synchronize()
    events = [event for event in theirs.events() if event.name == "matmul" and event.device_time]
    assert len(events) == len(ours.data.launches) == 20
    durations = ours.data.launches["end"] - ours.data.launches["start"]
    # Theirs begins before the first block starts, and ends when the last one's memory is written.
    difference = np.median([event.device_time for event in events]) - np.median(durations) / 1000
    assert 0 < difference < 5


def test_what_is_not_recorded_runs_next_to_what_is():
    """A kernel without records gets no memory of one with them, in the block and behind it."""
    gemm, x = Gemm(512), torch.randn(512, 512, device="cuda", dtype=torch.float16)
    wanted = torch.nn.functional.layer_norm(x, (512,))
    number = torch.zeros(1, device="cuda", dtype=torch.int32)
    with tritonext_profiler.profile("matmul|touch") as p:
        for _ in range(5):
            gemm()
            y = torch.full_like(x, float("nan"))
            layer_norm[(512,)](x, y, 512, 512)
            torch.testing.assert_close(y, wanted, rtol=2e-2, atol=2e-2)
            touch[(1,)](number)
    assert len(p.data.launches) == 10
    assert {kernel.name for kernel in p.data.kernels} == {"matmul", "touch"}
    y = torch.full_like(x, float("nan"))
    layer_norm[(512,)](x, y, 512, 512)
    torch.testing.assert_close(y, wanted, rtol=2e-2, atol=2e-2)
    assert number.item() == 5
    recorded = gemm.c.clone()
    assert torch.equal(recorded, gemm.result())


def test_a_launch_waits_for_nothing_and_costs_the_host_little():
    number = torch.zeros(1, device="cuda", dtype=torch.int32)
    gemm = Gemm(1024)
    with tritonext_profiler.profile("touch|matmul") as p:
        gemm()
        touch[(1,)](number)
        torch.cuda.synchronize()
        torch.cuda._sleep(200_000_000)
        start = time.perf_counter()
        gemm()
        assert time.perf_counter() - start < 0.02, "the GPU sleeps for about 0.1 s"
        assert not torch.cuda.current_stream().query()
        torch.cuda.synchronize()
        times = {}
        for kind in ("plain", "recorded") * 5:
            with p.pause() if kind == "plain" else contextlib.nullcontext():
                start = time.perf_counter()
                for _ in range(200):
                    touch[(1,)](number)
                times.setdefault(kind, []).append((time.perf_counter() - start) / 200)
                torch.cuda.synchronize()
    added = np.median(times["recorded"]) - np.median(times["plain"])
    assert added < 20e-6, f"{added * 1e6:.1f} us"


def test_a_trace_of_a_large_gemm_is_small_and_reads_back(tmp_path):
    pytest.importorskip("perfetto")
    gemm = Gemm(4096)
    with tritonext_profiler.profile("matmul") as p:
        for _ in range(3):
            gemm()
    path = tmp_path / "gemm.pftrace"
    p.save(path)
    assert path.stat().st_size < 20e6
    slices, arrows, _ = read_trace(path)
    assert arrows
    launched = [end - start for place, _, start, end, _ in slices if place[-1] == "launches of matmul"]
    assert launched == (p.data.launches["end"] - p.data.launches["start"]).tolist()
    place = next(place for place, *_ in slices if len(place) == 4)
    ticket, _, cta, number = (int(part.split()[-1]) for part in place)
    warps = p.data.warps
    [row] = np.flatnonzero(
        (p.data.launches["ticket"][warps["launch"]] == ticket) & (warps["cta"] == cta) & (warps["warp"] == number)
    )
    spans = p.data.spans[p.data.spans_of([row])]
    lived = warps["end"][row] - warps["start"][row]
    shown, recorded = collections.Counter(), collections.Counter()
    for where, name, start, end, _ in slices:
        if where == place:
            shown[name] += end - start
    [kernel] = p.data.kernels
    for region, cycles in zip(spans["region"].tolist(), spans["cycles"].tolist()):
        recorded[kernel.regions[region].category] += cycles * lived / warps["cycles"][row]
    assert sum(shown.values()) == lived
    for name, length in recorded.items():
        # Each end is rounded to a nanosecond.
        assert shown[name] == pytest.approx(length, abs=len(spans))


def test_a_small_buffer_says_what_fits():
    gemm = Gemm(2048)
    gemm()
    with tritonext_profiler.profile("matmul", "auto", sample=1, buffer=1 << 18) as p:
        result = gemm.result()
    torch.testing.assert_close(result, gemm.a @ gemm.b, rtol=1e-2, atol=0.5)
    assert p.data.loss.segments
    with tritonext_profiler.profile("matmul", "auto", sample=1, buffer=p.data.loss.needed) as again:
        gemm()
    assert not again.data.loss


def test_blocks_of_clusters_are_told_apart():
    """Each block is a program, which the compiler does not know to be one of a cluster."""
    tlx = pytest.importorskip("tritonext_tlx")
    if torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("clusters need compute capability 9.0")

    @triton.jit
    def clustered(out):
        tl.store(out + tl.program_id(0) * 128 + tl.arange(0, 128), tlx.cluster_cta_rank())

    out = torch.full((264, 128), -1, device="cuda", dtype=torch.int32)
    with tlx.install_compat(), tritonext_profiler.profile("clustered", sample=1) as p:
        for _ in range(5):
            clustered[(264,)](out, ctas_per_cga=(2, 1, 1))
    assert out.cpu().numpy()[:, 0].tolist() == [0, 1] * 132
    assert not p.data.loss
    assert p.data.launches["ctas"].tolist() == p.data.launches["grid"].tolist() == [264] * 5
    assert len(np.unique(p.data.warps["cta"])) == 264
    assert p.data.warps["closed"].all()


def test_a_reduction_has_its_categories():
    x = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
    y = torch.empty_like(x)
    with tritonext_profiler.profile("layer_norm") as p:
        layer_norm[(4096,)](x, y, 4096, 4096)
    torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (4096,)), rtol=2e-2, atol=2e-2)
    [analysis] = analyze(p.data)
    assert {"global_load", "reduction", "global_store"} <= {row.name for row in analysis.categories}


def test_recording_costs_little_and_gives_its_memory_back():
    gemm = Gemm(4096)
    gemm()
    _, before = resident()
    # What is promised holds for the median over many kernels; one kernel may cost as much as the worst of them.
    for entry in overhead(gemm, "matmul", ("header", "auto"), repeats=20):
        assert entry.cost < 0.10, entry.mode
    _, after = resident()
    # Kernels that were loaded, and slots, stay.
    assert after - before < 32 << 20
