"""The concurrency sanitizer of stock Triton takes TLX kernels: their buffers, copies and barriers are stock ops."""

import importlib.util
import pathlib

import pytest

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SIGNATURES = {
    "gemm_pipelined": "a=*fp16:16, b=*fp16:16, c=*fp16:16, M=i32:16, N=i32:16, K=i32:16",
    "gemm_tasks": ", ".join(f"{name}=tensordesc<fp16[64, 64]>" for name in "abc") + ", M=i32, N=i32, K=i32",
}
# Small: the sanitizer's code grows with the number of buffers and barriers.
TILES = {"BM": 64, "BN": 64, "BK": 64, "STAGES": 2}


@pytest.mark.parametrize("name", SIGNATURES)
def test_instrumented_example_compiles(compiled, name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tile = {**module.TILE, **TILES} | ({"GROUPS": 1} if "GROUPS" in module.TILE else {})
    signature = SIGNATURES[name]
    options = {"num_warps": 4}
    plain = compiled(module.gemm, signature, "cuda:90", options, **tile)
    checked = compiled(module.gemm, signature, "cuda:90", {**options, "instrumentation_mode": "consan"}, **tile)
    assert "__assertfail" not in plain.asm["ptx"]
    # What it finds, it says by an assertion; its state is in global memory.
    assert "__assertfail" in checked.asm["ptx"]
    assert checked.metadata.profile_scratch_size > plain.metadata.profile_scratch_size
    assert checked.asm["cubin"]
