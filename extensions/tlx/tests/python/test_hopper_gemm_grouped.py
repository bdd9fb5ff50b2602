"""The grouped Hopper GEMM: its machine code, and its numbers in the simulator."""

import importlib
import itertools
import pathlib
import re

import pytest

from tritonext.inspect_code import stats
from tritonext.testing import run_python

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
np = pytest.importorskip("numpy")

from tritonext_tlx.simulator import Descriptor  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("hopper_gemm_grouped")


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_products_overlap_and_nothing_spills(example, dtype):
    kernel = example.compile_for(dtype=dtype)
    code, sass = stats(kernel), kernel.asm["sass"]
    assert code.spills == 0
    assert kernel.metadata.shared <= 232448
    assert sorted(re.findall(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\d)", sass)) == ["0", "0", "1", "1"]
    # One descriptor for each consumer, which the copy engine is told of after each change.
    assert kernel.asm["ptx"].count("fence.proxy.tensormap::generic.acquire.gpu") == 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("programs", [1, 3])
@pytest.mark.parametrize("sizes", [[64, 128], [100, 0, 7, 200, 64], [0, 0, 3], [0]], ids=str)
def test_simulated(example, sizes, programs, seed):
    config = example.Config(64, 32, 32, STAGES=3, SUBTILE=2, STAGING=1, PINGPONG=True)
    k, n, total = 64, 72, max(sum(sizes), 1)
    generator = np.random.default_rng(seed)
    a = generator.standard_normal((total, k)).astype(np.float16)
    b = generator.standard_normal((len(sizes), k, n)).astype(np.float16)
    c = np.full((total, n), np.nan, np.float16)
    offsets = np.cumsum([0, *sizes]).astype(np.int32)
    blocks = config.blocks(False)
    described = Descriptor(a, blocks["a"]), Descriptor(b.reshape(-1, n), blocks["b"])
    constants = example.constants_of(config, example.plain)
    tlx.simulate(
        example.grouped_gemm, (programs,), *described, c, offsets, n, k, len(sizes), seed=seed, num_warps=4, **constants
    )
    for group, (start, end) in enumerate(itertools.pairwise(offsets)):
        product = a[start:end].astype(np.float64) @ b[group].astype(np.float64)
        np.testing.assert_allclose(c[start:end].astype(np.float64), product, rtol=1e-3, atol=2e-2)


def test_the_script_runs_without_a_gpu():
    done = run_python(EXAMPLES / "hopper_gemm_grouped.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("spilled registers 0, ")
