"""Attention from plain source, forward and backward, against tuned stock, cuDNN and TLX.

4 batches of 32 heads of 128, in bfloat16. A masked score counts as no operation. The backward pass is two kernels, for
keys and for queries, each tuned alone and timed together; what either computes again counts for nothing. A pass that is
timed as a whole is replayed from a CUDA graph.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
import triton
from torch.nn.attention import SDPBackend

import harness
from harness import Environment, Metric, Record, Timer

from . import tlx_attention
from ._warpspec import WAYS, Config, Problem, corpus, measured, prepare, problems, specialized
from .tlx_attention import BATCHES, DIM, HEADS, captured, references

__all__ = ["problems", "run"]

SUITE = "warpspec-attention"

LENGTHS = (1024, 4096, 8192)
# The largest relative error of bfloat16: rounding of weights and of results.
TOLERANCE = 1.6e-2
HEAD = (BATCHES - 1, HEADS - 1)
# Keys and values that programs read at the same time, of what the L2 cache holds: 50 MB.
CACHED_BYTES = 32 * 2**20

# Rows and columns of the tile, warps and stages.
FORWARD = ((64, 64, 4, 3), (128, 64, 4, 2), (128, 64, 8, 3), (128, 128, 8, 2), (128, 128, 8, 3))
PERSISTENT = ((128, 64, 8, 3), (128, 128, 8, 2))
KEYS = ((64, 64, 4, 2), (64, 128, 8, 2), (64, 128, 8, 3))
PERSISTENT_KEYS = ((64, 64, 4, 2), (64, 128, 8, 2))
QUERIES = ((64, 64, 4, 2), (128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 1))
PERSISTENT_QUERIES = ((64, 64, 4, 2), (128, 64, 8, 3))


def listed(fn: Any, table: tuple[tuple[int, ...], ...], **constants: Any) -> list[Config]:
    """Return the configurations of a table."""
    return [Config(fn, {"BM": bm, "BN": bn, "D": DIM, **constants}, warps, stages) for bm, bn, warps, stages in table]


def blocks(size: str, length: int) -> Callable[[Config], tuple[int, ...]]:
    """Return what computes the grid of a configuration, a program for each block of ``size`` or for each processor."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count

    def grid(config: Config) -> tuple[int, ...]:
        if config.constants.get("PERSISTENT"):
            return (processors,)
        return (triton.cdiv(length, config.constants[size]), BATCHES * HEADS)

    return grid


