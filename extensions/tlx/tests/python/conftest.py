"""Fixtures that compile TLX kernels for any target, without a GPU."""

from __future__ import annotations

import importlib.util

import pytest

from tritonext.testing.fixtures import compiled, empty_cache, refused, refused_by_pass

__all__ = ["compiled", "empty_cache", "refused", "refused_by_pass"]


@pytest.fixture(scope="session", autouse=True)
def extension_installed():
    if importlib.util.find_spec("tritonext_tlx") is None:
        pytest.skip("the extension tlx is not installed")
