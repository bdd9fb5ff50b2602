"""The table of README.md is what the example prints."""

from __future__ import annotations

import pathlib

from tritonext.testing import run_python

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_readme_has_the_table_of_the_example():
    done = run_python(ROOT / "examples" / "compare.py")
    assert done.returncode == 0, done
    assert done.stdout in (ROOT / "README.md").read_text(), f"README.md is to have this table:\n{done.stdout}"
