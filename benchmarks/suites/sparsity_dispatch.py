"""Linear layers whose 2:4 sparse weight keeps its dense copy: what the advisor of `sparsity` chooses, against dense.

``ours`` is the layer as users call it; ``dense`` is what PyTorch computes with the dense copy. Both are replayed from
CUDA graphs. Numbers of tokens are those of decoding and of prompts, many of them between those that the advisor's table
has. ``chosen`` in the parameters is the kernel that ran.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

import harness
from harness import Environment, Metric, Record, Timer

from .sparsity_linear import graphed

__all__ = ["problems", "run"]

SUITE = "sparsity-dispatch"
# Types, and features and K of the weights.
WEIGHTS = (
    ("bf16", torch.bfloat16, ((4096, 4096), (14336, 4096), (4096, 14336), (8192, 8192))),
    ("e4m3", torch.float8_e4m3fn, ((14336, 4096), (4096, 14336))),
)
TOKENS = (1, 3, 8, 16, 30, 64, 90, 128, 180, 256, 300, 400, 512, 700, 1000, 1024, 1500, 2048, 3000, 4096, 8192, 16384)
# How much slower than dense what is chosen may be.
LIMIT = 1.02
# The largest relative error of rounding to bfloat16, and of the sums of 8-bit floats.
TOLERANCE = 1e-2


def measured(name: str, w: object, tokens: int, environment: Environment, timer: Timer, seconds: float) -> Record:
    """Check and time one case."""
    from tritonext_sparsity import advisor
    from tritonext_sparsity.advisor import Kernel
    from tritonext_sparsity.linear import dense_linear, sparse_linear

    features, depth = w.shape
    x = torch.randn((tokens, depth), device="cuda").to(w.dtype)
    scale = torch.rand(tokens, device="cuda") + 0.5 if w.dtype.itemsize == 1 else None
    factors = {"scale_w": w.scale, "scale_x": scale, "bias": None, "residual": None}

    def ours() -> torch.Tensor:
        return sparse_linear(x, w, scale=scale)

    def dense() -> torch.Tensor:
        return dense_linear(x, w.dense, torch.bfloat16, "none", **factors)

    reference = x[:64].double() @ w.dense.double().T
    if scale is not None:
        reference *= scale[:64].double()[:, None] * w.scale.double()
    results = {"ours": [ours()[:64]], "dense": [dense()[:64]]}
    error = harness.check(results, [reference], TOLERANCE, "float64 product of the first rows", torch.equal)
    candidates = {"ours": graphed(ours), "dense": graphed(dense)}
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    kernel, _ = advisor.choose(x.device, w.dtype, tokens, features, depth, tuple(Kernel))
    params = {"tokens": tokens, "features": features, "K": depth, "chosen": kernel.value, "rounds": rounds}
    return harness.record(
        SUITE, name, params, Metric.tflops(2 * tokens * features * depth), samples, environment, error
    )


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    # The benchmark process may have no extension installed for other suites.
    from tritonext_sparsity.linear import SparseWeight24

    torch.manual_seed(0)
    for kind, dtype, shapes in WEIGHTS:
        for features, depth in shapes:
            names = {tokens: f"{kind}-{tokens}x{features}x{depth}" for tokens in TOKENS}
            if not any(wanted in name for name in names.values()):
                continue
            dense = torch.randn((features, depth), device="cuda").to(dtype)
            scale = torch.rand(features, device="cuda") + 0.5 if dtype.itemsize == 1 else None
            w = SparseWeight24.from_dense(dense, prune="magnitude", scale=scale, keep_dense=True)
            for tokens, name in names.items():
                if wanted in name:
                    yield measured(name, w, tokens, environment, timer, seconds)


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result."""
    found = [] if entry.error and entry.error.acceptable else ["the result is not the product"]
    if entry.ratio["dense"] < 1 / LIMIT:
        found.append(f"slower than dense by more than {LIMIT - 1:.0%}")
    return found
