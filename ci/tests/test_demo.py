"""The exit status of the demo, for comparisons given to it."""

from __future__ import annotations

import dataclasses
import pathlib
import sys

import pytest

from tritonext.inspect_code import CodeStats

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import demo

STOCK = CodeStats(
    target="cuda:90",
    barriers=10,
    epilogue_barriers=8,
    warp_barriers=0,
    shared_bytes=98304,
    registers=206,
    spills=0,
    stack_bytes=0,
    instructions=752,
    classes={},
    histogram={},
    global_loads={},
    global_stores={128: 16},
    bulk_copies=0,
    shared_accesses=0,
    shuffles=0,
    mma=8,
)
BETTER = dataclasses.replace(STOCK, barriers=3, epilogue_barriers=1)


@pytest.fixture(autouse=True)
def _without_gpu(monkeypatch):
    monkeypatch.setattr(demo, "why_not_run", lambda: "this is a test")


def run(monkeypatch, after: CodeStats, differs: bool = True) -> int:
    monkeypatch.setattr(demo, "compile_both", lambda case: (STOCK, after, differs))
    return demo.main()


def test_a_better_kernel_is_a_success(monkeypatch, capsys):
    assert run(monkeypatch, BETTER) == 0
    text = capsys.readouterr().out
    assert "10 → 3" in text
    assert "16 x 128 bit" in text
    assert "this is a test" in text
    assert "changed 6 of 6 kernels" in text


def test_a_worse_kernel_is_a_failure(monkeypatch, capsys):
    assert run(monkeypatch, dataclasses.replace(BETTER, spills=4)) == 1
    assert "spill instructions grew from 0 to 4" in capsys.readouterr().out


def test_no_change_is_a_failure(monkeypatch, capsys):
    assert run(monkeypatch, STOCK, differs=False) == 1
    assert "the extension changed no kernel" in capsys.readouterr().out


def test_a_slower_or_different_result_is_a_failure(monkeypatch, capsys):
    monkeypatch.setattr(demo, "why_not_run", lambda: None)
    for result, message in (
        ((0.2, 0.2, False), "the results differ"),
        ((0.2, 0.25, True), "0.250 ms instead of 0.200"),
    ):
        monkeypatch.setattr(demo, "run_both", lambda case, result=result: result)
        assert run(monkeypatch, BETTER) == 1
        assert message in capsys.readouterr().out
    monkeypatch.setattr(demo, "run_both", lambda case: (0.2, 0.19, True))
    assert run(monkeypatch, BETTER) == 0
