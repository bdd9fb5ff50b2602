"""Counts the tests of each kind that ran, and fails a full run in which a kind fell below its stated number.

``pytest --check-counts`` compares with ci/expected_tests.toml, so a suite that silently selects nothing is a failure.
"""

from __future__ import annotations

import collections
import os
import pathlib
import tempfile
import tomllib

import pytest

pytest_plugins = ["tritonext.testing.pytest_plugin"]

EXPECTED = pathlib.Path(__file__).parent / "ci" / "expected_tests.toml"

# First match wins; paths are relative to the root.
KINDS = {
    "tests/conformance": "conformance",
    "tests/coexistence": "coexistence",
    "tests/packaging": "packaging",
    "tests/lit": "lit",
    "tests/gpu": "gpu",
    "tests/python": "codegen",
}


def kind_of(nodeid: str) -> str:
    """Return the kind of a test, of those that CONTRIBUTING.md lists."""
    path = nodeid.partition("::")[0]
    return next((kind for part, kind in KINDS.items() if part in path), "unit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--check-counts",
        action="store_true",
        help="fail when fewer tests of a kind passed than ci/expected_tests.toml says",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together what shares fixtures when xdist spreads the tests: files of extensions, directories of all else.

    A file of a lit suite has its group from the plugin. Packaging, the longest group, comes first, so that no process
    waits for it at the end.
    """
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            path, _, _ = item.location
            whole = path if path.startswith("extensions") else str(pathlib.Path(path).parent)
            item.add_marker(pytest.mark.xdist_group(whole))
    items.sort(key=lambda item: kind_of(item.nodeid) != "packaging")


class Counter:
    """Counts passed tests by kind and checks the totals at the end of the session."""

    def __init__(self) -> None:
        self.passed: collections.Counter[str] = collections.Counter()
        self.short: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed[kind_of(report.nodeid)] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        for kind, minimum in tomllib.loads(EXPECTED.read_text())["minimum"].items():
            if self.passed[kind] < minimum:
                self.short.append(f"{kind}: expected at least {minimum} passed tests, got {self.passed[kind]}")
        if self.short and session.exitstatus == 0:
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter) -> None:
        counts = ", ".join(f"{kind} {number}" for kind, number in sorted(self.passed.items()))
        terminalreporter.write_line(f"passed by kind: {counts}")
        for line in self.short:
            terminalreporter.write_line(f"ERROR {line}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--check-counts"):
        config.pluginmanager.register(Counter(), "tritonext-counts")
    # Processes of pytest-xdist have the environment of the one that starts them.
    if "TRITON_CACHE_DIR" not in os.environ:
        _use_fresh_cache(config)


def _use_fresh_cache(config: pytest.Config) -> None:
    """Give the run a cache of kernels of its own.

    A kernel names its source, but is found in the cache wherever its source was: tests would compare with what another
    clone left there.
    """
    directory = tempfile.TemporaryDirectory(prefix="tritonext-kernels-")
    os.environ["TRITON_CACHE_DIR"] = directory.name
    config.add_cleanup(directory.cleanup)
    config.add_cleanup(lambda: os.environ.pop("TRITON_CACHE_DIR", None))
