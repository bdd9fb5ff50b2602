"""Quantizers and their inverses: scales by row, by block and by group, and types down to four bits."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from .case import FLOAT8, Case, cdiv, define, output
from .reductions import rms_normed

__all__ = ["CASES", "FP4", "nibbles", "packed"]

CASES: list[Case] = []

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
"""Magnitudes of the 4-bit floats of the OCP Microscaling Formats specification."""


def packed(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return bytes, as signed integers, of two arrays of nibbles."""
    return (low | high << 4).astype(np.uint8).view(np.int8).astype(np.int64)


def nibbles(data: np.ndarray) -> np.ndarray:
    """Return the nibbles of bytes along the last dimension, the low one first."""
    byte = data & 255
    return np.stack([byte & 15, byte >> 4], -1).reshape(*data.shape[:-1], -1)


@triton.jit
def int8_rows(x, out, scales, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Each row scaled to 127 and rounded; the store moves half the bits of the load."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.arange(0, BN)
    place = row[:, None] * columns + at[None, :]
    inside = (row < rows)[:, None] & (at < columns)[None, :]
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value), 1), 1e-6) / 127
    value = value / scale[:, None]
    rounded = (value + tl.where(value >= 0, 0.5, -0.5)).to(tl.int8)
    tl.store(out + place, rounded, mask=inside)
    tl.store(scales + row, scale, mask=row < rows)


def _int8(x, axis) -> dict[str, np.ndarray]:
    scale = np.abs(x).max(axis) / 127
    value = x / np.expand_dims(scale, axis)
    return {"out": np.trunc(value + np.where(value >= 0, 0.5, -0.5)), "scales": scale}


CASES += define(
    int8_rows,
    make=lambda draw, rows, columns, dtype: {
        "x": draw.normal(dtype, rows, columns),
        "out": draw.integers("i8", -9, 9, rows, columns),
        "scales": output("fp32", rows),
    },
    reference=lambda x: _int8(x, 1),
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 20, "columns": 1000},
    variants={
        "bf16": {"dtype": "bf16", "BM": 4, "BN": 1024},
        "fp32_row": {"dtype": "fp32", "BM": 1, "BN": 1024},
    },
    absolute={"out": 1, "scales": 2.0**-18},
)


