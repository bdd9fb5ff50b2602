"""The command, as far as it goes without a GPU."""

from __future__ import annotations

import pytest

import harness
import run
import tritonext
from harness import Environment, Metric, Samples

ENVIRONMENT = Environment("NVIDIA H200", "580.1", "3.9.0", "2.11.0", "abc", "2026-01-02")


def entry(case: str, ours: float):
    samples = {"ours": Samples([ours] * 4), "stock": Samples([1.0] * 4)}
    return harness.record("suite", case, {}, Metric.microseconds(), samples, ENVIRONMENT)


def test_the_suites_of_the_repository_are_found():
    assert {"layout-epilogue", "sdk-launch"} <= set(run.suites())


def test_an_unknown_suite_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        run.main(["layout-epilog"])
    assert stop.value.code == 2
    assert "unknown suite layout-epilog" in capsys.readouterr().err


def test_a_machine_without_gpu_is_told_so(capsys, monkeypatch):
    monkeypatch.setattr(run, "gpu_missing", lambda: "no NVIDIA GPU")
    with pytest.raises(SystemExit) as stop:
        run.main([])
    assert stop.value.code == 2
    assert "the suites cannot run here: no NVIDIA GPU" in capsys.readouterr().err


def test_an_active_pipeline_is_not_measured_as_stock(monkeypatch):
    monkeypatch.setattr(run, "gpu_missing", lambda: None)
    assert run.why_not() is None
    with tritonext.use(tritonext.Pipeline(name="empty")):
        assert "unset TRITONEXT_ENABLE" in run.why_not()


def test_the_summary_names_mean_and_worst_case():
    lines = run.summaries([entry("good", 0.5), entry("bad", 2.0)])
    assert lines == ["1.000x stock over 2 cases, worst 0.500x (bad)"]
