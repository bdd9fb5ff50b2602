"""Products of 8-bit matrices with a scale for each row of A and column of B: TLX against ``torch._scaled_mm``.

``scaled_mm`` adds up on the tensor cores, as ours does; ``scaled_mm_precise``, PyTorch's default, adds partial sums
outside of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

import harness
from harness import Environment, Metric, Record, Timer

from .tlx_gemm import load_example, problems

__all__ = ["problems", "run"]

SUITE = "tlx-fp8"
SHAPES = ((4096, 4096, 4096), (8192, 8192, 4096))
# The accumulator of a product of 8-bit floats keeps 14 bits of fraction, and the result is bfloat16.
TOLERANCE = 1e-2


def measured(shape: tuple[int, int, int], name: str, environment: Environment, timer: Timer, seconds: float) -> Record:
    """Check and time one case."""
    m, n, k = shape
    example = load_example()
    a, b = (torch.randn(size, device="cuda").to(torch.float8_e4m3fn) for size in ((m, k), (n, k)))
    x, y = (torch.rand(size, device="cuda") + 0.5 for size in (m, n))
    out = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    config = example.choose(m, n, k, processors, bits=8)
    run = example.prepare(a, b.T, out, example.scale, x, y, config)

    def library(fast: bool) -> torch.Tensor:
        scales = {"scale_a": x[:, None], "scale_b": y[None, :]}
        return torch._scaled_mm(a, b.T, **scales, out_dtype=torch.bfloat16, use_fast_accum=fast)

    out.fill_(float("nan"))
    run()
    reference = (a.double() @ b.double().T) * x.double()[:, None] * y.double()[None, :]
    results = {"ours": [out.clone()], "scaled_mm": [library(True)]}
    error = harness.check(results, [reference], TOLERANCE, "float64 product", torch.equal)
    candidates = {
        "ours": run,
        "scaled_mm": lambda: library(True),
        "scaled_mm_precise": lambda: library(False),
    }
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    params = {"M": m, "N": n, "K": k, "input": "float8_e4m3fn", "config": str(config), "rounds": rounds}
    return harness.record(SUITE, name, params, Metric.tflops(2 * m * n * k), samples, environment, error)


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    torch.manual_seed(0)
    for shape in SHAPES:
        name = f"rowwise-{'x'.join(map(str, shape))}"
        if wanted in name:
            yield measured(shape, name, environment, timer, seconds)
