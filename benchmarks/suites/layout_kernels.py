"""Kernels of every kind: the extension `layout` against stock Triton at the best configuration of each.

``stock`` is stock Triton in its own fastest configuration, ``stock_same`` in that of ours. Which entries are bound by
layouts was said before anything was measured, by ``benchmarks/layout_bound.py``; each record repeats it. The results
of ours must be as close to those of ``stock_same`` as rounding lets them be. That both are right is tested against
float64, on smaller sizes. ``free``, for entries that are bound by layouts, is ``stock`` with conversions that move
nothing.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
import triton
from triton.runtime.jit import MockTensor

import harness
import tritonext
from harness import Environment, Metric, Record, Timer
from layout_bound import FILE
from tritonext import inspect_code
from tritonext.testing.cases import Tensor, encode

from . import _free_conversions
from ._layout_kernels import ENTRIES, Entry

__all__ = ["compilations", "compile_kernel", "problems", "run"]

SUITE = "layout-kernels"
WAYS = ("ours", "stock")
# Sums in another order, before a result is rounded to the type that is named.
TOLERANCES = {
    torch.float32: 2e-3,
    torch.float16: 4e-3,
    torch.bfloat16: 2e-2,
    torch.float8_e4m3fn: 0.15,
    torch.int8: 0.02,
}
_TYPES = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8e4nv": torch.float8_e4m3fn,
    "i8": torch.int8,
    "i32": torch.int32,
    "i64": torch.int64,
}


class Draw:
    """Random tensors on the GPU, by the names of the corpus's own."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def normal(self, dtype: str, *shape: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(shape, device="cuda") * scale).to(_TYPES[dtype])

    def uniform(self, dtype: str, low: float, high: float, *shape: int) -> torch.Tensor:
        return torch.empty(shape, device="cuda").uniform_(low, high).to(_TYPES[dtype])

    def integers(self, dtype: str, low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, device="cuda", dtype=_TYPES[dtype])

    def permutation(self, dtype: str, size: int) -> torch.Tensor:
        return torch.randperm(size, device="cuda").to(_TYPES[dtype])

    def distinct(self, dtype: str, *shape: int) -> torch.Tensor:
        return (torch.rand(shape, device="cuda").argsort(-1) / 8).to(_TYPES[dtype])


def _gradient(draw: Draw, heads: int, length: int, D: int, dtype: str) -> dict[str, Any]:
    """Operands of the backward kernels: weights come out small, whatever the scores are."""
    shape = (heads, length, D)
    found: dict[str, Any] = {name: draw.normal(dtype, *shape) for name in ("q", "k", "v", "doubt")}
    found |= {"lse": draw.uniform("fp32", 15, 17, heads, length), "delta": draw.normal("fp32", heads, length)}
    wide = torch.zeros(shape, device="cuda")
    return found | {"dq": wide, "dk": draw.normal(dtype, *shape), "dv": draw.normal(dtype, *shape)}


