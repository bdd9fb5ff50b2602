"""Loads that stock leaves out of the pipeline: no exchange for their sake, no wait, and nothing else is read."""

from __future__ import annotations

import gate
import pytest
from corpus import KERNELS

import tritonext
from tritonext import remarks
from tritonext.loops import SCENARIOS, Loops
from tritonext.testing.cases import running

pytestmark = pytest.mark.usefixtures("empty_cache")

PROCESSORS = 132

# Pass that must act, by kernel.
ACTS = {
    "w4a16": "layout-pipeline-loads",
    "w4a16_flat": "layout-pipeline-loads",
    "w4a16_packed": "layout-pipeline-loads",
    "w4a16_packed_flat": "layout-pipeline-loads",
    "w4a16_by_column_flat": "layout-prefetch-loads",
    "w8a16_groups": "layout-prefetch-loads",
    "mxfp4_weights": "layout-prefetch-loads",
}


def compiled(name: str, how: str = "layout:guard=false", target: str = "cuda:90"):
    with tritonext.use(how), remarks.collect() as found:
        kernel = KERNELS[name].specialization().compile(target)
    return kernel, {remark.pass_name for remark in found if remark.kind == "applied"}


@pytest.mark.parametrize("name", ACTS)
def test_the_loop_has_no_conversion_and_computes_the_same(name):
    """The simulator refuses what reads beyond the end of an argument, as the last iteration could."""
    case = KERNELS[name]
    kernel, acted = compiled(name)
    assert ACTS[name] in acted
    assert not any(in_loop for _, in_loop in gate.conversions(kernel.asm["ttgir"]))
    assert running.simulate(case, kernel, case.shapes[0], PROCESSORS) <= 1


@pytest.mark.parametrize("name", ["w4a16", "w4a16_flat", "w4a16_packed", "w8a16_groups"])
def test_the_guard_finds_the_loop_faster_than_stock(name):
    stock = KERNELS[name].specialization().compile("cuda:90")
    ours, acted = compiled(name, "layout")
    assert ACTS[name] in acted
    assert ours.metadata.tritonext_guard["kept"] == "with"
    before, after = (Loops(kernel.asm["cubin"], 90) for kernel in (stock, ours))
    assert sum(map(after.cycles, SCENARIOS)) < 0.97 * sum(map(before.cycles, SCENARIOS))


@pytest.mark.parametrize(("name", "copied"), [("w4a16", 1), ("w4a16_flat", 2), ("w4a16_packed_flat", 1)])
def test_copies_take_the_place_of_loads(name, copied):
    """Each has one copy in the loop, and two before it."""
    stock = KERNELS[name].specialization().compile("cuda:90")
    ours, _ = compiled(name)
    counts = [kernel.asm["ttgir"].count("ttg.async_copy_global_to_local") for kernel in (stock, ours)]
    assert counts[1] == counts[0] + 3 * copied
    loop = ours.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
    assert "tt.load" not in loop


@pytest.mark.parametrize("target", ["cuda:80", "cuda:100", "cuda:120"])
@pytest.mark.parametrize("name", ["w4a16", "w4a16_flat", "w4a16_packed"])
def test_other_targets_compile_to_loops_without_conversions_too(name, target):
    """On sm_100, stock canonicalizes between scheduling a loop and pipelining it."""
    kernel, acted = compiled(name, target=target)
    assert "layout-pipeline-loads" in acted
    assert not any(in_loop for _, in_loop in gate.conversions(kernel.asm["ttgir"]))
