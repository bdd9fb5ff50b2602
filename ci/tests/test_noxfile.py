"""The noxfile names what it needs before anything fails for the lack of it."""

from __future__ import annotations

import pathlib
import subprocess
import sys

NOXFILE = pathlib.Path(__file__).parents[2] / "noxfile.py"

OLD_PYTHON = """
import runpy, sys, types
sys.modules["nox"] = types.ModuleType("nox")
sys.version_info = (3, 10, 13, "final", 0)
runpy.run_path(sys.argv[1])
"""


def test_an_old_python_is_refused_with_a_remedy():
    done = subprocess.run(
        [sys.executable, "-c", OLD_PYTHON, NOXFILE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"expected Python 3.11 or later, got 3.10.13 ({sys.executable})\n"
        "  hint: make the environment anew with such a Python: python3.11 -m venv --clear .venv\n"
    )
