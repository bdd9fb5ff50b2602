"""A Triton cache of the session's own, which the tests of this directory share."""

from __future__ import annotations

import os

import pytest

# Left open, triton 3.9 warns about the default of the next release.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")


@pytest.fixture(scope="session")
def cache_directory(tmp_path_factory):
    return tmp_path_factory.mktemp("triton-cache")


@pytest.fixture(autouse=True)
def _cache(cache_directory, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(cache_directory))
