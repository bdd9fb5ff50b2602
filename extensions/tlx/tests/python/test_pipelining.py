"""The ring of buffers that keeps slots, parities, barriers and bytes: code, errors, simulation."""

import importlib.util
import pathlib
import re

import pytest
import triton
import triton.language as tl

np = pytest.importorskip("numpy")
tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

from tritonext.inspect_code import stats  # noqa: E402
from tritonext_tlx.simulator import Deadlock, Descriptor, Race, simulate  # noqa: E402

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "gemm_pipeline.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("gemm_pipeline", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_code_is_that_of_barriers_by_hand(example):
    result = example.compile_for()
    producer, *consumers = re.split(r"setmaxnreg\.\w+\.sync\.aligned\.u32 \t?232;", result.asm["ptx"])
    assert len(consumers) == 2
    assert producer.count("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier") == 2
    # One announcement for both copies: (128 x 64 + 64 x 256) elements of 2 bytes.
    assert re.findall(r"mbarrier\.arrive\.expect_tx\S* _, \[[^]]+\], (\d+);", producer) == ["49152"]
    for consumer in consumers:
        assert consumer.count("mbarrier.try_wait") == 1
        assert len(re.findall(r"mbarrier\.arrive\.shared", consumer)) == 2
        assert re.search(r"wgmma\.wait_group\.sync\.aligned \t?1;", consumer)
    assert stats(result).spills == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_gemm(example, seed):
    rng = np.random.default_rng(seed)
    m, n, k = 136, 72, 72
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    tile = {"BM": 128, "BN": 64, "BK": 32, "STAGES": 2, "GROUPS": 2, "GROUP_M": 8}
    described = Descriptor(a, [128, 32]), Descriptor(b, [32, 64]), Descriptor(c, [64, 64])
    simulate(example.gemm, (3,), *described, m, n, k, **tile, seed=seed)
    reference = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.astype(np.float64), reference, rtol=1e-3, atol=1e-3)


@triton.jit
def hand_over(ring, desc, out, n, RELEASE: tl.constexpr, EARLY: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(n):
                stage = ring.acquire(i)
                tlx.async_descriptor_load(desc, stage[0], [i * 64, 0], stage.full)
        with tlx.async_task(num_warps=4):
            o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            for i in range(n):
                stage = ring.wait(i)
                if EARLY:
                    ring.release(i)
                tl.store(out + i * 4096 + o, tlx.local_load(stage[0]))
                if RELEASE:
                    ring.release(i)


@triton.jit
def copy(desc, out, n, RELEASE: tl.constexpr = True, EARLY: tl.constexpr = False):
    # A single buffer, and a function that takes the ring.
    ring = tlx.alloc_pipeline(tlx.local_alloc((64, 64), tl.float16, 2))
    hand_over(ring, desc, out, n, RELEASE, EARLY)


def _copy(**constants):
    x = np.random.default_rng(0).standard_normal((5 * 64, 64)).astype(np.float16)
    y = np.full_like(x, np.nan)
    simulate(copy, (1,), Descriptor(x, [64, 64]), y, 5, **constants)
    return x, y


def test_a_ring_is_an_argument(compiled):
    ptx = compiled(copy, "desc=tensordesc<fp16[64, 64]>, out=*fp16:16, n=i32", RELEASE=True, EARLY=False).asm["ptx"]
    assert ptx.count("mbarrier.try_wait") == 2
    np.testing.assert_array_equal(*_copy())


def test_a_stage_that_is_not_released_is_a_deadlock():
    with pytest.raises(Deadlock, match=r"ring\.empty\[0\]"):
        _copy(RELEASE=False)


def test_a_stage_that_is_released_too_early_is_a_race():
    with pytest.raises(Race):
        _copy(RELEASE=False, EARLY=True, seed=1)


@triton.jit
def refuses(x, HOW: tl.constexpr):
    buffer = tlx.local_alloc((64, 64), tl.float16, 2)
    other = tlx.local_alloc((64, 64), tl.float16, 3)
    if HOW == 0:
        tlx.alloc_pipeline((buffer, other))
    if HOW == 1:
        tlx.alloc_pipeline(buffer[0])
    if HOW == 2:
        tlx.alloc_pipeline(buffer, consumers=0)
    if HOW == 3:
        tlx.alloc_pipeline(())
    ring = tlx.alloc_pipeline(buffer)
    if HOW == 4:
        ring.wait(-1)
    if HOW == 5:
        ring.release(tl.load(x + tl.arange(0, 2)))
    if HOW == 6:
        ring.wait(0)[1]
    if HOW == 7:
        tlx.alloc_pipeline((buffer, x))


MESSAGES = (
    "the buffers have different numbers of slots",
    "the buffer is one slot already",
    "tlx.alloc_pipeline, argument consumers",
    "the ring has no buffer\n  where: tlx.alloc_pipeline, argument buffers",
    "async_pipeline.wait, argument step",
    "async_pipeline.release, argument step",
    "async_pipeline, argument index",
    "an argument is not a buffer",
)


@pytest.mark.parametrize("how", range(len(MESSAGES)))
def test_errors_name_the_argument(refused, how):
    assert MESSAGES[how] in refused(refuses, "x=*i32:16", HOW=how)


def test_a_target_without_barriers_is_refused(refused):
    assert "the target lacks this operation" in refused(refuses, "x=*i32:16", "cuda:80", HOW=0)
