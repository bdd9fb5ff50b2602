"""Kernels that are compiled once, and their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

from tritonext.offline import Specialization, parse_signature
from tritonext.testing import kernels


@triton.jit
def descriptor_gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZE: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=SPECIALIZE):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, column]), acc)
    c_desc.store([row, column], acc.to(tl.float16))


@dataclass(frozen=True)
class Gemm:
    """A GEMM in TTGIR, and how it is launched."""

    text: str
    grid: tuple[int, ...]
    extra: tuple[Any, ...] = ()

    def arguments(self, m: int, n: int, k: int) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """Return the arguments, the result that is not computed yet, and what it is to be."""
        draw = np.random.default_rng()
        a = draw.standard_normal((m, k)).astype(np.float16)
        b = draw.standard_normal((k, n)).astype(np.float16)
        c = np.full((m, n), np.nan, np.float16)
        return [a, b, c, *self.extra, m, n, k], c, a.astype(np.float64) @ b.astype(np.float64)


def _compile(specialize: bool) -> Gemm:
    signature = parse_signature("a=*fp16:16, b=*fp16:16, c=*fp16:16, M=i32:16, N=i32:16, K=i32:16")
    constants = {"BM": 128, "BN": 128, "BK": 64, "SPECIALIZE": specialize}
    kernel = Specialization(descriptor_gemm, signature, constants, {"num_warps": 4, "num_stages": 3})
    return Gemm(kernel.compile("cuda:90").asm["ttgir"], (2, 2))


@pytest.fixture(scope="session")
def gemms() -> dict[str, Gemm]:
    """Return one GEMM of each way to move operands: bulk copies, those in a partition, and copies by threads."""
    copied = kernels.compile("gemm_fp16", "cuda:90").asm["ttgir"]
    return {
        "bulk": _compile(False),
        "partitions": _compile(True),
        "threads": Gemm(copied, (4,), (np.zeros(256, np.float16),)),
    }
