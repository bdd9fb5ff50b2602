"""The tutorial: what it says to run is run, and its kernels compile for a GPU."""

import pathlib
import re

import pytest

pytest.importorskip("numpy")
pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext.testing import run_python

TUTORIAL = pathlib.Path(__file__).parents[4] / "docs" / "tlx-tutorial.md"

TILES = "a=tensordesc<fp16[64, 64]>, b=tensordesc<fp16[64, 64]>, out=*fp16:16, K=i32"
KERNELS = {
    "add": ("x=*fp32:16, y=*fp32:16, out=*fp32:16, n=i32:16", {"BLOCK": 128}),
    "row_sums": ("x=*fp32:16, out=*fp32:16, steps=i32", {"STAGES": 3, "BLOCK": 512}),
    "transpose": ("source=tensordesc<fp16[64, 64]>, out=*fp16:16", {"TILE": 64}),
    "matmul_tile": (TILES, {"BM": 64, "BN": 64, "BK": 64, "STAGES": 3}),
    "matmul_tasks": (TILES, {"BM": 64, "BN": 64, "BK": 64, "STAGES": 3}),
    "matmul_ring": (TILES, {"BM": 64, "BN": 64, "BK": 64, "STAGES": 3}),
    "matmul": (
        "a=tensordesc<fp16[128, 64]>, b=tensordesc<fp16[64, 256]>, c=tensordesc<fp16[64, 256]>, M=i32, N=i32, K=i32",
        {"BM": 128, "BN": 256, "BK": 64, "STAGES": 3},
    ),
}


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    blocks = re.findall(r"^```python\n(.*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    path = tmp_path_factory.mktemp("tutorial") / "tutorial.py"
    path.write_text("\n".join(blocks))
    return path


def test_it_runs(script):
    done = run_python(script)
    assert done.returncode == 0, done.stderr
    # Of the kernel that reads too early.
    assert re.search(r"where: tutorial\.py:\d+", done.stdout)


def test_its_kernels_compile(script):
    code = f"""
import importlib.util, sys
from tritonext.offline import Specialization, parse_signature
spec = importlib.util.spec_from_file_location("tutorial", {str(script)!r})
tutorial = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tutorial)
for name, (signature, constants) in {KERNELS!r}.items():
    kernel = Specialization(getattr(tutorial, name), parse_signature(signature), constants, {{"num_warps": 4}})
    kernel.compile("cuda:90")
    print("compiled", name)
"""
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^compiled (\w+)$", done.stdout, re.MULTILINE) == list(KERNELS)