class Attention:
    """Random operands of one length, and what each pass has to compute of one head."""

    def __init__(self, length: int, causal: bool) -> None:
        self.length, self.causal = length, causal
        self.operands = tlx_attention.Problem(length, torch.bfloat16, causal)
        p = self.operands
        self.out = torch.empty_like(p.q)
        self.lse, self.delta = (torch.empty(p.q.shape[:3], device="cuda") for _ in range(2))
        self.gradients = {name: torch.empty_like(p.q) for name in ("dq", "dk", "dv")}
        self.wanted = references(*(x[HEAD] for x in (p.q, p.k, p.v, p.do)), causal)
        sizes = {"heads": BATCHES * HEADS, "length": length, "scale": DIM**-0.5}
        sizes["section"] = max(1, CACHED_BYTES // (2 * p.k[0, 0].nbytes))
        self.arguments = {"q": p.q, "k": p.k, "v": p.v, "out": self.out, "lse": self.lse, **sizes}

    def forward(self) -> Problem:
        """Return the candidates of the forward pass."""
        fn = corpus().attention.forward
        choice = []
        for loops in (1, 2) if self.causal else (1,):
            constants = {"EVEN": True, "CAUSAL": self.causal, "LOOPS": loops}
            choice += listed(fn, FORWARD, **constants) + listed(fn, PERSISTENT, PERSISTENT=True, **constants)
        p = self.operands
        return Problem(
            arguments=self.arguments,
            outputs=[self.out],
            references=self.wanted[:1],
            grid=blocks("BM", self.length),
            configs=choice,
            libraries={
                "cudnn": captured(lambda: p.library(SDPBackend.CUDNN_ATTENTION)),
                "tlx": captured(lambda: p.forward({})),
            },
            part=lambda output: output[HEAD].clone(),
        )

    def backward(self) -> tuple[Problem, Problem]:
        """Return the candidates of the two kernels of the backward pass."""
        arguments = self.arguments | self.gradients | {"do": self.operands.do, "delta": self.delta}
        fn = corpus().attention.keys_gradient
        configs = []
        for loops in (1, 2) if self.causal else (1,):
            constants = {"CAUSAL": self.causal, "LOOPS": loops}
            configs += listed(fn, KEYS, **constants) + listed(fn, PERSISTENT_KEYS, PERSISTENT=True, **constants)
        keys = Problem(
            arguments=arguments,
            outputs=[self.gradients["dk"], self.gradients["dv"]],
            references=self.wanted[2:],
            grid=blocks("BN", self.length),
            configs=configs,
            part=lambda output: output[HEAD].clone(),
        )
        fn = corpus().attention.queries_gradient
        configs = listed(fn, QUERIES, CAUSAL=self.causal)
        configs += listed(fn, PERSISTENT_QUERIES, PERSISTENT=True, CAUSAL=self.causal)
        queries = replace(
            keys,
            outputs=[self.gradients["dq"]],
            references=self.wanted[1:2],
            grid=blocks("BM", self.length),
            configs=configs,
        )
        return keys, queries


def measured_backward(
    name: str, attention: Attention, environment: Environment, timer: Timer, seconds: float
) -> Record:
    """Tune the kernels of the backward pass, check what they write for one head, and time all of it."""
    a, p = attention, attention.operands
    out, lse = p.forward({})
    a.out.copy_(out)
    a.lse.copy_(lse)
    rows = math.prod(a.delta.shape)
    share = functools.partial(corpus().attention.row_products[(triton.cdiv(rows, 64),)], a.out, p.do, a.delta, rows)
    share(ROWS=64, D=DIM)
    parts = a.backward()
    params = {"B": BATCHES, "H": HEADS, "N": a.length, "D": DIM, "causal": a.causal, "input": "bfloat16"}
    results, candidates = {}, {}
    for way in WAYS:
        found = [part.tuned(way, timer) for part in parts]
        if None in found:
            continue
        results[way] = [result for part, (_, call) in zip(parts, found) for result in part.results(call)]
        params |= {f"{way}_{part}": str(config) for part, (config, _) in zip(("keys", "queries"), found)}
        if way == "ours":
            params["specialized"] = [specialized(call) for _, call in found]

        def whole(calls: tuple[Callable[[], object], ...] = tuple(call for _, call in found)) -> None:
            share(ROWS=64, D=DIM)
            for call in calls:
                call()

        candidates[way] = captured(whole)
    error = harness.check(results, [*a.wanted[2:], a.wanted[1]], TOLERANCE, "float64, one head", torch.equal)
    candidates["cudnn"] = p.library_backward(SDPBackend.CUDNN_ATTENTION)
    candidates["tlx"] = captured(
        lambda: tlx_attention.example().attention_backward(p.do, p.q, p.k, p.v, out, lse, a.causal)
    )
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    params["rounds"] = rounds
    return harness.record(SUITE, name, params, Metric.tflops(2.5 * p.operations), samples, environment, error)


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    prepare()
    for causal in (False, True):
        for length in LENGTHS:
            tail = f"{'causal-' if causal else ''}{length}"
            names = [f"{way}-{tail}" for way in ("forward", "backward")]
            if not any(wanted in name for name in names):
                continue
            attention = Attention(length, causal)
            limits = (environment, timer, seconds)
            if wanted in names[0]:
                params = {"B": BATCHES, "H": HEADS, "N": length, "D": DIM, "causal": causal, "input": "bfloat16"}
                operations = attention.operands.operations
                yield measured(SUITE, names[0], attention.forward(), params, operations, TOLERANCE, *limits)
            if wanted in names[1]:
                yield measured_backward(names[1], attention, *limits)
            del attention
            torch.cuda.empty_cache()
