"""How true recorded times are: delays of known length, a moment that multiprocessors share, a producer that is slow."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext_profiler
import tritonext_profiler.language as tpl
from tritonext_profiler.analysis import analyze

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

ROUNDS = 20

# Waits for so many cycles, and says how many they were: the clock is read first and last.
WAIT = """{
    .reg .u32 first, now;
    .reg .pred more;
    mov.u32 first, %clock;
again:
    mov.u32 now, %clock;
    sub.u32 now, now, first;
    setp.lt.u32 more, now, $2;
    @more bra again;
    mov.u32 now, %clock;
    sub.u32 now, now, first;
    add.u32 $0, now, $1;
}"""


@triton.jit
def planted(x, out, cycles, ROUNDS: tl.constexpr, WAIT: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    zero = tl.load(x + at)
    for number in range(ROUNDS):
        with tpl.scope("planted"):
            waited = tl.inline_asm_elementwise(WAIT, "=r,r,r", [zero, cycles], tl.int32, is_pure=False, pack=1)
        tl.store(out + number * tl.num_programs(0) * 128 + at, waited)
        tpl.mark("round", number)


def spans_of(profile, warp):
    return profile.spans[warp["first"] : warp["first"] + warp["count"]]


@pytest.mark.parametrize("mode", ["scopes", "auto"])
@pytest.mark.parametrize("cycles", [500, 4000])
def test_planted_delays_are_as_long_as_they_were(mode, cycles):
    programs = 264
    x = torch.zeros(programs * 128, device="cuda", dtype=torch.int32)
    out = torch.full((ROUNDS, programs, 128), -1, device="cuda", dtype=torch.int32)
    with tritonext_profiler.profile("planted", mode, sample=1) as p:
        planted[(programs,)](x, out, cycles, ROUNDS, WAIT)
    true = out.cpu().numpy()
    assert true.min() >= cycles
    [kernel] = p.data.kernels
    inside = np.array([region.scope == "planted" for region in kernel.regions])
    errors = []
    for warp in p.data.warps:
        spans = spans_of(p.data, warp)
        found = spans["cycles"][inside[spans["region"]]]
        errors.append(found - true[:, warp["cta"], 32 * warp["warp"]])
    errors = np.array(errors)
    assert errors.shape == (programs * 4, ROUNDS)
    assert abs(np.median(errors)) <= 0.02 * cycles
    # The first time around, instructions are fetched too.
    assert np.abs(np.percentile(errors[:, 1:], [5, 95])).max() <= 0.05 * cycles
    [analysis] = analyze(p.data)
    assert analysis.closure < 0.01
    [row] = analysis.scopes
    assert (row.name, row.entries) == ("planted", ROUNDS)
    marks = p.data.marks
    assert np.array_equal(marks["value"].reshape(-1, ROUNDS), np.tile(np.arange(ROUNDS), (programs * 4, 1)))


@triton.jit
def together(out, when, WAIT: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    zero = tl.load(out + at)
    with tpl.scope("until"):
        done = tl.inline_asm_elementwise(WAIT, "=r,r,l", [zero, when], tl.int32, is_pure=False, pack=1)
    tl.store(out + at, done)


@triton.jit
def now(out):
    zero = tl.load(out)
    tl.store(
        out, tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l,l", [zero], tl.int64, is_pure=False, pack=1)
    )


# All end it when the global timer comes to a time.
UNTIL = """{
    .reg .u64 now;
    .reg .pred more;
again:
    mov.u64 now, %globaltimer;
    setp.lt.u64 more, now, $2;
    @more bra again;
    mov.u32 $0, $1;
}"""


def test_multiprocessors_agree_on_a_moment():
    out = torch.zeros(264 * 128, device="cuda", dtype=torch.int32)
    stamp = torch.zeros(1, device="cuda", dtype=torch.int64)
    with tritonext_profiler.profile("together", "scopes", sample=1) as p:
        for _ in range(2):
            now[(1,)](stamp)
            # Long enough for the launch, also of the kernel that is compiled first.
            together[(264,)](out, int(stamp.item()) + 2_000_000, UNTIL)
            torch.cuda.synchronize()
    when = int(stamp.item()) + 2_000_000
    [kernel] = p.data.kernels
    [until] = [region.id for region in kernel.regions if region.scope == "until"]
    moments = []
    for warp in p.data.warps[p.data.warps_of([1])]:
        spans = spans_of(p.data, warp)
        end = int(spans["start"][np.flatnonzero(spans["region"] == until)[0] + 1])
        moments.append(int(warp["start"]) - when + end * (int(warp["end"]) - int(warp["start"])) / int(warp["cycles"]))
    moments = np.array(moments)
    assert len(moments) == 264 * 4
    assert np.abs(moments - np.median(moments)).max() <= 64
    assert 0 <= np.median(moments) <= 200


def test_waits_are_where_a_slow_producer_is():
    tlx = pytest.importorskip("tritonext_tlx")
    if torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("barriers in shared memory need compute capability 9.0")

    @triton.jit
    def handed(x, out, cycles, ROUNDS: tl.constexpr, WAIT: tl.constexpr):
        full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
        with tlx.async_tasks():
            with tlx.async_task("default"):
                for number in range(ROUNDS):
                    tlx.barrier_wait(full[0], number & 1)
                tl.store(x + tl.arange(0, 128), tl.arange(0, 128))
            with tlx.async_task(num_warps=1):
                waited = tl.zeros((32,), tl.int32)
                for _ in range(ROUNDS):
                    zero = tl.load(x + 128 + tl.arange(0, 32))
                    waited += tl.inline_asm_elementwise(WAIT, "=r,r,r", [zero, cycles], tl.int32, is_pure=False, pack=1)
                    tlx.barrier_arrive(full[0], 1)
                tl.store(out + tl.arange(0, 32), waited)

    x = torch.zeros(160, device="cuda", dtype=torch.int32)
    out = torch.zeros(32, device="cuda", dtype=torch.int32)
    with tritonext_profiler.profile("handed", sample=1) as p:
        handed[(1,)](x, out, 4000, ROUNDS, WAIT, num_warps=4)
    produced = int(out[0].item())
    assert produced >= 4000 * ROUNDS
    [kernel] = p.data.kernels
    waits = np.array([region.category == "mbarrier_wait" for region in kernel.regions])
    consumers = [warp for warp in p.data.warps if kernel.roles[warp["role"]] == "default"]
    assert len(consumers) == 4
    for warp in consumers:
        spans = spans_of(p.data, warp)
        found = spans["cycles"][waits[spans["region"]]]
        assert len(found) == ROUNDS
        # What the producer does besides, a load that hits the cache, takes time too.
        assert 0.95 * produced <= found.sum() <= 1.25 * produced
        assert np.median(found[1:]) == pytest.approx(4000, rel=0.25)
    [analysis] = analyze(p.data)
    assert analysis.roles["default"]["mbarrier_wait"] > 0.8
