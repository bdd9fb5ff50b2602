"""The report, rendered from records made here."""

from __future__ import annotations

import pytest

import harness
import report
from harness import Environment, Error, Metric, Samples

ENVIRONMENT = Environment("NVIDIA H200", "580.1", "3.9.0", "2.11.0", "abc", "2026-01-02")
COUNTS = {"barriers": 10, "global_stores": {"128": 16}}


@pytest.fixture
def results(tmp_path):
    records = [
        harness.record(
            "layout-epilogue",
            case,
            {},
            Metric.tflops(1e9),
            {"ours": Samples([1.0] * 4), "stock_same": Samples([factor] * 4)},
            ENVIRONMENT,
            Error(1e-4, 1e-3, "float64", {"stock_same": factor > 1}),
            {"ours": COUNTS | {"barriers": 3}, "stock_same": COUNTS},
        )
        for case, factor in (("plain", 2.0), ("bias", 0.5))
    ]
    harness.write(records, tmp_path / "results")
    return tmp_path / "results"


def test_a_page_gives_every_case_the_summary_and_the_code(results):
    page = report.page("layout-epilogue", report.load(results)["nvidia-h200", "layout-epilogue"])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    assert ["stock_same", "2", "1.000x", "0.500x", "bias"] in rows
    assert ["plain", "1", "0.5, 2.000x", "0.0 %", "1.0e-04 of 1e-03", "stock_same"] in rows
    assert ["bias", "1", "2, 0.500x", "0.0 %", "1.0e-04 of 1e-03", "not stock_same"] in rows
    assert ["plain", "10 → 3", "16 x 128 bit"] in rows
    assert "- commit: abc" in page


def test_the_index_links_each_suite(results):
    assert "[layout-epilogue](nvidia-h200/layout-epilogue.md)" in report.index(report.load(results))
    assert "No results are recorded." in report.index({})


def test_check_fails_until_the_tables_are_those_of_the_results(results, tmp_path, capsys):
    arguments = ["--check", "--results", str(results), "--out", str(tmp_path / "docs")]
    assert report.main(arguments) == 1
    assert "nox -s bench-report" in capsys.readouterr().out
    suites = report.load(results)
    (tmp_path / "docs" / "nvidia-h200").mkdir(parents=True)
    (tmp_path / "docs" / "README.md").write_text(report.index(suites))
    for (device, suite), entries in suites.items():
        (tmp_path / "docs" / device / f"{suite}.md").write_text(report.page(suite, entries))
    assert report.main(arguments) == 0


def test_the_pages_of_the_repository_are_those_of_its_results(capsys):
    assert report.main(["--check"]) == 0, capsys.readouterr().out


def test_plots_of_equal_results_are_equal_files(results, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib draws the plots")
    entries = report.load(results)["nvidia-h200", "layout-epilogue"]
    for name in ("one.svg", "two.svg"):
        report.plot(entries, tmp_path / name)
    first, second = (tmp_path / name for name in ("one.svg", "two.svg"))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 5000
