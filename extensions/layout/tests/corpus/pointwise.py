"""Elementwise kernels and kernels that only move data, as front ends fuse them."""

from __future__ import annotations

import math

import numpy as np
import triton
import triton.language as tl

from .case import FLOAT8, Case, cdiv, define, output

__all__ = ["CASES", "sigmoid", "uniform"]

CASES: list[Case] = []


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return the logistic function."""
    return 1 / (1 + np.exp(-x))


@triton.jit
def vector_add(x, y, out, N, BN: tl.constexpr):
    """out = x + y."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = at < N
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


CASES += define(
    vector_add,
    make=lambda draw, N, dtype: {name: draw.normal(dtype, N) for name in "xy"} | {"out": output(dtype, N)},
    reference=lambda x, y: {"out": x + y},
    grid=lambda N, BN: cdiv(N, BN),
    sizes={"N": 3000},
    variants={
        "fp32": {"dtype": "fp32", "BN": 1024},
        "bf16_w8": {"dtype": "bf16", "BN": 2048, "num_warps": 8},
    },
)


@triton.jit
def mixed_add(x, y, out, N, BN: tl.constexpr):
    """out = x + y of types of three sizes: each wants vectors of another length."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = at < N
    total = tl.load(x + at, mask=inside).to(tl.float32) + tl.load(y + at, mask=inside).to(tl.float32)
    tl.store(out + at, total.to(out.dtype.element_ty), mask=inside)


CASES += define(
    mixed_add,
    make=lambda draw, N: {
        "x": draw.normal("fp32", N),
        "y": draw.integers("i8", -100, 100, N),
        "out": output("fp16", N),
    },
    reference=lambda x, y: {"out": x + y},
    grid=lambda N, BN: cdiv(N, BN),
    sizes={"N": 5008},
    variants={"": {"BN": 4096}},
)


@triton.jit
def norm_relu_residual(
    x, scale, shift, residual, out, N, PLANE: tl.constexpr, CHANNELS: tl.constexpr, BN: tl.constexpr
):
    """out = relu(x * scale[channel] + shift[channel]) + residual over a flat index of [batch, channel, plane]."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = at < N
    channel = at // PLANE % CHANNELS
    value = tl.load(x + at, mask=inside).to(tl.float32)
    value = value * tl.load(scale + channel, mask=inside) + tl.load(shift + channel, mask=inside)
    value = tl.maximum(value, 0) + tl.load(residual + at, mask=inside).to(tl.float32)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=inside)