@triton.jit
def int8_columns(x, out, scales, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Each column of a tall tile scaled to 127 and rounded."""
    column = tl.program_id(0) * BN + tl.arange(0, BN)
    row = tl.arange(0, BM)
    place = row[:, None] * columns + column[None, :]
    value = tl.load(x + place, mask=(row < rows)[:, None], other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-6) / 127
    value = value / scale[None, :]
    rounded = (value + tl.where(value >= 0, 0.5, -0.5)).to(tl.int8)
    tl.store(out + place, rounded, mask=(row < rows)[:, None])
    tl.store(scales + column, scale)


CASES += define(
    int8_columns,
    make=lambda draw, rows, columns: {
        "x": draw.normal("fp16", rows, columns),
        "out": draw.integers("i8", -9, 9, rows, columns),
        "scales": output("fp32", columns),
    },
    reference=lambda x: _int8(x, 0),
    grid=lambda columns, BN: columns // BN,
    sizes={"rows": 200, "columns": 128},
    variants={"": {"BM": 256, "BN": 32}},
    absolute={"out": 1, "scales": 2.0**-18},
)


@triton.jit
def fp8_rows(x, out, scales, columns, BN: tl.constexpr):
    """A row in two loops: its largest magnitude, then its numbers as 8-bit floats."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BN)
    top = tl.zeros((BN,), tl.float32)
    for start in range(0, columns, BN):
        value = tl.load(x + row * columns + start + at, mask=start + at < columns, other=0.0).to(tl.float32)
        top = tl.maximum(top, tl.abs(value))
    scale = tl.maximum(tl.max(top, 0), 1e-6) / 448
    tl.store(scales + row, scale)
    for start in range(0, columns, BN):
        inside = start + at < columns
        value = tl.load(x + row * columns + start + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row * columns + start + at, (value / scale).to(out.dtype.element_ty), mask=inside)


def _fp8(x: np.ndarray) -> dict[str, np.ndarray]:
    scale = np.abs(x).max(1) / 448
    return {"out": x / scale[:, None], "scales": scale}


CASES += define(
    fp8_rows,
    make=lambda draw, rows, columns: {
        "x": draw.normal("bf16", rows, columns),
        "out": output("fp8e4nv", rows, columns),
        "scales": output("fp32", rows),
    },
    reference=_fp8,
    grid=lambda rows: rows,
    sizes={"rows": 3, "columns": 2800},
    variants={"": {"BN": 1024}},
    absolute=2.0**-9,
    targets=FLOAT8,
)


@triton.jit
def fp8_groups(x, out, scales, columns, GROUP: tl.constexpr, BM: tl.constexpr, GROUPS: tl.constexpr):
    """Groups of 128 columns with a scale each: a reduction of the last of three dimensions."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.program_id(1) * GROUPS * GROUP + tl.arange(0, GROUPS * GROUP)
    place = row[:, None] * columns + at[None, :]
    value = tl.load(x + place).to(tl.float32).reshape(BM, GROUPS, GROUP)
    scale = tl.maximum(tl.max(tl.abs(value), 2), 1e-6) / 448
    value = (value / scale[:, :, None]).reshape(BM, GROUPS * GROUP)
    tl.store(out + place, value.to(out.dtype.element_ty))
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    tl.store(scales + row[:, None] * (columns // GROUP) + group[None, :], scale)


def _fp8_groups(x, GROUP) -> dict[str, np.ndarray]:
    value = x.reshape(len(x), -1, GROUP)
    scale = np.abs(value).max(2) / 448
    return {"out": (value / scale[:, :, None]).reshape(x.shape), "scales": scale}


CASES += define(
    fp8_groups,
    make=lambda draw, rows, columns, GROUP: {
        "x": draw.normal("bf16", rows, columns),
        "out": output("fp8e4nv", rows, columns),
        "scales": output("fp32", rows, columns // GROUP),
    },
    reference=_fp8_groups,
    grid=lambda rows, columns, BM, GROUP, GROUPS: (rows // BM, columns // GROUP // GROUPS),
    sizes={"rows": 16, "columns": 512, "GROUP": 128},
    variants={"": {"BM": 8, "GROUPS": 2}, "one": {"BM": 16, "GROUPS": 1, "num_warps": 8}},
    absolute=2.0**-9,
    targets=FLOAT8,
)


@triton.jit
def fp8_block(x, out, scales, columns, BM: tl.constexpr, BN: tl.constexpr):
    """A tile with one scale, and its transpose too."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    value = tl.load(x + row * columns + column).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value)), 1e-6) / 448
    tl.store(out + row * columns + column, (value / scale).to(out.dtype.element_ty))
    tl.store(scales + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), scale)


