"""What the suites of `warpspec` share: kernels of its corpus, tuned in each of three ways.

``ours`` is the kernel with its annotation, under the extension; ``stock`` the kernel without annotation, as stock
Triton pipelines it; ``stock_ws`` the annotated kernel as stock Triton specializes it, in the configurations in which
that compiles. Each way has the fastest of the same configurations.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
import triton
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

import harness
import tritonext
from harness import ROOT, Environment, Metric, Record, Timer
from tritonext.testing import quiet

__all__ = ["WAYS", "Config", "Problem", "corpus", "measured", "prepare", "problems"]

WAYS = ("ours", "stock", "stock_ws")


@functools.cache
def corpus() -> ModuleType:
    """Return the package of kernels, which belongs to the extension's tests."""
    sys.path.insert(0, str(ROOT / "extensions" / "warpspec" / "tests"))
    try:
        return importlib.import_module("kernels")
    finally:
        sys.path.pop(0)


@functools.cache
def extended(fn: JITFunction) -> Any:
    """Return a kernel that compiles under the extension."""
    return tritonext.use("warpspec")(fn)


def prepare() -> None:
    """Seed the random numbers and give descriptors that kernels make their memory."""
    torch.manual_seed(0)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


@dataclass(frozen=True)
class Config:
    """A kernel with its tile and schedule.

    Args:
        fn: The kernel.
        constants: Its constants but ``WS``.
        warps: Warps; of the consumers where a producer is added.
        stages: Stages of the software pipeline.
    """

    fn: JITFunction
    constants: Mapping[str, Any]
    warps: int
    stages: int

    def takes(self, name: str, value: Any) -> Any:
        """Return what the kernel takes for an argument: a descriptor where its constant says that the host makes it."""
        if self.constants.get(name.upper()) != "host":
            return value
        rows, columns, depth = (self.constants[size] for size in ("BM", "BN", "BK"))
        right = (columns, depth) if self.constants.get("TRANSPOSED") else (depth, columns)
        blocks = {"a": (rows, depth), "b": right, "c": (rows, columns // self.constants.get("SUBTILE", 1))}
        return TensorDescriptor.from_tensor(value, list(blocks[name]))

    def __str__(self) -> str:
        tile = "x".join(str(self.constants[name]) for name in ("BM", "BN", "BK") if name in self.constants)
        rest = [f"{name.lower()}{value}" for name, value in self.constants.items() if name not in ("BM", "BN", "BK")]
        return "-".join([self.fn.__name__, tile, *rest, f"w{self.warps}", f"s{self.stages}"])


@dataclass(frozen=True)
class Problem:
    """What all candidates of a case compute.

    Args:
        arguments: Arguments of every configuration's kernel, by name; those that a kernel lacks are not passed.
        outputs: The tensors among them that the kernel writes.
        references: The same in float64, or in part.
        grid: Programs of a configuration.
        configs: Configurations to choose from.
        libraries: Other candidates by name.
        part: Takes what the references are of from the outputs.
    """

    arguments: Mapping[str, Any]
    outputs: Sequence[torch.Tensor]
    references: Sequence[torch.Tensor]
    grid: Callable[[Config], tuple[int, ...]]
    configs: Sequence[Config]
    libraries: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    part: Callable[[torch.Tensor], torch.Tensor] = torch.Tensor.clone

    def launch(self, way: str, config: Config) -> Callable[[], object]:
        """Return what runs a configuration in one of the ways."""
        kernel = extended(config.fn) if way == "ours" else config.fn
        names = (name for name in config.fn.arg_names if name in self.arguments)
        arguments = {name: config.takes(name, self.arguments[name]) for name in names}
        options = {"WS": way != "stock", "num_warps": config.warps, "num_stages": config.stages}
        return functools.partial(kernel[self.grid(config)], **arguments, **config.constants, **options)

    def results(self, call: Callable[[], object]) -> list[torch.Tensor]:
        """Return what a candidate writes over poisoned memory."""
        for output in self.outputs:
            # All bits set are a NaN in every type.
            output.view(torch.uint8).fill_(255)
        call()
        return [self.part(output) for output in self.outputs]

    def tuned(self, way: str, timer: Timer) -> tuple[Config, Callable[[], object]] | None:
        """Return the fastest configuration and what runs it; None when stock specializes in none of them."""
        calls = {}
        for number, config in enumerate(self.configs):
            # Stock specializes neither loops that are flattened nor kernels of eight warps on sm_90.
            if way == "stock_ws" and (config.warps != 4 or config.constants.get("FLATTEN")):
                continue
            # What is not taken at one shape is at none.
            key = (way, str(config))
            call = self.launch(way, config)
            if key not in _refused and runs(call, way):
                calls[str(number)] = call
            else:
                _refused.add(key)
        if not calls:
            return None
        # Each runs a few times, and those that may be the fastest some more.
        for rounds, kept in ((5, 4), (12, 1)):
            samples = harness.measure(calls, timer, rounds, warmup=2)
            fastest = sorted(samples, key=lambda name: samples[name].median)
            calls = {name: calls[name] for name in fastest[:kept]}
        ((best, call),) = calls.items()
        return self.configs[int(best)], call


_refused: set[tuple[str, str]] = set()


def runs(call: Callable[[], object], way: str) -> bool:
    """Run a candidate once and return whether it is one.

    Tiles may not fit into shared memory. Stock's specialization fails on some kernels, or leaves them as they are.
    """
    refusals = (triton.OutOfResources,) if way == "ours" else (RuntimeError, triton.OutOfResources)
    try:
        with quiet():
            kernel = call()
            torch.cuda.synchronize()
    except refusals:
        return False
    return way != "stock_ws" or "ttg.warp_specialize" in kernel.asm["ttgir"]


def measured(
    suite: str,
    name: str,
    problem: Problem,
    params: Mapping[str, Any],
    operations: float,
    tolerance: float,
    environment: Environment,
    timer: Timer,
    seconds: float,
) -> Record:
    """Tune, check and time one case; the errors of baselines of stock are in the record too."""
    tuned = {way: found for way in WAYS if (found := problem.tuned(way, timer)) is not None}
    results = {way: problem.results(call) for way, (_, call) in tuned.items()}
    error = harness.check(results, problem.references, tolerance, "float64", torch.equal)
    others = {
        way: max(harness.relative_error(got, wanted) for got, wanted in zip(results[way], problem.references))
        for way in tuned
        if way != "ours"
    }
    candidates = {way: call for way, (_, call) in tuned.items()} | problem.libraries
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    params = dict(params) | {f"{way}_config": str(config) for way, (config, _) in tuned.items()}
    params |= {f"{way}_error": value for way, value in others.items()}
    # A kernel that the pass leaves alone is stock's, which a reader has to know.
    params |= {"specialized": specialized(tuned["ours"][1]), "rounds": rounds}
    return harness.record(suite, name, params, Metric.tflops(operations), samples, environment, error)


def specialized(call: Callable[[], Any]) -> bool:
    """Return whether a kernel has specialized warps."""
    return "ttg.warp_specialize" in call().asm["ttgir"]


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result; how fast it is, is not judged here."""
    if entry.error.acceptable:
        return []
    return [f"the relative error {entry.error.value:.2e} is above {entry.error.tolerance:.0e}"]
