"""Profiles of kernels that run."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext_profiler
from tritonext_profiler.analysis import analyze
from tritonext_profiler.overhead import overhead

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


def test_streams_and_threads_do_not_mix():
    gemms = [Gemm(512, 64), Gemm(512, 128)]
    for gemm in gemms:
        gemm()
    wanted = [gemm.result() for gemm in gemms]
    rounds = 50

    def work(gemm):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(rounds):
                gemm()

    torch.cuda.synchronize()
    with tritonext_profiler.profile("matmul", "header", buffer=1 << 26) as p:
        threads = [threading.Thread(target=work, args=(gemm,)) for gemm in gemms]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for gemm, result in zip(gemms, wanted):
        assert torch.equal(gemm.c, result)
    assert not p.data.loss
    ctas, counts = np.unique(p.data.launches["ctas"], return_counts=True)
    assert dict(zip(ctas.tolist(), counts.tolist())) == {16: rounds, 64: rounds}
    assert p.data.warps["closed"].all()
    launched = [event for event in p.data.events if event.kind == "launch"]
    assert len(launched) == 2 * rounds
    assert len({event.stream for event in launched}) == len({event.thread for event in launched}) == 2


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


def test_a_reduction_has_its_categories():
    x = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
    y = torch.empty_like(x)
    with tritonext_profiler.profile("layer_norm") as p:
        layer_norm[(4096,)](x, y, 4096, 4096)
    torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (4096,)), rtol=2e-2, atol=2e-2)
    [analysis] = analyze(p.data)
    assert {"global_load", "reduction", "global_store"} <= {row.name for row in analysis.categories}


def test_recording_costs_little():
    gemm = Gemm(4096)
    modes = {entry.mode: entry for entry in overhead(gemm, "matmul", ("header", "auto"), repeats=20)}
    assert modes["header"].cost < 0.03
    assert modes["auto"].cost < 0.10
