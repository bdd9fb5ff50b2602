"""Products of 16-bit matrices: the tuned Hopper GEMM of TLX against cuBLAS and tuned stock Triton.

Ours runs in the configuration that its table names for the shape, as for a user. ``stock`` is tuned for each case: the
fastest of a plain kernel and of a persistent one with bulk copies, over the tiles, warps and stages below.
"""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import torch
import triton

import harness
from harness import Environment, Metric, Record, Timer
from tritonext.testing import kernels

SUITE = "tlx-gemm"

SHAPES = (
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 8192, 512),
    (65536, 1024, 1024),
    (4096, 14336, 4096),
    (8192, 1024, 8192),
    (16384, 4096, 4096),
)

# The largest relative error of rounding to the type of the result.
TOLERANCES = {torch.float16: 1e-3, torch.bfloat16: 8e-3}

# Rows, columns and K of the tile, warps and stages, of the plain kernel and of the persistent one.
PLAIN = (
    (64, 64, 64, 4, 5),
    (64, 128, 64, 4, 4),
    (128, 64, 64, 4, 4),
    (128, 128, 64, 4, 3),
    (128, 128, 64, 8, 4),
    (128, 256, 64, 8, 3),
    (128, 256, 64, 8, 4),
    (256, 128, 64, 8, 3),
)
PERSISTENT = ((128, 128, 64, 4, 4), (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3))

Candidates = Mapping[str, Callable[[], Any]]


def load_example() -> ModuleType:
    """Return the module of the kernel, which is an example and in no package."""
    if "hopper_gemm" not in sys.modules:
        path = pathlib.Path(__file__).parents[2] / "extensions" / "tlx" / "examples" / "hopper_gemm.py"
        spec = importlib.util.spec_from_file_location("hopper_gemm", path)
        sys.modules["hopper_gemm"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["hopper_gemm"])
    return sys.modules["hopper_gemm"]


def fastest(candidates: Candidates, timer: Timer) -> str:
    """Return the name of the fastest candidate."""
    samples = harness.measure(candidates, timer, rounds=16, warmup=8)
    return min(samples, key=lambda name: samples[name].median)


def stock(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> Candidates:
    """Return the kernels of stock Triton in each configuration that suits the shape."""
    (m, k), n = a.shape, b.shape[1]
    programs = torch.cuda.get_device_properties(a.device).multi_processor_count
    candidates = {}
    for bm, bn, bk, warps, stages in PLAIN:
        if out.numel() <= 2**21 or bm * bn >= 128 * 128:
            constants = {"BM": bm, "BN": bn, "BK": bk, "EPILOGUE": "plain", "num_warps": warps, "num_stages": stages}
            grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
            candidates[f"plain-{bm}x{bn}x{bk}-w{warps}-s{stages}"] = functools.partial(
                kernels.gemm[grid], a, b, out, out, m, n, k, **constants
            )
    for bm, bn, bk, warps, stages in PERSISTENT:
        constants = {"BM": bm, "BN": bn, "BK": bk, "PROGRAMS": programs, "SUBTILE": 2}
        candidates[f"persistent-{bm}x{bn}x{bk}-w{warps}-s{stages}"] = functools.partial(
            kernels.gemm_persistent[(programs,)], a, b, out, m, n, k, **constants, num_warps=warps, num_stages=stages
        )
    return candidates


def operands(shape: tuple[int, int, int], dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return random A and B, and memory for the product."""
    m, n, k = shape
    a, b = (torch.randn(size, device="cuda", dtype=dtype) for size in ((m, k), (k, n)))
    return a, b, torch.empty((m, n), device="cuda", dtype=dtype)


def measured(
    shape: tuple[int, int, int], dtype: torch.dtype, name: str, environment: Environment, timer: Timer, seconds: float
) -> Record:
    """Tune, check and time one case."""
    m, n, k = shape
    a, b, out = operands(shape, dtype)
    example = load_example()
    processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    config = example.choose(m, n, k, processors)
    run = example.prepare(a, b, out, config=config)
    others = stock(a, b, out)
    other = fastest(others, timer)
    out.fill_(float("nan"))
    run()
    results = {"ours": [out.clone()], "cublas": [a @ b]}
    error = harness.check(results, [a.double() @ b.double()], TOLERANCES[dtype], "float64 product", torch.equal)
    candidates = {"ours": run, "cublas": lambda: torch.mm(a, b, out=out), "stock": others[other]}
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    params = {"M": m, "N": n, "K": k, "input": str(dtype).removeprefix("torch.")}
    params |= {"config": str(config), "stock_config": other, "rounds": rounds}
    return harness.record(SUITE, name, params, Metric.tflops(2 * m * n * k), samples, environment, error)


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    torch.manual_seed(0)
    # Descriptors made in a kernel live in memory that the caller provides.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    for dtype in TOLERANCES:
        for shape in SHAPES:
            kind = "fp16" if dtype == torch.float16 else "bf16"
            name = f"{kind}-{'x'.join(map(str, shape))}"
            if wanted in name:
                yield measured(shape, dtype, name, environment, timer, seconds)


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result; how fast it is, is not judged here."""
    if entry.error.acceptable:
        return []
    return [f"the relative error {entry.error.value:.2e} is above {entry.error.tolerance:.0e}"]
