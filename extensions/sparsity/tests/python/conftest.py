"""Fixtures that compile kernels of the extension for any target, without a GPU."""

from __future__ import annotations

import importlib.util

import pytest

from tritonext.testing.fixtures import compiled, empty_cache, refused, refused_by_pass

__all__ = ["compiled", "empty_cache", "refused", "refused_by_pass"]


@pytest.fixture(scope="session", autouse=True)
def extension_installed():
    if importlib.util.find_spec("tritonext_sparsity") is None:
        pytest.skip("the extension sparsity is not installed")
