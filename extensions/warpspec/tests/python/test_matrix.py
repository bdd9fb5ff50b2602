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


COMPILE = """
import hashlib, sys
import tritonext
from kernels import KERNELS
for name in sys.argv[1:]:
    with tritonext.use("warpspec"):
        kernel = KERNELS[name].specialization().compile("cuda:90")
    print(name, hashlib.sha256(kernel.asm["cubin"]).hexdigest())
"""


def test_every_process_compiles_to_the_same_bytes(tmp_path):
    # Of each way to share work: in turns, by rows, with copies by threads, in a chain, and with registers of factors.
    names = (
        "persistent_flat",
        "persistent_outer",
        "persistent_mixed",
        "attention_causal_2_loops",
        "gemm_relu_prologue",
    )
    found = []
    for number in (1, 2):
        environment = {"PYTHONHASHSEED": str(number), "TRITON_CACHE_DIR": str(tmp_path / str(number))}
        done = run_python("-c", COMPILE, *names, path=(__file__.rpartition("/python/")[0],), environment=environment)
        assert done.returncode == 0, done
        found.append(re.findall(r"^(\w+) (\w{64})$", done.stdout, re.MULTILINE))
    assert [name for name, _ in found[0]] == list(names)
    assert found[0] == found[1]


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
