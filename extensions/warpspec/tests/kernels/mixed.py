"""Products whose operands or parts are scaled in the loop: quantized weights, and 8-bit floats with block scales."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import triton
import triton.language as tl

from tritonext.testing.cases import rounded

from .case import Arguments, Case, Shape, Tensor, normal, output, within
from .gemm import tile_of

__all__ = ["CASES", "gemm_group_quantized", "gemm_scaled_by_descriptor"]


@triton.jit
def gemm_group_quantized(
    a,
    b,
    c,
    scales,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    WS: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C[M, N] = A[M, K] @ (B[K, N] * scales[K / BK, N]) for B of 8-bit integers; pointers walk over the scales."""
    row, column = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    a_tiles = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_tiles = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    rn = column + tl.arange(0, BN)
    at = scales + rn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WS):
        scale = tl.load(at, mask=rn < N, other=0)
        right = b_tiles.load([k, column]).to(tl.float32) * scale[None, :]
        acc = tl.dot(a_tiles.load([row, k]), right.to(a.dtype.element_ty), acc)
        at += N
    c_tiles.store([row, column], acc.to(c.dtype.element_ty))


@triton.jit
def gemm_scaled_by_descriptor(
    a,
    b,
    c,
    a_scales,
    b_scales,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    WS: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C[M, N] = A[M, K] @ B[N, K]^T of 8-bit floats, with a scale for each row and BK elements of both: [K / BK, M]."""
    row, column = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    a_tiles = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    c_tiles = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    steps = tl.cdiv(K, BK)
    a_parts = tl.make_tensor_descriptor(a_scales, [steps, M], [M, 1], [1, BM])
    b_parts = tl.make_tensor_descriptor(b_scales, [steps, N], [N, 1], [1, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for step in tl.range(0, steps, warp_specialize=WS):
        part = tl.dot(a_tiles.load([row, step * BK]), b_tiles.load([column, step * BK]).T)
        by_row = a_parts.load([step, row]).reshape(BM)
        by_column = b_parts.load([step, column]).reshape(BN)
        acc += part * by_row[:, None] * by_column[None, :]
    c_tiles.store([row, column], acc.to(c.dtype.element_ty))


def _grid(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
    return (triton.cdiv(arguments["M"], constants["BM"]) * triton.cdiv(arguments["N"], constants["BN"]),)


def _scales(random: np.random.Generator, *shape: int) -> Tensor:
    return Tensor("fp32", rounded(random.uniform(0.5, 2, shape), "fp32"))


def _group_quantized(name: str, **more: Any) -> Case:
    constants = {"BM": 128, "BN": 128, "BK": 64} | {key: more.pop(key) for key in list(more) if key.isupper()}

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        m, n, k = shape["M"], shape["N"], shape["K"]
        operands = {"a": normal(random, "bf16", m, k), "b": normal(random, "i8", k, n), "c": output("bf16", m, n)}
        return operands | {"scales": _scales(random, triton.cdiv(k, constants["BK"]), n)} | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        by_row = np.repeat(arguments["scales"].values, constants["BK"], 0)[: arguments["K"]]
        return {"c": arguments["a"].values @ rounded(arguments["b"].values * by_row, "bf16")}

    return Case(
        name=name,
        fn=gemm_group_quantized,
        row="8-bit and 16-bit operands",
        make=make,
        reference=reference,
        tolerance=lambda arguments: {"c": within("bf16", 2.0**-12 * max(arguments["K"], 1) ** 0.5)},
        grid=_grid,
        shapes=tuple(
            {"M": m, "N": n, "K": k} for m, n, k in ((512, 512, 512), (200, 272, 176), (128, 128, 64), (40, 48, 0))
        ),
        constants=constants,
        options={"num_warps": 4, "num_stages": 3} | more.pop("options", {}),
        **more,
    )


def _by_descriptor() -> Case:
    constants = {"BM": 64, "BN": 128, "BK": 128}

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        m, n, k = shape["M"], shape["N"], shape["K"]
        steps = triton.cdiv(k, constants["BK"])
        operands = {"a": normal(random, "fp8e4nv", m, k), "b": normal(random, "fp8e4nv", n, k)}
        scales = {"a_scales": _scales(random, steps, m), "b_scales": _scales(random, steps, n)}
        return operands | {"c": output("bf16", m, n)} | scales | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        a, b = (
            arguments[name].values
            * np.repeat(arguments[f"{name}_scales"].values, constants["BK"], 0)[: arguments["K"]].T
            for name in "ab"
        )
        return {"c": a @ b.T}

    return Case(
        name="gemm_fp8_scaled_descriptor",
        fn=gemm_scaled_by_descriptor,
        row="block-scaled fp8",
        make=make,
        reference=reference,
        tolerance=lambda arguments: {"c": within("bf16", 2.0**-7 * max(arguments["K"], 1) ** 0.5)},
        grid=_grid,
        shapes=tuple(
            {"M": m, "N": n, "K": k} for m, n, k in ((512, 512, 512), (200, 272, 400), (64, 128, 128), (40, 48, 0))
        ),
        constants=constants,
        options={"num_warps": 4, "num_stages": 3},
    )


CASES = (_group_quantized("gemm_group_quantized"), _by_descriptor())
