"""The conformance suite: what holds for every extension, whoever wrote it. A plugin of pytest.

    pytest --tritonext-conformance

runs it beside the tests of a repository, on the extensions whose sources are below its root directory and that are
installed. ``--tritonext-extension ID`` names others. Where a repository has no sources of extensions, all installed
ones are meant.

The tests are modules of this package: what an installed extension contains and how it is refused
(:mod:`~tritonext.testing.conformance.test_library`), its passes (``test_passes``), its sources (``test_sources``), its
wheel (``test_wheel``), and the binaries and cache entries of kernels while it is inactive (``test_kernels``).
"""

from __future__ import annotations

import os
import pathlib

import pytest

__all__ = [
    "ENVIRONMENT",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_generate_tests",
]

ENVIRONMENT = dict(os.environ)
"""That of pytest before it imported any test: an extension that sets a knob of Triton sets a variable too."""

_MODULES = ("library", "passes", "sources", "wheel", "kernels")

pytest.register_assert_rewrite(*(f"{__name__}.test_{name}" for name in _MODULES))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tritonext", "conformance of compiler extensions for Triton")
    group.addoption(
        "--tritonext-conformance",
        action="store_true",
        help="also run the conformance suite on the extensions of this repository",
    )
    group.addoption(
        "--tritonext-extension",
        action="append",
        default=[],
        metavar="ID",
        help="run the conformance suite on this installed extension instead; may be repeated",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--tritonext-conformance"):
        from . import subjects

        subjects.check(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--tritonext-conformance"):
        return
    # Not as arguments of pytest: it would read the conftest.py of every directory above them, and an environment may
    # lie in any repository.
    for name in _MODULES:
        module = pytest.Module.from_parent(session, path=pathlib.Path(__file__).with_name(f"test_{name}.py"))
        items.extend(session.genitems(module))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function.__module__.startswith(f"{__name__}."):
        from . import subjects

        subjects.parametrize(metafunc)
