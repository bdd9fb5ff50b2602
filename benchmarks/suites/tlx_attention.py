"""Attention by the example of the extension `tlx` against cuDNN and FlashAttention-2, both as torch calls them.

Forward and backward, with a causal mask and without, of 4 batches of 32 heads of 128. Ours is tuned over the example's
table for each case. What is timed are replays of CUDA graphs, so that no time of the host is in it; all work of a
backward pass is counted, the sums before it and the rounding behind it too. As is usual, a masked score counts as no
operation, and scores that are computed again in the backward pass count once more.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import harness
from harness import ROOT, Environment, Metric, Record, Timer

SUITE = "tlx-attention"

BATCHES, HEADS, DIM = 4, 32, 128
LENGTHS = (1024, 4096, 8192)
# The largest relative error: rounding of probabilities and of results.
TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
LIBRARIES = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


@functools.cache
def example() -> ModuleType:
    """Return the example as a module."""
    path = ROOT / "extensions" / "tlx" / "examples" / "attention.py"
    spec = importlib.util.spec_from_file_location("attention", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["attention"] = module
    spec.loader.exec_module(module)
    return module


def captured(call: Callable[[], object]) -> Callable[[], object]:
    """Return the replay of a graph of a call, which keeps the memory that the call takes."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        call()
    return graph.replay


def references(q: Any, k: Any, v: Any, do: Any, causal: bool) -> list[Any]:
    """Return result and gradients of one head in float64."""
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    scores = wide[0] @ wide[1].mT * DIM**-0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
    out = scores.softmax(-1) @ wide[2]
    out.backward(do.double())
    return [out.detach(), *(x.grad for x in wide)]


class Problem:
    """Random operands of one length and type."""

    def __init__(self, length: int, dtype: torch.dtype, causal: bool) -> None:
        self.length, self.dtype, self.causal = length, dtype, causal
        shape = (BATCHES, HEADS, length, DIM)
        self.q, self.k, self.v, self.do = (torch.randn(shape, device="cuda", dtype=dtype) for _ in range(4))

    @property
    def operations(self) -> float:
        """Operations of the forward pass; the backward pass has five products for its two."""
        return 4 * BATCHES * HEADS * self.length**2 * DIM / (2 if self.causal else 1)

    def forward(self, config: dict[str, Any]) -> Any:
        return example().attention(self.q, self.k, self.v, self.causal, **config)

    def library(self, backend: SDPBackend) -> Any:
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal)

    def library_backward(self, backend: SDPBackend) -> Callable[[], object]:
        """Return the replay of a backward pass."""
        # Gradients are computed on the stream of the forward pass, which therefore is the one to capture.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        operands = [x.detach().requires_grad_() for x in (self.q, self.k, self.v)]
        with torch.cuda.stream(stream):
            with sdpa_kernel(backend):
                out = torch.nn.functional.scaled_dot_product_attention(*operands, is_causal=self.causal)
            for _ in range(2):
                torch.autograd.grad(out, operands, self.do, retain_graph=True)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            torch.autograd.grad(out, operands, self.do, retain_graph=True)
        # The replay reads what the forward pass left, which belongs to its result.
        return functools.partial(_replay, graph, out)


def _replay(graph: torch.cuda.CUDAGraph, _read: Any) -> None:
    graph.replay()


def tuned(table: tuple[dict[str, Any], ...], call: Callable[[dict[str, Any]], object], timer: Timer) -> tuple[int, Any]:
    """Return number and replay of the fastest configuration."""
    replays = {str(number): captured(functools.partial(call, config)) for number, config in enumerate(table)}
    samples = harness.measure(replays, timer, rounds=6, warmup=2)
    best = min(samples, key=lambda name: samples[name].median)
    return int(best), replays[best]


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    torch.manual_seed(0)
    for causal in (False, True):
        for dtype in TOLERANCES:
            for length in LENGTHS:
                kind = str(dtype).removeprefix("torch.")
                tail = f"{'causal-' if causal else ''}{kind}-{length}"
                if not any(wanted in f"{way}-{tail}" for way in ("forward", "backward")):
                    continue
                problem = Problem(length, dtype, causal)
                for way in ("forward", "backward"):
                    if wanted in f"{way}-{tail}":
                        yield measured(f"{way}-{tail}", way, problem, environment, timer, seconds)
                del problem
                torch.cuda.empty_cache()


def measured(name: str, way: str, problem: Problem, environment: Environment, timer: Timer, seconds: float) -> Record:
    """Check one head of ours and of the libraries, and time all."""
    p = problem
    out, lse = p.forward({})
    head = (BATCHES - 1, HEADS - 1)
    wanted = references(*(x[head] for x in (p.q, p.k, p.v, p.do)), p.causal)
    if way == "forward":
        table = example().FORWARD[DIM]
        best, ours = tuned(table, p.forward, timer)
        results = [p.forward(table[best])[0][head]]
        wanted = wanted[:1]
        calls = {key: functools.partial(p.library, backend) for key, backend in LIBRARIES.items()}
        candidates = {"ours": ours} | {key: captured(call) for key, call in calls.items()}
        operations = p.operations
    else:
        table = example().BACKWARD[DIM]

        def call(config: dict[str, Any]) -> Any:
            return example().attention_backward(p.do, p.q, p.k, p.v, out, lse, p.causal, **config)

        best, ours = tuned(table, call, timer)
        results = [gradient[head] for gradient in call(table[best])]
        wanted = wanted[1:]
        candidates = {"ours": ours} | {key: p.library_backward(backend) for key, backend in LIBRARIES.items()}
        operations = 2.5 * p.operations
    error = harness.check({"ours": results}, wanted, TOLERANCES[p.dtype], "float64, one head", torch.equal)
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    params = {"B": BATCHES, "H": HEADS, "N": p.length, "D": DIM, "causal": p.causal, "input": str(p.dtype)[6:]}
    params |= {"rounds": rounds} | table[best]
    return harness.record(SUITE, name, params, Metric.tflops(operations), samples, environment, error)


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result; how fast it is, is not judged here."""
    if entry.error.acceptable:
        return []
    return [f"the relative error {entry.error.value:.2e} is above {entry.error.tolerance:.0e}"]
