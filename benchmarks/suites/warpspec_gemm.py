"""Products of bfloat16 matrices from plain source: the pass against tuned stock, stock's own pass, cuBLAS and TLX.

Each way has the faster of kernels whose descriptors the host makes, as it does for TLX, and of kernels that make them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import triton

from harness import Environment, Record, Timer

from ._warpspec import Config, Problem, corpus, measured, prepare, problems
from .tlx_gemm import load_example

__all__ = ["TILES", "configs", "grid", "problems", "run"]

SUITE = "warpspec-gemm"

SHAPES = (
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (8192, 8192, 256),
    (8192, 8192, 512),
    (8192, 8192, 1024),
    (8192, 8192, 4096),
    (65536, 1024, 1024),
    (16384, 512, 2048),
    (128, 8192, 8192),
    (256, 8192, 8192),
)
# Rounding of the result to bfloat16.
TOLERANCE = 8e-3

# Rows, columns and K of the tile, warps and stages.
TILES = (
    (64, 128, 64, 4, 4),
    (64, 128, 64, 4, 8),
    (128, 64, 64, 4, 8),
    (128, 128, 64, 4, 3),
    (128, 128, 64, 4, 4),
    (128, 128, 64, 8, 4),
    (128, 256, 64, 4, 3),
    (128, 256, 64, 8, 3),
    (128, 256, 64, 8, 4),
    (256, 128, 64, 8, 3),
)


def configs(**constants: Any) -> list[Config]:
    """Return configurations of a kernel with a tile per program, and of a persistent one; all have ``constants``."""
    gemm = corpus().gemm
    found = []
    for bm, bn, bk, warps, stages in TILES:
        tile = {"BM": bm, "BN": bn, "BK": bk * (2 if constants.get("TRANSPOSED") else 1)}
        found.append(Config(gemm.gemm, {**tile, **constants}, warps, stages))
        if bm * bn > 128 * 64 and (warps == 8 or bn < 256):
            # Stock overlaps tiles by flattening, and with 4 stages has no memory for whole tiles of the result.
            walk = {"FLATTEN": True, "SUBTILE": 2}
            found.append(Config(gemm.gemm_persistent, {**tile, **walk, **constants}, warps, stages))
    return found


def grid(m: int, n: int) -> Any:
    """Return what computes the grid of a configuration."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count

    def programs(config: Config) -> tuple[int, ...]:
        tiles = triton.cdiv(m, config.constants["BM"]) * triton.cdiv(n, config.constants["BN"])
        return (min(tiles, processors),) if config.fn is corpus().gemm.gemm_persistent else (tiles,)

    return programs


def problem(m: int, n: int, k: int) -> Problem:
    """Return random operands of one shape and the candidates."""
    a, b = (torch.randn(size, device="cuda", dtype=torch.bfloat16) for size in ((m, k), (k, n)))
    out = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    return Problem(
        arguments={"a": a, "b": b, "c": out, "x": out, "y": out, "M": m, "N": n, "K": k},
        outputs=[out],
        references=[a.double() @ b.double()],
        grid=grid(m, n),
        # Descriptors that the kernel makes cost it about two microseconds, and no work of the host.
        configs=configs() + configs(A="host", B="host", C="host"),
        libraries={"cublas": lambda: torch.mm(a, b, out=out), "tlx": load_example().prepare(a, b, out)},
    )


def run(environment: Environment, timer: Timer, seconds: float, wanted: str) -> Iterator[Record]:
    """Measure the cases whose name contains ``wanted``."""
    prepare()
    for shape in SHAPES:
        name = "x".join(map(str, shape))
        if wanted in name:
            params = dict(zip("MNK", shape)) | {"input": "bfloat16"}
            operations = 2 * shape[0] * shape[1] * shape[2]
            limits = (TOLERANCE, environment, timer, seconds)
            yield measured(SUITE, name, problem(*shape), params, operations, *limits)
            torch.cuda.empty_cache()
