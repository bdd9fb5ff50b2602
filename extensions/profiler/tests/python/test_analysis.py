"""What the analysis says about kernels whose truth is known."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

from tritonext_profiler.analysis import analyze
from tritonext_profiler.assemble import assemble
from tritonext_profiler.findings import findings, measurement
from tritonext_profiler.model import CATEGORIES, Loss
from tritonext_profiler.report import terminal
from tritonext_profiler.testing import H200, gemm_kernel, gemm_plan, record, specialized_kernel, specialized_team


def profile(recording, kernel):
    return assemble(*recording.columns).profile([kernel], [H200])


def kinds(analysis):
    return {finding.kind: finding for finding in findings(analysis)}


@pytest.fixture(scope="module")
def made():
    return record(gemm_plan(32), seed=2, ctas=200, launches=3)


@pytest.fixture(scope="module")
def gemm(made):
    [analysis] = analyze(profile(made, gemm_kernel()))
    return analysis


def test_launches_of_which_little_is_recorded_are_not_timed():
    """Where only the first CTAs of some launches found room, these seem short."""
    made = assemble(*record(gemm_plan(12), seed=8, ctas=300, launches=6).columns).profile([gemm_kernel()], [H200])
    [whole] = analyze(made)
    segments = record(gemm_plan(12), seed=8, ctas=300, launches=6)
    few = (segments.segments["launch"] >= 2) & (segments.segments["cta"] >= 5)
    kept = np.repeat(~few, segments.segments["count"])
    columns = (segments.segments[~few], segments.clocks[kept], segments.regions[kept], segments.iterations[kept])
    cut = assemble(*columns).profile([gemm_kernel()], [H200])
    [analysis] = analyze(cut)
    assert cut.timed.tolist() == [True, True, False, False, False, False]
    assert (len(analysis.rows), len(analysis.timed)) == (6, 2)
    assert analysis.durations.tolist() == whole.durations[:2].tolist()
    assert analysis.total == pytest.approx(whole.total, rel=0.05)
    assert analysis.gaps.max() <= 6_000
    assert analysis.rooflines[0].flop_rate == pytest.approx(whole.rooflines[0].flop_rate, rel=0.05)
    assert analysis.waves.recorded == 300
    text = io.StringIO()
    terminal.show(cut, Console(file=text, width=140))
    assert "6 launches, 2 of them timed" in text.getvalue()


def test_categories_are_the_recorded_cycles(made, gemm):
    names = np.array([region.category for region in gemm.kernel.regions])
    numbers = np.array([region for region, _, _ in gemm_plan(32)] * len(made.segments))
    total = made.lengths.sum()
    for row in gemm.categories:
        assert row.share == pytest.approx(made.lengths[names[numbers] == row.name].sum() / total, rel=1e-9)
        assert row.name in CATEGORIES
    assert sum(row.share for row in gemm.categories) == pytest.approx(1)
    assert gemm.closure == 0
    assert sum(line.share for line in gemm.lines) == pytest.approx(1)
    assert gemm.lines[0].text == "acc = tl.dot(a, b, acc)"


def test_phases_add_up_and_find_the_slow_beginning(gemm):
    assert sum(gemm.phases) == pytest.approx(1)
    for index in range(3):
        assert sum(row.phases[index] for row in gemm.categories) == pytest.approx(1)
    [loop] = gemm.iterations
    # The first two wait three times as long.
    assert loop.warmup == 2
    assert loop.count == 32 * 4 * 200 * 3
    assert loop.median == pytest.approx(850, rel=0.02)
    assert loop.mean_by_index[:2] == pytest.approx(1450, rel=0.02)
    assert loop.mean_by_index[2:] == pytest.approx(850, rel=0.02)
    assert gemm.share("copy_wait", phase="steady") == pytest.approx(300 / 850, rel=0.02)
    assert gemm.share("global_store", phase="drain") == pytest.approx(900 / 1700, rel=0.02)


def test_rooflines_count_each_execution_once(gemm):
    whole, *lines = gemm.rooflines
    assert whole.flops == 2 * 128 * 128 * 64 * 32 * 200
    assert whole.bytes == (33 * 2 * 128 * 64 * 2 + 128 * 128 * 2) * 200
    assert whole.flop_rate == pytest.approx(whole.flops / np.mean(gemm.durations) * 1e9)
    assert sum(line.flops for line in lines) == whole.flops
    assert whole.peak == pytest.approx(4096 * 132 * 1.7e9, rel=0.01)
    assert {line.place for line in lines} == {"gemm.py:12", "gemm.py:15", "gemm.py:17", "gemm.py:20"}


def test_shared_memory_is_no_traffic_of_the_memory(made, gemm):
    kernel = gemm_kernel()
    at = [region.category for region in kernel.regions].index("global_store")
    shared = dataclasses.replace(kernel.regions[at], category="shared_store")
    kernel = dataclasses.replace(kernel, regions=(*kernel.regions[:at], shared, *kernel.regions[at + 1 :]))
    [analysis] = analyze(profile(made, kernel))
    assert analysis.rooflines[0].bytes == gemm.rooflines[0].bytes - 128 * 128 * 2 * 200


def test_a_sample_of_ctas_stands_for_all(made):
    segments, *columns = made.columns
    keep = segments["cta"] % 4 == 0
    records = np.repeat(keep, segments["count"])
    kernel = gemm_kernel()
    sample = assemble(segments[keep], *(column[records] for column in columns)).profile([kernel], [H200])
    [analysis] = analyze(sample)
    assert analysis.waves.recorded == 50
    assert analysis.waves.grid == 200
    assert analysis.rooflines[0].flops == pytest.approx(2 * 128 * 128 * 64 * 32 * 200)


def test_waves_tail_and_the_slow_sm():
    made = record(gemm_plan(16), seed=4, ctas=132 + 20, launches=3, slow_sm=7)
    [analysis] = analyze(profile(made, gemm_kernel()))
    waves = analysis.waves
    assert (waves.grid, waves.sms, waves.resident, waves.slow_sm) == (152, 132, 1, 7)
    assert waves.waves == pytest.approx(152 / 132)
    # 20 SMs work twice as long, and one is slow.
    assert waves.idle == pytest.approx(1 - (111 + 21 * 2) / (132 * 2), abs=0.03)
    assert waves.slowdown == pytest.approx(1, abs=0.1)
    # One CTA on most SMs says nothing about them.
    assert "tail" in kinds(analysis)
    assert "slow-sm" not in kinds(analysis)
    [analysis] = analyze(profile(record(gemm_plan(4), seed=4, ctas=132 * 3, slow_sm=7), gemm_kernel()))
    assert kinds(analysis)["slow-sm"].message.startswith("CTAs on SM 7 take ")


def test_two_ctas_on_an_sm_are_seen():
    [analysis] = analyze(profile(record(gemm_plan(8), seed=6, ctas=264 * 2, per_sm=2), gemm_kernel()))
    assert (analysis.waves.resident, analysis.waves.waves) == (2, 2)
    assert "tail" not in kinds(analysis)


def test_copy_waits_lead_to_a_stage_that_fits(gemm):
    finding = kinds(gemm)["copy-wait"]
    assert finding.message == "warps wait 35 % of steady state for copies at gemm.py:15"
    assert finding.advice.startswith("num_stages=4 fits in shared memory: about 131,072 of 232,448 bytes")


def test_a_stage_that_does_not_fit_is_not_proposed(made):
    [analysis] = analyze(profile(made, gemm_kernel(stages=4, shared=200_000)))
    assert "smaller tiles would make room" in kinds(analysis)["copy-wait"].advice


def test_fast_copies_give_no_finding_about_copies():
    [analysis] = analyze(profile(record(gemm_plan(64, wait=20), seed=3), gemm_kernel()))
    assert "copy-wait" not in kinds(analysis)
    assert {"mma-wait", "mma-bound"} & kinds(analysis).keys()


def test_the_critical_role_is_named():
    made = record([], seed=3, ctas=132, roles=specialized_team())
    [analysis] = analyze(profile(made, specialized_kernel()))
    assert analysis.waiting("consumer") == pytest.approx(0.92, abs=0.02)
    assert analysis.roles["producer"]["copy_issue"] == pytest.approx(0.89, abs=0.02)
    found = kinds(analysis)
    assert found["roles"].message.startswith("producer is the critical role: consumer waits 9")
    assert "mma-wait" not in found
    assert [entry.role for entry in analysis.iterations] == ["consumer", "producer"]


def test_doubts_about_the_measurement_come_first():
    made = record(gemm_plan(8), seed=8, ctas=20)
    made.segments["dropped"] = 1
    kernel = gemm_kernel()
    kernel.resources["ctas_per_sm"] = 1
    kernel = dataclasses.replace(kernel, moved=(4,))
    whole = profile(made, kernel)
    whole.loss = Loss(segments=3, records=70, capacity=1024, needed=4096, needed_records=300, kernels=("gemm",))
    [analysis] = analyze(whole)
    found = findings(analysis)
    assert [finding.kind for finding in found[:2]] == ["unrecorded", "occupancy"]
    assert found[2].evidence == "mma_wait at gemm.py:17"
    assert all(finding.severe for finding in found[:3])
    assert analysis.unrecorded == pytest.approx(analysis_of_last(made), rel=1e-9)
    [loss] = measurement(whole)
    assert loss.message == (
        "3 warps are missing: a buffer of 1,024 bytes was not read in time, 4,096 would have held all; "
        "70 records are missing: a warp came to as many as 300 of them"
    )
    assert (loss.evidence, loss.advice) == ("gemm", "profile with buffer=4096, or a sparser sample and records=300")


def analysis_of_last(made):
    lasts = np.cumsum(made.segments["count"] + 1) - 1
    return made.lengths[lasts].sum() / made.lengths.sum()


def test_a_kernel_without_a_loop_has_no_phases():
    plan = [(0, 0, 100), (7, 0, 300), (8, 0, 900)]
    [analysis] = analyze(profile(record(plan, seed=1), gemm_kernel()))
    assert (analysis.phases, analysis.iterations) == ((), ())
    assert {"epilogue", "layout-conversion"} <= kinds(analysis).keys()
