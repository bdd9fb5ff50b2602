"""Softmax, normalizations, losses, scans, sorts and other kernels around a reduction."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from .case import Case, cdiv, define, output, zeros

__all__ = ["CASES", "softmaxed"]

CASES: list[Case] = []


def softmaxed(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the softmax along an axis."""
    weights = np.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


@triton.jit
def softmax(x, out, rows, columns, BN: tl.constexpr):
    """Softmax of rows, each in registers; programs go from row to row."""
    at = tl.arange(0, BN)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        value = tl.exp(value - tl.max(value, 0))
        tl.store(out + row * columns + at, (value / tl.sum(value, 0)).to(out.dtype.element_ty), mask=at < columns)


CASES += define(
    softmax,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal(dtype, rows, columns),
        "out": output(dtype, rows, columns),
    },
    reference=lambda x: {"out": softmaxed(x)},
    grid=lambda rows, processors: min(rows, processors),
    sizes={"rows": 7, "columns": 784},
    variants={
        "fp32": {"dtype": "fp32", "BN": 1024},
        "fp16_long": {"dtype": "fp16", "columns": 4000, "BN": 4096, "num_warps": 8},
    },
)


@triton.jit
def softmax_tile(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Softmax of several short rows at once."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    at = tl.arange(0, BN)[None, :]
    inside = (row < rows) & (at < columns)
    value = tl.load(x + row * columns + at, mask=inside, other=float("-inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, 1, keep_dims=True))
    value = value / tl.sum(value, 1, keep_dims=True)
    tl.store(out + row * columns + at, value.to(out.dtype.element_ty), mask=inside)


CASES += define(
    softmax_tile,
    make=lambda draw, rows, columns: {"x": draw.normal("bf16", rows, columns), "out": output("bf16", rows, columns)},
    reference=lambda x: {"out": softmaxed(x)},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 40, "columns": 112},
    variants={"": {"BM": 16, "BN": 128}, "tall": {"BM": 64, "BN": 32, "columns": 32, "num_warps": 8}},
)


@triton.jit
def softmax_looped(x, out, columns, BN: tl.constexpr):
    """Softmax of a row too long for registers: two loops, the first with a running maximum and sum per lane."""
    row = tl.program_id(0)
    at = tl.arange(0, BN)
    top = tl.full((BN,), float("-inf"), tl.float32)
    total = tl.zeros((BN,), tl.float32)
    for start in range(0, columns, BN):
        value = tl.load(x + row * columns + start + at, mask=start + at < columns, other=float("-inf")).to(tl.float32)
        new = tl.maximum(top, value)
        total = total * tl.where(top == new, 1.0, tl.exp(top - new)) + tl.where(value == new, 1.0, tl.exp(value - new))
        top = new
    most = tl.max(top, 0)
    scale = 1 / tl.sum(total * tl.exp(top - most), 0)
    for start in range(0, columns, BN):
        inside = start + at < columns
        value = tl.load(x + row * columns + start + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row * columns + start + at, (tl.exp(value - most) * scale).to(out.dtype.element_ty), mask=inside)


CASES += define(
    softmax_looped,
    make=lambda draw, rows, columns: {"x": draw.normal("fp16", rows, columns), "out": output("fp16", rows, columns)},
    reference=lambda x: {"out": softmaxed(x)},
    grid=lambda rows: rows,
    sizes={"rows": 3, "columns": 4000},
    variants={"": {"BN": 1024}},
)


@triton.jit
def softmax_columns(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Softmax along the other dimension: a running maximum over rows, then a second pass."""
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    top = tl.full((BN,), float("-inf"), tl.float32)
    total = tl.zeros((BN,), tl.float32)
    for start in range(0, rows, BM):
        row = start + tl.arange(0, BM)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        value = tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=float("-inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(value, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(value - new[None, :]), 0)
        top = new
    for start in range(0, rows, BM):
        row = start + tl.arange(0, BM)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        value = tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0).to(tl.float32)
        value = tl.exp(value - top[None, :]) / total[None, :]
        tl.store(out + row[:, None] * columns + column[None, :], value.to(out.dtype.element_ty), mask=inside)


CASES += define(
    softmax_columns,
    make=lambda draw, rows, columns: {"x": draw.normal("fp32", rows, columns), "out": output("fp32", rows, columns)},
    reference=lambda x: {"out": softmaxed(x, 0)},
    grid=lambda columns, BN: cdiv(columns, BN),
    sizes={"rows": 100, "columns": 128},
    variants={"": {"BM": 32, "BN": 64}, "wide": {"BM": 16, "BN": 128, "num_warps": 8}},
    absolute=2.0**-16,
)


@triton.jit
def softmax_backward(y, dy, dx, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """dx = y * (dy - sum(y * dy))."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    at = tl.arange(0, BN)[None, :]
    inside = (row < rows) & (at < columns)
    weight = tl.load(y + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    slope = tl.load(dy + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    value = weight * (slope - tl.sum(weight * slope, 1)[:, None])
    tl.store(dx + row * columns + at, value.to(dx.dtype.element_ty), mask=inside)


CASES += define(
    softmax_backward,
    make=lambda draw, rows, columns: {
        "y": draw.uniform("fp16", 0, 1, rows, columns),
        "dy": draw.normal("fp16", rows, columns),
        "dx": output("fp16", rows, columns),
    },
    reference=lambda y, dy: {"dx": y * (dy - (y * dy).sum(1, keepdims=True))},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 20, "columns": 240},
    variants={"": {"BM": 8, "BN": 256}},
    absolute=2.0**-12,
)


@triton.jit
def log_softmax(x, out, columns, BN: tl.constexpr):
    """x - log(sum(exp(x))) of a row."""
    row = tl.program_id(0)
    at = tl.arange(0, BN)
    value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    value -= tl.max(value, 0)
    tl.store(out + row * columns + at, value - tl.log(tl.sum(tl.exp(value), 0)), mask=at < columns)


CASES += define(
    log_softmax,
    make=lambda draw, rows, columns: {"x": draw.normal("bf16", rows, columns), "out": output("fp32", rows, columns)},
    reference=lambda x: {"out": np.log(softmaxed(x))},
    grid=lambda rows: rows,
    sizes={"rows": 3, "columns": 2000},
    variants={"": {"BN": 2048}},
    absolute=2.0**-16,
)


@triton.jit
def layer_norm(x, weight, bias, out, mean, rstd, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Layer norm of BM rows, which keeps mean and deviation for the gradient."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.arange(0, BN)
    inside = (row < rows)[:, None] & (at < columns)[None, :]
    value = tl.load(x + row[:, None] * columns + at[None, :], mask=inside, other=0.0).to(tl.float32)
    middle = tl.sum(value, 1) / columns
    centred = tl.where(inside, value - middle[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 1) / columns + 1e-5)
    factor = tl.load(weight + at, mask=at < columns, other=0.0)
    shift = tl.load(bias + at, mask=at < columns, other=0.0)
    value = centred * scale[:, None] * factor[None, :] + shift[None, :]
    tl.store(out + row[:, None] * columns + at[None, :], value.to(out.dtype.element_ty), mask=inside)
    tl.store(mean + row, middle, mask=row < rows)
    tl.store(rstd + row, scale, mask=row < rows)


def _layer_norm(x, weight, bias) -> dict[str, np.ndarray]:
    mean, rstd = x.mean(1), 1 / np.sqrt(x.var(1) + 1e-5)
    return {"out": (x - mean[:, None]) * rstd[:, None] * weight + bias, "mean": mean, "rstd": rstd}


CASES += define(
    layer_norm,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal(dtype, rows, columns),
        "weight": draw.normal(dtype, columns),
        "bias": draw.normal(dtype, columns),
        "out": output(dtype, rows, columns),
        "mean": output("fp32", rows),
        "rstd": output("fp32", rows),
    },
    reference=_layer_norm,
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 10, "columns": 1008},
    variants={
        "row": {"dtype": "fp16", "BM": 1, "BN": 1024},
        "tile": {"dtype": "bf16", "BM": 4, "BN": 1024, "num_warps": 8},
        "short": {"dtype": "fp16", "columns": 128, "rows": 40, "BM": 16, "BN": 128},
    },
    absolute=2.0**-14,
)


@triton.jit
def layer_norm_backward(
    dy, x, weight, mean, rstd, dx, dweight, dbias, rows, columns, BM: tl.constexpr, BN: tl.constexpr
):
    """Gradients of layer norm: dx of a share of rows, and sums over that share for the parameters."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    at = tl.arange(0, BN)
    factor = tl.load(weight + at, mask=at < columns, other=0.0).to(tl.float32)
    to_weight = tl.zeros((BM, BN), tl.float32)
    to_bias = tl.zeros((BM, BN), tl.float32)
    for start in range(program * BM, rows, programs * BM):
        row = start + tl.arange(0, BM)
        inside = (row < rows)[:, None] & (at < columns)[None, :]
        slope = tl.load(dy + row[:, None] * columns + at[None, :], mask=inside, other=0.0).to(tl.float32)
        value = tl.load(x + row[:, None] * columns + at[None, :], mask=inside, other=0.0).to(tl.float32)
        middle, scale = tl.load(mean + row, mask=row < rows), tl.load(rstd + row, mask=row < rows)
        normal = tl.where(inside, (value - middle[:, None]) * scale[:, None], 0.0)
        weighted = slope * factor[None, :]
        first = tl.sum(normal * weighted, 1) / columns
        second = tl.sum(weighted, 1) / columns
        result = (weighted - normal * first[:, None] - second[:, None]) * scale[:, None]
        tl.store(dx + row[:, None] * columns + at[None, :], result.to(dx.dtype.element_ty), mask=inside)
        to_weight += slope * normal
        to_bias += slope
    tl.store(dweight + program * columns + at, tl.sum(to_weight, 0), mask=at < columns)
    tl.store(dbias + program * columns + at, tl.sum(to_bias, 0), mask=at < columns)


def _layer_norm_backward(dy, x, weight, mean, rstd, BM, programs) -> dict[str, np.ndarray]:
    normal = (x - mean[:, None]) * rstd[:, None]
    weighted = dy * weight
    first, second = (normal * weighted).mean(1, keepdims=True), weighted.mean(1, keepdims=True)
    share = np.arange(len(x)) // BM % programs
    sums = {
        name: np.stack([value[share == program].sum(0) for program in range(programs)])
        for name, value in (("dweight", dy * normal), ("dbias", dy))
    }
    return {"dx": (weighted - normal * first - second) * rstd[:, None], **sums}


CASES += define(
    layer_norm_backward,
    make=lambda draw, rows, columns, programs: {
        **{name: draw.normal("bf16", rows, columns) for name in ("dy", "x")},
        "weight": draw.normal("bf16", columns),
        "mean": draw.normal("fp32", rows, scale=0.1),
        "rstd": draw.uniform("fp32", 0.5, 2, rows),
        "dx": output("bf16", rows, columns),
        "dweight": output("fp32", programs, columns),
        "dbias": output("fp32", programs, columns),
    },
    reference=_layer_norm_backward,
    grid=lambda programs: programs,
    sizes={"rows": 27, "columns": 480, "programs": 2},
    variants={
        "": {"BM": 4, "BN": 512},
        "tall": {"BM": 16, "BN": 512, "num_warps": 8},
        "row": {"BM": 1, "BN": 512},
    },
    absolute=2.0**-12,
)


@triton.jit
def sum_partial_gradients(x, y, out_x, out_y, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Add up rows of partial sums of two gradients: a loop over rows of tiles, then a reduction across warps."""
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    first = tl.zeros((BM, BN), tl.float32)
    second = tl.zeros((BM, BN), tl.float32)
    for start in range(0, rows, BM):
        row = start + tl.arange(0, BM)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        first += tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
        second += tl.load(y + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
    tl.store(out_x + column, tl.sum(first, 0).to(out_x.dtype.element_ty), mask=column < columns)
    tl.store(out_y + column, tl.sum(second, 0).to(out_y.dtype.element_ty), mask=column < columns)


CASES += define(
    sum_partial_gradients,
    make=lambda draw, rows, columns: (
        {name: draw.normal("fp32", rows, columns) for name in "xy"}
        | {name: output("fp16", columns) for name in ("out_x", "out_y")}
    ),
    reference=lambda x, y: {"out_x": x.sum(0), "out_y": y.sum(0)},
    grid=lambda columns, BN: cdiv(columns, BN),
    sizes={"rows": 90, "columns": 240},
    variants={"": {"BM": 32, "BN": 128}},
    absolute=2.0**-14,
)


@triton.jit
def rms_norm(x, weight, out, columns, BN: tl.constexpr):
    """RMS norm of a row."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BN)
    value = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / columns + 1e-6)
    value = value * scale * tl.load(weight + at, mask=at < columns, other=0.0).to(tl.float32)
    tl.store(out + row * columns + at, value.to(out.dtype.element_ty), mask=at < columns)


def rms_normed(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the RMS norm of rows."""
    return x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * weight


CASES += define(
    rms_norm,
    make=lambda draw, rows, columns: {
        "x": draw.normal("bf16", rows, columns),
        "weight": draw.normal("fp32", columns),
        "out": output("bf16", rows, columns),
    },
    reference=lambda x, weight: {"out": rms_normed(x, weight)},
    grid=lambda rows: rows,
    sizes={"rows": 3, "columns": 4096},
    variants={"": {"BN": 4096, "num_warps": 8}},
)


@triton.jit
def add_rms_norm(x, residual, weight, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """residual += x, and its RMS norm: two results in types of two sizes."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.arange(0, BN)
    place = row[:, None] * columns + at[None, :]
    inside = (row < rows)[:, None] & (at < columns)[None, :]
    value = tl.load(residual + place, mask=inside, other=0.0)
    value += tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + place, value, mask=inside)
    scale = tl.rsqrt(tl.sum(value * value, 1) / columns + 1e-6)
    value = value * scale[:, None] * tl.load(weight + at, mask=at < columns, other=0.0).to(tl.float32)[None, :]
    tl.store(out + place, value.to(out.dtype.element_ty), mask=inside)


CASES += define(
    add_rms_norm,
    make=lambda draw, rows, columns: {
        "x": draw.normal("bf16", rows, columns),
        "residual": draw.normal("fp32", rows, columns),
        "weight": draw.normal("bf16", columns),
        "out": output("bf16", rows, columns),
    },
    reference=lambda x, residual, weight: {"residual": x + residual, "out": rms_normed(x + residual, weight)},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 9, "columns": 1000},
    variants={"": {"BM": 1, "BN": 1024}, "tile": {"BM": 4, "BN": 1024, "num_warps": 8}},
)


@triton.jit
def rms_norm_backward(dy, x, weight, dx, dweight, rows, columns, BN: tl.constexpr):
    """Gradients of RMS norm; a program adds up what its rows give the weight."""
    at = tl.arange(0, BN)
    factor = tl.load(weight + at, mask=at < columns, other=0.0).to(tl.float32)
    total = tl.zeros((BN,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        value = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        slope = tl.load(dy + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(value * value, 0) / columns + 1e-6)
        weighted = slope * factor
        inner = tl.sum(weighted * value, 0) * scale * scale / columns
        result = (weighted - value * inner) * scale
        tl.store(dx + row * columns + at, result.to(dx.dtype.element_ty), mask=at < columns)
        total += slope * value * scale
    tl.store(dweight + tl.program_id(0) * columns + at, total, mask=at < columns)


def _rms_norm_backward(dy, x, weight) -> dict[str, np.ndarray]:
    scale = 1 / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6)
    inner = (dy * weight * x).mean(1, keepdims=True) * scale**2
    per_row = dy * x * scale
    return {"dx": (dy * weight - x * inner) * scale, "dweight": np.stack([per_row[::2].sum(0), per_row[1::2].sum(0)])}


CASES += define(
    rms_norm_backward,
    make=lambda draw, rows, columns: {
        **{name: draw.normal("bf16", rows, columns) for name in ("dy", "x")},
        "weight": draw.normal("bf16", columns),
        "dx": output("bf16", rows, columns),
        "dweight": output("fp32", 2, columns),
    },
    reference=_rms_norm_backward,
    grid=lambda: 2,
    sizes={"rows": 7, "columns": 1500},
    variants={"": {"BN": 2048, "num_warps": 8}},
    absolute=2.0**-12,
)


@triton.jit
def group_norm(x, weight, bias, out, plane, channels, CG: tl.constexpr, BC: tl.constexpr, BP: tl.constexpr):
    """Group norm of [batch, channel, plane] with a loop over the plane, twice; a group has CG channels of BC rows."""
    batch, group = tl.program_id(0), tl.program_id(1)
    channel = group * CG + tl.arange(0, BC)
    rows = (tl.arange(0, BC) < CG)[:, None]
    base = (batch * channels + channel)[:, None] * plane
    total = tl.zeros((BC, BP), tl.float32)
    squares = tl.zeros((BC, BP), tl.float32)
    for start in range(0, plane, BP):
        at = start + tl.arange(0, BP)[None, :]
        value = tl.load(x + base + at, mask=rows & (at < plane), other=0.0).to(tl.float32)
        total += value
        squares += value * value
    mean = tl.sum(total) / (CG * plane)
    scale = tl.rsqrt(tl.sum(squares) / (CG * plane) - mean * mean + 1e-5)
    factor = tl.load(weight + channel, mask=tl.arange(0, BC) < CG, other=0.0) * scale
    shift = tl.load(bias + channel, mask=tl.arange(0, BC) < CG, other=0.0) - mean * factor
    for start in range(0, plane, BP):
        at = start + tl.arange(0, BP)[None, :]
        value = tl.load(x + base + at, mask=rows & (at < plane), other=0.0).to(tl.float32)
        value = value * factor[:, None] + shift[:, None]
        tl.store(out + base + at, value.to(out.dtype.element_ty), mask=rows & (at < plane))


def _group_norm(x, weight, bias, CG) -> dict[str, np.ndarray]:
    groups = x.reshape(x.shape[0], -1, CG * x.shape[2])
    normal = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    return {"out": normal.reshape(x.shape) * weight[:, None] + bias[:, None]}


CASES += define(
    group_norm,
    make=lambda draw, batch, channels, plane: {
        "x": draw.normal("fp16", batch, channels, plane),
        "weight": draw.normal("fp32", channels),
        "bias": draw.normal("fp32", channels),
        "out": output("fp16", batch, channels, plane),
    },
    reference=_group_norm,
    grid=lambda batch, channels, CG: (batch, channels // CG),
    sizes={"batch": 2, "channels": 24, "plane": 208, "CG": 12},
    variants={"": {"BC": 16, "BP": 128}},
    absolute=2.0**-12,
)


@triton.jit
def group_norm_channels_last(x, weight, bias, out, plane, channels, CG: tl.constexpr, BP: tl.constexpr):
    """Group norm of [batch, plane, channel]: short rows of a group, and a sum over both dimensions."""
    batch, group = tl.program_id(0), tl.program_id(1)
    channel = group * CG + tl.arange(0, CG)
    total = tl.zeros((CG,), tl.float32)
    squares = tl.zeros((CG,), tl.float32)
    for start in range(0, plane, BP):
        at = start + tl.arange(0, BP)
        place = (batch * plane + at)[:, None] * channels + channel[None, :]
        value = tl.load(x + place, mask=(at < plane)[:, None], other=0.0).to(tl.float32)
        total += tl.sum(value, 0)
        squares += tl.sum(value * value, 0)
    mean = tl.sum(total) / (CG * plane)
    scale = tl.rsqrt(tl.sum(squares) / (CG * plane) - mean * mean + 1e-5)
    factor = tl.load(weight + channel) * scale
    shift = tl.load(bias + channel) - mean * factor
    for start in range(0, plane, BP):
        at = start + tl.arange(0, BP)
        place = (batch * plane + at)[:, None] * channels + channel[None, :]
        value = tl.load(x + place, mask=(at < plane)[:, None], other=0.0).to(tl.float32)
        value = value * factor[None, :] + shift[None, :]
        tl.store(out + place, (value * tl.sigmoid(value)).to(out.dtype.element_ty), mask=(at < plane)[:, None])


def _group_norm_last(x, weight, bias, CG) -> dict[str, np.ndarray]:
    value = _group_norm(x.transpose(0, 2, 1), weight, bias, CG)["out"].transpose(0, 2, 1)
    return {"out": value / (1 + np.exp(-value))}


CASES += define(
    group_norm_channels_last,
    make=lambda draw, batch, channels, plane: {
        "x": draw.normal("bf16", batch, plane, channels),
        "weight": draw.normal("fp32", channels),
        "bias": draw.normal("fp32", channels),
        "out": output("bf16", batch, plane, channels),
    },
    reference=_group_norm_last,
    grid=lambda batch, channels, CG: (batch, channels // CG),
    sizes={"batch": 2, "channels": 64, "plane": 200},
    variants={"": {"CG": 32, "BP": 64}, "small": {"CG": 16, "BP": 128, "num_warps": 8}},
    absolute=2.0**-8,
)


@triton.jit
def combine_moments(mean_a, squares_a, count_a, mean_b, squares_b, count_b):
    """Moments of two sets together."""
    count = count_a + count_b
    share = tl.where(count > 0, count_b / tl.maximum(count, 1.0), 0.0)
    step = mean_b - mean_a
    return mean_a + step * share, squares_a + squares_b + step * step * count_a * share, count


@triton.jit
def welford(x, mean, variance, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Mean and variance of rows in one pass over columns: three values carried by a loop, then reduced together."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    middle = tl.zeros((BM, BN), tl.float32)
    squares = tl.zeros((BM, BN), tl.float32)
    count = tl.zeros((BM, BN), tl.float32)
    for start in range(0, columns, BN):
        at = start + tl.arange(0, BN)
        inside = (row < rows)[:, None] & (at < columns)[None, :]
        value = tl.load(x + row[:, None] * columns + at[None, :], mask=inside, other=0.0).to(tl.float32)
        after = count + inside.to(tl.float32)
        step = value - middle
        moved = middle + step / tl.maximum(after, 1.0)
        squares = tl.where(inside, squares + step * (value - moved), squares)
        middle = tl.where(inside, moved, middle)
        count = after
    middle, squares, count = tl.reduce((middle, squares, count), 1, combine_moments)
    tl.store(mean + row, middle, mask=row < rows)
    tl.store(variance + row, squares / count, mask=row < rows)


CASES += define(
    welford,
    make=lambda draw, rows, columns: {
        "x": draw.normal("fp16", rows, columns),
        "mean": output("fp32", rows),
        "variance": output("fp32", rows),
    },
    reference=lambda x: {"mean": x.mean(1), "variance": x.var(1)},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 20, "columns": 600},
    variants={"": {"BM": 8, "BN": 256}, "row": {"BM": 1, "BN": 512}},
    absolute=2.0**-14,
)


@triton.jit
def batch_norm_moments(x, mean, variance, batch, channels, plane, BC: tl.constexpr, BR: tl.constexpr):
    """Mean and variance of channels of [batch, channel, plane] over the other two dimensions as one."""
    channel = tl.program_id(0) * BC + tl.arange(0, BC)
    total = tl.zeros((BC, BR), tl.float32)
    squares = tl.zeros((BC, BR), tl.float32)
    for start in range(0, batch * plane, BR):
        at = start + tl.arange(0, BR)
        place = (at // plane * channels)[None, :] * plane + channel[:, None] * plane + (at % plane)[None, :]
        inside = (at < batch * plane)[None, :] & (channel < channels)[:, None]
        value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
        total += value
        squares += value * value
    middle = tl.sum(total, 1) / (batch * plane)
    tl.store(mean + channel, middle, mask=channel < channels)
    spread = tl.sum(squares, 1) / (batch * plane) - middle * middle
    tl.store(variance + channel, spread, mask=channel < channels)


CASES += define(
    batch_norm_moments,
    make=lambda draw, batch, channels, plane: {
        "x": draw.normal("fp32", batch, channels, plane),
        "mean": output("fp32", channels),
        "variance": output("fp32", channels),
    },
    reference=lambda x: {"mean": x.mean((0, 2)), "variance": x.var((0, 2))},
    grid=lambda channels, BC: cdiv(channels, BC),
    sizes={"batch": 3, "channels": 20, "plane": 112},
    variants={"": {"BC": 8, "BR": 128}},
    absolute=2.0**-14,
)


@triton.jit
def column_sum(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Sum of columns with the reduction inside the loop."""
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BN,), tl.float32)
    for start in range(0, rows, BM):
        row = start + tl.arange(0, BM)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        total += tl.sum(tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0).to(tl.float32), 0)
    tl.store(out + column, total, mask=column < columns)


CASES += define(
    column_sum,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal(dtype, rows, columns),
        "out": output("fp32", columns),
    },
    reference=lambda x: {"out": x.sum(0)},
    grid=lambda columns, BN: cdiv(columns, BN),
    sizes={"rows": 150, "columns": 256},
    variants={
        "fp32": {"dtype": "fp32", "BM": 32, "BN": 128},
        "bf16": {"dtype": "bf16", "BM": 64, "BN": 64},
        "fp16_w8": {"dtype": "fp16", "BM": 128, "BN": 64, "num_warps": 8},
    },
    absolute=2.0**-13,
)


@triton.jit
def column_max(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Largest magnitude of columns, for scales, with the reduction inside the loop."""
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    top = tl.zeros((BN,), tl.float32)
    for start in range(0, rows, BM):
        row = start + tl.arange(0, BM)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        value = tl.load(x + row[:, None] * columns + column[None, :], mask=inside, other=0.0).to(tl.float32)
        top = tl.maximum(top, tl.max(tl.abs(value), 0))
    tl.store(out + column, top / 127, mask=column < columns)


CASES += define(
    column_max,
    make=lambda draw, rows, columns: {"x": draw.normal("bf16", rows, columns), "out": output("fp32", columns)},
    reference=lambda x: {"out": np.abs(x).max(0) / 127},
    grid=lambda columns, BN: cdiv(columns, BN),
    sizes={"rows": 150, "columns": 256},
    variants={"": {"BM": 64, "BN": 128}},
)


@triton.jit
def row_sum(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Sum of rows with the reduction inside the loop."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, columns, BN):
        at = start + tl.arange(0, BN)
        inside = (row < rows)[:, None] & (at < columns)[None, :]
        total += tl.sum(tl.load(x + row[:, None] * columns + at[None, :], mask=inside, other=0.0).to(tl.float32), 1)
    tl.store(out + row, total, mask=row < rows)


CASES += define(
    row_sum,
    make=lambda draw, rows, columns, dtype: {"x": draw.normal(dtype, rows, columns), "out": output("fp32", rows)},
    reference=lambda x: {"out": x.sum(1)},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 70, "columns": 400},
    variants={
        "fp32": {"dtype": "fp32", "BM": 32, "BN": 128},
        "fp16": {"dtype": "fp16", "BM": 16, "BN": 256, "num_warps": 8},
    },
    absolute=2.0**-13,
)


@triton.jit
def middle_sum(x, out, middle, inner, BM: tl.constexpr, BI: tl.constexpr):
    """Sum over the middle of three dimensions, with an index that the outer two share."""
    outer = tl.program_id(1)
    at = tl.program_id(0) * BI + tl.arange(0, BI)[None, :]
    total = tl.zeros((BM, BI), tl.float32)
    for start in range(0, middle, BM):
        row = start + tl.arange(0, BM)[:, None]
        inside = (row < middle) & (at < inner)
        total += tl.load(x + (outer * middle + row) * inner + at, mask=inside, other=0.0)
    column = tl.program_id(0) * BI + tl.arange(0, BI)
    tl.store(out + outer * inner + column, tl.sum(total, 0), mask=column < inner)


CASES += define(
    middle_sum,
    make=lambda draw, outer, middle, inner: {
        "x": draw.normal("fp32", outer, middle, inner),
        "out": output("fp32", outer, inner),
    },
    reference=lambda x: {"out": x.sum(1)},
    grid=lambda outer, inner, BI: (cdiv(inner, BI), outer),
    sizes={"outer": 2, "middle": 100, "inner": 96},
    variants={"": {"BM": 64, "BI": 32}},
    absolute=2.0**-14,
)


@triton.jit
def rows_and_columns_max(x, by_row, by_column, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Largest of each row and of each column of a tile: one value, reduced along both dimensions."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    value = tl.load(x + row[:, None] * columns + column[None, :])
    tl.store(by_row + tl.program_id(1) * rows + row, tl.max(value, 1))
    tl.store(by_column + tl.program_id(0) * columns + column, tl.max(value, 0))


CASES += define(
    rows_and_columns_max,
    make=lambda draw, rows, columns, BM, BN: {
        "x": draw.normal("fp16", rows, columns),
        "by_row": output("fp16", columns // BN, rows),
        "by_column": output("fp16", rows // BM, columns),
    },
    reference=lambda x, BM, BN: {
        "by_row": x.reshape(len(x), -1, BN).max(2).T,
        "by_column": x.reshape(-1, BM, x.shape[1]).max(1),
    },
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 64, "columns": 256},
    variants={"": {"BM": 32, "BN": 128}},
)


@triton.jit
def squared_error(x, y, loss, N, BN: tl.constexpr):
    """Sum of squared differences, one atomic per program."""
    total = tl.zeros((BN,), tl.float32)
    for start in range(tl.program_id(0) * BN, N, tl.num_programs(0) * BN):
        at = start + tl.arange(0, BN)
        step = tl.load(x + at, mask=at < N, other=0.0).to(tl.float32)
        step -= tl.load(y + at, mask=at < N, other=0.0).to(tl.float32)
        total += step * step
    tl.atomic_add(loss, tl.sum(total, 0))


CASES += define(
    squared_error,
    make=lambda draw, N: {name: draw.normal("bf16", N) for name in "xy"} | {"loss": zeros("fp32", 1)},
    reference=lambda x, y: {"loss": np.array([((x - y) ** 2).sum()])},
    grid=lambda: 3,
    sizes={"N": 5000},
    variants={"": {"BN": 1024}},
    absolute=2.0**-6,
    ordered=False,
)


@triton.jit
def row_argmax(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Place of the largest number of rows: two values reduced together."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.arange(0, BN)
    value = tl.load(x + row[:, None] * columns + at[None, :], mask=(row < rows)[:, None], other=0.0)
    tl.store(out + row, tl.argmax(value, 1), mask=row < rows)


CASES += define(
    row_argmax,
    make=lambda draw, rows, columns: {
        "x": draw.distinct("fp32", rows, columns),
        "out": draw.integers("i32", -9, -1, rows),
    },
    reference=lambda x: {"out": x.argmax(1)},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 20, "columns": 128},
    variants={"": {"BM": 16, "BN": 128}},
)


@triton.jit
def column_argmin(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Place of the smallest number of columns, in a loop."""
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    least = tl.full((BN,), float("inf"), tl.float32)
    place = tl.zeros((BN,), tl.int32)
    for start in range(0, rows, BM):
        row = start + tl.arange(0, BM)
        value = tl.load(x + row[:, None] * columns + column[None, :], mask=(row < rows)[:, None], other=float("inf"))
        found, at = tl.min(value, 0, return_indices=True)
        place = tl.where(found < least, at + start, place)
        least = tl.minimum(found, least)
    tl.store(out + column, place)


CASES += define(
    column_argmin,
    make=lambda draw, rows, columns: {
        "x": draw.normal("fp32", rows, columns),
        "out": draw.integers("i32", -9, -1, columns),
    },
    reference=lambda x: {"out": x.argmin(0)},
    grid=lambda columns, BN: columns // BN,
    sizes={"rows": 50, "columns": 128},
    variants={"": {"BM": 32, "BN": 64}},
)


@triton.jit
def top_k(x, values, columns, rows, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The K largest numbers of rows in order."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    tile = tl.load(x + row[:, None] * columns + tl.arange(0, BN)[None, :], mask=(row < rows)[:, None], other=0.0)
    best = tl.topk(tile, K, 1)
    tl.store(values + row[:, None] * K + tl.arange(0, K)[None, :], best, mask=(row < rows)[:, None])


CASES += define(
    top_k,
    make=lambda draw, rows, columns, K, dtype: {
        "x": draw.distinct(dtype, rows, columns),
        "values": output(dtype, rows, K),
    },
    reference=lambda x, K: {"values": -np.sort(-x, 1)[:, :K]},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 40, "columns": 128},
    variants={
        "fp16": {"dtype": "fp16", "K": 8, "BM": 32, "BN": 128},
        "fp32": {"dtype": "fp32", "K": 4, "BM": 8, "BN": 64, "columns": 64},
    },
)


@triton.jit
def sort_rows(x, out, columns, rows, BM: tl.constexpr, BN: tl.constexpr):
    """Sort rows: a network of reshapes, flips and exchanges."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    place = row[:, None] * columns + tl.arange(0, BN)[None, :]
    tile = tl.load(x + place, mask=(row < rows)[:, None], other=0.0)
    tl.store(out + place, tl.sort(tile, 1), mask=(row < rows)[:, None])


CASES += define(
    sort_rows,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.distinct(dtype, rows, columns),
        "out": output(dtype, rows, columns),
    },
    reference=lambda x: {"out": np.sort(x, 1)},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 12, "columns": 64},
    variants={
        "fp32": {"dtype": "fp32", "BM": 8, "BN": 64},
        "fp16": {"dtype": "fp16", "BM": 4, "BN": 256, "columns": 256},
    },
)


@triton.jit
def cumulative_sum(x, out, rows, columns, AXIS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Running sum of a tile along either dimension."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    value = tl.load(x + row * columns + column).to(tl.float32)
    tl.store(out + row * columns + column, tl.cumsum(value, AXIS).to(out.dtype.element_ty))


def _scanned(x, AXIS, BM, BN) -> dict[str, np.ndarray]:
    if AXIS == 0:
        return {"out": x.reshape(-1, BM, x.shape[1]).cumsum(1).reshape(x.shape)}
    return {"out": x.reshape(len(x), -1, BN).cumsum(2).reshape(x.shape)}


CASES += define(
    cumulative_sum,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal(dtype, rows, columns),
        "out": output(dtype, rows, columns),
    },
    reference=_scanned,
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 128, "columns": 128},
    variants={
        "columns": {"dtype": "fp32", "AXIS": 0, "BM": 64, "BN": 128},
        "rows": {"dtype": "fp32", "AXIS": 1, "BM": 64, "BN": 128},
        "columns_bf16": {"dtype": "bf16", "AXIS": 0, "BM": 128, "BN": 64, "num_warps": 8},
        "rows_bf16": {"dtype": "bf16", "AXIS": 1, "BM": 16, "BN": 128},
    },
    absolute=2.0**-14,
)


@triton.jit
def after(decay_a, value_a, decay_b, value_b):
    """Compose two steps of h = decay * h + value."""
    return decay_a * decay_b, value_a * decay_b + value_b


@triton.jit
def linear_recurrence(decay, x, out, length, width, BT: tl.constexpr, BD: tl.constexpr):
    """h[t] = decay[t] * h[t - 1] + x[t] per channel: an associative scan over rows, and a state between tiles."""
    channel = tl.program_id(0) * BD + tl.arange(0, BD)
    last = (tl.arange(0, BT) == BT - 1)[:, None]
    state = tl.zeros((BD,), tl.float32)
    for start in range(0, length, BT):
        place = (start + tl.arange(0, BT))[:, None] * width + channel[None, :]
        factor, value = tl.load(decay + place), tl.load(x + place)
        factor, value = tl.associative_scan((factor, value), 0, after)
        value += factor * state[None, :]
        tl.store(out + place, value)
        state = tl.sum(tl.where(last, value, 0.0), 0)


def _recurrence(decay, x) -> dict[str, np.ndarray]:
    out, state = np.empty_like(x), np.zeros(x.shape[1])
    for at, (factor, value) in enumerate(zip(decay, x)):
        out[at] = state = factor * state + value
    return {"out": out}


CASES += define(
    linear_recurrence,
    make=lambda draw, length, width: {
        "decay": draw.uniform("fp32", 0, 1, length, width),
        "x": draw.normal("fp32", length, width),
        "out": output("fp32", length, width),
    },
    reference=_recurrence,
    grid=lambda width, BD: width // BD,
    sizes={"length": 128, "width": 64},
    variants={"": {"BT": 64, "BD": 32}},
    absolute=2.0**-15,
)


@triton.jit
def running_max(a, b):
    """The larger of two."""
    return tl.maximum(a, b)


@triton.jit
def cumulative_max(x, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Running maximum of rows from their end: a scan in reverse."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    place = row * columns + tl.arange(0, BN)[None, :]
    tl.store(out + place, tl.associative_scan(tl.load(x + place), 1, running_max, reverse=True))


CASES += define(
    cumulative_max,
    make=lambda draw, rows, columns: {"x": draw.normal("fp32", rows, columns), "out": output("fp32", rows, columns)},
    reference=lambda x: {"out": np.maximum.accumulate(x[:, ::-1], 1)[:, ::-1]},
    grid=lambda rows, BM: rows // BM,
    sizes={"rows": 16, "columns": 256},
    variants={"": {"BM": 8, "BN": 256}},
)


@triton.jit
def histogram(x, out, N, BINS: tl.constexpr, BN: tl.constexpr):
    """Counts of values below BINS, added up by atomics."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    counts = tl.histogram(tl.load(x + at, mask=at < N, other=0), BINS, mask=at < N)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


CASES += define(
    histogram,
    make=lambda draw, N, BINS: {
        "x": draw.integers("i32", 0, BINS, N),
        "out": draw.integers("i32", 0, 1, BINS),
    },
    reference=lambda x, BINS: {"out": np.bincount(x, minlength=BINS)},
    grid=lambda N, BN: cdiv(N, BN),
    sizes={"N": 3000},
    variants={"": {"BINS": 128, "BN": 1024}},
)


@triton.jit
def cross_entropy(logits, labels, loss, columns, BN: tl.constexpr):
    """Loss of a row of logits, and its gradient in place of the logits: two loops over the row."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    at = tl.arange(0, BN)
    top, total = float("-inf"), 0.0
    for start in range(0, columns, BN):
        value = tl.load(logits + row * columns + start + at, mask=start + at < columns, other=float("-inf"))
        value = value.to(tl.float32)
        new = tl.maximum(top, tl.max(value, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(value - new), 0)
        top = new
    wanted = tl.load(logits + row * columns + label).to(tl.float32)
    tl.store(loss + row, top + tl.log(total) - wanted)
    # The label's logit has been read before other warps overwrite it.
    tl.debug_barrier()
    for start in range(0, columns, BN):
        inside = start + at < columns
        value = tl.load(logits + row * columns + start + at, mask=inside, other=float("-inf")).to(tl.float32)
        slope = tl.exp(value - top) / total - tl.where(start + at == label, 1.0, 0.0)
        tl.store(logits + row * columns + start + at, slope.to(logits.dtype.element_ty), mask=inside)


def _cross_entropy(logits, labels) -> dict[str, np.ndarray]:
    weights = softmaxed(logits)
    rows = np.arange(len(logits))
    one = np.zeros_like(logits)
    one[rows, labels] = 1
    return {"logits": weights - one, "loss": -np.log(weights[rows, labels])}


CASES += define(
    cross_entropy,
    make=lambda draw, rows, columns: {
        "logits": draw.normal("bf16", rows, columns),
        "labels": draw.integers("i64", 0, columns, rows),
        "loss": output("fp32", rows),
    },
    reference=_cross_entropy,
    grid=lambda rows: rows,
    sizes={"rows": 3, "columns": 3000},
    variants={"": {"BN": 1024, "num_warps": 8}},
    absolute=2.0**-16,
)


@triton.jit
def divergence(p, log_q, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Kullback-Leibler divergence of rows, in a loop over columns."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, columns, BN):
        at = start + tl.arange(0, BN)
        place = row[:, None] * columns + at[None, :]
        inside = (row < rows)[:, None] & (at < columns)[None, :]
        weight = tl.load(p + place, mask=inside, other=1.0).to(tl.float32)
        other = tl.load(log_q + place, mask=inside, other=0.0).to(tl.float32)
        total += tl.sum(weight * (tl.log(weight) - other), 1)
    tl.store(out + row, total, mask=row < rows)


CASES += define(
    divergence,
    make=lambda draw, rows, columns: {
        "p": draw.uniform("bf16", 0.125, 1, rows, columns),
        "log_q": draw.normal("fp32", rows, columns),
        "out": output("fp32", rows),
    },
    reference=lambda p, log_q: {"out": (p * (np.log(p) - log_q)).sum(1)},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 20, "columns": 400},
    variants={"": {"BM": 16, "BN": 128}},
    absolute=2.0**-11,
)


@triton.jit
def normalize_rows(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Rows divided by their length, for rows in a loop of two passes."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, columns, BN):
        at = start + tl.arange(0, BN)
        inside = (row < rows)[:, None] & (at < columns)[None, :]
        value = tl.load(x + row[:, None] * columns + at[None, :], mask=inside, other=0.0).to(tl.float32)
        total += value * value
    scale = tl.rsqrt(tl.sum(total, 1) + 1e-12)
    for start in range(0, columns, BN):
        at = start + tl.arange(0, BN)
        inside = (row < rows)[:, None] & (at < columns)[None, :]
        value = tl.load(x + row[:, None] * columns + at[None, :], mask=inside, other=0.0).to(tl.float32)
        value = value * scale[:, None]
        tl.store(out + row[:, None] * columns + at[None, :], value.to(out.dtype.element_ty), mask=inside)


CASES += define(
    normalize_rows,
    make=lambda draw, rows, columns: {"x": draw.normal("fp16", rows, columns), "out": output("fp16", rows, columns)},
    reference=lambda x: {"out": x / np.sqrt((x**2).sum(1, keepdims=True))},
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 20, "columns": 400},
    variants={"": {"BM": 8, "BN": 256}},
)


@triton.jit
def exclusive_or(a, b):
    """Bitwise exclusive or."""
    return a ^ b


@triton.jit
def checksum(x, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Exclusive or of rows of 64-bit integers."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    value = tl.load(x + row[:, None] * columns + tl.arange(0, BN)[None, :])
    tl.store(out + row, tl.reduce(value, 1, exclusive_or))


CASES += define(
    checksum,
    make=lambda draw, rows, columns: {
        "x": draw.integers("i64", -(2**62), 2**62, rows, columns),
        "out": draw.integers("i64", -9, 9, rows),
    },
    reference=lambda x: {"out": np.bitwise_xor.reduce(x, 1)},
    grid=lambda rows, BM: rows // BM,
    sizes={"rows": 32, "columns": 128},
    variants={"": {"BM": 16, "BN": 128}},
)


@triton.jit
def pooled(x, mask, out, length, width, BT: tl.constexpr, BD: tl.constexpr):
    """Mean of the rows that a mask keeps, per sequence: a product with a vector along the reduced dimension."""
    sequence = tl.program_id(1)
    column = tl.program_id(0) * BD + tl.arange(0, BD)
    total = tl.zeros((BD,), tl.float32)
    count = 0.0
    for start in range(0, length, BT):
        row = start + tl.arange(0, BT)
        keep = tl.load(mask + sequence * length + row, mask=row < length, other=0).to(tl.float32)
        place = (sequence * length + row)[:, None] * width + column[None, :]
        value = tl.load(x + place, mask=(row < length)[:, None], other=0.0).to(tl.float32)
        total += tl.sum(value * keep[:, None], 0)
        count += tl.sum(keep, 0)
    tl.store(out + sequence * width + column, total / tl.maximum(count, 1.0))


CASES += define(
    pooled,
    make=lambda draw, batch, length, width: {
        "x": draw.normal("fp16", batch, length, width),
        "mask": draw.integers("i8", 0, 2, batch, length),
        "out": output("fp32", batch, width),
    },
    reference=lambda x, mask: {"out": (x * mask[:, :, None]).sum(1) / np.maximum(mask.sum(1), 1)[:, None]},
    grid=lambda batch, width, BD: (width // BD, batch),
    sizes={"batch": 2, "length": 100, "width": 128},
    variants={"": {"BT": 32, "BD": 64}},
    absolute=2.0**-14,
)
