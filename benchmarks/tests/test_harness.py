"""The arithmetic of the harness, with a clock the test controls."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

import harness
from harness import Environment, Error, Metric, Samples

ENVIRONMENT = Environment("NVIDIA H200", "580.1", "3.9.0", "2.11.0", "abc", "2026-01-02")


class FakeTimer:
    """Charges each candidate what it returns, and remembers the order."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.pending: list[float] = []

    def run(self, candidate) -> None:
        name, time = candidate()
        self.order.append(name)
        self.pending.append(time)

    def times(self) -> list[float]:
        times, self.pending = self.pending, []
        return times


def candidates() -> dict:
    return {name: lambda name=name, time=time: (name, time) for name, time in (("ours", 1.0), ("a", 2.0), ("b", 4.0))}


def test_every_candidate_runs_once_a_round_in_changing_order():
    timer = FakeTimer()
    samples = harness.measure(candidates(), timer, rounds=6, warmup=0)
    rounds = [timer.order[i : i + 3] for i in range(0, 18, 3)]
    assert all(sorted(order) == ["a", "b", "ours"] for order in rounds)
    assert [order[0] for order in rounds] == ["ours", "a", "b"] * 2
    assert {name: sample.times for name, sample in samples.items()} == {
        "ours": [1.0] * 6,
        "a": [2.0] * 6,
        "b": [4.0] * 6,
    }


# Answers a question with its double, and the n-th run with n; other output is none of its answers.
WORKER = """
import json, sys
runs = 0
for line in sys.stdin:
    print("a warning")
    if line.strip() == '"end"':
        sys.exit(3)
    runs += not line.strip()
    print("answer", json.dumps(2 * json.loads(line) if line.strip() else runs), flush=True)
"""


def test_a_candidate_in_another_process_takes_turns():
    worker = harness.Worker([sys.executable, "-c", WORKER])
    try:
        assert worker.ask([1, "x"]) == [1, "x", 1, "x"]
        timer = harness.TurnTimer(FakeTimer())
        samples = harness.measure(candidates() | {"there": worker}, timer, rounds=4, warmup=1)
        assert samples["there"].times == [2.0, 3.0, 4.0, 5.0]
        assert {name: samples[name].times for name in ("ours", "a", "b")} == {
            "ours": [1.0] * 4,
            "a": [2.0] * 4,
            "b": [4.0] * 4,
        }
        with pytest.raises(RuntimeError, match="ended with status 3"):
            worker.ask("end")
    finally:
        worker.close()


def test_warmup_is_run_and_not_kept():
    timer = FakeTimer()
    samples = harness.measure(candidates(), timer, rounds=4, warmup=3)
    assert len(timer.order) == 3 * 7
    assert all(len(sample.times) == 4 for sample in samples.values())


def test_too_few_rounds_for_quartiles_are_refused():
    with pytest.raises(ValueError, match="at least 4, got 3"):
        harness.measure(candidates(), FakeTimer(), rounds=3)


@pytest.mark.parametrize(("seconds", "expected"), [(0.001, 20), (0.7, 100), (60, 400)])
def test_rounds_fill_the_given_time(seconds, expected):
    assert harness.rounds_for(candidates(), FakeTimer(), seconds) == expected


def test_median_and_spread():
    sample = Samples([1.0, 2.0, 3.0, 4.0, 100.0])
    assert sample.median == 3.0
    assert sample.spread == pytest.approx((52.0 - 1.5) / 3.0)


def test_a_ratio_above_one_is_better_for_rates_and_for_times():
    samples = {"ours": Samples([1.0] * 4), "stock": Samples([2.0] * 4)}
    rate = harness.record("s", "c", {}, Metric.tflops(2e9), samples, ENVIRONMENT)
    assert (rate.ours, rate.baselines["stock"], rate.ratio["stock"]) == pytest.approx((2.0, 1.0, 2.0))
    time = harness.record("s", "c", {}, Metric.microseconds(), samples, ENVIRONMENT)
    assert (time.ours, time.baselines["stock"], time.ratio["stock"]) == pytest.approx((1000.0, 2000.0, 2.0))


def test_error_is_relative_to_the_largest_reference():
    reference = np.array([0.0, -8.0], dtype=np.float64)
    assert harness.relative_error(np.array([0.0, -8.0], dtype=np.float16), reference) == 0
    assert harness.relative_error(np.array([1.0, -8.0], dtype=np.float16), reference) == 0.125


def test_poison_left_in_a_result_is_never_acceptable():
    reference = [np.ones(4), np.ones(4)]
    poisoned = np.array([1, np.nan, 1, 1], dtype=np.float16)
    clean = np.ones(4, dtype=np.float16)
    for results in ([clean, poisoned], [poisoned, clean]):
        error = harness.check({"ours": results}, reference, 1e9, "ones", np.array_equal)
        assert math.isnan(error.value)
        assert not error.acceptable


def test_bit_equality_looks_at_every_result_of_every_baseline():
    one, other = np.ones(2, dtype=np.float16), np.array([1, 1.001], dtype=np.float16)
    outputs = {"ours": [one, one], "same": [one, one], "different": [one, other]}
    error = harness.check(outputs, [one.astype(np.float64)] * 2, 1e-3, "ones", np.array_equal)
    assert error.bit_equal == {"same": True, "different": False}
    assert error.acceptable


def test_records_are_written_by_device_and_suite(tmp_path):
    samples = {"ours": Samples([1 / 3] * 4), "stock": Samples([2 / 3] * 4)}
    error = Error(1 / 7, 1.0, "float64", {"stock": True})
    records = [
        harness.record(suite, "case", {"M": 4096}, Metric.microseconds(), samples, ENVIRONMENT, error)
        for suite in ("one", "one", "two")
    ]
    files = harness.write(records, tmp_path)
    assert files == [tmp_path / "nvidia-h200" / "one.json", tmp_path / "nvidia-h200" / "two.json"]
    first, second = json.loads(files[0].read_text())
    assert first == second
    assert first == {
        "suite": "one",
        "case": "case",
        "params": {"M": 4096},
        "metric": "us",
        "ours": 333.33,
        "baselines": {"stock": 666.67},
        "ratio": {"stock": 2.0},
        "error": {"value": 0.14286, "tolerance": 1.0, "reference": "float64", "bit_equal": {"stock": True}},
        "spread": {"ours": 0.0, "stock": 0.0},
        "code": {},
        "device": "NVIDIA H200",
        "driver": "580.1",
        "triton": "3.9.0",
        "torch": "2.11.0",
        "commit": "abc",
        "date": "2026-01-02",
    }
