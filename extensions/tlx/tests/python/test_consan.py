"""The concurrency sanitizer of stock Triton takes TLX kernels: their buffers, copies and barriers are stock ops."""

import importlib.util
import pathlib
import re

import pytest
import triton
import triton.language as tl

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


@triton.jit
def exchange(x, y):
    """Two tasks write a half each, meet at a named barrier, and read the half of the other."""
    halves = tlx.local_alloc((128,), tl.float32, 2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(halves[0], tl.load(x + tl.arange(0, 128)))
            tlx.named_barrier_wait(15, 256)
            tl.store(y + tl.arange(0, 128), tlx.local_load(halves[1]))
        with tlx.async_task(num_warps=4):
            tlx.local_store(halves[1], tl.load(x + 128 + tl.arange(0, 128)))
            tlx.named_barrier_wait(15, 256)
            tl.store(y + 128 + tl.arange(0, 128), tlx.local_load(halves[0]))


def test_named_barriers_are_ones_that_the_sanitizer_follows(compiled):
    options = {"num_warps": 4}
    plain = compiled(exchange, "x=*fp32:16, y=*fp32:16", "cuda:90", options)
    checked = compiled(exchange, "x=*fp32:16, y=*fp32:16", "cuda:90", {**options, "instrumentation_mode": "consan"})
    named = re.compile(r"bar(?:rier\.cta)?\.sync\s+15, 256")
    assert len(named.findall(plain.asm["ptx"])) == 2
    assert "mbarrier" not in plain.asm["ptx"]
    assert not named.search(checked.asm["ptx"])
    assert len(re.findall(r"mbarrier\.test_wait", checked.asm["ptx"])) == 2
