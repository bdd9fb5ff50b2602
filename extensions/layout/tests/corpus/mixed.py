"""Products of 16-bit operands with weights of four and eight bits, which a loop widens."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from .case import FLOAT8, Case, define, output
from .quantize import nibbles, widened

__all__ = ["CASES"]

CASES: list[Case] = []


@triton.jit
def w4a16(a, w, scales, c, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A @ dequantized W. W [K / 2, N] holds two rows in a byte; scales [K / GROUP, N]."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk, half = tl.arange(0, BK), tl.arange(0, BK // 2)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        byte = tl.load(w + (k // 2 + half[:, None]) * N + rn[None, :])
        scale = tl.load(scales + k // GROUP * N + rn)
        code = tl.join(byte & 15, (byte >> 4) & 15).permute(0, 2, 1).reshape(BK, BN)
        weight = (code - 8).to(x.dtype) * scale[None, :]
        acc = tl.dot(x, weight, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


def _rows(w: np.ndarray) -> np.ndarray:
    """Return the nibbles of bytes that each hold two rows."""
    return nibbles(w.T).T


CASES += define(
    w4a16,
    make=lambda draw, M, N, K, GROUP, dtype: {
        "a": draw.normal(dtype, M, K),
        "w": draw.integers("i8", -128, 128, K // 2, N),
        "scales": draw.uniform(dtype, 0.01, 0.05, K // GROUP, N),
        "c": output(dtype, M, N),
    },
    reference=lambda a, w, scales, GROUP: {"c": a @ ((_rows(w) - 8) * np.repeat(scales, GROUP, 0))},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 64, "N": 128, "K": 256, "GROUP": 128, "dtype": "fp16"},
    variants={
        "": {"BM": 64, "BN": 128, "BK": 64},
        "flat": {"M": 16, "BM": 16, "BN": 128, "BK": 128},
        "bf16_w8": {"M": 128, "BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "dtype": "bf16", "absolute": 0.15},
    },
    absolute=2.0**-6,
)


@triton.jit
def w4a16_by_column(
    a, w, scales, zeros, c, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """The same for W [N, K / 2] with neighbours along K in a byte, scales and zero points [N, K / GROUP]."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk, half = tl.arange(0, BK), tl.arange(0, BK // 2)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        byte = tl.load(w + rn[:, None] * (K // 2) + k // 2 + half[None, :])
        scale = tl.load(scales + rn * (K // GROUP) + k // GROUP)
        zero = tl.load(zeros + rn * (K // GROUP) + k // GROUP)
        code = tl.join(byte & 15, (byte >> 4) & 15).reshape(BN, BK)
        weight = (code.to(x.dtype) - zero[:, None]) * scale[:, None]
        acc = tl.dot(x, weight.T, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    w4a16_by_column,
    make=lambda draw, M, N, K, GROUP: {
        "a": draw.normal("fp16", M, K),
        "w": draw.integers("i8", -128, 128, N, K // 2),
        "scales": draw.uniform("fp16", 0.01, 0.05, N, K // GROUP),
        "zeros": draw.uniform("fp16", 6, 9, N, K // GROUP),
        "c": output("fp16", M, N),
    },
    reference=lambda a, w, scales, zeros, GROUP: {
        "c": a @ ((nibbles(w) - np.repeat(zeros, GROUP, 1)) * np.repeat(scales, GROUP, 1)).T
    },
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 64, "N": 128, "K": 256, "GROUP": 64},
    variants={
        "": {"BM": 64, "BN": 128, "BK": 64},
        "flat": {"M": 16, "BM": 16, "BN": 64, "BK": 128, "GROUP": 128},
    },
    absolute=2.0**-5,
)


@triton.jit
def w4a16_packed(a, w, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same for words of 32 bits with eight rows each, which every row of the tile loads and shifts."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    shift = (rk % 8 * 4)[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        word = tl.load(w + ((k + rk) // 8)[:, None] * N + rn[None, :])
        scale = tl.load(scales + k // BK * N + rn)
        weight = (((word >> shift) & 15) - 8).to(x.dtype) * scale[None, :]
        acc = tl.dot(x, weight, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


def _words(w: np.ndarray) -> np.ndarray:
    return np.stack([(w >> 4 * place) & 15 for place in range(8)], 1).reshape(-1, w.shape[1])


CASES += define(
    w4a16_packed,
    make=lambda draw, M, N, K, BK: {
        "a": draw.normal("fp16", M, K),
        "w": draw.integers("i32", -(2**31), 2**31, K // 8, N),
        "scales": draw.uniform("fp16", 0.01, 0.05, K // BK, N),
        "c": output("fp16", M, N),
    },
    reference=lambda a, w, scales, BK: {"c": a @ ((_words(w) - 8) * np.repeat(scales, BK, 0))},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 64, "N": 128, "K": 256},
    variants={"": {"BM": 64, "BN": 128, "BK": 64}, "flat": {"M": 16, "BM": 16, "BN": 128, "BK": 128}},
    absolute=2.0**-6,
)


@triton.jit
def w8a16(a, w, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A @ W for 8-bit integers W [K, N] with a scale for each column, applied at the end."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        acc = tl.dot(x, tl.load(w + (k + rk[:, None]) * N + rn[None, :]).to(x.dtype), acc)
    acc = acc * tl.load(scales + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    w8a16,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "w": draw.integers("i8", -127, 128, K, N),
        "scales": draw.uniform("fp32", 0.001, 0.005, N),
        "c": output("bf16", M, N),
    },
    reference=lambda a, w, scales: {"c": a @ w * scales},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 256},
    variants={
        "": {"BM": 128, "BN": 128, "BK": 64},
        "flat": {"M": 16, "BM": 16, "BN": 128, "BK": 128},
        "w8": {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8},
    },
    absolute=2.0**-9,
)


@triton.jit
def a8w16(a, w, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """8-bit integers on the left, widened in the loop."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        y = tl.load(w + (k + rk[:, None]) * N + rn[None, :])
        x = tl.load(a + rm[:, None] * K + k + rk[None, :]).to(y.dtype)
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    a8w16,
    make=lambda draw, M, N, K: {
        "a": draw.integers("i8", -8, 9, M, K),
        "w": draw.normal("fp16", K, N, scale=K**-0.5),
        "c": output("fp16", M, N),
    },
    reference=lambda a, w: {"c": a @ w},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 256},
    variants={"": {"BM": 128, "BN": 128, "BK": 64}},
    absolute=2.0**-7,
)


@triton.jit
def w8a16_groups(a, w, scales, c, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """8-bit integers W [N, K] with a scale for each group along K, of which a tile has several."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk, rg = tl.arange(0, BK), tl.arange(0, BK // GROUP)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        code = tl.load(w + rn[:, None] * K + k + rk[None, :]).to(x.dtype)
        scale = tl.load(scales + rn[:, None] * (K // GROUP) + k // GROUP + rg[None, :])
        weight = (code.reshape(BN, BK // GROUP, GROUP) * scale[:, :, None]).reshape(BN, BK)
        acc = tl.dot(x, weight.T, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    w8a16_groups,
    make=lambda draw, M, N, K, GROUP: {
        "a": draw.normal("fp16", M, K),
        "w": draw.integers("i8", -127, 128, N, K),
        "scales": draw.uniform("fp16", 0.001, 0.004, N, K // GROUP),
        "c": output("fp16", M, N),
    },
    reference=lambda a, w, scales, GROUP: {"c": a @ (w * np.repeat(scales, GROUP, 1)).T},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 64, "N": 128, "K": 256, "GROUP": 32},
    variants={"": {"BM": 64, "BN": 64, "BK": 64}, "w8": {"BM": 64, "BN": 128, "BK": 128, "num_warps": 8}},
    absolute=2.0**-5,
)


@triton.jit
def fp8_weights(a, w, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """bfloat16 times 8-bit floats W [N, K] with a scale for each column."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(w + rn[:, None] * K + k + rk[None, :]).to(x.dtype)
        acc = tl.dot(x, y.T, acc)
    acc = acc * tl.load(scales + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    fp8_weights,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "w": draw.normal("fp8e4nv", N, K),
        "scales": draw.uniform("fp32", 0.01, 0.1, N),
        "c": output("bf16", M, N),
    },
    reference=lambda a, w, scales: {"c": a @ w.T * scales},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 256},
    variants={"": {"BM": 128, "BN": 128, "BK": 64}, "flat": {"M": 16, "BM": 16, "BN": 64, "BK": 128}},
    absolute=2.0**-8,
    targets=FLOAT8,
)


@triton.jit
def mxfp4_weights(a, w, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """bfloat16 times 4-bit floats W [N, K / 2] with an exponent for each 32 along K, widened by arithmetic on bits."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk, half, rs = tl.arange(0, BK), tl.arange(0, BK // 2), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        byte = tl.load(w + rn[:, None] * (K // 2) + k // 2 + half[None, :]).to(tl.int32) & 255
        unit = tl.load(scales + rn[:, None] * (K // 32) + k // 32 + rs[None, :]).to(tl.int32) & 255
        code = tl.join(byte & 15, byte >> 4).reshape(BN, BK)
        exponent, fraction = (code >> 1) & 3, code & 1
        normal = ((exponent + 126) << 23 | fraction << 22).to(tl.float32, bitcast=True)
        size = tl.where(exponent == 0, 0.5 * fraction, normal)
        value = tl.where(code >= 8, -size, size).reshape(BN, BK // 32, 32)
        value = value * (unit << 23).to(tl.float32, bitcast=True)[:, :, None]
        acc = tl.dot(x, value.reshape(BN, BK).to(x.dtype).T, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    mxfp4_weights,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "w": draw.integers("i8", -128, 128, N, K // 2),
        "scales": draw.integers("i8", 118, 124, N, K // 32),
        "c": output("bf16", M, N),
    },
    reference=lambda a, w, scales: {"c": a @ widened(w, scales).T},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 64, "N": 128, "K": 256},
    variants={"": {"BM": 64, "BN": 64, "BK": 64}, "flat": {"M": 16, "BM": 16, "BN": 64, "BK": 128}},
    absolute=2.0**-7,
)


@triton.jit
def dot_scaled_mixed(a, w, scales, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same by dot_scaled, whose widening is the compiler's."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk, half, rs = tl.arange(0, BK), tl.arange(0, BK // 2), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(w + rn[None, :] * (K // 2) + k // 2 + half[:, None]).to(tl.uint8, bitcast=True)
        unit = tl.load(scales + rn[:, None] * (K // 32) + k // 32 + rs[None, :]).to(tl.uint8, bitcast=True)
        acc = tl.dot_scaled(x, None, "bf16", y, unit, "e2m1", acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


CASES += define(
    dot_scaled_mixed,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "w": draw.integers("i8", -128, 128, N, K // 2),
        "scales": draw.integers("i8", 118, 124, N, K // 32),
        "c": output("bf16", M, N),
    },
    reference=lambda a, w, scales: {"c": a @ widened(w, scales).T},
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 64, "N": 128, "K": 256},
    variants={"": {"BM": 64, "BN": 128, "BK": 128}},
    absolute=2.0**-7,
)