def _fp8_block(x, BM, BN) -> dict[str, np.ndarray]:
    value = x.reshape(len(x) // BM, BM, -1, BN)
    scale = np.abs(value).max((1, 3)) / 448
    return {"out": (value / scale[:, None, :, None]).reshape(x.shape), "scales": scale}


CASES += define(
    fp8_block,
    make=lambda draw, rows, columns, BM, BN: {
        "x": draw.normal("bf16", rows, columns),
        "out": output("fp8e4nv", rows, columns),
        "scales": output("fp32", rows // BM, columns // BN),
    },
    reference=_fp8_block,
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 128, "columns": 256},
    variants={"": {"BM": 128, "BN": 128, "num_warps": 8}},
    absolute=2.0**-9,
    targets=FLOAT8,
)


@triton.jit
def fp8_both_ways(x, out, transposed, rows, columns, scale, BM: tl.constexpr, BN: tl.constexpr):
    """A tile as 8-bit floats, and transposed: two stores that are contiguous along different dimensions."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    value = (tl.load(x + row * columns + column).to(tl.float32) * scale).to(out.dtype.element_ty)
    tl.store(out + row * columns + column, value)
    tl.store(transposed + column * rows + row, value)


CASES += define(
    fp8_both_ways,
    make=lambda draw, rows, columns: {
        "x": draw.normal("bf16", rows, columns),
        "out": output("fp8e4nv", rows, columns),
        "transposed": output("fp8e4nv", columns, rows),
    },
    reference=lambda x, scale: {"out": x * scale, "transposed": x.T * scale},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 128, "columns": 128, "scale": 16.0},
    variants={"": {"BM": 64, "BN": 64}, "wide": {"BM": 64, "BN": 128, "num_warps": 8}},
    absolute=2.0**-9,
    targets=FLOAT8,
)


@triton.jit
def int4_rows(x, out, scales, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Rows scaled to 7, and neighbours packed into a byte."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    place = row[:, None] * columns + tl.arange(0, BN)[None, :]
    value = tl.load(x + place).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value), 1), 1e-6) / 7
    code = tl.floor(value / scale[:, None] + 8.5).to(tl.int32)
    low, high = tl.split(code.reshape(BM, BN // 2, 2))
    byte = (low | (high << 4)).to(tl.int8)
    tl.store(out + row[:, None] * (columns // 2) + tl.arange(0, BN // 2)[None, :], byte)
    tl.store(scales + row, scale)


def _int4(x: np.ndarray) -> dict[str, np.ndarray]:
    # In 32 bits, as the kernel: a code that is off by one changes the byte by up to 16.
    scale = (np.abs(x).max(1).astype(np.float32) / np.float32(7)).astype(np.float32)
    code = np.floor(x.astype(np.float32) / scale[:, None] + np.float32(8.5)).astype(np.int64)
    return {"out": packed(code[:, ::2], code[:, 1::2]), "scales": scale.astype(np.float64)}


CASES += define(
    int4_rows,
    make=lambda draw, rows, columns: {
        # Small integers over a power of two divide exactly.
        "x": _coarse(draw, rows, columns),
        "out": draw.integers("i8", -9, 9, rows, columns // 2),
        "scales": output("fp32", rows),
    },
    reference=_int4,
    grid=lambda rows, BM: rows // BM,
    sizes={"rows": 32, "columns": 256},
    variants={"": {"BM": 8, "BN": 256}, "short": {"BM": 32, "BN": 64, "columns": 64}},
)


def _coarse(draw, rows: int, columns: int):
    found = draw.integers("bf16", -6, 7, rows, columns)
    found.values[:, 0] = 7
    return type(found)("bf16", found.values / 4.0)


@triton.jit
def int4_widen(x, scales, out, columns, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Packed rows with a scale for each group, as 16-bit floats."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    half = tl.program_id(1) * (BN // 2) + tl.arange(0, BN // 2)
    byte = tl.load(x + row[:, None] * (columns // 2) + half[None, :])
    code = tl.join(byte & 15, (byte >> 4) & 15).reshape(BM, BN)
    group = tl.program_id(1) * (BN // GROUP) + tl.arange(0, BN // GROUP)
    scale = tl.load(scales + row[:, None] * (columns // GROUP) + group[None, :])
    value = (code.to(tl.float32) - 8).reshape(BM, BN // GROUP, GROUP) * scale[:, :, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(out + row[:, None] * columns + column[None, :], value.reshape(BM, BN).to(out.dtype.element_ty))


CASES += define(
    int4_widen,
    make=lambda draw, rows, columns, GROUP: {
        "x": draw.integers("i8", -128, 128, rows, columns // 2),
        "scales": draw.uniform("fp32", 0.1, 1, rows, columns // GROUP),
        "out": output("fp16", rows, columns),
    },
    reference=lambda x, scales, GROUP: {"out": (nibbles(x) - 8) * np.repeat(scales, GROUP, 1)},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 32, "columns": 512},
    variants={"": {"GROUP": 128, "BM": 16, "BN": 256}, "fine": {"GROUP": 32, "BM": 32, "BN": 128, "num_warps": 8}},
)


@triton.jit
def fp4_code(x):
    """Nearest 4-bit float of a magnitude, as its code."""
    code = (x > 0.25).to(tl.int32) + (x >= 0.75).to(tl.int32) + (x > 1.25).to(tl.int32) + (x >= 1.75).to(tl.int32)
    return code + (x > 2.5).to(tl.int32) + (x >= 3.5).to(tl.int32) + (x > 5).to(tl.int32)


@triton.jit
def mxfp4_rows(x, out, scales, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Groups of 32 with an exponent each, and 4-bit floats packed in pairs."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.program_id(1) * BN + tl.arange(0, BN)
    value = tl.load(x + row[:, None] * columns + at[None, :]).to(tl.float32).reshape(BM, BN // 32, 32)
    top = tl.max(tl.abs(value), 2)
    # The exponent of the largest magnitude, less that of the largest number.
    exponent = (top.to(tl.int32, bitcast=True) >> 23) - 2
    exponent = tl.maximum(exponent, 1)
    unit = (exponent << 23).to(tl.float32, bitcast=True)
    value = value / unit[:, :, None]
    code = fp4_code(tl.abs(value)) | tl.where(value < 0, 8, 0)
    low, high = tl.split(code.reshape(BM, BN // 2, 2))
    half = tl.program_id(1) * (BN // 2) + tl.arange(0, BN // 2)
    tl.store(out + row[:, None] * (columns // 2) + half[None, :], (low | (high << 4)).to(tl.int8))
    group = tl.program_id(1) * (BN // 32) + tl.arange(0, BN // 32)
    tl.store(scales + row[:, None] * (columns // 32) + group[None, :], exponent.to(tl.int8))


def _mxfp4(x: np.ndarray) -> dict[str, np.ndarray]:
    value = x.reshape(len(x), -1, 32)
    exponent = np.floor(np.log2(np.abs(value).max(2))) + 127 - 2
    value = (value / 2.0 ** (exponent - 127)[:, :, None]).reshape(x.shape)
    edges = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])
    size = np.abs(value)
    code = sum((size >= edge if index % 2 else size > edge).astype(np.int64) for index, edge in enumerate(edges))
    code |= np.where(value < 0, 8, 0)
    return {"out": packed(code[:, ::2], code[:, 1::2]), "scales": exponent.astype(np.int8).astype(np.int64)}


CASES += define(
    mxfp4_rows,
    make=lambda draw, rows, columns: {
        "x": draw.normal("bf16", rows, columns),
        "out": draw.integers("i8", -9, 9, rows, columns // 2),
        "scales": draw.integers("i8", -9, 9, rows, columns // 32),
    },
    reference=_mxfp4,
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 32, "columns": 256},
    variants={"": {"BM": 16, "BN": 128}, "wide": {"BM": 32, "BN": 256, "num_warps": 8}},
)


@triton.jit
def mxfp4_widen(x, scales, out, columns, BM: tl.constexpr, BN: tl.constexpr):
    """4-bit floats and exponents as bfloat16, by arithmetic on bits."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    half = tl.program_id(1) * (BN // 2) + tl.arange(0, BN // 2)
    byte = tl.load(x + row[:, None] * (columns // 2) + half[None, :]).to(tl.int32) & 255
    code = tl.join(byte & 15, byte >> 4).reshape(BM, BN)
    exponent, fraction = (code >> 1) & 3, code & 1
    # The smallest exponent has no leading bit: its numbers are 0 and a half.
    size = tl.where(
        exponent == 0, 0.5 * fraction, ((exponent + 126) << 23 | fraction << 22).to(tl.float32, bitcast=True)
    )
    value = tl.where(code >= 8, -size, size)
    group = tl.program_id(1) * (BN // 32) + tl.arange(0, BN // 32)
    unit = (tl.load(scales + row[:, None] * (columns // 32) + group[None, :]).to(tl.int32) & 255) << 23
    value = value.reshape(BM, BN // 32, 32) * unit.to(tl.float32, bitcast=True)[:, :, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(out + row[:, None] * columns + column[None, :], value.reshape(BM, BN).to(out.dtype.element_ty))


def widened(x: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the numbers of packed 4-bit floats with an exponent for each 32."""
    code = nibbles(x)
    value = np.where(code >= 8, -FP4[code & 7], FP4[code & 7])
    return value * np.repeat(2.0 ** ((scales & 255) - 127), 32, -1)


CASES += define(
    mxfp4_widen,
    make=lambda draw, rows, columns: {
        "x": draw.integers("i8", -128, 128, rows, columns // 2),
        "scales": draw.integers("i8", 120, 127, rows, columns // 32),
        "out": output("bf16", rows, columns),
    },
    reference=lambda x, scales: {"out": widened(x, scales)},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 32, "columns": 256},
    variants={"": {"BM": 16, "BN": 128}},
)


@triton.jit
def norm_and_quantize(x, residual, weight, out, scales, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """residual += x; its RMS norm as 8-bit floats with a scale for each row."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.arange(0, BN)
    place = row[:, None] * columns + at[None, :]
    inside = (row < rows)[:, None] & (at < columns)[None, :]
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(residual + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + place, value.to(residual.dtype.element_ty), mask=inside)
    value *= tl.rsqrt(tl.sum(value * value, 1) / columns + 1e-6)[:, None]
    value *= tl.load(weight + at, mask=at < columns, other=0.0).to(tl.float32)[None, :]
    scale = tl.maximum(tl.max(tl.abs(value), 1), 1e-6) / 448
    tl.store(out + place, (value / scale[:, None]).to(out.dtype.element_ty), mask=inside)
    tl.store(scales + row, scale, mask=row < rows)


def _norm_and_quantize(x, residual, weight) -> dict[str, np.ndarray]:
    return {"residual": x + residual, **_fp8(rms_normed(x + residual, weight))}


CASES += define(
    norm_and_quantize,
    make=lambda draw, rows, columns: {
        "x": draw.normal("bf16", rows, columns),
        "residual": draw.normal("bf16", rows, columns),
        "weight": draw.uniform("bf16", 0.5, 1, columns),
        "out": output("fp8e4nv", rows, columns),
        "scales": output("fp32", rows),
    },
    reference=_norm_and_quantize,
    grid=lambda rows, BM: cdiv(rows, BM),
    sizes={"rows": 9, "columns": 1008},
    variants={"": {"BM": 1, "BN": 1024}, "tile": {"BM": 4, "BN": 1024, "num_warps": 8}},
    absolute=2.0**-9,
    targets=FLOAT8,
)


@triton.jit
def silu_and_quantize(gate, up, out, scales, columns, BM: tl.constexpr, BN: tl.constexpr):
    """silu(gate) * up with a scale for each 128 columns."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = tl.program_id(1) * BN + tl.arange(0, BN)
    place = row[:, None] * columns + at[None, :]
    value = tl.load(gate + place).to(tl.float32)
    value = value * tl.sigmoid(value) * tl.load(up + place).to(tl.float32)
    value = value.reshape(BM, BN // 128, 128)
    scale = tl.maximum(tl.max(tl.abs(value), 2, keep_dims=True), 1e-6) / 448
    tl.store(out + place, (value / scale).reshape(BM, BN).to(out.dtype.element_ty))
    group = tl.program_id(1) * (BN // 128) + tl.arange(0, BN // 128)
    # Scales lie by column, as a product wants them.
    tl.store(scales + group[None, :] * tl.num_programs(0) * BM + row[:, None], scale.reshape(BM, BN // 128))


def _silu_and_quantize(gate, up) -> dict[str, np.ndarray]:
    found = _fp8_groups(gate / (1 + np.exp(-gate)) * up, 128)
    return {"out": found["out"], "scales": found["scales"].T}


CASES += define(
    silu_and_quantize,
    make=lambda draw, rows, columns: {
        "gate": draw.normal("bf16", rows, columns),
        "up": draw.normal("bf16", rows, columns),
        "out": output("fp8e4nv", rows, columns),
        "scales": output("fp32", columns // 128, rows),
    },
    reference=_silu_and_quantize,
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 32, "columns": 512},
    variants={"": {"BM": 16, "BN": 256}},
    absolute=2.0**-9,
    targets=FLOAT8,
)


@triton.jit
def int8_widen_add(x, scales, residual, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """8-bit integers times a scale by column, plus a residual: three widths of element in one tile."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    place = row[:, None] * columns + column[None, :]
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    value = tl.load(x + place, mask=inside, other=0).to(tl.float32)
    value *= tl.load(scales + column, mask=column < columns, other=0.0)[None, :]
    value += tl.load(residual + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + place, value.to(out.dtype.element_ty), mask=inside)


CASES += define(
    int8_widen_add,
    make=lambda draw, rows, columns: {
        "x": draw.integers("i8", -127, 128, rows, columns),
        "scales": draw.uniform("fp32", 0.01, 0.1, columns),
        "residual": draw.normal("bf16", rows, columns),
        "out": output("bf16", rows, columns),
    },
    reference=lambda x, scales, residual: {"out": x * scales + residual},
    grid=lambda rows, columns, BM, BN: (cdiv(rows, BM), cdiv(columns, BN)),
    sizes={"rows": 50, "columns": 336},
    variants={"": {"BM": 32, "BN": 128}},
)


@triton.jit
def int8_transposed(x, out, rows, columns, scale, BM: tl.constexpr, BN: tl.constexpr):
    """Quantize and transpose: bytes change their order."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    value = tl.load(x + row * columns + column).to(tl.float32) * scale
    code = tl.minimum(tl.maximum(tl.floor(value + 0.5), -127.0), 127.0).to(tl.int8)
    tl.store(out + column * rows + row, code)


CASES += define(
    int8_transposed,
    make=lambda draw, rows, columns: {
        "x": draw.normal("fp16", rows, columns),
        "out": draw.integers("i8", -9, 9, columns, rows),
    },
    reference=lambda x, scale: {"out": np.clip(np.floor(x * scale + 0.5), -127, 127).T},
    grid=lambda rows, columns, BM, BN: (rows // BM, columns // BN),
    sizes={"rows": 128, "columns": 128, "scale": 32.0},
    variants={"": {"BM": 64, "BN": 64}},
)
