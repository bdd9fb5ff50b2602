"""Convolutions and pooling."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from .case import Case, cdiv, define, output

__all__ = ["CASES"]

CASES: list[Case] = []


@triton.jit
def convolution(
    x,
    w,
    bias,
    y,
    batch,
    height,
    width,
    CI: tl.constexpr,
    CO: tl.constexpr,
    R: tl.constexpr,
    LAST: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """R x R convolution of [batch, height, width, CI] as a product with gathered rows; LAST keeps channels last."""
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    image, row, column = rm // (height * width), rm // width % height, rm % width
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(R * R * CI // BK):
        tap, channel = step * BK // CI, step * BK % CI + rk
        i, j = row + tap // R - R // 2, column + tap % R - R // 2
        inside = (i >= 0) & (i < height) & (j >= 0) & (j < width) & (image < batch)
        place = ((image * height + i) * width + j)[:, None] * CI + channel[None, :]
        left = tl.load(x + place, mask=inside[:, None], other=0.0)
        right = tl.load(w + (tap * CI + channel[:, None]) * CO + rn[None, :])
        acc = tl.dot(left, right, acc)
    acc = tl.maximum(acc + tl.load(bias + rn)[None, :], 0.0)
    if LAST:
        place = rm[:, None] * CO + rn[None, :]
    else:
        place = (image[:, None] * CO + rn[None, :]) * height * width + (rm % (height * width))[:, None]
    tl.store(y + place, acc.to(y.dtype.element_ty), mask=(rm < batch * height * width)[:, None])


def _convolved(x, w, bias, R, LAST) -> dict[str, np.ndarray]:
    _, height, width, _ = x.shape
    edge = R // 2
    padded = np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
    taps = [padded[:, i : i + height, j : j + width] @ w[i * R + j] for i in range(R) for j in range(R)]
    found = np.maximum(sum(taps) + bias, 0)
    return {"y": found if LAST else found.transpose(0, 3, 1, 2)}


CASES += define(
    convolution,
    make=lambda draw, batch, height, width, CI, CO, R, LAST: {
        "x": draw.normal("fp16", batch, height, width, CI),
        "w": draw.normal("fp16", R * R, CI, CO, scale=(R * R * CI) ** -0.5),
        "bias": draw.normal("fp32", CO),
        "y": output("fp16", batch, *((height, width, CO) if LAST else (CO, height, width))),
    },
    reference=_convolved,
    grid=lambda batch, height, width, CO, BM, BN: (cdiv(batch * height * width, BM), CO // BN),
    sizes={"batch": 2, "height": 7, "width": 16, "CI": 64, "CO": 64, "R": 3},
    variants={
        "last": {"LAST": True, "BM": 64, "BN": 64, "BK": 64},
        "first": {"LAST": False, "BM": 128, "BN": 64, "BK": 32},
    },
    absolute=2.0**-9,
)


@triton.jit
def depthwise(x, w, y, height, width, channels, R: tl.constexpr, BW: tl.constexpr, BC: tl.constexpr):
    """R x R convolution of each channel of [height, width, channel] by itself."""
    i = tl.program_id(0)
    j, channel = tl.program_id(1) * BW + tl.arange(0, BW), tl.arange(0, BC)
    acc = tl.zeros((BW, BC), tl.float32)
    for tap in tl.static_range(R * R):
        row, column = i + tap // R - R // 2, j + tap % R - R // 2
        inside = ((row >= 0) & (row < height) & (column >= 0) & (column < width))[:, None]
        value = tl.load(x + (row * width + column[:, None]) * channels + channel[None, :], mask=inside, other=0.0)
        acc += value.to(tl.float32) * tl.load(w + tap * channels + channel).to(tl.float32)[None, :]
    place = (i * width + j[:, None]) * channels + channel[None, :]
    tl.store(y + place, acc.to(y.dtype.element_ty), mask=(j < width)[:, None])


CASES += define(
    depthwise,
    make=lambda draw, height, width, channels, R: {
        "x": draw.normal("bf16", height, width, channels),
        "w": draw.normal("bf16", R * R, channels),
        "y": output("bf16", height, width, channels),
    },
    reference=lambda x, w, R: {
        "y": sum(
            np.pad(x, ((R // 2, R // 2), (R // 2, R // 2), (0, 0)))[i : i + len(x), j : j + x.shape[1]] * w[i * R + j]
            for i in range(R)
            for j in range(R)
        )
    },
    grid=lambda height, width, BW: (height, cdiv(width, BW)),
    sizes={"height": 5, "width": 20, "channels": 64, "R": 3},
    variants={"": {"BW": 16, "BC": 64}},
    absolute=2.0**-16,
)


@triton.jit
def pool_max(x, y, places, rows, columns, BN: tl.constexpr):
    """Largest of each 2 x 2 and its number, over a flat index."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = at < rows * columns
    corner = at // columns * 2 * 2 * columns + at % columns * 2
    best = tl.load(x + corner, mask=inside, other=0.0)
    place = tl.zeros((BN,), tl.int8)
    for tap in tl.static_range(1, 4):
        value = tl.load(x + corner + tap // 2 * 2 * columns + tap % 2, mask=inside, other=0.0)
        place = tl.where(value > best, tap, place).to(tl.int8)
        best = tl.maximum(value, best)
    tl.store(y + at, best, mask=inside)
    tl.store(places + at, place, mask=inside)


def _pooled(x, rows, columns) -> dict[str, np.ndarray]:
    corners = x.reshape(rows, 2, columns, 2).transpose(0, 2, 1, 3).reshape(rows, columns, 4)
    return {"y": corners.max(2), "places": corners.argmax(2)}


CASES += define(
    pool_max,
    make=lambda draw, rows, columns: {
        "x": draw.normal("fp32", 2 * rows, 2 * columns),
        "y": output("fp32", rows, columns),
        "places": draw.integers("i8", 5, 9, rows, columns),
    },
    reference=_pooled,
    grid=lambda rows, columns, BN: cdiv(rows * columns, BN),
    sizes={"rows": 30, "columns": 40},
    variants={"": {"BN": 512}},
)


@triton.jit
def pool_mean_to_channels_first(x, y, plane, channels, BP: tl.constexpr, BC: tl.constexpr):
    """Means over the plane of [batch, plane, channel]: a sum over rows in a loop."""
    batch, channel = tl.program_id(1), tl.program_id(0) * BC + tl.arange(0, BC)
    total = tl.zeros((BC,), tl.float32)
    for start in range(0, plane, BP):
        at = start + tl.arange(0, BP)
        place = (batch * plane + at)[:, None] * channels + channel[None, :]
        total += tl.sum(tl.load(x + place, mask=(at < plane)[:, None], other=0.0).to(tl.float32), 0)
    tl.store(y + batch * channels + channel, (total / plane).to(y.dtype.element_ty))


CASES += define(
    pool_mean_to_channels_first,
    make=lambda draw, batch, plane, channels: {
        "x": draw.normal("fp16", batch, plane, channels),
        "y": output("fp16", batch, channels),
    },
    reference=lambda x: {"y": x.mean(1)},
    grid=lambda batch, channels, BC: (channels // BC, batch),
    sizes={"batch": 2, "plane": 49, "channels": 128},
    variants={"": {"BP": 16, "BC": 128}},
    absolute=2.0**-16,
)


@triton.jit
def enlarge(x, y, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Each element twice along both dimensions, by joins and a reshape."""
    row, column = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    value = tl.load(x + row[:, None] * columns + column[None, :])
    wide = tl.join(value, value).reshape(BM, 2 * BN)
    tall = tl.join(wide, wide).permute(0, 2, 1).reshape(2 * BM, 2 * BN)
    row = tl.program_id(0) * 2 * BM + tl.arange(0, 2 * BM)
    column = tl.program_id(1) * 2 * BN + tl.arange(0, 2 * BN)
    tl.store(y + row[:, None] * 2 * columns + column[None, :], tall)


CASES += define(
    enlarge,
    make=lambda draw, rows, columns: {
        "x": draw.normal("fp16", rows, columns),
        "y": output("fp16", 2 * rows, 2 * columns),
    },
    reference=lambda x: {"y": x.repeat(2, 0).repeat(2, 1)},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 32, "columns": 64},
    variants={"": {"BM": 32, "BN": 32}},
)
