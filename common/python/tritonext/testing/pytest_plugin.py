"""A pytest plugin: skips ``gpu`` tests where there is no GPU, and makes one test of every file of a lit suite.

Put ``pytest_plugins = ["tritonext.testing.pytest_plugin"]`` into the root ``conftest.py``. All selected tests of a
suite run in one call of lit, when the first of them is due.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from tritonext.testing import gpu_missing

__all__ = ["LitFile", "LitTest", "pytest_collect_file", "pytest_configure", "pytest_runtest_setup"]

_SUFFIXES = (".mlir", ".py")
_PASSING = ("PASS", "XFAIL", "FLAKYPASS")

_gpu_missing = functools.cache(gpu_missing)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU and torch; skipped elsewhere")
    config.addinivalue_line("markers", "xdist_group(name): tests that pytest-xdist gives to one process")
    config.stash[_RESULTS] = {}
    # NumPy reads it when it is imported. Where processes share cores, a product of matrices takes several times as long
    # on all cores as on one.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := _gpu_missing()):
        pytest.skip(reason)


def pytest_collect_file(file_path: pathlib.Path, parent: pytest.Collector) -> LitFile | None:
    suite = _suite(file_path, parent.config.rootpath)
    if suite is None or file_path.suffix not in _SUFFIXES or file_path.name == "lit.cfg.py":
        return None
    return LitFile.from_parent(parent, path=file_path, suite=suite)


class LitFile(pytest.File):
    """A file of a lit suite.

    Args:
        suite: Directory of the suite's ``lit.cfg.py``.
    """

    def __init__(self, *, suite: pathlib.Path, **keywords: object) -> None:
        super().__init__(**keywords)
        self.suite = suite

    def collect(self) -> Iterator[pytest.Item]:
        yield LitTest.from_parent(self, name="lit", suite=self.suite)


class LitTest(pytest.Item):
    """The test that a file of a lit suite is."""

    def __init__(self, *, suite: pathlib.Path, **keywords: object) -> None:
        super().__init__(**keywords)
        self.suite = suite
        # One process has to have the whole suite, or each would start lit.
        self.add_marker(pytest.mark.xdist_group(str(suite)))

    def runtest(self) -> None:
        result = self._results()[self.path]
        if result["code"] == "UNSUPPORTED":
            pytest.skip("lit: the extension is not installed, or a REQUIRES line is not met")
        if result["code"] not in _PASSING:
            raise LitFailure(f"{result['code']}\n{result['output']}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None) -> object:
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[pathlib.Path, int, str]:
        return self.path, 0, f"lit: {self.path.relative_to(self.suite)}"

    def _results(self) -> dict[pathlib.Path, dict]:
        """Return lit's results for this suite by file, running all its selected tests on the first call."""
        known = self.config.stash[_RESULTS]
        if self.suite not in known:
            selected = [
                item.path for item in self.session.items if isinstance(item, LitTest) and item.suite == self.suite
            ]
            known[self.suite] = _run_lit(self.suite, selected)
        return known[self.suite]


class LitFailure(Exception):
    """A lit test failed; the text is lit's report."""


_RESULTS = pytest.StashKey[dict[pathlib.Path, dict[pathlib.Path, dict]]]()


def _suite(path: pathlib.Path, root: pathlib.Path) -> pathlib.Path | None:
    """Return the nearest directory above ``path``, within ``root``, that has a ``lit.cfg.py``."""
    for directory in path.parents:
        if (directory / "lit.cfg.py").is_file():
            return directory
        if directory == root:
            return None
    return None


def _run_lit(suite: pathlib.Path, files: list[pathlib.Path]) -> dict[pathlib.Path, dict]:
    """Run lit on files of one suite and return its record of each."""
    with tempfile.TemporaryDirectory(prefix="tritonext-lit-") as directory:
        report = pathlib.Path(directory) / "report.json"
        command = [sys.executable, "-c", "from lit.main import main; main()", "-v", "--quiet", f"--output={report}"]
        command += [f"--param=exec_root={directory}/out", *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not report.is_file():
            raise LitFailure(f"lit did not run on {suite}\n{done.stdout}\n{done.stderr}")
        records = json.loads(report.read_text())["tests"]
    # A record is named "suite :: path below the suite's directory".
    return {suite / record["name"].partition(" :: ")[2]: record for record in records}
