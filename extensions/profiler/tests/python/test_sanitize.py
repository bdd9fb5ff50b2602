"""Reports of the sanitizers."""

from __future__ import annotations

import pytest

from tritonext.errors import UserError
from tritonext_profiler import sanitize

OUTPUT = """\
warming up
{file}:2: kernel: block: [0,0,0], thread: [0,0,0] Assertion `Buffer being accessed has outstanding writes.` failed.
{file}:2: kernel: block: [0,0,0], thread: [1,0,0] Assertion `Buffer being accessed has outstanding writes.` failed.
{file}:2: kernel: block: [3,0,0], thread: [0,0,0] Assertion `Buffer being accessed has outstanding writes.` failed.
{file}:1: kernel: block: [0,0,0], thread: [5,0,0] Assertion `Barrier used before initialization` failed.
RuntimeError: device-side assert triggered
"""

SCRIPT = """\
import os, sys
print({output!r}.replace("MODE", os.environ.get("TRITON_INSTRUMENTATION_MODE", "")), file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def script(tmp_path):
    def write(output):
        path = tmp_path / "script.py"
        path.write_text(SCRIPT.format(output=output.format(file=path)))
        return path

    return write


def test_checks_that_fail_are_reported_by_line(script, capfd):
    path = script(OUTPUT)
    assert sanitize.main(["-t", "consan", str(path), "1"]) == sanitize.FOUND
    shown = capfd.readouterr().out
    report = sanitize.run("consan", str(path), ["1"])
    assert [(entry.line, entry.blocks, entry.threads) for entry in report.violations] == [(2, 2, 3), (1, 1, 1)]
    assert report.output == "warming up\nRuntimeError: device-side assert triggered"
    assert "outstanding writes" in shown
    assert "print(" in shown, "the source line"
    assert "in 3 threads of 2 CTAs" in shown


@pytest.mark.parametrize(("status", "text"), [(0, "no check failed"), (5, "ended with status 5")])
def test_other_ends(script, capfd, status, text):
    path = script("mode MODE")
    assert sanitize.main(["-t", "iisan", "-t", "fpsan", str(path), str(status)]) == bool(status)
    shown = capfd.readouterr().out
    assert shown.count(text) == 2
    assert ("mode fpsan" in shown) == bool(status)


def test_a_script_that_hangs(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import time; time.sleep(60)")
    with pytest.raises(UserError, match="did not end under consan"):
        sanitize.run("consan", str(path), timeout=0.5)


def test_what_does_not_exist():
    with pytest.raises(UserError, match="the sanitizer is unknown"):
        sanitize.run("tsan", __file__)
    with pytest.raises(UserError, match="there is no such script"):
        sanitize.run("consan", "missing.py")
