"""What the table of stock warp specialization makes of what a compilation printed."""

from __future__ import annotations

import importlib
import pathlib
import sys
from types import SimpleNamespace

import pytest


@pytest.fixture
def table(monkeypatch):
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).resolve().parents[1]))
    yield importlib.import_module("stock_warp_specialization")
    sys.modules.pop("stock_warp_specialization", None)


GENERIC = "gemm.py:97:1: error: Failures have been detected while processing an MLIR pass pipeline\n"


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (f"LLVM ERROR: unsupported load type\n{GENERIC}", "unsupported load type"),
        (f"Unexpected op\nUNREACHABLE executed at Partition.cpp:330!\n{GENERIC}", "Unexpected op"),
        (
            f'python: D.cpp:2: bool f(): Assertion `a && b && "expected a block"\' failed.\n{GENERIC}',
            "expected a block",
        ),
        (f"a.py:1:2: error: 'arith.muli' op is gone\nLLVM ERROR: later\n{GENERIC}", "'arith.muli' op is gone"),
        (f"{GENERIC}note: Pipeline failed while executing [`ThePass` on 'builtin.module']: x\n", "in ThePass"),
        ("no words known\nexit status -11\n", "exit status -11"),
    ],
)
def test_the_first_message_about_a_failure_is_kept(table, printed, reason):
    assert table.reason(printed) == reason


@pytest.mark.parametrize(
    ("ptx", "ttgir", "outcome"),
    [
        ("trap;", "ttg.warp_specialize", "empty"),
        ("wgmma.mma_async; wgmma.wait_group.sync.aligned 0;", "ttg.warp_specialize", "12 warps, waits 0"),
        ("wgmma.mma_async; wgmma.wait_group.sync.aligned 1;", "ttg.warp_specialize", "12 warps"),
        ("wgmma.mma_async; wgmma.wait_group.sync.aligned 0;", "tt.func", "ignored"),
    ],
)
def test_a_kernel_that_compiled_is_described(table, ptx, ttgir, outcome):
    kernel = SimpleNamespace(asm={"ptx": ptx, "ttgir": ttgir}, metadata=SimpleNamespace(num_warps=12))
    assert table.described(kernel) == outcome


def test_the_page_counts_and_lists_the_outcomes(table, monkeypatch):
    cases = {
        "gemm": SimpleNamespace(row="descriptors", expected="specialized"),
        "attention": SimpleNamespace(row="loops", expected="two loops"),
    }
    outcomes = {"gemm": "12 warps, waits 0", "attention": "fails: a | b"}
    monkeypatch.setattr(table, "REPORTS", {"T#1, slow": ("gemm", "attention")})
    monkeypatch.setattr(table, "MEASURED", {"GEMM": "gemm", "attention forward": "attention"})
    page = table.page(dict.fromkeys(table.TARGETS, outcomes), cases, "3.9.0")
    assert "sm_90: 1 specialized, 0 ignored, 0 empty, 1 fails, of 2." in page
    assert "warpspec, sm_90: 1 specialized, 1 left alone, of 2." in page
    assert "| `attention` | loops | fails: a / b | fails: a / b | two loops |" in page
    assert "| T#1, slow | `gemm`: specialized; `attention`: two loops |" in page
    assert "1 of 2, 50%: GEMM." in page
    assert "Left alone: attention forward." in page


def test_outcomes_are_read_off_the_page(table):
    outcomes = {"gemm": "12 warps, waits 0", "attention": "fails: a"}
    cases = {name: SimpleNamespace(row="loops", expected="specialized") for name in outcomes}
    found = dict.fromkeys(table.TARGETS, outcomes)
    assert table.known(table.page(found, cases, "3.9.0")) == found