class Problem:
    """An entry with its tensors."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.integers = entry.integers()
        case = entry.kernel
        if "backward" in entry.case and entry.case.startswith("attention"):
            small = case.arguments(seed=0)
            made = _gradient(Draw(), entry.sizes["heads"], entry.sizes["length"], case.constants["D"], small["q"].dtype)
            if "queries" in entry.case:
                made["dq"] = torch.empty_like(made["q"])
        else:
            made = case.make(Draw(), entry.sizes)
        names = [name for name in case.fn.arg_names if name not in case.constants]
        self.arguments = {name: self.integers[name] if name in self.integers else _placed(made[name]) for name in names}
        reference = case.arguments(seed=0)
        self.outputs = [name for name in case.tolerance(reference) if name in self.arguments]
        # In-place kernels get the same contents in each run that is compared.
        self.contents = {name: self.arguments[name].clone() for name in self.outputs}

    def call(self, way: str, config: Mapping[str, Any]) -> Callable[[], Any]:
        """Return what runs a configuration."""
        case = self.entry.kernel
        constants, options = self.entry.constants(config), self.entry.options(config)
        processors = torch.cuda.get_device_properties(0).multi_processor_count
        sizes = {**self.entry.sizes, **self.arguments}
        grid = case.grid({name: value for name, value in sizes.items() if name not in constants}, constants, processors)
        return functools.partial(_kernel(case.fn, way)[grid], **self.arguments, **constants, **options)

    def results(self, call: Callable[[], Any]) -> list[torch.Tensor]:
        """Return what a call writes, and zeros where it writes nothing, which outputs for smaller tiles have."""
        for name, content in self.contents.items():
            self.arguments[name].copy_(content)
        call()
        written = (self.arguments[name].to(torch.float32, copy=True) for name in self.outputs)
        return [torch.nan_to_num(values, nan=0.0, posinf=torch.inf, neginf=-torch.inf) for values in written]


@functools.cache
def _kernel(fn: Any, way: str) -> Any:
    pipelines = {"ours": "layout", "free": _free_conversions.PIPELINE}
    return tritonext.use(pipelines[way])(fn) if way in pipelines else fn


def _placed(value: Any) -> Any:
    """Return a tensor of the corpus on the GPU."""
    if not isinstance(value, Tensor):
        return value
    if value.written:
        # All bits set are a NaN in every type that has one.
        size = int(np.prod(value.values.shape))
        raw = torch.full((size * _TYPES[value.dtype].itemsize,), 255, dtype=torch.uint8, device="cuda")
        return raw.view(_TYPES[value.dtype]).view(value.values.shape)
    bits = encode(value.values, value.dtype)
    return torch.from_numpy(bits.view(f"i{bits.itemsize}")).cuda().view(_TYPES[value.dtype])


def _runs(call: Callable[[], Any]) -> bool:
    """Run a configuration once; one that does not fit into the GPU is no candidate."""
    try:
        call()
    except triton.OutOfResources:
        return False
    return True


def _tuned(problem: Problem, way: str, timer: Timer) -> Mapping[str, Any]:
    """Return the fastest configuration."""
    calls = {number: problem.call(way, config) for number, config in enumerate(problem.entry.configs)}
    calls = {str(number): call for number, call in calls.items() if _runs(call)}
    if len(calls) == 1:
        return problem.entry.configs[int(next(iter(calls)))]
    samples = harness.measure(calls, timer, rounds=8, warmup=2)
    return problem.entry.configs[int(min(samples, key=lambda name: samples[name].median))]


def _counts(kernel: Any) -> dict[str, Any]:
    found = inspect_code.stats(kernel).to_json()
    return {name: found[name] for name in ("barriers", "shared_bytes", "registers", "spills", "instructions")}


def _named(config: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in config.items()) or "as in the corpus"


def measured(
    entry: Entry, bound: bool, environment: Environment, timer: Timer, seconds: float, disassemblers: Executor
) -> Callable[[], Record]:
    """Tune, check and time one entry; return what makes the record when the machine code is counted."""
    problem = Problem(entry)
    configs = {way: _tuned(problem, way, timer) for way in WAYS}
    candidates = {way: problem.call(way, configs[way]) for way in WAYS}
    # What is measured once counts for both names.
    same = "stock" if configs["ours"] == configs["stock"] else "stock_same"
    if same not in candidates:
        candidates[same] = problem.call("stock", configs["ours"])
    if bound:
        candidates["free"] = problem.call("free", configs["stock"])
    outputs = {"ours": problem.results(candidates["ours"]), "stock_same": problem.results(candidates[same])}
    tolerance = max(TOLERANCES.get(problem.arguments[name].dtype, 0.0) for name in problem.outputs)
    references = [output.double() for output in outputs["stock_same"]]
    error = harness.check(outputs, references, tolerance, "stock in the same configuration", torch.equal)
    rounds = harness.rounds_for(candidates, timer, seconds)
    samples = harness.measure(candidates, timer, rounds)
    samples["stock_same"] = samples[same]
    code = {name: disassemblers.submit(_counts, candidate()) for name, candidate in candidates.items()}
    code["stock_same"] = code[same]
    params = {
        "kernel": entry.case,
        "sizes": ", ".join(f"{name}={value}" for name, value in entry.sizes.items()),
        "layout_bound": bound,
        "ours_config": _named(configs["ours"]),
        "stock_config": _named(configs["stock"]),
        "rounds": rounds,
    }
    if bound:
        freed, conversions = getattr(candidates["free"]().metadata, _free_conversions.FREED)
        params["free_conversions"] = f"{freed} of {conversions}"

    def record() -> Record:
        counts = {name: counted.result() for name, counted in code.items()}
        return harness.record(SUITE, entry.name, params, Metric.microseconds(), samples, environment, error, counts)

    return record


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the entries whose name contains ``wanted``, those that layouts bind first."""
    torch.manual_seed(0)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    listed = json.loads(FILE.read_text())
    names = [name for name in sorted(ENTRIES, key=lambda name: not listed[name]["bound"]) if wanted in name]
    finish = None
    with ThreadPoolExecutor(len(WAYS) + 2) as disassemblers:
        for name in names:
            following = measured(ENTRIES[name], listed[name]["bound"], environment, timer, seconds, disassemblers)
            torch.cuda.empty_cache()
            if finish is not None:
                yield finish()
            finish = following
        if finish is not None:
            yield finish()


def compilations(wanted: str) -> list[tuple[str, int, str]]:
    """Return what :func:`compile_kernel` takes for the entries whose name contains ``wanted``."""
    named = [entry for entry in ENTRIES.values() if wanted in entry.name]
    return [(entry.name, number, way) for entry in named for number in range(len(entry.configs)) for way in WAYS]


def compile_kernel(name: str, number: int, way: str) -> None:
    """Compile a configuration of an entry into Triton's cache."""
    entry = ENTRIES[name]
    config, case = entry.configs[number], entry.kernel
    integers, tensors = entry.integers(), case.arguments(seed=0)
    constants = entry.constants(config)
    arguments = {
        argument: integers[argument] if argument in integers else MockTensor(_TYPES[tensors[argument].dtype])
        for argument in case.fn.arg_names
        if argument not in constants
    }
    _kernel(case.fn, way).warmup(**arguments, grid=(1,), **constants, **entry.options(config))


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result; how fast it is, is not judged here."""
    if entry.error.acceptable:
        return []
    return [f"the relative error {entry.error.value:.2e} is above {entry.error.tolerance:.0e}"]
