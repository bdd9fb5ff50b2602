"""What every run of the tests is given."""

from __future__ import annotations

import os
import pathlib

import triton


def test_kernels_of_other_runs_are_not_found():
    assert pathlib.Path(os.environ["TRITON_CACHE_DIR"]) != pathlib.Path.home() / ".triton" / "cache"
    assert triton.knobs.cache.dir == os.environ["TRITON_CACHE_DIR"]
