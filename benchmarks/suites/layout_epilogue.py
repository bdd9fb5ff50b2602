"""GEMM with plain and fused epilogues: the extension `layout` against stock Triton and cuBLAS.

Two groups of cases: ``tile-…`` fixes the tile, so that ours and ``stock_same`` differ in the extension alone;
``<epilogue>-…`` tunes both over the same configurations for each shape. Results must equal those of ``stock_same`` in
every bit. ``stock_descriptor`` is the best stock kernel for a product alone, persistent and with bulk copies; the
extension leaves its epilogue as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import triton

import harness
import tritonext
from harness import Environment, Metric, Record, Timer
from tritonext import inspect_code
from tritonext.testing import kernels

SUITE = "layout-epilogue"
EXTENSION = "layout"

SHAPES = (
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 8192, 512),
    (65536, 1024, 1024),
    (16, 8192, 8192),
)
TILE_SHAPE = (4096, 4096, 4096)

# The largest relative error of rounding to the output type, and of 32-bit accumulation over K for float32 output.
TOLERANCES = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 1e-4}


@dataclass(frozen=True)
class Config:
    """Tile, warps and pipeline stages of one compilation."""

    BM: int
    BN: int
    BK: int
    num_warps: int
    num_stages: int

    @property
    def constants(self) -> dict[str, int]:
        """Arguments of the kernel."""
        return {"BM": self.BM, "BN": self.BN, "BK": self.BK}

    @property
    def options(self) -> dict[str, int]:
        """Compile options."""
        return {"num_warps": self.num_warps, "num_stages": self.num_stages}

    def __str__(self) -> str:
        return f"{self.BM}x{self.BN}x{self.BK}-w{self.num_warps}"


TILES = tuple(Config(128, columns, 64, warps, 3) for columns in (128, 256) for warps in (4, 8))
CONFIGS = (
    Config(128, 128, 64, 4, 3),
    Config(128, 128, 64, 8, 4),
    Config(128, 256, 64, 8, 3),
    Config(256, 128, 64, 8, 3),
    Config(128, 256, 64, 8, 4),
)
# Of the persistent kernel with bulk copies.
DESCRIPTOR_CONFIGS = (Config(128, 128, 64, 4, 4), Config(128, 256, 64, 8, 3))
# For shapes with few rows.
FLAT_CONFIGS = (Config(16, 64, 128, 4, 4), Config(16, 128, 128, 4, 4), Config(16, 128, 64, 4, 5))


@functools.cache
def gemm(extended: bool) -> Any:
    """Return the kernel, with the extension or as stock Triton compiles it."""
    return tritonext.use(EXTENSION)(kernels.gemm) if extended else kernels.gemm


@dataclass(frozen=True)
class Epilogue:
    """What follows the product, as the kernel names it, and the output type."""

    name: str
    kind: str
    out: torch.dtype = torch.float16

    def auxiliary(self, m: int, n: int) -> torch.Tensor:
        """Return the second operand of the epilogue; one element when there is none."""
        shape = {"bias": (n,), "silu": (n,), "residual": (m, n), "row_max": (m, -(-n // 64))}.get(self.kind, (1,))
        dtype = torch.float32 if self.kind == "row_max" else torch.float16
        return torch.randn(shape, device="cuda", dtype=dtype)

    def apply(self, product: torch.Tensor, aux: torch.Tensor) -> torch.Tensor:
        """Return the result in the precision of ``product``."""
        if self.kind in ("bias", "silu", "residual"):
            product = product + aux.to(product.dtype)
        return torch.nn.functional.silu(product) if self.kind == "silu" else product

    def library(self, a: torch.Tensor, b: torch.Tensor, aux: torch.Tensor) -> torch.Tensor:
        """Compute the same with what PyTorch calls for it, cuBLAS and elementwise kernels."""
        if self.kind in ("bias", "silu", "residual"):
            result = torch.addmm(aux, a, b)
            return torch.nn.functional.silu(result, inplace=True) if self.kind == "silu" else result
        result = torch.mm(a, b, out_dtype=self.out) if self.out != a.dtype else torch.mm(a, b)
        if self.kind == "row_max":
            result.amax(1)
        return result


EPILOGUES = (
    Epilogue("plain", "plain"),
    Epilogue("fp32", "plain", torch.float32),
    Epilogue("bias", "bias"),
    Epilogue("silu", "silu"),
    Epilogue("residual", "residual"),
    Epilogue("rowmax", "row_max"),
)


class Problem:
    """The operands of one shape, shared by its cases."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.m, self.n, self.k = shape
        self.a = torch.randn((self.m, self.k), device="cuda", dtype=torch.float16)
        self.b = torch.randn((self.k, self.n), device="cuda", dtype=torch.float16)
        self.product = self.a.double() @ self.b.double()

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def metric(self) -> Metric:
        """Rate of the product; the epilogue's operations are not counted."""
        return Metric.tflops(2 * self.m * self.n * self.k)