CASES += define(
    norm_relu_residual,
    make=lambda draw, N, PLANE, CHANNELS: {
        "x": draw.normal("fp16", N // PLANE // CHANNELS, CHANNELS, PLANE),
        "residual": draw.normal("fp16", N // PLANE // CHANNELS, CHANNELS, PLANE),
        "scale": draw.normal("fp32", CHANNELS),
        "shift": draw.normal("fp32", CHANNELS),
        "out": output("fp16", N // PLANE // CHANNELS, CHANNELS, PLANE),
    },
    reference=lambda x, scale, shift, residual: {"out": np.maximum(x * scale[:, None] + shift[:, None], 0) + residual},
    grid=lambda N, BN: cdiv(N, BN),
    sizes={"N": 2 * 12 * 49 * 8, "PLANE": 49, "CHANNELS": 12},
    variants={"": {"BN": 1024}},
)


@triton.jit
def bias_gelu(x, bias, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """out = gelu(x + bias), of a tile."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    value = tl.load(x + row * columns + column[None, :]).to(tl.float32) + tl.load(bias + column)[None, :]
    value = 0.5 * value * (1 + tl.erf(value * 0.7071067811865476))
    tl.store(out + row * columns + column[None, :], value.to(out.dtype.element_ty))


_erf = np.vectorize(math.erf, otypes=[np.float64])

CASES += define(
    bias_gelu,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal(dtype, rows, columns),
        "bias": draw.normal(dtype, columns),
        "out": output(dtype, rows, columns),
    },
    reference=lambda x, bias: {"out": (x + bias) / 2 * (1 + _erf((x + bias) / math.sqrt(2)))},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 64, "columns": 256},
    variants={"bf16": {"dtype": "bf16", "BM": 32, "BN": 128}, "fp16_wide": {"dtype": "fp16", "BM": 4, "BN": 256}},
    absolute=2.0**-8,
)


@triton.jit
def dropout(x, out, N, p, seed, BN: tl.constexpr):
    """Zero elements by numbers from their place and scale the others."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    kept = tl.rand(seed, at) > p
    value = tl.load(x + at, mask=at < N)
    tl.store(out + at, tl.where(kept, value / (1 - p), 0.0), mask=at < N)


def uniform(seed: int, count: int) -> np.ndarray:
    """Return what ``tl.rand`` gives for the first offsets: Philox 4x32-10 of Salmon et al., SC 2011."""
    places = np.arange(count)
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [places.astype(np.uint64), *(np.zeros(places.shape, np.uint64) for _ in range(3))]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [
            (second >> high) ^ c[1] ^ np.uint64(k[0]),
            second & low,
            (first >> high) ^ c[3] ^ np.uint64(k[1]),
            first & low,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    signed = c[0].astype(np.uint32).view(np.int32).astype(np.int64)
    return np.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10


CASES += define(
    dropout,
    make=lambda draw, N: {"x": draw.normal("fp32", N), "out": output("fp32", N)},
    reference=lambda x, p, seed: {"out": np.where(uniform(seed, x.size) > p, x / (1 - p), 0)},
    grid=lambda N, BN: cdiv(N, BN),
    sizes={"N": 2000, "p": 0.3, "seed": 123},
    variants={"": {"BN": 1024}},
)


@triton.jit
def silu_and_mul(x, out, columns, BN: tl.constexpr):
    """out = silu(first half of the row) * second half."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BN)
    gate = tl.load(x + row * 2 * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    up = tl.load(x + row * 2 * columns + columns + at, mask=at < columns, other=0.0).to(tl.float32)
    tl.store(out + row * columns + at, (gate * tl.sigmoid(gate) * up).to(out.dtype.element_ty), mask=at < columns)


CASES += define(
    silu_and_mul,
    make=lambda draw, rows, columns: {
        "x": draw.normal("bf16", rows, 2 * columns),
        "out": output("bf16", rows, columns),
    },
    reference=lambda x, columns: {"out": x[:, :columns] * sigmoid(x[:, :columns]) * x[:, columns:]},
    grid=lambda rows: rows,
    sizes={"rows": 5, "columns": 1536},
    variants={"": {"BN": 2048, "num_warps": 8}},
)


@triton.jit
def silu_and_mul_interleaved(x, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    """out = silu(even columns) * odd columns."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    both = tl.program_id(1) * 2 * BN + tl.arange(0, 2 * BN)
    pairs = tl.load(x + row[:, None] * 2 * columns + both[None, :]).to(tl.float32)
    gate, up = tl.split(pairs.reshape(BM, BN, 2))
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    value = gate * tl.sigmoid(gate) * up
    tl.store(out + row[:, None] * columns + column[None, :], value.to(out.dtype.element_ty))


CASES += define(
    silu_and_mul_interleaved,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal(dtype, rows, 2 * columns),
        "out": output(dtype, rows, columns),
    },
    reference=lambda x: {"out": x[:, ::2] * sigmoid(x[:, ::2]) * x[:, 1::2]},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 32, "columns": 256},
    variants={
        "bf16": {"dtype": "bf16", "BM": 16, "BN": 128},
        "fp32": {"dtype": "fp32", "BM": 32, "BN": 64, "num_warps": 8},
    },
)


@triton.jit
def silu_and_mul_backward(gate, up, doubt, dgate, dup, N, BN: tl.constexpr):
    """Gradients of out = silu(gate) * up."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = at < N
    g = tl.load(gate + at, mask=inside).to(tl.float32)
    u = tl.load(up + at, mask=inside).to(tl.float32)
    d = tl.load(doubt + at, mask=inside).to(tl.float32)
    s = tl.sigmoid(g)
    tl.store(dgate + at, (d * u * s * (1 + g * (1 - s))).to(dgate.dtype.element_ty), mask=inside)
    tl.store(dup + at, (d * g * s).to(dup.dtype.element_ty), mask=inside)


CASES += define(
    silu_and_mul_backward,
    make=lambda draw, N: (
        {name: draw.normal("bf16", N) for name in ("gate", "up", "doubt")}
        | {name: output("bf16", N) for name in ("dgate", "dup")}
    ),
    reference=lambda gate, up, doubt: {
        "dgate": doubt * up * sigmoid(gate) * (1 + gate * (1 - sigmoid(gate))),
        "dup": doubt * gate * sigmoid(gate),
    },
    grid=lambda N, BN: cdiv(N, BN),
    sizes={"N": 3008},
    variants={"": {"BN": 1024}},
)


@triton.jit
def rope_halves(x, cosine, sine, out, heads, H: tl.constexpr, HALF: tl.constexpr):
    """Rotate the two halves of each head of [token, head, 2 * HALF] by the token's angles."""
    token = tl.program_id(0).to(tl.int64)
    head = tl.arange(0, H)[:, None]
    at = tl.arange(0, HALF)
    place = token * heads * 2 * HALF + head * 2 * HALF + at[None, :]
    inside = (head < heads) & (at[None, :] >= 0)
    c = tl.load(cosine + token * HALF + at)[None, :].to(tl.float32)
    s = tl.load(sine + token * HALF + at)[None, :].to(tl.float32)
    first = tl.load(x + place, mask=inside).to(tl.float32)
    second = tl.load(x + place + HALF, mask=inside).to(tl.float32)
    tl.store(out + place, (first * c - second * s).to(out.dtype.element_ty), mask=inside)
    tl.store(out + place + HALF, (second * c + first * s).to(out.dtype.element_ty), mask=inside)


def _rotated(x: np.ndarray, cosine: np.ndarray, sine: np.ndarray, first: slice, second: slice) -> dict[str, np.ndarray]:
    out = np.empty_like(x)
    a, b, c, s = x[..., first], x[..., second], cosine[:, None, :], sine[:, None, :]
    out[..., first], out[..., second] = a * c - b * s, b * c + a * s
    return {"out": out}


CASES += define(
    rope_halves,
    make=lambda draw, tokens, heads, HALF: {
        "x": draw.normal("bf16", tokens, heads, 2 * HALF),
        "cosine": draw.uniform("bf16", -1, 1, tokens, HALF),
        "sine": draw.uniform("bf16", -1, 1, tokens, HALF),
        "out": output("bf16", tokens, heads, 2 * HALF),
    },
    reference=lambda x, cosine, sine, HALF: _rotated(x, cosine, sine, slice(None, HALF), slice(HALF, None)),
    grid=lambda tokens: tokens,
    sizes={"tokens": 3, "heads": 24, "HALF": 64},
    variants={"": {"H": 32}},
)


@triton.jit
def rope_interleaved(x, cosine, sine, out, heads, BT: tl.constexpr, HALF: tl.constexpr):
    """Rotate neighbours of one head of BT tokens: split the pairs, rotate, join them."""
    token = tl.program_id(0) * BT + tl.arange(0, BT)
    head = tl.program_id(1)
    both = tl.arange(0, 2 * HALF)
    place = (token[:, None] * heads + head) * 2 * HALF + both[None, :]
    angle = token[:, None] * HALF + tl.arange(0, HALF)[None, :]
    c, s = tl.load(cosine + angle).to(tl.float32), tl.load(sine + angle).to(tl.float32)
    first, second = tl.split(tl.load(x + place).to(tl.float32).reshape(BT, HALF, 2))
    value = tl.join(first * c - second * s, second * c + first * s).reshape(BT, 2 * HALF)
    tl.store(out + place, value.to(out.dtype.element_ty))


CASES += define(
    rope_interleaved,
    make=lambda draw, tokens, heads, HALF: {
        "x": draw.normal("bf16", tokens, heads, 2 * HALF),
        "cosine": draw.uniform("fp32", -1, 1, tokens, HALF),
        "sine": draw.uniform("fp32", -1, 1, tokens, HALF),
        "out": output("bf16", tokens, heads, 2 * HALF),
    },
    reference=lambda x, cosine, sine: _rotated(x, cosine, sine, slice(0, None, 2), slice(1, None, 2)),
    grid=lambda tokens, heads, BT: (tokens // BT, heads),
    sizes={"tokens": 64, "heads": 2, "HALF": 64},
    variants={"": {"BT": 32}, "small": {"BT": 16, "HALF": 32, "num_warps": 2}},
)


@triton.jit
def transpose(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """out = x^T."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    tile = tl.load(x + row[:, None] * columns + column[None, :], mask=inside)
    tl.store(out + row[:, None] + column[None, :] * rows, tile, mask=inside)


CASES += define(
    transpose,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.integers(dtype, -100, 100, rows, columns) if dtype[0] == "i" else draw.normal(dtype, rows, columns),
        "out": output(dtype, columns, rows) if dtype[0] != "i" else draw.integers(dtype, -100, 100, columns, rows),
    },
    reference=lambda x: {"out": x.T},
    grid=lambda rows, columns, BM, BN: (cdiv(rows, BM), cdiv(columns, BN)),
    sizes={"rows": 144, "columns": 208},
    variants={
        "fp32_64x64": {"dtype": "fp32", "BM": 64, "BN": 64},
        "fp16_64x64": {"dtype": "fp16", "BM": 64, "BN": 64},
        "i8_64x64": {"dtype": "i8", "BM": 64, "BN": 64},
        "fp32_128x128": {"dtype": "fp32", "BM": 128, "BN": 128, "num_warps": 8},
        "fp16_128x128": {"dtype": "fp16", "BM": 128, "BN": 128, "num_warps": 8},
        "i8_128x128": {"dtype": "i8", "BM": 128, "BN": 128},
        "fp32_32x32": {"dtype": "fp32", "BM": 32, "BN": 32},
        "fp16_16x128": {"dtype": "fp16", "BM": 16, "BN": 128},
        "i64_32x64": {"dtype": "i64", "BM": 32, "BN": 64},
    },
)


@triton.jit
def add_transposed(x, y, out, size, BM: tl.constexpr, BN: tl.constexpr):
    """out = x + y^T: two loads that are contiguous along different dimensions."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.load(x + row * size + column) + tl.load(y + row + column * size)
    tl.store(out + row * size + column, total)


CASES += define(
    add_transposed,
    make=lambda draw, size, dtype: (
        {name: draw.normal(dtype, size, size) for name in "xy"} | {"out": output(dtype, size, size)}
    ),
    reference=lambda x, y: {"out": x + y.T},
    grid=lambda size, BM, BN: (size // BM, size // BN),
    sizes={"size": 128},
    variants={
        "fp32": {"dtype": "fp32", "BM": 64, "BN": 64},
        "fp16": {"dtype": "fp16", "BM": 64, "BN": 128, "num_warps": 8},
    },
)


@triton.jit
def heads_first(x, out, length, heads, BS: tl.constexpr, D: tl.constexpr):
    """[batch, length, head, D] -> [batch, head, length, D]."""
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    at = tl.program_id(0) * BS + tl.arange(0, BS)[:, None]
    depth = tl.arange(0, D)[None, :]
    inside = (at < length) & (depth < D)
    tile = tl.load(x + ((batch * length + at) * heads + head) * D + depth, mask=inside)
    tl.store(out + ((batch * heads + head) * length + at) * D + depth, tile, mask=inside)


CASES += define(
    heads_first,
    make=lambda draw, batch, length, heads, D: {
        "x": draw.normal("fp16", batch, length, heads, D),
        "out": output("fp16", batch, heads, length, D),
    },
    reference=lambda x: {"out": x.transpose(0, 2, 1, 3)},
    grid=lambda batch, heads, length, BS: (cdiv(length, BS), batch * heads),
    sizes={"batch": 2, "length": 100, "heads": 3, "D": 64},
    variants={"": {"BS": 64}},
)


@triton.jit
def channels_last(x, out, channels, plane, BC: tl.constexpr, BP: tl.constexpr):
    """[batch, channel, plane] of 32 bits -> [batch, plane, channel] of 16."""
    batch = tl.program_id(2)
    channel = tl.program_id(0) * BC + tl.arange(0, BC)[None, :]
    place = tl.program_id(1) * BP + tl.arange(0, BP)[:, None]
    inside = (channel < channels) & (place < plane)
    tile = tl.load(x + (batch * channels + channel) * plane + place, mask=inside)
    tl.store(out + (batch * plane + place) * channels + channel, tile.to(out.dtype.element_ty), mask=inside)


CASES += define(
    channels_last,
    make=lambda draw, batch, channels, plane: {
        "x": draw.normal("fp32", batch, channels, plane),
        "out": output("fp16", batch, plane, channels),
    },
    reference=lambda x: {"out": x.transpose(0, 2, 1)},
    grid=lambda batch, channels, plane, BC, BP: (cdiv(channels, BC), cdiv(plane, BP), batch),
    sizes={"batch": 2, "channels": 48, "plane": 224},
    variants={"": {"BC": 32, "BP": 64}, "wide": {"BC": 64, "BP": 128, "num_warps": 8}},
)


@triton.jit
def concatenate(x, y, out, left, right, rows, BM: tl.constexpr, BN: tl.constexpr):
    """out = [x, y] along the columns, by masks."""
    columns = left + right
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (row < rows) & (column < columns)
    first = tl.load(x + row * left + column, mask=inside & (column < left), other=0.0)
    second = tl.load(y + row * right + column - left, mask=inside & (column >= left), other=0.0)
    tl.store(out + row * columns + column, tl.where(column < left, first, second), mask=inside)


CASES += define(
    concatenate,
    make=lambda draw, rows, left, right: {
        "x": draw.normal("fp16", rows, left),
        "y": draw.normal("fp16", rows, right),
        "out": output("fp16", rows, left + right),
    },
    reference=lambda x, y: {"out": np.concatenate([x, y], 1)},
    grid=lambda rows, left, right, BM, BN: (cdiv(rows, BM), cdiv(left + right, BN)),
    sizes={"rows": 20, "left": 96, "right": 160},
    variants={"": {"BM": 8, "BN": 128}},
)


@triton.jit
def scale_rows_and_columns(x, by_row, by_column, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """out = x * by_row * by_column: vectors in two slices of one layout."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    place = row[:, None] * columns + column[None, :]
    value = tl.load(x + place).to(tl.float32)
    value = value * tl.load(by_row + row)[:, None] * tl.load(by_column + column)[None, :]
    tl.store(out + place, value.to(out.dtype.element_ty))


CASES += define(
    scale_rows_and_columns,
    make=lambda draw, rows, columns: {
        "x": draw.normal("bf16", rows, columns),
        "by_row": draw.normal("fp32", rows),
        "by_column": draw.normal("fp32", columns),
        "out": output("bf16", rows, columns),
    },
    reference=lambda x, by_row, by_column: {"out": x * by_row[:, None] * by_column},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 64, "columns": 256},
    variants={"": {"BM": 64, "BN": 128}, "w8": {"BM": 64, "BN": 256, "num_warps": 8}},
)


@triton.jit
def outer_product(x, y, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    """out[i, j] = x[i] * y[j] + j."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    value = tl.load(x + row)[:, None] * tl.load(y + column)[None, :] + column[None, :]
    tl.store(out + row[:, None] * columns + column[None, :], value)


CASES += define(
    outer_product,
    make=lambda draw, rows, columns: {
        "x": draw.normal("fp32", rows),
        "y": draw.normal("fp32", columns),
        "out": output("fp32", rows, columns),
    },
    reference=lambda x, y: {"out": x[:, None] * y + np.arange(y.size)},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 64, "columns": 128},
    variants={"": {"BM": 32, "BN": 128}},
)


@triton.jit
def interleave(x, y, out, BN: tl.constexpr):
    """out = x[0], y[0], x[1], y[1], …"""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    both = tl.program_id(0) * 2 * BN + tl.arange(0, 2 * BN)
    tl.store(out + both, tl.interleave(tl.load(x + at), tl.load(y + at)))


CASES += define(
    interleave,
    make=lambda draw, N, dtype: {name: draw.normal(dtype, N) for name in "xy"} | {"out": output(dtype, 2 * N)},
    reference=lambda x, y: {"out": np.stack([x, y], 1).ravel()},
    grid=lambda N, BN: N // BN,
    sizes={"N": 2048},
    variants={"fp16": {"dtype": "fp16", "BN": 1024}, "fp32": {"dtype": "fp32", "BN": 512}},
)


@triton.jit
def complex_multiply(x, y, out, BN: tl.constexpr):
    """Product of complex numbers that lie as pairs."""
    at = tl.program_id(0) * 2 * BN + tl.arange(0, 2 * BN)
    a, b = tl.split(tl.load(x + at).reshape(BN, 2))
    c, d = tl.split(tl.load(y + at).reshape(BN, 2))
    tl.store(out + at, tl.join(a * c - b * d, a * d + b * c).reshape(2 * BN))


def _complex(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.complex128)


CASES += define(
    complex_multiply,
    make=lambda draw, N: {name: draw.normal("fp32", 2 * N) for name in "xy"} | {"out": output("fp32", 2 * N)},
    reference=lambda x, y: {"out": (_complex(x) * _complex(y)).view(np.float64)},
    grid=lambda N, BN: N // BN,
    sizes={"N": 2048},
    variants={"": {"BN": 1024}},
)


@triton.jit
def compare_and_narrow(x, y, out, N, BN: tl.constexpr):
    """out = x > y as bytes: the store moves a quarter of the bits of the loads."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = at < N
    found = tl.load(x + at, mask=inside) > tl.load(y + at, mask=inside)
    tl.store(out + at, found.to(tl.int8), mask=inside)


CASES += define(
    compare_and_narrow,
    make=lambda draw, N: {name: draw.normal("fp32", N) for name in "xy"} | {"out": draw.integers("i8", 5, 9, N)},
    reference=lambda x, y: {"out": (x > y).astype(np.int64)},
    grid=lambda N, BN: cdiv(N, BN),
    sizes={"N": 6000},
    variants={"": {"BN": 4096}},
)


@triton.jit
def narrow_masked(x, keep, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """out = x rounded to fewer bits where a byte of a mask is set; other elements stay."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (row < rows) & (column < columns)
    wanted = tl.load(keep + row * columns + column, mask=inside, other=0) != 0
    value = tl.load(x + row * columns + column, mask=inside & wanted, other=0.0)
    tl.store(out + row * columns + column, value.to(out.dtype.element_ty), mask=inside & wanted)


CASES += define(
    narrow_masked,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal("fp32", rows, columns),
        "keep": draw.integers("i8", 0, 2, rows, columns),
        "out": output(dtype, rows, columns),
    },
    reference=lambda x, keep: {"out": np.where(keep, x, -384.0)},
    grid=lambda rows, columns, BM, BN: (cdiv(rows, BM), cdiv(columns, BN)),
    sizes={"rows": 50, "columns": 176},
    variants={
        "fp8": {"dtype": "fp8e4nv", "BM": 32, "BN": 128, "absolute": 2.0**-10, "targets": FLOAT8},
        "bf16": {"dtype": "bf16", "BM": 32, "BN": 128},
    },
)


@triton.jit
def adamw(parameter, gradient, first, second, copy, N, rate, BN: tl.constexpr):
    """One step of AdamW in place, and a narrow copy of the parameters."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = at < N
    g = tl.load(gradient + at, mask=inside).to(tl.float32)
    p = tl.load(parameter + at, mask=inside) * (1 - rate * 0.01)
    m = tl.load(first + at, mask=inside) * 0.9 + g * 0.1
    v = tl.load(second + at, mask=inside) * 0.99 + g * g * 0.01
    p -= rate * m / (tl.sqrt(v) + 1e-3)
    tl.store(first + at, m, mask=inside)
    tl.store(second + at, v, mask=inside)
    tl.store(parameter + at, p, mask=inside)
    tl.store(copy + at, p.to(copy.dtype.element_ty), mask=inside)


def _stepped(parameter, gradient, first, second, rate) -> dict[str, np.ndarray]:
    m, v = first * 0.9 + gradient * 0.1, second * 0.99 + gradient**2 * 0.01
    p = parameter * (1 - rate * 0.01) - rate * m / (np.sqrt(v) + 1e-3)
    return {"parameter": p, "first": m, "second": v, "copy": p}


CASES += define(
    adamw,
    make=lambda draw, N: {
        "parameter": draw.normal("fp32", N),
        "gradient": draw.normal("bf16", N),
        "first": draw.normal("fp32", N),
        "second": draw.uniform("fp32", 0, 1, N),
        "copy": output("bf16", N),
    },
    reference=_stepped,
    grid=lambda N, BN: cdiv(N, BN),
    sizes={"N": 3000, "rate": 0.125},
    variants={"": {"BN": 1024}},
    absolute=2.0**-15,
)


@triton.jit
def pack_bits(x, out, BN: tl.constexpr):
    """Pack whether numbers are positive, eight to a byte."""
    at = tl.program_id(0) * BN * 8 + tl.arange(0, BN * 8)
    bits = (tl.load(x + at) > 0).to(tl.int32).reshape(BN, 8)
    byte = tl.sum(bits << tl.arange(0, 8)[None, :], 1)
    tl.store(out + tl.program_id(0) * BN + tl.arange(0, BN), byte.to(tl.int8))


CASES += define(
    pack_bits,
    make=lambda draw, N: {"x": draw.normal("fp16", 8 * N), "out": draw.integers("i8", -9, 9, N)},
    reference=lambda x: {"out": np.packbits(x > 0, bitorder="little").astype(np.int8).astype(np.int64)},
    grid=lambda N, BN: N // BN,
    sizes={"N": 512},
    variants={"": {"BN": 256}},
)


@triton.jit
def unpack_bits(x, out, BN: tl.constexpr):
    """The eight bits of each byte as numbers."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    bits = (tl.load(x + at)[:, None] >> tl.arange(0, 8)[None, :].to(tl.int8)) & 1
    place = tl.program_id(0) * BN * 8 + tl.arange(0, BN * 8)
    tl.store(out + place, bits.reshape(BN * 8).to(out.dtype.element_ty))


CASES += define(
    unpack_bits,
    make=lambda draw, N: {"x": draw.integers("i8", -128, 128, N), "out": output("fp16", 8 * N)},
    reference=lambda x: {"out": np.unpackbits(x.astype(np.int8).view(np.uint8), bitorder="little").astype(np.float64)},
    grid=lambda N, BN: N // BN,
    sizes={"N": 512},
    variants={"": {"BN": 256}},
)


@triton.jit
def mirror(x, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Reverse each row, by tl.flip."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.arange(0, BN)[None, :]
    tl.store(out + row * columns + column, tl.flip(tl.load(x + row * columns + column), 1))


CASES += define(
    mirror,
    make=lambda draw, rows, columns: {"x": draw.normal("fp16", rows, columns), "out": output("fp16", rows, columns)},
    reference=lambda x: {"out": x[:, ::-1]},
    grid=lambda rows, BM: rows // BM,
    sizes={"rows": 32, "columns": 64},
    variants={"": {"BM": 32, "BN": 64}},
)


@triton.jit
def lower_triangle(x, out, size, BM: tl.constexpr, BN: tl.constexpr):
    """Zero above the diagonal, and skip tiles that are all zeros."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    value = tl.zeros((BM, BN), out.dtype.element_ty)
    if (tl.program_id(0) + 1) * BM > tl.program_id(1) * BN:
        value = tl.where(row >= column, tl.load(x + row * size + column), 0.0)
    tl.store(out + row * size + column, value)


CASES += define(
    lower_triangle,
    make=lambda draw, size: {"x": draw.normal("bf16", size, size), "out": output("bf16", size, size)},
    reference=lambda x: {"out": np.tril(x)},
    grid=lambda size, BM, BN: (size // BM, size // BN),
    sizes={"size": 256},
    variants={"": {"BM": 64, "BN": 64}},
)


@triton.jit
def copy_descriptor(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """out = 2 * x by bulk copies, whose shared memory has another order than the registers of the sum."""
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BM, BN])
    place = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(place, source.load(place) * 2)


CASES += define(
    copy_descriptor,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal(dtype, rows, columns),
        "out": output(dtype, rows, columns),
    },
    reference=lambda x: {"out": 2 * x},
    grid=lambda rows, columns, BM, BN: (cdiv(rows, BM), cdiv(columns, BN)),
    sizes={"rows": 100, "columns": 160},
    variants={
        "fp16": {"dtype": "fp16", "BM": 64, "BN": 128},
        "fp32": {"dtype": "fp32", "BM": 32, "BN": 32},
    },
)


@triton.jit
def sum_of_vectors(x, y, z, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """out[i, j] = x[j] + y[i] + z[i, j], with the vectors loaded by bulk copies of one row."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    first = tl.make_tensor_descriptor(x, [columns], [1], [BN]).load([column])
    at = row + tl.arange(0, BM)
    second = tl.load(y + at)
    place = at[:, None] * columns + column + tl.arange(0, BN)[None, :]
    tl.store(out + place, first[None, :] + second[:, None] + tl.load(z + place))


CASES += define(
    sum_of_vectors,
    make=lambda draw, rows, columns: {
        "x": draw.normal("fp32", columns),
        "y": draw.normal("fp32", rows),
        "z": draw.normal("fp32", rows, columns),
        "out": output("fp32", rows, columns),
    },
    reference=lambda x, y, z: {"out": x + y[:, None] + z},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 64, "columns": 256},
    variants={"": {"BM": 32, "BN": 128}},
)
