"""From segments and records to spans: clocks, frequencies, alignment, and what must not be trusted."""

from __future__ import annotations

import numpy as np
import pytest

from tritonext_profiler.assemble import UNRECORDED, assemble, timer_step
from tritonext_profiler.testing import gemm_plan, record


@pytest.fixture(scope="module")
def recording(request):
    return record(gemm_plan(40), seed=11, ctas=300, warps=4, launches=2, per_sm=2)


def test_spans_are_the_true_ones_though_clocks_wrap(recording):
    made = assemble(*recording.columns)
    assert np.any(np.diff(recording.clocks.astype(np.int64)) < -(1 << 31)), "the counters wrap in the test"
    assert np.array_equal(made.spans["cycles"], recording.lengths)
    assert made.warps["closed"].all()
    assert np.array_equal(np.bincount(made.spans["warp"], made.spans["cycles"]), made.warps["cycles"])
    assert not made.notices


def test_sms_are_aligned_and_their_frequencies_found(recording):
    made = assemble(*recording.columns)
    assert np.abs(made.warps["start"] - recording.starts).max() < 64
    measured = made.warps["cycles"] / (made.warps["end"] - made.warps["start"])
    assert np.abs(measured / recording.frequency[made.warps["sm"]] - 1).max() < 0.005


def test_the_order_of_segments_does_not_matter(recording):
    segments, *columns = recording.columns
    order = np.random.default_rng(3).permutation(len(segments))
    pieces = np.split(np.arange(len(columns[0])), np.cumsum(segments["count"])[:-1])
    records = np.concatenate([pieces[index] for index in order])
    made, again = assemble(*recording.columns), assemble(segments[order], *(column[records] for column in columns))
    for name in ("launches", "warps", "spans"):
        assert np.array_equal(getattr(made, name), getattr(again, name))


def test_launches_are_told_apart_and_sorted_by_time(recording):
    segments, *columns = recording.columns
    segments = segments.copy()
    segments["launch"] = 1 - segments["launch"]
    segments["replay"] = segments["launch"] == 1
    launches = assemble(segments, *columns).launches
    assert launches["replay"].tolist() == [True, False]
    assert launches["ticket"].tolist() == [0, 1]
    assert launches["ctas"].tolist() == [300, 300]
    assert launches["count"].tolist() == [1200, 1200]
    assert launches["end"][0] < launches["start"][1]


def test_a_warp_without_records_is_one_span_of_any_length():
    made = record([(0, 0, 6e9)], seed=1, ctas=2, warps=1)
    spans = assemble(*made.columns).spans
    assert np.array_equal(spans["cycles"], made.lengths)
    assert (made.lengths > 1 << 32).all()


def test_a_gap_longer_than_the_counter_is_noticed():
    made = record([(0, 0, 500), (1, 0, 5e9), (2, 0, 500)], seed=1, ctas=3, warps=1, jitter=0)
    result = assemble(*made.columns)
    assert not result.warps["closed"].any()
    assert result.notices == ("the records of 3 warps do not add up to the time that the warp lived",)


def test_what_comes_after_the_last_record_is_not_known():
    made = record(gemm_plan(4), seed=5, ctas=2, warps=1)
    made.segments["dropped"][0] = 3
    result = assemble(*made.columns, made.regions == 8, np.zeros(len(made.regions)))
    assert result.marks["region"].tolist() == [8] * 2, "also the one of which only the place is known"
    spans = result.spans
    assert spans["region"][spans["warp"] == 0][-1] == UNRECORDED
    assert spans["region"][spans["warp"] == 1][-1] == 8


def test_warps_that_did_not_end_are_left_out():
    made = record(gemm_plan(4), seed=5, ctas=4, warps=2)
    made.segments["end_clock"][3] = 0
    result = assemble(*made.columns)
    assert len(result.warps) == 7
    assert result.notices == ("1 warps had not ended when the data was read, and are left out",)
    kept = np.repeat(np.arange(8) != 3, made.segments["count"] + 1)
    assert np.array_equal(result.spans["cycles"], made.lengths[kept])


def test_nothing_is_a_profile_too():
    made = record(gemm_plan(4), seed=5, ctas=1)
    segments, *columns = (column[:0] for column in made.columns)
    assert [len(table) for table in (lambda a: (a.launches, a.warps, a.spans))(assemble(segments, *columns))] == [
        0,
        0,
        0,
    ]


def test_timer_step():
    assert timer_step(np.array([320, 64, 96, 1_024_000])) == 32
    assert timer_step(np.array([5])) == 1
