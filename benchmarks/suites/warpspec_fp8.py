"""Products of 8-bit floats from plain source, without scales and with one for each block, and `torch._scaled_mm`."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton

from harness import Environment, Record, Timer

from ._warpspec import Config, Problem, corpus, measured, prepare, problems
from .warpspec_gemm import configs, grid

__all__ = ["problems", "run"]

SUITE = "warpspec-fp8"

SHAPES = ((4096, 4096, 4096), (8192, 8192, 4096))
# The tensor cores keep 14 bits of fraction of a sum of 8-bit floats, and the result is bfloat16.
TOLERANCE = 1e-2


def operands(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    a, b = (torch.randn(size, device="cuda").to(torch.float8_e4m3fn) for size in ((m, k), (n, k)))
    return a, b, torch.empty((m, n), device="cuda", dtype=torch.bfloat16)


def plain(m: int, n: int, k: int) -> Problem:
    """Return the candidates of a product without scales."""
    a, b, out = operands(m, n, k)
    one = torch.ones((), device="cuda")

    def library() -> object:
        return torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)

    return Problem(
        arguments={"a": a, "b": b, "c": out, "x": out, "y": out, "M": m, "N": n, "K": k},
        outputs=[out],
        references=[a.double() @ b.double().T],
        grid=grid(m, n),
        configs=configs(TRANSPOSED=True),
        libraries={"scaled_mm": library},
    )


def scaled(m: int, n: int, k: int) -> Problem:
    """Return the candidates of a product with a scale for 128 elements of each row of A, and 128 x 128 of B."""
    a, b, out = operands(m, n, k)
    a_scales, b_scales = (torch.rand((size, k // 128), device="cuda") + 0.5 for size in (m, n // 128))
    left = a.double() * a_scales.double().repeat_interleave(128, 1)
    right = b.double() * b_scales.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    fn = corpus().gemm.gemm_scaled
    tiles = ((128, 4, 3), (128, 8, 3), (128, 8, 4), (64, 4, 4))
    return Problem(
        arguments={"a": a, "b": b, "c": out, "a_scales": a_scales, "b_scales": b_scales, "M": m, "N": n, "K": k},
        outputs=[out],
        references=[left @ right.T],
        grid=lambda config: (triton.cdiv(m, config.constants["BM"]) * triton.cdiv(n, 128),),
        configs=[Config(fn, {"BM": bm, "BN": 128, "BK": 128}, warps, stages) for bm, warps, stages in tiles],
    )


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    prepare()
    for kind, make in (("plain", plain), ("blocks", scaled)):
        for m, n, k in SHAPES:
            name = f"{kind}-{m}x{n}x{k}"
            if wanted in name:
                params = {"M": m, "N": n, "K": k, "input": "float8_e4m3fn", "scales": kind}
                limits = (TOLERANCE, environment, timer, seconds)
                yield measured(SUITE, name, make(m, n, k), params, 2 * m * n * k, *limits)
                torch.cuda.empty_cache()
