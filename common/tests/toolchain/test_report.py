"""Progress is a bar on a terminal and lines elsewhere."""

from __future__ import annotations

import io

import pytest
import rich.console

from tritonext.toolchain.report import Reporter


def shown(terminal: bool) -> str:
    output = io.StringIO()
    reporter = Reporter(rich.console.Console(file=output, force_terminal=terminal, width=100))
    with reporter.step("downloading [a] file") as update:
        update(30, 120)
    reporter.note("not from [there]")
    return output.getvalue()


def test_a_log_gets_one_line_for_each_step():
    assert shown(terminal=False) == "downloading [a] file\nnot from [there]\n"


def test_a_terminal_gets_a_bar():
    text = shown(terminal=True)
    assert "downloading [a] file" in text
    assert "100%" in text
    assert "━" in text
    assert "not from [there]" in text


def test_a_failing_step_does_not_end_at_all_done():
    output = io.StringIO()
    reporter = Reporter(rich.console.Console(file=output, force_terminal=True, width=100))

    def fail() -> None:
        with reporter.step("downloading") as update:
            update(30, 120)
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert "100%" not in output.getvalue()
    assert "25%" in output.getvalue()
