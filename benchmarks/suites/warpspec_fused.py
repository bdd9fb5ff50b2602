"""Products with an epilogue, of bfloat16 matrices from plain source.

``unfused`` is cuBLAS and then the epilogue in PyTorch's own kernels. The operations of an epilogue are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton

from harness import Environment, Record, Timer

from ._warpspec import Config, Problem, corpus, measured, prepare, problems
from .warpspec_gemm import configs, grid

__all__ = ["problems", "run"]

SUITE = "warpspec-fused"

SHAPES = ((4096, 4096, 4096), (8192, 8192, 256), (8192, 8192, 512), (65536, 1024, 1024))
SWIGLU = (8192, 14336, 4096)
TOLERANCE = 8e-3
# Rows of each tile are scaled to 448 in a type whose numbers near that are 32 apart.
QUANTIZED_TOLERANCE = 4e-2

# Of two products: rows, columns and K of the tile, warps and stages.
TILES = ((128, 64, 64, 4, 3), (128, 64, 64, 4, 4), (128, 128, 64, 8, 3), (128, 128, 64, 8, 4), (256, 64, 64, 8, 3))


def gelu(values: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(values, approximate="tanh")


def fused(epilogue: str, m: int, n: int, k: int) -> Problem:
    """Return the candidates of one epilogue of the kernel of all products."""
    a, b = (torch.randn(size, device="cuda", dtype=torch.bfloat16) for size in ((m, k), (k, n)))
    # Of the magnitude of the products, so that a wrong epilogue is seen.
    x = torch.randn((m, n) if epilogue == "residual" else (n,), device="cuda", dtype=torch.bfloat16) * k**0.5
    quantized = epilogue == "quantize"
    out = torch.empty((m, n), device="cuda", dtype=torch.float8_e4m3fn if quantized else torch.bfloat16)
    scales = torch.empty((m, triton.cdiv(n, 128)), device="cuda", dtype=torch.float32)
    product = a.double() @ b.double()
    choice = configs(EPILOGUE=epilogue)
    libraries: dict[str, Callable[[], object]] = {}
    if quantized:
        # Scales belong to a tile: one width makes one reference.
        choice = [config for config in choice if config.constants["BN"] == 128]
        most = product.view(m, -1, 128).abs().amax(2) / 448
        references = [product / most.repeat_interleave(128, 1)]

        def unfused() -> object:
            parts = torch.mm(a, b).view(m, -1, 128)
            scale = parts.abs().amax(2, keepdim=True).float() / 448
            return (parts / scale).to(torch.float8_e4m3fn)

        libraries = {"unfused": unfused}
    elif epilogue == "residual":
        references = [product + x]
        libraries = {"unfused": lambda: torch.addmm(x, a, b)}
    else:
        references = [gelu(product + x)]
        libraries = {"unfused": lambda: gelu(torch.addmm(x, a, b))}
    return Problem(
        arguments={"a": a, "b": b, "c": out, "x": x, "y": scales, "M": m, "N": n, "K": k},
        outputs=[out],
        references=references,
        grid=grid(m, n),
        configs=choice,
        libraries=libraries,
    )


def swiglu(m: int, n: int, k: int) -> Problem:
    """Return the candidates of two products that share an operand."""
    a = torch.randn((m, k), device="cuda", dtype=torch.bfloat16)
    gate, up = (torch.randn((n, k), device="cuda", dtype=torch.bfloat16) * k**-0.5 for _ in range(2))
    out = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    # A part of the rows is enough, and float64 of all takes long.
    few = a[:512].double()
    reference = torch.nn.functional.silu(few @ gate.double().T) * (few @ up.double().T)
    both = torch.cat([gate, up])

    def unfused() -> object:
        left, right = (a @ both.T).chunk(2, 1)
        return torch.nn.functional.silu(left) * right

    def blocks(config: Config) -> tuple[int, ...]:
        return (triton.cdiv(m, config.constants["BM"]) * triton.cdiv(n, config.constants["BN"]),)

    names = ("BM", "BN", "BK")
    fn = corpus().gemm.swiglu
    return Problem(
        arguments={"a": a, "gate": gate, "up": up, "c": out, "M": m, "N": n, "K": k},
        outputs=[out],
        references=[reference],
        grid=blocks,
        configs=[Config(fn, dict(zip(names, tile)), warps, stages) for *tile, warps, stages in TILES],
        libraries={"unfused": unfused},
        part=lambda output: output[:512].clone(),
    )


def cases() -> Iterator[tuple[str, tuple[int, int, int], Callable[[], Problem], dict[str, Any]]]:
    """Return name, shape, candidates and what differs in the record of each case."""
    for epilogue in ("bias_gelu", "residual", "quantize"):
        for shape in SHAPES:
            name = f"{epilogue.replace('_', '-')}-{'x'.join(map(str, shape))}"
            yield name, shape, lambda epilogue=epilogue, shape=shape: fused(epilogue, *shape), {"epilogue": epilogue}
    m, n, k = SWIGLU
    yield f"swiglu-{m}x{n}x{k}", (m, 2 * n, k), lambda: swiglu(m, n, k), {"epilogue": "swiglu"}


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    prepare()
    for name, (m, n, k), make, differs in cases():
        if wanted in name:
            tolerance = QUANTIZED_TOLERANCE if differs["epilogue"] == "quantize" else TOLERANCE
            params = {"M": m, "N": n, "K": k, "input": "bfloat16"} | differs
            yield measured(SUITE, name, make(), params, 2 * m * n * k, tolerance, environment, timer, seconds)
            torch.cuda.empty_cache()
