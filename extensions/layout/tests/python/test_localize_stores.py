"""What `layout-localize-stores` does to machine code, against stock in the same process."""

from __future__ import annotations

import pathlib
import re

import pytest

import tritonext
from tritonext import remarks
from tritonext.inspect_code import regressions, stats
from tritonext.testing import kernels, run_python

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gemm.py"

# CTA barriers after the last wgmma wait in stock code, by (columns of the tile, warps, output).
HOPPER_GEMM = {
    (128, 4, "fp16"): 8,
    (128, 4, "fp32_out"): 4,
    (128, 8, "fp16"): 2,
    (128, 8, "fp32_out"): 2,
    (256, 4, "fp16"): 8,
    (256, 4, "fp32_out"): 4,
    (256, 8, "fp16"): 4,
    (256, 8, "fp32_out"): 2,
}
EPILOGUES = (
    "gemm_fp16",
    "gemm_silu",
    "gemm_residual",
    "gemm_row_max",
    "gemm_masked",
    "gemm_gather",
    "attention_forward",
)


PASSES = "layout:guard=false:min-barriers=1"
"""Whatever they make of a kernel, for however little."""


def compile_both(name: str, target: str, **overrides):
    """Return the stock kernel, the kernel with the extension, and the remarks about the latter."""
    stock = kernels.compile(name, target, **overrides)
    with tritonext.use(PASSES), remarks.collect() as found:
        ours = kernels.compile(name, target, **overrides)
    return stock, ours, [remark for remark in found if remark.pass_name == "layout-localize-stores"]


def numbers(message: str, what: str) -> tuple[int, int]:
    """Return what a remark says that ``what`` was and is."""
    [(before, after)] = re.findall(rf"{what} (\d+) -> (\d+)", message)
    return int(before), int(after)


@pytest.mark.parametrize(("case", "barriers"), HOPPER_GEMM.items(), ids=lambda value: str(value))
def test_hopper_gemm_keeps_the_barrier_of_the_operand_ring_alone(case, barriers):
    columns, warps, output = case
    stock, ours, found = compile_both(f"gemm_{output}", "cuda:90", BN=columns, num_warps=warps)
    before, after = stats(stock), stats(ours)
    assert before.epilogue_barriers == barriers
    assert after.epilogue_barriers <= 1
    assert regressions(before, after) == []
    assert after.global_stores == before.global_stores
    assert set(after.global_stores) == {128}
    [remark] = found
    assert remark.kind == "applied"
    # The barrier in front of the exchange is not the exchange's own.
    assert numbers(remark.message, "barriers") == (barriers - 1, 0)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"])
@pytest.mark.parametrize("name", EPILOGUES)
def test_no_epilogue_gets_worse_on_any_target(name, target):
    if target not in kernels.get(name).targets:
        pytest.skip(f"the kernel {name} is not meant for {target}")
    stock = kernels.compile(name, target)
    with tritonext.use(PASSES), remarks.collect() as found:
        ours = kernels.compile(name, target)
    before, after = stats(stock), stats(ours)
    # A row vector that is stored from the layout of a matrix is stored in narrower pieces, without an exchange.
    assert [text for text in regressions(before, after) if "mean store width" not in text] == []
    assert after.global_stores.get(128, 0) >= before.global_stores.get(128, 0)
    # The guard may have kept stock's kernel, whatever the passes did.
    is_ours = getattr(ours.metadata, "tritonext_guard", {"kept": "with"})["kept"] == "with"
    applied = {remark.pass_name for remark in found if is_ours and remark.kind == "applied"}
    assert bool(applied) == (ours.asm["ttgir"] != stock.asm["ttgir"])
    if "layout-localize-stores" in applied:
        assert after.barriers < before.barriers


def test_residual_comes_without_a_barrier_between_warps():
    stock, ours, found = compile_both("gemm_residual", "cuda:90")
    assert [remark.kind for remark in found] == ["applied", "applied"]
    assert stats(ours).barriers == stats(stock).barriers - 2
    with tritonext.use(PASSES + ":loads=false"):
        stores_only = kernels.compile("gemm_residual", "cuda:90")
    assert stats(stores_only).barriers == stats(stock).barriers - 1


def test_reason_for_leaving_a_store_alone_names_the_users_line():
    stock, ours, found = compile_both("gemm_fp16", "cuda:80")
    [remark] = found
    assert (remark.kind, remark.message) == (
        "missed",
        "a CTA would touch 1024 memory lines in 2048 sectors, now it touches 256 in 1024",
    )
    assert remark.file.endswith("kernels.py")
    assert remark.line > 0
    assert ours.asm["ttgir"] == stock.asm["ttgir"]


def test_cluster_keeps_elements_in_their_cta():
    stock, ours, found = compile_both("gemm_residual", "cuda:90", num_ctas=2)
    assert [remark.kind for remark in found] == ["applied", "applied"]
    # Stock exchanges through the shared memory of the other CTA, between barriers of the cluster.
    assert "mapa" in stock.asm["ptx"]
    assert "mapa" not in ours.asm["ptx"]
    barriers = [kernel.asm["ptx"].count("barrier.cluster.wait") for kernel in (stock, ours)]
    assert barriers[1] < barriers[0]


@pytest.mark.parametrize("option", ["min-vector-bits=256", "min-vector-bits=129"])
def test_option_reaches_the_pass(option):
    stock = kernels.compile("gemm_fp16", "cuda:90")
    with tritonext.use(f"layout:{option}"):
        ours = kernels.compile("gemm_fp16", "cuda:90")
    assert ours.asm["ttgir"] == stock.asm["ttgir"]


def test_pass_does_nothing_the_second_time(tmp_path):
    with tritonext.use("layout:guard=false"):
        once = kernels.compile("gemm_residual", "cuda:90")
    path = tmp_path / "once.mlir"
    path.write_text(once.asm["ttgir"])
    command = ["-m", "tritonext.opt", "--load", "layout", str(path)]
    as_is, again = run_python(*command), run_python(*command, "--pass", "layout-localize-stores")
    assert as_is.returncode == again.returncode == 0, again
    assert again.stdout == as_is.stdout


def test_example_shows_both_compilations():
    done = run_python(str(EXAMPLE), "--out", "fp32")
    assert done.returncode == 0, done
    assert re.search(r"^epilogue barriers +4 +1$", done.stdout, re.MULTILINE), done
