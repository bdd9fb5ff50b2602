"""Every kernel of the corpus compiles: specialized, or left to the stock schedule for the reason that it states."""

from __future__ import annotations

import re

import pytest
from kernels import KERNELS, SPECIALIZED

import tritonext
from tritonext import remarks
from tritonext.testing import run_python
from tritonext.testing.cases import running

TARGET = "cuda:90"


def in_flight(ptx: str) -> int:
    """Return how many groups of products the most permissive wait leaves in flight."""
    return max(map(int, re.findall(r"wgmma\.wait_group\.sync\.aligned (\d+)", ptx)))


@pytest.mark.parametrize("case", KERNELS.values(), ids=str)
def test_kernel_does_what_is_stated(case):
    # Sizes that tiles do not divide, and programs with several tiles.
    shape = case.shapes[1]
    with tritonext.use("warpspec"), remarks.collect() as found:
        kernel = case.specialization(shape).compile(TARGET)
    found = [remark for remark in found if remark.pass_name == "warpspec-specialize-loops"]
    expected = case.expected
    assert ("ttg.warp_specialize" in kernel.asm["ttgir"]) == (expected == SPECIALIZED), remarks.render(found)
    if expected == SPECIALIZED:
        assert "applied" in {remark.kind for remark in found}
        # Before an operand goes to registers, and a sum is used, all products have ended.
        awaits = any(re.search("operand is in registers|end in their iteration", remark.message) for remark in found)
        assert awaits or in_flight(kernel.asm["ptx"]) >= 1
        assert running.simulate(case, kernel, shape, processors=2) <= 1
    else:
        assert {remark.kind for remark in found} == {"missed"}
        assert any(expected in remark.message for remark in found), remarks.render(found)
        assert all(remark.file.endswith(".py") and remark.line > 0 for remark in found)


def test_references_agree_with_the_interpreter():
    """A reference that is wrong in the same way as a kernel would hide what a pass does."""
    done = run_python(
        "-m",
        "kernels.interpreter",
        "--shape",
        "2",
        path=(__file__.rpartition("/python/")[0],),
        environment={"TRITON_INTERPRET": "1"},
    )
    assert done.returncode == 0, done
    errors = dict(re.findall(r"^(\w+) \d ([\d.infa]+)$", done.stdout, re.MULTILINE))
    assert set(errors) == set(KERNELS)
    assert {name: error for name, error in errors.items() if not float(error) <= 1} == {}
