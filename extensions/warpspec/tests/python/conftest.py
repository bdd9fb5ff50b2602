"""Fixtures that compile kernels with and without the extension."""

from __future__ import annotations

import importlib.util

import pytest
import triton


@pytest.fixture(scope="session", autouse=True)
def extension_installed():
    if importlib.util.find_spec("tritonext_warpspec") is None:
        pytest.skip("the extension warpspec is not installed")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path):
    """Compile for real: a kernel from the cache runs no pass and gives no remark."""
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(tmp_path / "cache")
        yield
