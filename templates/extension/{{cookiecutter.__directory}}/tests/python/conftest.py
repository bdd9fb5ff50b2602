"""Fixtures of the tests that compile kernels with and without the extension."""

from __future__ import annotations

import importlib.util

import pytest

from tritonext.testing.fixtures import empty_cache

__all__ = ["empty_cache"]


@pytest.fixture(scope="session", autouse=True)
def extension_installed():
    if importlib.util.find_spec("tritonext_{{cookiecutter.id}}") is None:
        pytest.skip("the extension {{cookiecutter.id}} is not installed")
