"""Linear layers with a 2:4 sparse weight of 8-bit floats and scales of rows: `sparsity` against ``torch._scaled_mm``.

``scaled_mm`` multiplies the dense matrix, pruned like ours, and adds up on the tensor cores, as ours does;
``scaled_mm_tensorwise`` has one scale for each matrix, which the library multiplies faster.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch

import harness
from harness import Environment, Metric, Record, Timer

from .sparsity_linear import graphed, problems, tile, weight

__all__ = ["problems", "run"]

SUITE = "sparsity-fp8"
# Tokens, features and K.
SHAPES = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    *((tokens, 14336, 4096) for tokens in (512, 2048, 8192)),
    *((tokens, 8192, 28672) for tokens in (512, 8192)),
)
# The accumulator of a product of 8-bit floats keeps 14 bits of fraction, and the result is bfloat16.
TOLERANCE = 1e-2


def measured(shape: tuple[int, int, int], name: str, environment: Environment, timer: Timer, seconds: float) -> Record:
    """Check and time one case."""
    from tritonext_sparsity.kernels.hopper import sparse_linear_hopper

    tokens, features, depth = shape
    dense, values, meta = weight(features, depth, torch.float8_e4m3fn)
    x = torch.randn((tokens, depth), device="cuda").to(torch.float8_e4m3fn)
    scale_x, scale_w = (torch.rand(size, device="cuda") + 0.5 for size in (tokens, features))
    one = torch.ones((), device="cuda")
    out = torch.empty((tokens, features), device="cuda", dtype=torch.bfloat16)
    config = tile(x, features)
    ours = functools.partial(
        sparse_linear_hopper, values, meta, x, out, scale_w=scale_w, scale_x=scale_x, config=config
    )

    def library(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch._scaled_mm(x, dense.T, scale_a=a, scale_b=b, out_dtype=torch.bfloat16, use_fast_accum=True)

    rowwise = functools.partial(library, scale_x[:, None], scale_w[None, :])
    out.fill_(float("nan"))
    ours()
    rows = torch.randint(0, tokens, (64,), device="cuda")
    reference = (x[rows].double() @ dense.double().T) * scale_x[rows].double()[:, None] * scale_w.double()
    results = {"ours": [out[rows].clone()], "scaled_mm": [rowwise()[rows]]}
    error = harness.check(results, [reference], TOLERANCE, "float64 product of 64 random rows", torch.equal)
    candidates = {
        "ours": graphed(ours),
        "scaled_mm": graphed(rowwise),
        "scaled_mm_tensorwise": graphed(functools.partial(library, one, one)),
    }
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    params = {"tokens": tokens, "features": features, "K": depth, "config": str(config), "rounds": rounds}
    return harness.record(
        SUITE, name, params, Metric.tflops(2 * tokens * features * depth), samples, environment, error
    )


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    torch.manual_seed(0)
    for shape in SHAPES:
        name = f"rowwise-{'x'.join(map(str, shape))}"
        if wanted in name:
            yield measured(shape, name, environment, timer, seconds)
