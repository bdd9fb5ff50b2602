"""Profiles of made-up kernels."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pytest.importorskip("tritonext_profiler")

from tritonext_profiler.assemble import assemble
from tritonext_profiler.model import HostEvent
from tritonext_profiler.testing import (
    H200,
    gemm_kernel,
    gemm_plan,
    record,
    specialized_kernel,
    specialized_team,
)


@pytest.fixture(scope="session")
def gemm_profile():
    """Two launches of a GEMM, with three marks of each warp, and what the host did."""
    kernel, recorded = gemm_kernel(), record(gemm_plan(24), seed=21, ctas=150, launches=2)
    marks = {1: ("begin", ""), 6: ("half", "float"), 7: ("row", "int")}
    regions = list(kernel.regions)
    for number, (mark, value) in marks.items():
        regions[number] = dataclasses.replace(regions[number], mark=mark, value=value)
    values = np.select([recorded.regions == 6, recorded.regions == 7], [0.5, np.arange(len(recorded.regions))], np.nan)
    made = assemble(*recorded.columns, np.isin(recorded.regions, list(marks)), values)
    made = made.profile([dataclasses.replace(kernel, regions=tuple(regions))], [H200])
    begin = int(made.launches["start"][0])
    made.host_offset = begin - 5_000
    configs = {"BLOCK: 128": 0.05, "BLOCK: 64": 0.07}
    made.events = (
        HostEvent("tune", "gemm", -2_000_000_000, -1_000_000, detail=configs),
        HostEvent("compile", "gemm", -900_000, -100_000),
        HostEvent("launch", "gemm", 0, 4_000),
    )
    return made


@pytest.fixture(scope="session")
def specialized_profile():
    """One launch of a warp-specialized GEMM."""
    made = assemble(*record([], seed=22, ctas=132, roles=specialized_team(16)).columns)
    return made.profile([specialized_kernel()], [H200])
