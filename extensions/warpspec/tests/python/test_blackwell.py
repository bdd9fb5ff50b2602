"""On sm_100 the stock pass specializes: as it would without the extension, and without its failures."""

from __future__ import annotations

import pathlib
import re

import pytest
from kernels import KERNELS

import tritonext
from tritonext import remarks

PAGE = pathlib.Path(__file__).parents[4] / "docs" / "warpspec-stock.md"
# What stock alone makes of the kernels.
STOCK = dict(re.findall(r"^\| `(\w+)` \|[^|]*\|[^|]*\|([^|]*)\|", PAGE.read_text(), re.MULTILINE))
# One of each kind: the others differ for sm_90 alone.
NAMES = list({case.row: name for name, case in KERNELS.items()}.values())
FAILING = {
    # One of the two annotations is left.
    "persistent_both": True,
    # Nothing is.
    "persistent_clamped": False,
    "grouped_outer": True,
    "attention_keys_gradient_128": False,
    "attention_backward_atomic": False,
}


def made(name: str) -> tuple[str, list[remarks.Remark], str]:
    with tritonext.use("warpspec"), remarks.collect() as found:
        kernel = KERNELS[name].specialization().compile("cuda:100")
    is_specialized = "ttg.warp_specialize" in kernel.asm["ttgir"]
    outcome = f"{kernel.metadata.num_warps} warps" if is_specialized else "ignored"
    return outcome, [remark for remark in found if remark.pass_name == "warpspec-specialize-loops"], kernel.asm["ptx"]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FAILING])
def test_kernel_is_what_stock_makes_of_it(name):
    assert made(name)[0] == STOCK[name].strip()


@pytest.mark.parametrize("name", FAILING)
def test_kernel_on_which_stock_fails_compiles(name):
    assert re.match("fails|empty", STOCK[name].strip())
    outcome, found, ptx = made(name)
    assert (outcome != "ignored") == FAILING[name]
    assert {remark.kind for remark in found} == {"missed"}
    assert "tcgen05.mma" in ptx
