"""Patterns that users of Triton reported, where no other kernel of the corpus has them."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from .case import Case, define, output

__all__ = ["CASES"]

CASES: list[Case] = []


@triton.jit
def tiny_transpose(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Swap the last two of three dimensions of a tile that a warp holds: triton-lang/triton issue 10360."""
    at, i, j = tl.arange(0, M)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, K)[None, None, :]
    value = tl.load(x + (at * N + i) * K + j).permute(0, 2, 1)
    i, j = tl.arange(0, K)[None, :, None], tl.arange(0, N)[None, None, :]
    tl.store(out + (at * K + i) * N + j, value)


CASES += define(
    tiny_transpose,
    make=lambda draw, M, N, K, dtype: {"x": draw.normal(dtype, M, N, K), "out": output(dtype, M, K, N)},
    reference=lambda x: {"out": x.transpose(0, 2, 1)},
    grid=lambda: 1,
    sizes={"M": 32, "N": 4, "K": 4},
    variants={
        "fp32": {"dtype": "fp32", "num_warps": 1},
        "fp16": {"dtype": "fp16", "num_warps": 1},
        "fp32_8x8": {"dtype": "fp32", "M": 64, "N": 8, "K": 8},
        "fp16_16x4": {"dtype": "fp16", "M": 128, "N": 16, "K": 4},
    },
)


@triton.jit
def shared_exponential(x, out, transposed, size, BM: tl.constexpr, BN: tl.constexpr):
    """A slow value that two stores in two layouts want: computing it twice is worse than a conversion (issue 9169)."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    value = tl.load(x + row * size + column)
    for _ in tl.static_range(4):
        value = tl.exp(tl.sin(value) * 0.5)
    tl.store(out + row * size + column, value)
    tl.store(transposed + column * size + row, value)


def _exponentials(x) -> dict[str, np.ndarray]:
    for _ in range(4):
        x = np.exp(np.sin(x) * 0.5)
    return {"out": x, "transposed": x.T}


CASES += define(
    shared_exponential,
    make=lambda draw, size: (
        {"x": draw.normal("fp32", size, size)} | {name: output("fp32", size, size) for name in ("out", "transposed")}
    ),
    reference=_exponentials,
    grid=lambda size, BM, BN: (size // BM, size // BN),
    sizes={"size": 128},
    variants={"": {"BM": 64, "BN": 64}},
    absolute=2.0**-14,
)


@triton.jit
def carried_transpose(x, out, steps, BM: tl.constexpr):
    """A tile that a loop carries is used as it is and transposed in each step, in a branch too (issue 10646)."""
    place = tl.arange(0, BM)[:, None] * BM + tl.arange(0, BM)[None, :]
    value = tl.load(x + place)
    total = tl.zeros((BM, BM), tl.float32)
    for step in range(steps):
        turned = value.T
        if step % 2 == 0:
            total += turned * 0.5
            value = value + turned
        else:
            total = total.T - value
        value = value * 0.25 + tl.load(x + step * BM * BM + place)
    tl.store(out + place, total + value)


def _carried(x, steps) -> dict[str, np.ndarray]:
    value, total = x[0], 0
    for step in range(steps):
        turned = value.T
        if step % 2 == 0:
            total = total + turned * 0.5
            value = value + turned
        else:
            total = total.T - value
        value = value * 0.25 + x[step]
    return {"out": total + value}


CASES += define(
    carried_transpose,
    make=lambda draw, steps, BM: {"x": draw.normal("fp32", steps, BM, BM), "out": output("fp32", BM, BM)},
    reference=_carried,
    grid=lambda: 1,
    sizes={"steps": 5, "BM": 64},
    variants={"": {}, "small": {"BM": 32, "num_warps": 2}},
    absolute=2.0**-18,
)


@triton.jit
def silu_and_mul_descriptor(gate, up, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Bulk copies around elementwise work, by programs that go through tiles (issue 8232)."""
    gates = tl.make_tensor_descriptor(gate, [rows, columns], [columns, 1], [BM, BN])
    ups = tl.make_tensor_descriptor(up, [rows, columns], [columns, 1], [BM, BN])
    outs = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BM, BN])
    across = tl.cdiv(columns, BN)
    for tile in range(tl.program_id(0), tl.cdiv(rows, BM) * across, tl.num_programs(0)):
        row, column = tile // across * BM, tile % across * BN
        value = gates.load([row, column]).to(tl.float32)
        value = value * tl.sigmoid(value) * ups.load([row, column]).to(tl.float32)
        outs.store([row, column], value.to(out.dtype.element_ty))


CASES += define(
    silu_and_mul_descriptor,
    make=lambda draw, rows, columns: {
        "gate": draw.normal("bf16", rows, columns),
        "up": draw.normal("bf16", rows, columns),
        "out": output("bf16", rows, columns),
    },
    reference=lambda gate, up: {"out": gate / (1 + np.exp(-gate)) * up},
    grid=lambda: 3,
    sizes={"rows": 100, "columns": 192},
    variants={"": {"BM": 64, "BN": 64}},
)


@triton.jit
def scaled_accumulator(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The accumulator shrinks by a reduction of each step's operand (pytorch/helion issue 3546)."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn, rk = tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(b + (k + rk[:, None]) * N + rn[None, :])
        most = tl.max(tl.abs(x.to(tl.float32)), 1)
        acc = acc * (1 / (1 + most))[:, None]
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


def _shrunk(a, b, BK) -> dict[str, np.ndarray]:
    acc = np.zeros((len(a), b.shape[1]))
    for k in range(0, a.shape[1], BK):
        x = a[:, k : k + BK]
        acc = acc / (1 + np.abs(x).max(1))[:, None] + x @ b[k : k + BK]
    return {"c": acc}


CASES += define(
    scaled_accumulator,
    make=lambda draw, M, N, K: {
        "a": draw.normal("bf16", M, K),
        "b": draw.normal("bf16", K, N, scale=K**-0.5),
        "c": output("bf16", M, N),
    },
    reference=_shrunk,
    grid=lambda M, N, BM, BN: (M // BM, N // BN),
    sizes={"M": 128, "N": 128, "K": 256},
    variants={"": {"BM": 64, "BN": 128, "BK": 64}, "w8": {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8}},
    absolute=2.0**-9,
)


@triton.jit
def reduce_in_branch(x, flags, out, count, BM: tl.constexpr, BN: tl.constexpr):
    """A reduction along rows in one branch and along columns in the other, in a loop."""
    row, column = tl.arange(0, BM), tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(count):
        value = tl.load(x + step * BM * BN + row[:, None] * BN + column[None, :])
        if tl.load(flags + step) != 0:
            total += value - tl.max(value, 1)[:, None]
        else:
            total += value - tl.max(value, 0)[None, :]
    tl.store(out + row[:, None] * BN + column[None, :], total)


def _branched(x, flags) -> dict[str, np.ndarray]:
    return {
        "out": sum(
            value - value.max(1, keepdims=True) if flag else value - value.max(0, keepdims=True)
            for value, flag in zip(x, flags)
        )
    }


CASES += define(
    reduce_in_branch,
    make=lambda draw, count, BM, BN: {
        "x": draw.normal("fp32", count, BM, BN),
        "flags": draw.integers("i32", 0, 2, count),
        "out": output("fp32", BM, BN),
    },
    reference=_branched,
    grid=lambda: 1,
    sizes={"count": 6, "BM": 32, "BN": 64},
    variants={"": {}},
    absolute=2.0**-18,
)
