"""What the sanitizers of the Triton wheel find in kernels with planted faults."""

from __future__ import annotations

import io
import pathlib

import pytest
from rich.console import Console

from tritonext_profiler import sanitize

pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

SCRIPT = pathlib.Path(__file__).with_name("faults.py")
MESSAGES = {"consan": "pending access", "gsan": "race", "iisan": "strides must be 16-byte aligned"}


def under(tool, *arguments):
    """Return the report of the script, and what is shown of it."""
    report = sanitize.run(tool, str(SCRIPT), [tool, *arguments], timeout=100)
    text = io.StringIO()
    sanitize.show(report, Console(file=text, width=200))
    return report, text.getvalue()


@pytest.mark.parametrize("tool", MESSAGES)
def test_a_planted_fault_is_found_at_its_line(tool):
    [line] = [number for number, text in enumerate(SCRIPT.read_text().splitlines(), 1) if f"fault: {tool}" in text]
    report, shown = under(tool)
    assert report.violations, report.output
    assert line in {violation.line for violation in report.violations}, shown
    assert f"# fault: {tool}" in shown
    assert MESSAGES[tool] in shown.lower()
    report, shown = under(tool, "--sound")
    assert (report.violations, report.status) == ((), 0), report.output
    assert "no check failed" in shown


def test_arithmetic_that_differs_is_told_from_rounding():
    report, shown = under("fpsan")
    assert (report.violations, report.status) == ((), 1), report.output
    assert "the two orders of the sum differ" in shown
    assert sanitize.TOOLS["fpsan"][1] in shown
    assert under("fpsan", "--sound")[0].status == 0
