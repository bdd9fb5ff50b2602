"""Products of 16-bit, 8-bit and 32-bit operands with every usual epilogue."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from .case import FLOAT8, Case, Tensor, cdiv, define, output, zeros
from .pointwise import uniform

__all__ = ["CASES", "gemm"]

CASES: list[Case] = []


@triton.jit
def place_of(pid, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a tile, in groups of GROUP rows of tiles."""
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * across)
    height = tl.minimum(down - group * GROUP, GROUP)
    inner = pid % (GROUP * across)
    return (group * GROUP + inner % height) * BM, inner // height * BN


@triton.jit
def gemm(
    a,
    b,
    c,
    bias,
    residual,
    scales,
    M,
    N,
    K,
    EPILOGUE: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    SPLIT: tl.constexpr = 1,
):
    """C = epilogue(A @ B) for row-major A [M, K] and B [K, N]; rows and columns in tiles, K in whole ones."""
    row, column = place_of(tl.program_id(0), M, N, BM, BN, 8)
    rm, rn, rk = row + tl.arange(0, BM), column + tl.arange(0, BN), tl.program_id(1) * BK + tl.arange(0, BK)
    left = a + rm[:, None] * K + rk[None, :]
    right = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK * SPLIT):
        x = tl.load(left, mask=(rm < M)[:, None], other=0.0)
        y = tl.load(right, mask=(rn < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
        left += BK * SPLIT
        right += BK * SPLIT * N
    inside = (rm < M)[:, None] & (rn < N)[None, :]
    place = rm[:, None] * N + rn[None, :]
    if EPILOGUE == "bias":
        acc += tl.load(bias + rn, mask=rn < N, other=0.0)[None, :].to(tl.float32)
    elif EPILOGUE == "residual":
        acc += tl.load(residual + place, mask=inside, other=0.0).to(tl.float32)
    elif EPILOGUE == "bias_silu_residual":
        acc += tl.load(bias + rn, mask=rn < N, other=0.0)[None, :].to(tl.float32)
        acc = acc * tl.sigmoid(acc) + tl.load(residual + place, mask=inside, other=0.0).to(tl.float32)
    elif EPILOGUE == "row_scale":
        # One scale for each row, of the largest magnitude in the tile.
        scale = tl.maximum(tl.max(tl.abs(acc), 1), 1e-6) / 448
        acc = acc / scale[:, None]
        tl.store(scales + column // BN * M + rm, scale, mask=rm < M)
    elif EPILOGUE == "column_sum":
        tl.atomic_add(scales + rn, tl.sum(tl.where(inside, acc, 0.0), 0), mask=rn < N)
    elif EPILOGUE == "scales":
        acc = acc * tl.load(bias + rm, mask=rm < M, other=0.0)[:, None] * tl.load(scales + rn, mask=rn < N, other=0.0)
    elif EPILOGUE == "dropout":
        acc = tl.where(tl.rand(7, place) > 0.5, acc * 2, 0.0)
    elif EPILOGUE == "clamp_columns":
        acc = tl.minimum(acc, tl.load(scales + rn, mask=rn < N, other=0.0)[None, :])
        acc = tl.maximum(acc, -tl.load(bias + rm, mask=rm < M, other=0.0)[:, None])
    elif EPILOGUE == "softmax":
        acc = tl.exp(acc - tl.max(acc, 1)[:, None])
        acc = acc / tl.sum(acc, 1)[:, None]
    elif EPILOGUE == "interleaved":
        gate, up = tl.split(acc.reshape(BM, BN // 2, 2))
        acc = gate * tl.sigmoid(gate) * up
        half = column // 2 + tl.arange(0, BN // 2)
        place = rm[:, None] * (N // 2) + half[None, :]
        inside = (rm < M)[:, None] & (half < N // 2)[None, :]
    if EPILOGUE == "transposed":
        place = rm[:, None] + rn[None, :] * M
    if EPILOGUE == "atomic":
        tl.atomic_add(c + place, acc, mask=inside, sem="relaxed")
    else:
        tl.store(c + place, acc.to(c.dtype.element_ty), mask=inside)
    if EPILOGUE == "both_ways":
        tl.store(residual + rm[:, None] + rn[None, :] * M, acc.to(c.dtype.element_ty), mask=inside)


def silu(x: np.ndarray) -> np.ndarray:
    """Return x times its logistic function."""
    return x / (1 + np.exp(-x))


def _gemm(a, b, bias, residual, scales, EPILOGUE, BN) -> dict[str, np.ndarray]:
    c = a.astype(np.float64) @ b
    if EPILOGUE == "bias":
        c = c + bias
    elif EPILOGUE == "residual":
        c = c + residual
    elif EPILOGUE == "bias_silu_residual":
        c = silu(c + bias) + residual
    elif EPILOGUE == "row_scale":
        tiles = c.reshape(len(c), -1, BN)
        scale = np.abs(tiles).max(2) / 448
        return {"c": (tiles / scale[:, :, None]).reshape(c.shape), "scales": scale.T}
    elif EPILOGUE == "column_sum":
        return {"c": c, "scales": c.sum(0)}
    elif EPILOGUE == "scales":
        c = c * bias[:, None] * scales
    elif EPILOGUE == "dropout":
        c = np.where(uniform(7, c.size).reshape(c.shape) > 0.5, c * 2, 0)
    elif EPILOGUE == "clamp_columns":
        c = np.maximum(np.minimum(c, scales), -bias[:, None])
    elif EPILOGUE == "softmax":
        tiles = np.exp(c.reshape(len(c), -1, BN))
        c = (tiles / tiles.sum(2, keepdims=True)).reshape(c.shape)
    elif EPILOGUE == "interleaved":
        c = silu(c[:, ::2]) * c[:, 1::2]
    elif EPILOGUE == "transposed":
        c = c.T
    elif EPILOGUE == "both_ways":
        return {"c": c, "residual": c.T}
    return {"c": c}


def _gemm_tensors(draw, M, N, K, EPILOGUE, BM, BN, dtype, out) -> dict:
    shape = {"transposed": (N, M), "interleaved": (M, N // 2)}.get(EPILOGUE, (M, N))
    by_row = EPILOGUE in ("scales", "clamp_columns")
    scales = {"row_scale": output("fp32", N // BN, M), "column_sum": zeros("fp32", N)}
    return {
        "a": draw.normal(dtype, M, K),
        "b": draw.normal(dtype, K, N, scale=K**-0.5),
        "c": zeros(out, *shape) if EPILOGUE == "atomic" else output(out, *shape),
        "bias": draw.uniform("fp32", 0.25, 1, M) if by_row else draw.normal(dtype, N),
        "residual": output(out, N, M)
        if EPILOGUE == "both_ways"
        else draw.normal("fp16" if dtype == "i8" else dtype, M, N),
        "scales": scales.get(EPILOGUE, draw.uniform("fp32", 0.25, 1, N)),
    }


def _epilogues() -> dict[str, dict]:
    usual = {"BM": 128, "BN": 128, "BK": 64, "num_warps": 4, "num_stages": 3, "dtype": "fp16", "out": "fp16"}
    found = {}
    for epilogue in (
        "plain",
        "bias",
        "residual",
        "bias_silu_residual",
        "column_sum",
        "scales",
        "dropout",
        "clamp_columns",
        "softmax",
        "interleaved",
        "transposed",
        "both_ways",
    ):
        found[epilogue] = usual | {"EPILOGUE": epilogue, "ordered": epilogue != "column_sum"}
    found["row_scale"] = usual | {"EPILOGUE": "row_scale", "out": "fp8e4nv", "targets": FLOAT8, "absolute": 2.0**-5}
    found["fp32"] = usual | {"EPILOGUE": "plain", "out": "fp32"}
    found["bf16_w8"] = usual | {
        "EPILOGUE": "plain",
        "dtype": "bf16",
        "out": "bf16",
        "BN": 256,
        "num_warps": 8,
        "N": 256,
    }
    found["residual_w8"] = usual | {"EPILOGUE": "residual", "num_warps": 8}
    found["bias_small"] = usual | {"EPILOGUE": "bias", "BM": 64, "BN": 64, "BK": 32}
    found["flat"] = usual | {"EPILOGUE": "plain", "BM": 16, "BN": 128, "BK": 128, "M": 16}
    found["split_k"] = usual | {"EPILOGUE": "atomic", "out": "fp32", "SPLIT": 2, "ordered": False}
    found["split_k_small"] = usual | {
        "EPILOGUE": "atomic", "out": "fp32", "SPLIT": 4, "BM": 64, "BN": 64, "BK": 64, "K": 512, "ordered": False
    }  # fmt: skip
    found["tf32"] = usual | {"EPILOGUE": "bias", "dtype": "fp32", "out": "fp32", "BK": 32, "absolute": 2.0**-6}
    found["fp32_to_bf16"] = usual | {"EPILOGUE": "residual", "dtype": "bf16", "out": "fp32", "BM": 64, "num_warps": 8}
    return found


CASES += define(
    gemm,
    make=_gemm_tensors,
    reference=_gemm,
    grid=lambda M, N, BM, BN, SPLIT: (cdiv(M, BM) * cdiv(N, BN), SPLIT),
    sizes={"M": 256, "N": 128, "K": 256, "SPLIT": 1},
    variants=_epilogues(),
    absolute=2.0**-9,
)


@triton.jit
def gemm_int8(a, b, c, row_scales, column_scales, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """8-bit integers with a scale for each row and column; B is [N, K]."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(b + rn[None, :] * K + k + rk[:, None])
        acc = tl.dot(x, y, acc, out_dtype=tl.int32)
    value = acc.to(tl.float32) * tl.load(row_scales + rm)[:, None] * tl.load(column_scales + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], value.to(c.dtype.element_ty))


CASES += define(
    gemm_int8,
    make=lambda draw, M, N, K: {
        "a": draw.integers("i8", -127, 128, M, K),
        "b": draw.integers("i8", -127, 128, N, K),
        "c": output("bf16", M, N),
        "row_scales": draw.uniform("fp32", 0.001, 0.01, M),
        "column_scales": draw.uniform("fp32", 0.001, 0.01, N),
    },
    reference=lambda a, b, row_scales, column_scales: {
        "c": a.astype(np.float64) @ b.T * row_scales[:, None] * column_scales
    },
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 256},
    variants={"": {"BM": 128, "BN": 128, "BK": 128}, "w8": {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8}},
)


@triton.jit
def gemm_descriptor(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A persistent product with bulk copies; B is [N, K], and the tile is stored in two halves."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    result = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN // 2])
    across = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        row, column = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(left.load([row, k]), right.load([column, k]).T, acc)
        halves = acc.reshape(BM, 2, BN // 2).permute(0, 2, 1)
        first, second = tl.split(halves)
        result.store([row, column], first.to(c.dtype.element_ty))
        result.store([row, column + BN // 2], second.to(c.dtype.element_ty))


CASES += define(
    gemm_descriptor,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "b": draw.normal("bf16", N, K, scale=K**-0.5),
        "c": output("bf16", M, N),
    },
    reference=lambda a, b: {"c": a @ b.T},
    grid=lambda: 2,
    sizes={"M": 200, "N": 256, "K": 192},
    variants={
        "": {"BM": 128, "BN": 128, "BK": 64},
        "w8": {"BM": 128, "BN": 256, "BK": 64, "num_warps": 8},
    },
    absolute=2.0**-9,
)


@triton.jit
def addmm_descriptor(a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product with a bias of one dimension, added to a tile that a bulk copy stores."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(left.load([row, k]), right.load([k, column]), acc)
    rn = column + tl.arange(0, BN)
    acc += tl.load(bias + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    result = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    result.store([row, column], acc.to(c.dtype.element_ty))


CASES += define(
    addmm_descriptor,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "b": draw.normal("bf16", K, N, scale=K**-0.5),
        "bias": draw.normal("bf16", N),
        "c": output("bf16", M, N),
    },
    reference=lambda a, b, bias: {"c": a @ b + bias},
    grid=lambda M, N, BM, BN: (cdiv(M, BM), cdiv(N, BN)),
    sizes={"M": 128, "N": 256, "K": 128},
    variants={"": {"BM": 128, "BN": 128, "BK": 64}},
    absolute=2.0**-9,
)


@triton.jit
def gemm_grouped(a, b, c, ends, N, K, GROUPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Rows of A in groups, each times its own matrix of B [GROUPS, K, N]; programs go through all tiles."""
    rk = tl.arange(0, BK)
    across = tl.cdiv(N, BN)
    tile = tl.program_id(0)
    first, start = 0, 0
    for group in range(GROUPS):
        end = tl.load(ends + group)
        tiles = tl.cdiv(end - start, BM) * across
        while tile < first + tiles:
            row = start + (tile - first) // across * BM
            rm = row + tl.arange(0, BM)
            rn = (tile - first) % across * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                x = tl.load(a + rm[:, None] * K + k + rk[None, :], mask=(rm < end)[:, None], other=0.0)
                y = tl.load(b + (group * K + k + rk[:, None]) * N + rn[None, :])
                acc = tl.dot(x, y, acc)
            tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm < end)[:, None])
            tile += tl.num_programs(0)
        first += tiles
        start = end


def _grouped(a, b, ends) -> dict[str, np.ndarray]:
    starts = [0, *ends[:-1]]
    return {"c": np.concatenate([a[start:end] @ matrix for start, end, matrix in zip(starts, ends, b)])}


def _ends(M: int, GROUPS: int):
    return Tensor("i32", np.array([M * (group + 1) // GROUPS - 3 * (group % 2) for group in range(GROUPS - 1)] + [M]))


CASES += define(
    gemm_grouped,
    make=lambda draw, M, N, K, GROUPS: {
        "a": draw.normal("bf16", M, K),
        "b": draw.normal("bf16", GROUPS, K, N, scale=K**-0.5),
        "c": output("bf16", M, N),
        "ends": _ends(M, GROUPS),
    },
    reference=_grouped,
    grid=lambda: 3,
    sizes={"M": 300, "N": 128, "K": 128, "GROUPS": 4},
    variants={"": {"BM": 64, "BN": 128, "BK": 64}},
    absolute=2.0**-9,
)


@triton.jit
def gemm_batched(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product for each of a batch, A transposed: [batch, K, M] and [batch, K, N]."""
    batch = tl.program_id(2).to(tl.int64)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + (batch * K + k + rk[None, :]) * M + rm[:, None])
        y = tl.load(b + (batch * K + k + rk[:, None]) * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + (batch * M + rm[:, None]) * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    gemm_batched,
    make=lambda draw, batch, M, N, K: {
        "a": draw.normal("fp16", batch, K, M),
        "b": draw.normal("fp16", batch, K, N, scale=K**-0.5),
        "c": output("fp16", batch, M, N),
    },
    reference=lambda a, b: {"c": a.transpose(0, 2, 1) @ b},
    grid=lambda batch, M, N, BM, BN: (M // BM, N // BN, batch),
    sizes={"batch": 2, "M": 128, "N": 128, "K": 128},
    variants={"": {"BM": 64, "BN": 128, "BK": 64}},
    absolute=2.0**-9,
)


@triton.jit
def gemm_relu_operand(a, b, shift, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """relu(A + shift) @ B: the left operand passes through registers, with a vector along K."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :]) + tl.load(shift + k + rk)[None, :]
        y = tl.load(b + (k + rk[:, None]) * N + rn[None, :])
        acc = tl.dot(tl.maximum(x, 0.0).to(y.dtype), y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    gemm_relu_operand,
    make=lambda draw, M, N, K: {
        "a": draw.normal("fp16", M, K),
        "b": draw.normal("fp16", K, N, scale=K**-0.5),
        "shift": draw.normal("fp16", K),
        "c": output("fp16", M, N),
    },
    reference=lambda a, b, shift: {"c": np.maximum(a + shift, 0) @ b},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 192},
    variants={"": {"BM": 128, "BN": 128, "BK": 64}, "w8": {"BM": 128, "BN": 128, "BK": 32, "num_warps": 8}},
    absolute=2.0**-7,
)


@triton.jit
def norm_gemm(a, weight, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """RMS norm of rows of A inside the product: a sum of squares carried beside the accumulator."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    squares = tl.zeros((BM,), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        wide = x.to(tl.float32)
        squares += tl.sum(wide * wide, 1)
        scaled = (wide * tl.load(weight + k + rk).to(tl.float32)[None, :]).to(x.dtype)
        acc = tl.dot(scaled, tl.load(b + (k + rk[:, None]) * N + rn[None, :]), acc)
    acc = acc * tl.rsqrt(squares / K + 1e-6)[:, None]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    norm_gemm,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "weight": draw.uniform("bf16", 0.5, 1, K),
        "b": draw.normal("bf16", K, N, scale=K**-0.5),
        "c": output("bf16", M, N),
    },
    reference=lambda a, weight, b: {"c": (a / np.sqrt((a**2).mean(1, keepdims=True) + 1e-6) * weight) @ b},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 192},
    variants={"": {"BM": 64, "BN": 128, "BK": 64}},
    absolute=2.0**-6,
)


@triton.jit
def gemm_dual(a, gate, up, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """silu(A @ gate) * (A @ up): two accumulators, one left operand."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    first = tl.zeros((BM, BN), tl.float32)
    second = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        place = (k + rk[:, None]) * N + rn[None, :]
        first = tl.dot(x, tl.load(gate + place), first)
        second = tl.dot(x, tl.load(up + place), second)
    value = first * tl.sigmoid(first) * second
    tl.store(c + rm[:, None] * N + rn[None, :], value.to(c.dtype.element_ty))


CASES += define(
    gemm_dual,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "gate": draw.normal("bf16", K, N, scale=K**-0.5),
        "up": draw.normal("bf16", K, N, scale=K**-0.5),
        "c": output("bf16", M, N),
    },
    reference=lambda a, gate, up: {"c": silu(a @ gate) * (a @ up)},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 192},
    variants={"": {"BM": 128, "BN": 64, "BK": 64}, "w8": {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8}},
    absolute=2.0**-8,
)


@triton.jit
def gemm_symmetric(a, c, M, K, BM: tl.constexpr, BK: tl.constexpr):
    """C = A @ A^T from the tiles below the diagonal: each is stored at its place and transposed at its mirror."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BM
    if row >= column:
        rm, rn, rk = row + tl.arange(0, BM), column + tl.arange(0, BM), tl.arange(0, BK)
        acc = tl.zeros((BM, BM), tl.float32)
        for k in range(0, K, BK):
            x = tl.load(a + rm[:, None] * K + k + rk[None, :])
            y = tl.load(a + rn[:, None] * K + k + rk[None, :])
            acc = tl.dot(x, y.T, acc)
        value = acc.to(c.dtype.element_ty)
        tl.store(c + rm[:, None] * M + rn[None, :], value)
        tl.store(c + rn[:, None] * M + rm[None, :], value.T)


CASES += define(
    gemm_symmetric,
    make=lambda draw, M, K: {"a": draw.normal("fp16", M, K, scale=K**-0.5), "c": output("fp16", M, M)},
    reference=lambda a: {"c": a @ a.T},
    grid=lambda M, BM: (M // BM, M // BM),
    sizes={"M": 256, "K": 128},
    variants={"": {"BM": 128, "BK": 64}, "small": {"BM": 64, "BK": 64}},
    absolute=2.0**-9,
)


@triton.jit
def gemm_scale_gemm(q, k, v, scales, out, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """sum of (Q @ K^T * scale by row and column) @ V: a scale between two products in a loop."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    query = tl.load(q + rm[:, None] * D + rd[None, :])
    by_row = tl.load(scales + rm)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        rn = start + tl.arange(0, BN)
        place = rn[:, None] * D + rd[None, :]
        score = tl.dot(query, tl.load(k + place).T)
        score = score * by_row[:, None] * tl.load(scales + rn)[None, :]
        acc = tl.dot(score.to(query.dtype), tl.load(v + place), acc)
    tl.store(out + rm[:, None] * D + rd[None, :], acc.to(out.dtype.element_ty))


CASES += define(
    gemm_scale_gemm,
    make=lambda draw, length, D: {
        **{name: draw.normal("fp16", length, D, scale=D**-0.5) for name in "qkv"},
        "scales": draw.uniform("fp32", 0.5, 1, length),
        "out": output("fp16", length, D),
    },
    reference=lambda q, k, v, scales: {"out": (q @ k.T * scales[:, None] * scales) @ v},
    grid=lambda length, BM: length // BM,
    sizes={"length": 256, "D": 128},
    variants={
        "": {"BM": 128, "BN": 64},
        "d64": {"BM": 64, "BN": 64, "D": 64},
        "w8": {"BM": 128, "BN": 64, "num_warps": 8},
    },
    absolute=2.0**-10,
)


@triton.jit
def gemm_low_rank(x, w, down, up, c, M, N, K, R: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """X @ W + (X @ down) @ up, for an adapter of rank R: a small product that is an operand of another."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk, rr = tl.arange(0, BK), tl.arange(0, R)
    acc = tl.zeros((BM, BN), tl.float32)
    inner = tl.zeros((BM, R), tl.float32)
    for k in range(0, K, BK):
        value = tl.load(x + rm[:, None] * K + k + rk[None, :])
        acc = tl.dot(value, tl.load(w + (k + rk[:, None]) * N + rn[None, :]), acc)
        inner = tl.dot(value, tl.load(down + (k + rk[:, None]) * R + rr[None, :]), inner)
    acc = tl.dot(inner.to(x.dtype.element_ty), tl.load(up + rr[:, None] * N + rn[None, :]), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    gemm_low_rank,
    make=lambda draw, M, N, K, R: {
        "x": draw.normal("bf16", M, K),
        "w": draw.normal("bf16", K, N, scale=K**-0.5),
        "down": draw.normal("bf16", K, R, scale=K**-0.5),
        "up": draw.normal("bf16", R, N, scale=R**-0.5),
        "c": output("bf16", M, N),
    },
    reference=lambda x, w, down, up: {"c": x @ w + x @ down @ up},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 192, "R": 16},
    variants={"": {"BM": 64, "BN": 128, "BK": 64}},
    absolute=2.0**-6,
)


@triton.jit
def gemm_argmax(a, b, best, M, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Column of the largest element of each row of A @ B^T, for B of BN rows: an assignment to the nearest."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn, rk = tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(b + rn[None, :] * K + k + rk[:, None])
        acc = tl.dot(x, y, acc)
    tl.store(best + rm, tl.argmax(acc, 1))


CASES += define(
    gemm_argmax,
    make=lambda draw, M, K, BN: {
        # Sums of few small integers are exact, and one of them stands out.
        "a": _spiked(draw, M, K),
        "b": _identity(BN, K),
        "best": draw.integers("i32", -9, -1, M),
    },
    reference=lambda a, b: {"best": (a @ b.T).argmax(1)},
    grid=lambda M, BM: M // BM,
    sizes={"M": 128, "K": 128},
    variants={"": {"BM": 64, "BN": 64, "BK": 64}},
)


def _spiked(draw, M: int, K: int):
    values = draw.random.integers(-4, 5, (M, K)).astype(np.float64)
    values[np.arange(M), draw.random.integers(0, 64, M)] = 9
    return Tensor("fp16", values)


def _identity(rows: int, columns: int):
    return Tensor("fp16", np.eye(rows, columns))


@triton.jit
def gemm_norm(a, b, weight, c, M, K, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    """Layer norm of rows of A @ B, whose rows are one tile: two reductions over the accumulator."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn, rk = tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((BM, N), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        acc = tl.dot(x, tl.load(b + (k + rk[:, None]) * N + rn[None, :]), acc)
    centred = acc - (tl.sum(acc, 1) / N)[:, None]
    scale = tl.rsqrt(tl.sum(centred * centred, 1) / N + 1e-5)
    value = centred * scale[:, None] * tl.load(weight + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], value.to(c.dtype.element_ty))


def _layer_normed(value: np.ndarray, weight: np.ndarray) -> np.ndarray:
    centred = value - value.mean(1, keepdims=True)
    return centred / np.sqrt(value.var(1, keepdims=True) + 1e-5) * weight


CASES += define(
    gemm_norm,
    make=lambda draw, M, N, K: {
        "a": draw.normal("fp16", M, K),
        "b": draw.normal("fp16", K, N, scale=K**-0.5),
        "weight": draw.normal("fp32", N),
        "c": output("fp16", M, N),
    },
    reference=lambda a, b, weight: {"c": _layer_normed(a @ b, weight)},
    grid=lambda M, BM: M // BM,
    sizes={"M": 128, "N": 256, "K": 128},
    variants={"": {"BM": 64, "BK": 64}, "w8": {"BM": 128, "BK": 64, "num_warps": 8}},
    absolute=2.0**-9,
)


@triton.jit
def gemm_top_k(a, b, values, M, K, KEEP: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    """The KEEP largest elements of each row of A @ B: a router with its selection."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn, rk = tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((BM, N), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        acc = tl.dot(x, tl.load(b + (k + rk[:, None]) * N + rn[None, :]), acc)
    tl.store(values + rm[:, None] * KEEP + tl.arange(0, KEEP)[None, :], tl.topk(acc, KEEP, 1))


CASES += define(
    gemm_top_k,
    make=lambda draw, M, N, K, KEEP: {
        "a": draw.normal("fp16", M, K),
        "b": draw.normal("fp16", K, N, scale=K**-0.5),
        "values": output("fp32", M, KEEP),
    },
    reference=lambda a, b, KEEP: {"values": -np.sort(-(a @ b), 1)[:, :KEEP]},
    grid=lambda M, BM: M // BM,
    sizes={"M": 64, "N": 64, "K": 128, "KEEP": 4},
    variants={"": {"BM": 32, "BK": 64}},
    absolute=2.0**-12,
)


@triton.jit
def dot_scaled(a, a_scales, b, b_scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """8-bit floats with an exponent for each 32 along K; B is [N, K] with its exponents by row."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk, rs = tl.arange(0, BK), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(b + rn[None, :] * K + k + rk[:, None])
        xs = tl.load(a_scales + rm[:, None] * (K // 32) + k // 32 + rs[None, :])
        ys = tl.load(b_scales + rn[:, None] * (K // 32) + k // 32 + rs[None, :])
        acc = tl.dot_scaled(x, xs.to(tl.uint8, bitcast=True), "e4m3", y, ys.to(tl.uint8, bitcast=True), "e4m3", acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


def _scaled(value: np.ndarray, scales: np.ndarray, size: int = 32) -> np.ndarray:
    return value * np.repeat(2.0 ** (scales - 127), size, 1)


CASES += define(
    dot_scaled,
    make=lambda draw, M, N, K: {
        "a": draw.normal("fp8e4nv", M, K),
        "a_scales": draw.integers("i8", 124, 127, M, K // 32),
        "b": draw.normal("fp8e4nv", N, K),
        "b_scales": draw.integers("i8", 120, 124, N, K // 32),
        "c": output("bf16", M, N),
    },
    reference=lambda a, a_scales, b, b_scales: {"c": _scaled(a, a_scales) @ _scaled(b, b_scales).T},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 256},
    variants={"": {"BM": 128, "BN": 128, "BK": 128}, "w8": {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8}},
    absolute=2.0**-6,
    targets=FLOAT8,
)


@triton.jit
def gemm_block_scales(a, a_scales, b, b_scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """8-bit floats with scales for rows of 128 of A and blocks of 128 x 128 of B, applied to each partial sum."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(b + rn[None, :] * K + k + rk[:, None])
        by_row = tl.load(a_scales + rm * (K // 128) + k // 128)
        by_column = tl.load(b_scales + rn // 128 * (K // 128) + k // 128)
        acc += tl.dot(x, y) * by_row[:, None] * by_column[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


def _block_scales(a, a_scales, b, b_scales) -> dict[str, np.ndarray]:
    wide = np.repeat(np.repeat(b_scales, 128, 0)[: len(b)], 128, 1)
    return {"c": (a * np.repeat(a_scales, 128, 1)) @ (b * wide).T}


CASES += define(
    gemm_block_scales,
    make=lambda draw, M, N, K: {
        "a": draw.normal("fp8e4nv", M, K),
        "a_scales": draw.uniform("fp32", 0.01, 0.1, M, K // 128),
        "b": draw.normal("fp8e4nv", N, K),
        "b_scales": draw.uniform("fp32", 0.1, 1, N // 128, K // 128),
        "c": output("bf16", M, N),
    },
    reference=_block_scales,
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 256, "K": 256},
    variants={
        "": {"BM": 128, "BN": 128, "BK": 128},
        "flat": {"BM": 64, "BN": 128, "BK": 128},
        "w8": {"BM": 128, "BN": 128, "BK": 128, "num_warps": 8},
    },
    absolute=2.0**-7,
    targets=FLOAT8,
)


@triton.jit
def gemv(a, x, y, M, K, BM: tl.constexpr, BK: tl.constexpr):
    """A @ x without tensor cores: a reduction of rows in a loop."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        matrix = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None], other=0.0).to(tl.float32)
        total += tl.sum(matrix * tl.load(x + rk).to(tl.float32)[None, :], 1)
    tl.store(y + rm, total.to(y.dtype.element_ty), mask=rm < M)


CASES += define(
    gemv,
    make=lambda draw, M, K: {
        "a": draw.normal("bf16", M, K),
        "x": draw.normal("bf16", K, scale=K**-0.5),
        "y": output("bf16", M),
    },
    reference=lambda a, x: {"y": a @ x},
    grid=lambda M, BM: cdiv(M, BM),
    sizes={"M": 100, "K": 1024},
    variants={"": {"BM": 16, "BK": 256}},
    absolute=2.0**-14,
)


@triton.jit
def gemv_transposed(a, x, y, N, K, BN: tl.constexpr, BK: tl.constexpr):
    """x @ A without tensor cores: a reduction over rows in a loop."""
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BN,), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        matrix = tl.load(a + rk[:, None] * N + rn[None, :]).to(tl.float32)
        total += tl.sum(matrix * tl.load(x + rk).to(tl.float32)[:, None], 0)
    tl.store(y + rn, total.to(y.dtype.element_ty))


CASES += define(
    gemv_transposed,
    make=lambda draw, N, K: {
        "a": draw.normal("fp16", K, N),
        "x": draw.normal("fp16", K, scale=K**-0.5),
        "y": output("fp16", N),
    },
    reference=lambda a, x: {"y": x @ a},
    grid=lambda N, BN: N // BN,
    sizes={"N": 256, "K": 512},
    variants={"": {"BN": 128, "BK": 64}},
    absolute=2.0**-14,
)
