"""Linear layers with a 2:4 sparse weight, in bfloat16: the extension `sparsity` against dense products and cuSPARSELt.

``cublas`` and ``tlx`` (the tuned Hopper GEMM of the extension `tlx`) multiply the dense matrix, pruned like ours;
``dense`` is the faster of the two. ``cusparselt`` is PyTorch's call after a search for its algorithm, for the output in
rows. It is replayed from a CUDA graph, like ours: PyTorch sets the library up anew in each call, which takes the host
longer than most of these products take the GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

import harness
from harness import Environment, Metric, Record, Timer

from .sparsity_compress import pattern

__all__ = ["problems", "run"]

SUITE = "sparsity-linear"
# Tokens, features and K.
SHAPES = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (16384, 8192, 8192),
    *((tokens, 14336, 4096) for tokens in (512, 2048, 8192)),
    *((tokens, 4096, 14336) for tokens in (512, 2048, 8192)),
    *((tokens, 28672, 8192) for tokens in (512, 2048, 8192)),
    *((tokens, 8192, 28672) for tokens in (512, 2048, 8192)),
)
# The largest relative error of rounding to bfloat16.
TOLERANCE = 8e-3


def graphed(call: Callable[[], Any]) -> Callable[[], None]:
    """Return the replay of a CUDA graph of a call."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def weight(features: int, depth: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return a random sparse weight, its values, and its metadata in fragment order."""
    # The benchmark process may have no extension installed for other suites.
    from tritonext_sparsity.compress import compress
    from tritonext_sparsity.formats import wgmma_orders

    dense = pattern(torch.randn((features, depth), device="cuda").to(dtype))
    values, meta = compress(dense)
    order = wgmma_orders(str(dtype).removeprefix("torch.")).meta
    shape, axes = order.packing(*meta.shape)
    return dense, values, meta.reshape(shape).permute(axes).contiguous().view(-1)


def tile(x: torch.Tensor, features: int) -> Any:
    """Return the tile that the advisor has for a product."""
    from tritonext_sparsity import advisor
    from tritonext_sparsity.advisor import Kernel

    _, tuned = advisor.choose(x.device, x.dtype, x.shape[0], features, x.shape[1], [Kernel.HOPPER])
    return advisor.hopper_config(tuned, x, features, torch.bfloat16)


def cusparselt(dense: torch.Tensor, x: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Return cuSPARSELt's product by the algorithm that its search finds."""
    compressed = torch._cslt_compress(dense)
    algorithm = int(torch._cslt_sparse_mm_search(compressed, x.T, transpose_result=True))
    return lambda: torch._cslt_sparse_mm(compressed, x.T, alg_id=algorithm, transpose_result=True)


def tlx(x: torch.Tensor, dense: torch.Tensor, out: torch.Tensor) -> Callable[[], Any]:
    """Return the dense product by the tuned GEMM of TLX."""
    from .tlx_gemm import load_example

    example = load_example()
    (m, k), n = x.shape, dense.shape[0]
    processors = torch.cuda.get_device_properties(x.device).multi_processor_count
    return example.prepare(x, dense.T, out, config=example.choose(m, n, k, processors))


def measured(shape: tuple[int, int, int], name: str, environment: Environment, timer: Timer, seconds: float) -> Record:
    """Check and time one case."""
    from tritonext_sparsity.kernels.hopper import sparse_linear_hopper

    tokens, features, depth = shape
    dense, values, meta = weight(features, depth, torch.bfloat16)
    x = torch.randn((tokens, depth), device="cuda", dtype=torch.bfloat16)
    out, other = (torch.empty((tokens, features), device="cuda", dtype=torch.bfloat16) for _ in range(2))
    config = tile(x, features)
    ours = functools.partial(sparse_linear_hopper, values, meta, x, out, config=config)
    library = cusparselt(dense, x)
    out.fill_(float("nan"))
    ours()
    # In 64 bits the largest of these products would take seconds.
    rows = torch.randint(0, tokens, (64,), device="cuda")
    reference = x[rows].double() @ dense.double().T
    results = {"ours": [out[rows].clone()], "cusparselt": [library().reshape(tokens, features)[rows]]}
    error = harness.check(results, [reference], TOLERANCE, "float64 product of 64 random rows", torch.equal)
    candidates = {
        "ours": graphed(ours),
        "cublas": graphed(lambda: torch.mm(x, dense.T, out=other)),
        "tlx": graphed(tlx(x, dense, other)),
        "cusparselt": graphed(library),
    }
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    samples["dense"] = min((samples["cublas"], samples["tlx"]), key=lambda sample: sample.median)
    params = {"tokens": tokens, "features": features, "K": depth, "config": str(config), "rounds": rounds}
    return harness.record(
        SUITE, name, params, Metric.tflops(2 * tokens * features * depth), samples, environment, error
    )


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    torch.manual_seed(0)
    for shape in SHAPES:
        name = f"bf16-{'x'.join(map(str, shape))}"
        if wanted in name:
            yield measured(shape, name, environment, timer, seconds)


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result; how fast it is, is not judged here."""
    return [] if entry.error and entry.error.acceptable else ["the result is not the product"]
