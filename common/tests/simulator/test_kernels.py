"""Kernels of the corpus as Triton compiles them, against float64."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

from tritonext.offline import Specialization, parse_signature
from tritonext.testing import kernels
from tritonext.testing.simulator import load, simulate


@pytest.mark.parametrize("order", ["random", "lazy"])
def test_attention(order):
    module = load(kernels.compile("attention_forward", "cuda:90"))
    q, k, v = np.random.default_rng().standard_normal((3, 2, 256, 64)).astype(np.float16)
    out, lse = np.full_like(q, np.nan), np.full((2, 256), np.nan, np.float32)
    simulate(module, (2, 2), [q.copy(), k.copy(), v.copy(), out, lse, 256, 0.125], order=order)
    scores = np.exp(q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * 0.125)
    total = scores.sum(-1)
    np.testing.assert_allclose(out, scores @ v.astype(np.float64) / total[..., None], atol=2e-3)
    np.testing.assert_allclose(lse, np.log(total), atol=1e-5)


@pytest.mark.parametrize("order", ["random", "eager", "lazy"])
def test_persistent_gemm(order):
    module = load(kernels.compile("gemm_persistent", "cuda:90", PROGRAMS=3, SUBTILE=2))
    a, b = np.random.default_rng().standard_normal((2, 320, 320)).astype(np.float16)
    c = np.full((320, 320), np.nan, np.float16)
    report = simulate(module, (3,), {"a": a.copy(), "b": b.copy(), "c": c, "M": 320, "N": 320, "K": 320}, order=order)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=2**-11, atol=1e-3)
    assert report.operations["ttng.async_tma_copy_local_to_global"] == 18
    assert report.kernel == "gemm_persistent"


@triton.jit(noinline=True)
def squared(x, y, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tile = tl.load(x + at[:, None] * SIZE + at[None, :])
    tl.store(y + at, tl.sum(tl.dot(tile, tile), 0))


@triton.jit
def squared_twice(x, y, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tile = tl.load(x + at[:, None] * SIZE + at[None, :])
    squared(x, y, SIZE)
    tl.store(y + SIZE + at, tl.sum(tl.dot(tile, tile), 1))


def test_function_with_shared_memory():
    kernel = Specialization(squared_twice, parse_signature("x=*fp16:16, y=*fp32:16"), {"SIZE": 64})
    x, y = np.random.default_rng().standard_normal((64, 64)).astype(np.float16), np.zeros((2, 64), np.float32)
    simulate(kernel.compile("cuda:90"), (1,), [x, y], order="lazy")
    square = x.astype(np.float64) @ x.astype(np.float64)
    np.testing.assert_allclose(y, [square.sum(0), square.sum(1)], rtol=1e-4, atol=1e-3)
