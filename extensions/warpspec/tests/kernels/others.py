"""Kernels of other kinds: chains of products, linear attention, and loops without any product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import triton
import triton.language as tl

from tritonext.testing.cases import epsilon, rounded

from .case import NO_PRODUCT, USED_BETWEEN, Arguments, Case, Shape, Tensor, normal, output, within
from .gemm import sigmoid

__all__ = ["CASES", "activation", "linear_attention", "mlp", "norm_quantize", "softmax"]


@triton.jit
def mlp(
    x,
    up,
    down,
    y,
    rows,
    hidden,
    BM: tl.constexpr,
    BH: tl.constexpr,
    D: tl.constexpr,
    WS: tl.constexpr = True,
):
    """y[rows, D] = relu(x @ up[hidden, D]^T) @ down[hidden, D]: a chain of two products in one loop."""
    row = tl.program_id(0) * BM
    tile = tl.make_tensor_descriptor(x, [rows, D], [D, 1], [BM, D]).load([row, 0])
    ups = tl.make_tensor_descriptor(up, [hidden, D], [D, 1], [BH, D])
    downs = tl.make_tensor_descriptor(down, [hidden, D], [D, 1], [BH, D])
    acc = tl.zeros((BM, D), tl.float32)
    for start in tl.range(0, hidden, BH, warp_specialize=WS):
        inner = tl.maximum(tl.dot(tile, ups.load([start, 0]).T), 0)
        acc = tl.dot(inner.to(tile.dtype), downs.load([start, 0]), acc)
    tl.make_tensor_descriptor(y, [rows, D], [D, 1], [BM, D]).store([row, 0], acc.to(y.dtype.element_ty))


@triton.jit
def linear_attention(
    q,
    k,
    v,
    out,
    heads,
    length,
    BC: tl.constexpr,
    D: tl.constexpr,
    WS: tl.constexpr = True,
):
    """out[t] = sum over s <= t of (q[t] . k[s]) v[s] for each head of [heads, length, D], in chunks of BC.

    A state of D x D holds what chunks before add; each chunk has four products.
    """
    head = tl.program_id(0)
    queries = tl.make_tensor_descriptor(q, [heads, length, D], [length * D, D, 1], [1, BC, D])
    keys = tl.make_tensor_descriptor(k, [heads, length, D], [length * D, D, 1], [1, BC, D])
    values = tl.make_tensor_descriptor(v, [heads, length, D], [length * D, D, 1], [1, BC, D])
    results = tl.make_tensor_descriptor(out, [heads, length, D], [length * D, D, 1], [1, BC, D])
    at = tl.arange(0, BC)
    state = tl.zeros((D, D), tl.float32)
    for start in tl.range(0, length, BC, warp_specialize=WS):
        query = queries.load([head, start, 0]).reshape(BC, D)
        key = keys.load([head, start, 0]).reshape(BC, D)
        value = values.load([head, start, 0]).reshape(BC, D)
        inside = tl.where(at[:, None] >= at[None, :], tl.dot(query, key.T), 0)
        acc = tl.dot(query, state.to(query.dtype))
        acc = tl.dot(inside.to(value.dtype), value, acc)
        state = tl.dot(key.T, value, state)
        results.store([head, start, 0], acc.to(out.dtype.element_ty).reshape(1, BC, D))


@triton.jit
def activation(
    gate,
    up,
    out,
    rows,
    columns,
    BM: tl.constexpr,
    BN: tl.constexpr,
    WS: tl.constexpr = True,
):
    """out[rows, columns] = silu(gate) * up, by programs that each go through many tiles with bulk copies."""
    gates = tl.make_tensor_descriptor(gate, [rows, columns], [columns, 1], [BM, BN])
    ups = tl.make_tensor_descriptor(up, [rows, columns], [columns, 1], [BM, BN])
    outs = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BM, BN])
    across = tl.cdiv(columns, BN)
    tiles = tl.cdiv(rows, BM) * across
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=WS):
        row, column = tile // across * BM, tile % across * BN
        x = gates.load([row, column]).to(tl.float32)
        y = ups.load([row, column]).to(tl.float32)
        outs.store([row, column], (x * tl.sigmoid(x) * y).to(out.dtype.element_ty))


@triton.jit
def softmax(x, y, rows, columns, BN: tl.constexpr, WS: tl.constexpr = True):
    """Softmax of each row, by programs that each go through many rows with pointers."""
    at = tl.arange(0, BN)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), warp_specialize=WS):
        value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        value = tl.exp(value - tl.max(value, 0))
        tl.store(y + row * columns + at, (value / tl.sum(value, 0)).to(y.dtype.element_ty), mask=at < columns)


@triton.jit
def norm_quantize(
    x,
    residual,
    weight,
    y,
    scales,
    rows,
    columns,
    BM: tl.constexpr,
    BN: tl.constexpr,
    WS: tl.constexpr = True,
):
    """y = rms_norm(x + residual) * weight, each row of BN columns scaled to at most 448 and rounded to 8 bits."""
    xs = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BM, BN])
    residuals = tl.make_tensor_descriptor(residual, [rows, columns], [columns, 1], [BM, BN])
    at = tl.arange(0, BN)
    factors = tl.load(weight + at, mask=at < columns, other=0).to(tl.float32)
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, BM), tl.num_programs(0), warp_specialize=WS):
        rm = tile * BM + tl.arange(0, BM)
        value = xs.load([tile * BM, 0]).to(tl.float32) + residuals.load([tile * BM, 0]).to(tl.float32)
        value = value * tl.rsqrt(tl.sum(value * value, 1) / columns + 1e-6)[:, None] * factors[None, :]
        most = tl.max(tl.abs(value), 1)
        scale = tl.where(most > 0, most / 448, 1)
        tl.store(scales + rm, scale, mask=rm < rows)
        place = y + rm[:, None] * columns + at[None, :]
        inside = (rm[:, None] < rows) & (at[None, :] < columns)
        tl.store(place, (value / scale[:, None]).to(y.dtype.element_ty), mask=inside)


def _persistent(tiles: Any) -> Any:
    def grid(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
        return (min(processors, tiles(arguments, constants)),)

    return grid


def _scaled(random: np.random.Generator, dtype: str, scale: float, *shape: int) -> Tensor:
    return Tensor(dtype, rounded(random.standard_normal(shape) * scale, dtype))


def _mlp() -> Case:
    depth = 128

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        rows, hidden = shape["rows"], shape["hidden"]
        up = _scaled(random, "bf16", depth**-0.5, hidden, depth)
        down = _scaled(random, "bf16", hidden**-0.5, hidden, depth)
        return {
            "x": normal(random, "bf16", rows, depth),
            "up": up,
            "down": down,
            "y": output("bf16", rows, depth),
        } | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        x, up, down = (arguments[name].values for name in ("x", "up", "down"))
        return {"y": np.maximum(x @ up.T, 0) @ down}

    return Case(
        name="mlp",
        fn=mlp,
        row="chain of products",
        make=make,
        reference=reference,
        # The inner values are rounded; their products average out.
        tolerance=lambda arguments: {"y": within("bf16", epsilon("bf16"))},
        grid=lambda arguments, constants, processors: (triton.cdiv(arguments["rows"], constants["BM"]),),
        shapes=({"rows": 256, "hidden": 512}, {"rows": 200, "hidden": 328}, {"rows": 37, "hidden": 64}),
        constants={"BM": 128, "BH": 64, "D": depth},
        options={"num_warps": 4, "num_stages": 2},
        expected="the chain of products takes more registers than threads have",
    )


def _linear_attention() -> Case:
    depth = 64

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        sizes = (shape["heads"], shape["length"], depth)
        q, k, v = (_scaled(random, "bf16", depth**-0.5 if name == "q" else 1, *sizes) for name in "qkv")
        return {"q": q, "k": k, "v": v, "out": output("bf16", *sizes)} | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        q, k, v = (arguments[name].values for name in "qkv")
        return {"out": np.tril(q @ np.swapaxes(k, 1, 2)) @ v}

    return Case(
        name="linear_attention",
        fn=linear_attention,
        row="linear attention",
        make=make,
        reference=reference,
        # Sums of up to `length` products of magnitude 1, of which state and scores are rounded.
        tolerance=lambda arguments: {"out": within("bf16", 2 * epsilon("bf16") * arguments["length"] ** 0.5)},
        grid=lambda arguments, constants, processors: (arguments["heads"],),
        shapes=({"heads": 2, "length": 256}, {"heads": 3, "length": 300}, {"heads": 1, "length": 37}),
        constants={"BC": 64, "D": depth},
        options={"num_warps": 4, "num_stages": 2},
        expected=USED_BETWEEN,
    )


def _activation() -> Case:
    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        sizes = (shape["rows"], shape["columns"])
        gate, up = (normal(random, "bf16", *sizes) for _ in "gu")
        return {"gate": gate, "up": up, "out": output("bf16", *sizes)} | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        gate, up = arguments["gate"].values, arguments["up"].values
        return {"out": gate * sigmoid(gate) * up}

    def tiles(arguments: Arguments, constants: Mapping[str, Any]) -> int:
        across = triton.cdiv(arguments["columns"], constants["BN"])
        return triton.cdiv(arguments["rows"], constants["BM"]) * across

    return Case(
        name="activation",
        fn=activation,
        row="no product",
        make=make,
        reference=reference,
        tolerance=lambda arguments: {"out": within("bf16", 2.0**-20)},
        grid=_persistent(tiles),
        shapes=({"rows": 256, "columns": 256}, {"rows": 1050, "columns": 1160}, {"rows": 5, "columns": 8}),
        constants={"BM": 64, "BN": 64},
        options={"num_warps": 4, "num_stages": 3},
        expected=NO_PRODUCT,
    )


def _softmax() -> Case:
    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        sizes = (shape["rows"], shape["columns"])
        return {"x": normal(random, "fp16", *sizes), "y": output("fp16", *sizes)} | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        weights = np.exp(arguments["x"].values)
        return {"y": weights / weights.sum(1, keepdims=True)}

    return Case(
        name="softmax",
        fn=softmax,
        row="no product",
        make=make,
        reference=reference,
        # The least number of fp16 is 2**-24.
        tolerance=lambda arguments: {"y": within("fp16", 2.0**-24)},
        grid=_persistent(lambda arguments, constants: arguments["rows"]),
        shapes=({"rows": 16, "columns": 512}, {"rows": 300, "columns": 401}, {"rows": 1, "columns": 3}),
        constants={"BN": 512},
        options={"num_warps": 4, "num_stages": 3},
        expected=NO_PRODUCT,
    )


def _norm_quantize() -> Case:
    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        rows, columns = shape["rows"], shape["columns"]
        x, residual = (normal(random, "bf16", rows, columns) for _ in "xr")
        results = {"y": output("fp8e4nv", rows, columns), "scales": output("fp32", rows)}
        return {"x": x, "residual": residual, "weight": normal(random, "bf16", columns), **results} | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        value = arguments["x"].values + arguments["residual"].values
        value = value / np.sqrt((value**2).mean(1, keepdims=True) + 1e-6) * arguments["weight"].values
        most = np.abs(value).max(1)
        scale = np.where(most > 0, most / 448, 1)
        return {"y": value / scale[:, None], "scales": scale}

    return Case(
        name="norm_quantize",
        fn=norm_quantize,
        row="no product",
        make=make,
        reference=reference,
        # The least number of the 8-bit type is 2**-9.
        tolerance=lambda arguments: {"y": within("fp8e4nv", 2.0**-9), "scales": within("fp32", 2.0**-20)},
        grid=_persistent(lambda arguments, constants: triton.cdiv(arguments["rows"], constants["BM"])),
        shapes=({"rows": 128, "columns": 256}, {"rows": 333, "columns": 200}, {"rows": 3, "columns": 16}),
        constants={"BM": 16, "BN": 256},
        options={"num_warps": 4, "num_stages": 3},
        expected=NO_PRODUCT,
    )


CASES = (_mlp(), _linear_attention(), _activation(), _softmax(), _norm_quantize())
