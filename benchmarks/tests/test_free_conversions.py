"""What the suite `layout-kernels` calls ``free`` does without exchanges, and nothing else."""

from __future__ import annotations

import pytest

import tritonext
from suites import _free_conversions
from suites._layout_kernels import ENTRIES
from tritonext import inspect_code


@pytest.mark.parametrize(
    ("name", "freed"),
    [
        ("transpose-fp16-8192", [1, 1]),
        # One hands a thread more elements than it takes.
        ("mxfp4-weights-4096x4096x4096", [1, 2]),
    ],
)
def test_conversions_of_equally_many_elements_cost_nothing(name, freed):
    entry = ENTRIES[name]
    kernel = entry.specialization(entry.configs[0])
    stock = kernel.compile("cuda:90")
    with tritonext.use(_free_conversions.PIPELINE):
        free = kernel.compile("cuda:90")
    assert getattr(free.metadata, _free_conversions.FREED) == freed
    assert inspect_code.stats(free).barriers < inspect_code.stats(stock).barriers
    assert free.asm["ttgir"] == stock.asm["ttgir"]
