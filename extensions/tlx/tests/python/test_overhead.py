"""What TLX compiles to is what stock Triton makes of the same TritonGPU IR, where that holds stock ops only."""

import importlib
import pathlib

import pytest

pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext.testing import run_python

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
# Stock Triton refuses IR with ops that it does not know.
STOCK = """
import pathlib, sys
import triton
from triton.backends.compiler import GPUTarget

kernel = triton.compile(sys.argv[1], target=GPUTarget("cuda", 90, 32))
assert not [name for name in sys.modules if name.startswith("tritonext")]
pathlib.Path(sys.argv[2]).write_text(kernel.asm["sass"])
"""


def instructions(sass):
    """Return the instructions without the lines of the source they come from."""
    return [line for line in sass.splitlines() if line.endswith((";", ":"))]


@pytest.mark.parametrize(
    "kernel",
    [
        "gemm_tasks.compile_for",
        "hopper_gemm.compile_for",
        "hopper_gemm_grouped.compile_for",
        "attention.compile_forward",
    ],
)
def test_machine_code_is_that_of_stock_triton(kernel, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    name, _, function = kernel.partition(".")
    ours = getattr(importlib.import_module(name), function)()
    source, found = tmp_path / "kernel.ttgir", tmp_path / "kernel.sass"
    source.write_text(ours.asm["ttgir"])
    # What this process compiled is not to be found there.
    done = run_python("-c", STOCK, source, found, environment={"TRITON_CACHE_DIR": str(tmp_path / "stock")})
    assert done.returncode == 0, done.stderr
    expected = instructions(found.read_text())
    assert sum("HGMMA" in line for line in expected) >= 4
    assert instructions(ours.asm["sass"]) == expected