class Case:
    """One epilogue on one problem, with its output memory."""

    def __init__(self, problem: Problem, epilogue: Epilogue) -> None:
        self.problem = problem
        self.epilogue = epilogue
        self.aux = epilogue.auxiliary(problem.m, problem.n)
        self.out = torch.empty((problem.m, problem.n), device="cuda", dtype=epilogue.out)

    def launch(self, config: Config, extended: bool) -> Any:
        """Run the kernel, with the extension or without; returns the compiled kernel."""
        p = self.problem
        grid = (-(-p.m // config.BM) * -(-p.n // config.BN),)
        arguments = (p.a, p.b, self.out, self.aux, p.m, p.n, p.k)
        constants = {**config.constants, "EPILOGUE": self.epilogue.kind}
        return gemm(extended)[grid](*arguments, **constants, **config.options)

    def results(self, config: Config, extended: bool) -> list[torch.Tensor]:
        """Return what the kernel writes over poisoned memory."""
        self.out.fill_(float("nan"))
        if self.epilogue.kind == "row_max":
            self.aux.fill_(float("nan"))
        self.launch(config, extended)
        results = [self.out.clone()]
        if self.epilogue.kind == "row_max":
            results.append(self.aux.flatten()[: self.problem.m * (self.problem.n // config.BN)].clone())
        return results

    def references(self, config: Config) -> list[torch.Tensor]:
        """Return the results in float64."""
        product = self.problem.product
        references = [self.epilogue.apply(product, self.aux)]
        if self.epilogue.kind == "row_max":
            references.append(product.view(-1, config.BN).amax(1))
        return references

    def launch_descriptor(self, config: Config) -> Any:
        """Run the persistent kernel as stock Triton compiles it."""
        p = self.problem
        programs = torch.cuda.get_device_properties(0).multi_processor_count
        arguments = (p.a, p.b, self.out, p.m, p.n, p.k)
        constants = {**config.constants, "PROGRAMS": programs, "SUBTILE": 2}
        return kernels.gemm_persistent[(programs,)](*arguments, **constants, **config.options)

    def tuned(self, configs: tuple[Config, ...], launch: Callable[[Config], object], timer: Timer) -> Config:
        """Return the fastest of ``configs``."""
        candidates = {str(number): functools.partial(launch, config) for number, config in enumerate(configs)}
        samples = harness.measure(candidates, timer, rounds=8, warmup=2)
        return configs[int(min(samples, key=lambda name: samples[name].median))]

    def measured(
        self, name: str, ours: Config, stock: Config | None, environment: Environment, timer: Timer, seconds: float
    ) -> Record:
        """Check and time ours against stock in our configuration, tuned stock, and cuBLAS."""
        p = self.problem
        outputs = {"ours": self.results(ours, True), "stock_same": self.results(ours, False)}
        references = self.references(ours)
        tolerance = TOLERANCES[self.epilogue.out]
        error = harness.check(outputs, references, tolerance, "float64 product", torch.equal)
        candidates = {
            "ours": lambda: self.launch(ours, True),
            "stock_same": lambda: self.launch(ours, False),
            "cublas": lambda: self.epilogue.library(p.a, p.b, self.aux),
        }
        descriptor = None
        if stock is not None:
            candidates["stock"] = lambda: self.launch(stock, False)
            if self.epilogue.kind == "plain" and p.m >= DESCRIPTOR_CONFIGS[0].BM:
                descriptor = self.tuned(DESCRIPTOR_CONFIGS, self.launch_descriptor, timer)
                candidates["stock_descriptor"] = lambda: self.launch_descriptor(descriptor)
        rounds = harness.rounds_for(candidates, timer, seconds)
        samples = harness.measure(candidates, timer, rounds)
        params = {
            "M": p.m,
            "N": p.n,
            "K": p.k,
            "input": "float16",
            "output": str(self.epilogue.out).removeprefix("torch."),
        }
        params |= {"epilogue": self.epilogue.kind, "config": str(ours), "stages": ours.num_stages, "rounds": rounds}
        params |= {f"{name}_config": str(used) for name, used in (("stock", stock), ("descriptor", descriptor)) if used}
        code = {key: _counts(self.launch(ours, extended)) for key, extended in (("ours", True), ("stock_same", False))}
        return harness.record(SUITE, name, params, p.metric, samples, environment, error, code)


def _counts(kernel: Any) -> dict[str, Any]:
    found = inspect_code.stats(kernel).to_json()
    names = ("barriers", "epilogue_barriers", "shared_bytes", "registers", "spills", "instructions", "global_stores")
    return {name: found[name] for name in names}


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    torch.manual_seed(0)
    # Descriptors made in a kernel live in memory that the caller provides.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    for shape in SHAPES:
        names = [f"{epilogue.name}-{'x'.join(map(str, shape))}" for epilogue in EPILOGUES]
        tiles = [f"tile-{epilogue.name}-{tile}" for epilogue in EPILOGUES[:2] for tile in TILES]
        if not any(wanted in name for name in (names + tiles if shape == TILE_SHAPE else names)):
            continue
        problem = Problem(shape)
        for epilogue in EPILOGUES:
            case = Case(problem, epilogue)
            if shape == TILE_SHAPE and epilogue in EPILOGUES[:2]:
                for tile in TILES:
                    name = f"tile-{epilogue.name}-{tile}"
                    if wanted in name:
                        yield case.measured(name, tile, None, environment, timer, seconds)
            name = f"{epilogue.name}-{problem}"
            if wanted in name:
                configs = CONFIGS if problem.m >= 128 else FLAT_CONFIGS
                ours = case.tuned(configs, functools.partial(case.launch, extended=True), timer)
                stock = case.tuned(configs, functools.partial(case.launch, extended=False), timer)
                yield case.measured(name, ours, stock, environment, timer, seconds)


def problems(entry: Record) -> list[str]:
    """Say what is wrong with a result; how fast it is, is not judged here."""
    found = []
    if not entry.error.acceptable:
        found.append(f"the relative error {entry.error.value:.2e} is above {entry.error.tolerance:.0e}")
    if not entry.error.bit_equal["stock_same"]:
        found.append("the result is not bit-equal to stock's")
    return found
