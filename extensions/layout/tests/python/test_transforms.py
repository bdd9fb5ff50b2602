"""What the passes together do to machine code, against stock in the same process."""

from __future__ import annotations

import pytest

import tritonext
from tritonext import remarks
from tritonext.inspect_code import stats
from tritonext.testing import kernels

pytestmark = pytest.mark.usefixtures("empty_cache")

# Pass that must act, by kernel and target.
ACTS = {
    ("gemm_residual", "cuda:80"): "layout-place-conversions",
    ("gemm_split_k", "cuda:80"): "layout-widen-exchanges",
    ("gemm_split_k", "cuda:90"): "layout-localize-stores",
    ("gemm_split_k", "hip:gfx942"): "layout-localize-stores",
    ("column_sum", "cuda:120"): "layout-defer-reductions",
    ("rms_norm", "hip:gfx950"): "layout-place-conversions",
}


@pytest.mark.parametrize(("name", "target"), ACTS, ids=str)
def test_barriers_fall_and_nothing_else_grows(name, target):
    stock = kernels.get(name).compile(target)
    with tritonext.use("layout:guard=false:min-barriers=1"), remarks.collect() as found:
        ours = kernels.get(name).compile(target)
    before, after = stats(stock), stats(ours)
    assert ACTS[name, target] in {remark.pass_name for remark in found if remark.kind == "applied"}
    assert after.barriers < before.barriers
    assert after.shared_bytes <= before.shared_bytes
    assert after.spills <= before.spills
    assert ours.asm["ttgir"].count("ttg.convert_layout") <= stock.asm["ttgir"].count("ttg.convert_layout")


def test_compilation_is_deterministic(tmp_path, monkeypatch):
    texts = set()
    for number in range(2):
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / str(number)))
        with tritonext.use("layout:guard=false"):
            texts.add(kernels.compile("gemm_residual", "cuda:80").asm["ttgir"])
    assert len(texts) == 1
