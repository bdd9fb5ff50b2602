"""Attention: forward with one loop and with two, with every usual kind of mask, and backward."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import triton
import triton.language as tl

from tritonext.testing.cases import epsilon, rounded

from .case import USED_BETWEEN, Arguments, Case, Shape, Tensor, Tolerance, normal, output, within

__all__ = ["CASES", "forward", "forward_packed", "keys_gradient", "queries_gradient", "row_products"]

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def block_of(number, blocks, heads, section):
    """Return block and head of a tile: the first blocks of ``section`` heads come first, then the second ones."""
    first = number // (section * blocks) * section
    size = min(section, heads - first)
    rest = number - first * blocks
    return rest // size, first + rest % size


@triton.jit
def block(desc, head, start, length, D: tl.constexpr, RANK: tl.constexpr):
    """Load rows of one head, of a descriptor of all rows of all heads or of one with a dimension for heads."""
    if RANK == 3:
        tile = desc.load([head, start, 0])
        tile = tile.reshape(tile.shape[1], D)
    else:
        tile = desc.load([head * length + start, 0])
    return tile


@triton.jit
def attend(
    q,
    keys,
    values,
    acc,
    top,
    total,
    row,
    head,
    first,
    last,
    length,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    MASKED: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFTCAP: tl.constexpr,
    RANK: tl.constexpr,
    WS: tl.constexpr,
):
    """Add the keys from ``first`` to ``last`` to what a block of queries has seen so far."""
    rm = row + tl.arange(0, BM)[:, None]
    for start in tl.range(first, last, BN, warp_specialize=WS):
        scores = tl.dot(q, block(keys, head, start, length, D, RANK).T)
        if SOFTCAP > 0:
            scores = SOFTCAP * (2 * tl.sigmoid(2 * scale / SOFTCAP * scores) - 1)
        if MASKED:
            rn = start + tl.arange(0, BN)[None, :]
            seen = rn < length
            if CAUSAL:
                seen = seen & (rn <= rm)
            if WINDOW > 0:
                seen = seen & (rn > rm - WINDOW)
            scores = tl.where(seen, scores, float("-inf"))
        # Powers of two of the scores, of which one multiplication and addition makes the exponent.
        factor = LOG2E if SOFTCAP > 0 else scale * LOG2E
        higher = tl.maximum(top, tl.max(scores, 1) * factor)
        # With a window a row may see nothing of a block.
        base = tl.where(higher == float("-inf"), 0.0, higher) if WINDOW > 0 else higher
        weights = tl.exp2(scores * factor - base[:, None])
        shrink = tl.exp2(top - base)
        total = total * shrink + tl.sum(weights, 1)
        tile = block(values, head, start, length, D, RANK)
        acc = tl.dot(weights.to(tile.dtype), tile, acc * shrink[:, None])
        top = higher
    return acc, top, total


@triton.jit
def attend_block(
    queries,
    keys,
    values,
    results,
    out,
    lse,
    head,
    row,
    length,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    LOOPS: tl.constexpr,
    GROUP: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFTCAP: tl.constexpr,
    EVEN: tl.constexpr,
    RANK: tl.constexpr,
    WS: tl.constexpr,
):
    """Attend with the BM queries from ``row`` of a head; ``results`` is the descriptor of ``out`` if EVEN."""
    tile = block(queries, head, row, length, D, RANK)
    acc = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    first, last = 0, length
    if WINDOW > 0:
        first = max(0, row - WINDOW + 1) // BN * BN
    if CAUSAL:
        last = min(length, row + BM)
    kv = head // GROUP
    if LOOPS == 2:
        # Nothing is masked before the first query of the block.
        middle = row // BN * BN
        acc, top, total = attend(
            tile, keys, values, acc, top, total, row, kv, first, middle, length, scale,
            BM, BN, D, False, CAUSAL, WINDOW, SOFTCAP, RANK, WS,
        )  # fmt: skip
        first = middle
    masked: tl.constexpr = CAUSAL or WINDOW > 0 or not EVEN
    acc, top, total = attend(
        tile, keys, values, acc, top, total, row, kv, first, last, length, scale,
        BM, BN, D, masked, CAUSAL, WINDOW, SOFTCAP, RANK, WS,
    )  # fmt: skip
    rm = row + tl.arange(0, BM)
    tl.store(lse + head * length + rm, (top + tl.log2(total)) / LOG2E, mask=rm < length)
    result = (acc / total[:, None]).to(out.dtype.element_ty)
    if EVEN:
        results.store([head * length + row, 0], result)
    else:
        at = (head * length + rm)[:, None] * D + tl.arange(0, D)[None, :]
        tl.store(out + at, result, mask=rm[:, None] < length)


@triton.jit(do_not_specialize=["section"])
def forward(
    q,
    k,
    v,
    out,
    lse,
    heads,
    length,
    scale,
    section,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr = False,
    LOOPS: tl.constexpr = 1,
    GROUP: tl.constexpr = 1,
    WINDOW: tl.constexpr = 0,
    SOFTCAP: tl.constexpr = 0.0,
    EVEN: tl.constexpr = False,
    RANK: tl.constexpr = 2,
    PERSISTENT: tl.constexpr = False,
    WS: tl.constexpr = True,
):
    """softmax(Q K^T * scale) V and the logarithm of its denominators, for a block of BM queries of one head.

    q, k, v and out are [heads, length, D]; GROUP heads of q share one of k and v. LOOPS 2: blocks that need no mask
    come in a loop of their own. WINDOW: each query sees that many keys, itself the last. SOFTCAP: scores s become
    cap * tanh(s / cap). EVEN promises that BM and BN divide the length. RANK 3: descriptors have a dimension for heads.
    PERSISTENT: programs compute blocks one after another, the last ones of ``section`` heads first.
    """
    if RANK == 3:
        queries = tl.make_tensor_descriptor(q, [heads, length, D], [length * D, D, 1], [1, BM, D])
        keys = tl.make_tensor_descriptor(k, [heads // GROUP, length, D], [length * D, D, 1], [1, BN, D])
        values = tl.make_tensor_descriptor(v, [heads // GROUP, length, D], [length * D, D, 1], [1, BN, D])
    else:
        queries = tl.make_tensor_descriptor(q, [heads * length, D], [D, 1], [BM, D])
        keys = tl.make_tensor_descriptor(k, [heads // GROUP * length, D], [D, 1], [BN, D])
        values = tl.make_tensor_descriptor(v, [heads // GROUP * length, D], [D, 1], [BN, D])
    results = queries
    if EVEN:
        results = tl.make_tensor_descriptor(out, [heads * length, D], [D, 1], [BM, D])
    if PERSISTENT:
        blocks = tl.cdiv(length, BM)
        for number in tl.range(tl.program_id(0), blocks * heads, tl.num_programs(0)):
            place, head = block_of(number, blocks, heads, section)
            attend_block(
                queries, keys, values, results, out, lse, head, (blocks - 1 - place) * BM,
                length, scale, BM, BN, D, CAUSAL, LOOPS, GROUP, WINDOW, SOFTCAP, EVEN, RANK, WS,
            )  # fmt: skip
    else:
        attend_block(
            queries, keys, values, results, out, lse, tl.program_id(1), tl.program_id(0) * BM,
            length, scale, BM, BN, D, CAUSAL, LOOPS, GROUP, WINDOW, SOFTCAP, EVEN, RANK, WS,
        )  # fmt: skip


@triton.jit
def forward_packed(
    q,
    k,
    v,
    out,
    starts,
    heads,
    rows,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    WS: tl.constexpr = True,
):
    """Attention over sequences of several lengths that lie behind each other: q, k, v and out are [rows, heads, D].

    Sequence i has the rows from starts[i] to starts[i + 1].
    """
    head = tl.program_id(1)
    begin, end = tl.load(starts + tl.program_id(2)), tl.load(starts + tl.program_id(2) + 1)
    row = begin + tl.program_id(0) * BM
    if row < end:
        queries = tl.make_tensor_descriptor(q, [rows, heads, D], [heads * D, D, 1], [BM, 1, D])
        keys = tl.make_tensor_descriptor(k, [rows, heads, D], [heads * D, D, 1], [BN, 1, D])
        values = tl.make_tensor_descriptor(v, [rows, heads, D], [heads * D, D, 1], [BN, 1, D])
        tile = queries.load([row, head, 0]).reshape(BM, D)
        acc = tl.zeros((BM, D), tl.float32)
        top = tl.full((BM,), float("-inf"), tl.float32)
        total = tl.zeros((BM,), tl.float32)
        for start in tl.range(begin, end, BN, warp_specialize=WS):
            scores = tl.dot(tile, keys.load([start, head, 0]).reshape(BN, D).T) * (scale * LOG2E)
            scores = tl.where(start + tl.arange(0, BN)[None, :] < end, scores, float("-inf"))
            higher = tl.maximum(top, tl.max(scores, 1))
            weights = tl.exp2(scores - higher[:, None])
            shrink = tl.exp2(top - higher)
            total = total * shrink + tl.sum(weights, 1)
            part = values.load([start, head, 0]).reshape(BN, D)
            acc = tl.dot(weights.to(part.dtype), part, acc * shrink[:, None])
            top = higher
        rm = row + tl.arange(0, BM)[:, None]
        at = out + (rm * heads + head) * D + tl.arange(0, D)[None, :]
        tl.store(at, (acc / total[:, None]).to(out.dtype.element_ty), mask=rm < end)


@triton.jit
def add_queries(
    queries,
    gradients,
    key,
    value,
    lse,
    delta,
    dq,
    key_part,
    value_part,
    base,
    column,
    first,
    last,
    length,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    ATOMIC: tl.constexpr,
    WS: tl.constexpr,
):
    """Add what the queries from ``first`` to ``last`` give to the gradients of a block of keys and values."""
    rn, rd = column + tl.arange(0, BN), tl.arange(0, D)
    for start in tl.range(first, last, BM, warp_specialize=WS):
        rm = start + tl.arange(0, BM)
        query, gradient = queries.load([base + start, 0]), gradients.load([base + start, 0])
        # What is computed is transposed, so that keys are rows as in the results.
        scores = tl.dot(key, query.T) * (scale * LOG2E)
        logarithm = tl.load(lse + base + rm, mask=rm < length, other=float("inf")) * LOG2E
        weights = tl.exp2(scores - logarithm[None, :])
        if CAUSAL:
            weights = tl.where(rn[:, None] <= rm[None, :], weights, 0)
        if ATOMIC:
            weights = tl.where(rn[:, None] < length, weights, 0)
        value_part = tl.dot(weights.to(gradient.dtype), gradient, value_part)
        change = tl.dot(value, gradient.T) - tl.load(delta + base + rm, mask=rm < length, other=0)[None, :]
        change = (weights * change).to(query.dtype)
        key_part = tl.dot(change, query, key_part)
        if ATOMIC:
            part = tl.dot(change.T, key) * scale
            inside = rm[:, None] < length
            tl.atomic_add(dq + (base + rm)[:, None] * D + rd[None, :], part, mask=inside, sem="relaxed")
    return key_part, value_part


@triton.jit
def keys_block(
    queries,
    gradients,
    keys,
    values,
    lse,
    delta,
    dq,
    dk,
    dv,
    head,
    column,
    length,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    LOOPS: tl.constexpr,
    ATOMIC: tl.constexpr,
    WS: tl.constexpr,
):
    """Write the gradients of the BN keys and values from ``column`` of a head."""
    base = head * length
    key = keys.load([base + column, 0])
    value = values.load([base + column, 0])
    key_part = tl.zeros((BN, D), tl.float32)
    value_part = tl.zeros((BN, D), tl.float32)
    first = column // BM * BM if CAUSAL else 0
    if LOOPS == 2:
        # All queries behind the block of keys see all of it.
        middle = tl.cdiv(column + BN, BM) * BM
        key_part, value_part = add_queries(
            queries, gradients, key, value, lse, delta, dq, key_part, value_part, base, column,
            first, min(middle, length), length, scale, BM, BN, D, CAUSAL, ATOMIC, WS,
        )  # fmt: skip
        first = middle
    key_part, value_part = add_queries(
        queries, gradients, key, value, lse, delta, dq, key_part, value_part, base, column,
        first, length, length, scale, BM, BN, D, CAUSAL and LOOPS == 1, ATOMIC, WS,
    )  # fmt: skip
    rn, rd = column + tl.arange(0, BN), tl.arange(0, D)
    at = (base + rn)[:, None] * D + rd[None, :]
    inside = rn[:, None] < length
    tl.store(dk + at, (key_part * scale).to(dk.dtype.element_ty), mask=inside)
    tl.store(dv + at, value_part.to(dv.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["section"])
def keys_gradient(
    q,
    k,
    v,
    do,
    lse,
    delta,
    dq,
    dk,
    dv,
    heads,
    length,
    scale,
    section,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr = False,
    LOOPS: tl.constexpr = 1,
    ATOMIC: tl.constexpr = False,
    PERSISTENT: tl.constexpr = False,
    WS: tl.constexpr = True,
):
    """Gradients of a block of BN keys and values of one head; ATOMIC adds the block's part of dQ[fp32] too.

    All are [heads, length, D], lse and delta [heads, length]: the logarithms of the forward pass and sum(dO * O).
    LOOPS 2: queries that see only some of the keys come in a loop of their own. PERSISTENT as of ``forward``.
    """
    queries = tl.make_tensor_descriptor(q, [heads * length, D], [D, 1], [BM, D])
    gradients = tl.make_tensor_descriptor(do, [heads * length, D], [D, 1], [BM, D])
    keys = tl.make_tensor_descriptor(k, [heads * length, D], [D, 1], [BN, D])
    values = tl.make_tensor_descriptor(v, [heads * length, D], [D, 1], [BN, D])
    if PERSISTENT:
        blocks = tl.cdiv(length, BN)
        for number in tl.range(tl.program_id(0), blocks * heads, tl.num_programs(0)):
            # With a causal mask the first keys are seen by the most queries.
            place, head = block_of(number, blocks, heads, section)
            keys_block(
                queries, gradients, keys, values, lse, delta, dq, dk, dv, head, place * BN,
                length, scale, BM, BN, D, CAUSAL, LOOPS, ATOMIC, WS,
            )  # fmt: skip
    else:
        keys_block(
            queries, gradients, keys, values, lse, delta, dq, dk, dv, tl.program_id(1), tl.program_id(0) * BN,
            length, scale, BM, BN, D, CAUSAL, LOOPS, ATOMIC, WS,
        )  # fmt: skip


@triton.jit
def queries_block(
    queries,
    gradients,
    keys,
    values,
    lse,
    delta,
    dq,
    head,
    row,
    length,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    WS: tl.constexpr,
):
    """Write the gradient of the BM queries from ``row`` of a head."""
    base = head * length
    query = queries.load([base + row, 0])
    gradient = gradients.load([base + row, 0])
    rm, rd = row + tl.arange(0, BM), tl.arange(0, D)
    logarithm = tl.load(lse + base + rm, mask=rm < length, other=0) * LOG2E
    share = tl.load(delta + base + rm, mask=rm < length, other=0)
    acc = tl.zeros((BM, D), tl.float32)
    last = min(length, row + BM) if CAUSAL else length
    for start in tl.range(0, last, BN, warp_specialize=WS):
        key = keys.load([base + start, 0])
        scores = tl.dot(query, key.T) * (scale * LOG2E)
        rn = start + tl.arange(0, BN)
        seen = rn[None, :] < length
        if CAUSAL:
            seen = seen & (rn[None, :] <= rm[:, None])
        weights = tl.where(seen, tl.exp2(scores - logarithm[:, None]), 0)
        change = tl.dot(gradient, values.load([base + start, 0]).T) - share[:, None]
        acc = tl.dot((weights * change).to(key.dtype), key, acc)
    at = (base + rm)[:, None] * D + rd[None, :]
    tl.store(dq + at, (acc * scale).to(dq.dtype.element_ty), mask=rm[:, None] < length)


@triton.jit(do_not_specialize=["section"])
def queries_gradient(
    q,
    k,
    v,
    do,
    lse,
    delta,
    dq,
    heads,
    length,
    scale,
    section,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr = False,
    PERSISTENT: tl.constexpr = False,
    WS: tl.constexpr = True,
):
    """Gradient of a block of BM queries of one head; shapes as of ``keys_gradient``."""
    keys = tl.make_tensor_descriptor(k, [heads * length, D], [D, 1], [BN, D])
    values = tl.make_tensor_descriptor(v, [heads * length, D], [D, 1], [BN, D])
    queries = tl.make_tensor_descriptor(q, [heads * length, D], [D, 1], [BM, D])
    gradients = tl.make_tensor_descriptor(do, [heads * length, D], [D, 1], [BM, D])
    if PERSISTENT:
        blocks = tl.cdiv(length, BM)
        for number in tl.range(tl.program_id(0), blocks * heads, tl.num_programs(0)):
            place, head = block_of(number, blocks, heads, section)
            queries_block(
                queries, gradients, keys, values, lse, delta, dq, head, (blocks - 1 - place) * BM,
                length, scale, BM, BN, D, CAUSAL, WS,
            )  # fmt: skip
    else:
        queries_block(
            queries, gradients, keys, values, lse, delta, dq, tl.program_id(1), tl.program_id(0) * BM,
            length, scale, BM, BN, D, CAUSAL, WS,
        )  # fmt: skip


@triton.jit
def row_products(x, y, sums, rows, ROWS: tl.constexpr, D: tl.constexpr):
    """sums[row] = sum(x[row, D] * y[row, D]): what the backward pass wants of the result and its gradient."""
    r, c = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, D)
    at = r[:, None].to(tl.int64) * D + c[None, :]
    left = tl.load(x + at, mask=r[:, None] < rows, other=0).to(tl.float32)
    right = tl.load(y + at, mask=r[:, None] < rows, other=0).to(tl.float32)
    tl.store(sums + r, tl.sum(left * right, 1), mask=r < rows)


def _visible(length: int, constants: Mapping[str, Any]) -> np.ndarray:
    """Return which keys each query sees."""
    row, column = np.ogrid[:length, :length]
    seen = np.ones((length, length), bool)
    if constants.get("CAUSAL"):
        seen &= column <= row
    if window := constants.get("WINDOW", 0):
        seen &= column > row - window
    return seen


def _weights(q: np.ndarray, k: np.ndarray, scale: float, constants: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of each head and the logarithms of their denominators."""
    scores = q @ np.swapaxes(k, 1, 2) * scale
    if cap := constants.get("SOFTCAP", 0):
        scores = cap * np.tanh(scores / cap)
    scores = np.where(_visible(q.shape[1], constants), scores, -np.inf)
    top = scores.max(2, keepdims=True)
    total = np.exp(scores - top).sum(2, keepdims=True)
    return np.exp(scores - top) / total, (top + np.log(total))[:, :, 0]


def _blocks(size: str) -> Any:
    def grid(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
        blocks = triton.cdiv(arguments["length"], constants[size])
        if constants.get("PERSISTENT"):
            return (min(blocks * arguments["heads"], processors),)
        return (blocks, arguments["heads"])

    return grid


def _forward(name: str, row: str, dtype: str = "fp16", **more: Any) -> Case:
    """Return a case of ``forward``; ``more`` are constants in capitals, else fields of it."""
    constants = {"BM": 128, "BN": 64, "D": 64} | {key: more.pop(key) for key in list(more) if key.isupper()}
    group, depth = constants.get("GROUP", 1), constants["D"]

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        heads, length = shape["heads"], shape["length"]
        q, (k, v) = (
            normal(random, dtype, heads, length, depth),
            (normal(random, dtype, heads // group, length, depth) for _ in "kv"),
        )
        results = {"out": output(dtype, heads, length, depth), "lse": output("fp32", heads, length)}
        sizes = {"heads": heads, "length": length, "scale": depth**-0.5, "section": 3}
        return {"q": q, "k": k, "v": v, **results, **sizes}

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        q, k, v = (arguments[name].values for name in "qkv")
        k, v = (np.repeat(x, group, 0) for x in (k, v))
        weights, logarithms = _weights(q, k, arguments["scale"], constants)
        return {"out": weights @ v, "lse": logarithms}

    def tolerance(arguments: Arguments) -> Mapping[str, Tolerance]:
        # Weights are rounded to the type of the values before they multiply them, which average to about 1.
        return {"out": within(dtype, epsilon(dtype)), "lse": within("fp32", 2.0**-12)}

    lengths = (256, 512) if constants.get("EVEN") else (256, 300, 37, 520)
    shapes = tuple({"heads": 2 * group if length > 256 else group, "length": length} for length in lengths)
    options = {"num_warps": 4, "num_stages": 2} | more.pop("options", {})
    return Case(
        name=name, fn=forward, row=row, make=make, reference=reference, tolerance=tolerance, grid=_blocks("BM"),
        shapes=shapes, constants=constants, options=options, **more,
    )  # fmt: skip


def _packed() -> Case:
    depth = 64

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        starts, heads = shape["starts"], shape["heads"]
        q, k, v = (normal(random, "bf16", starts[-1], heads, depth) for _ in "qkv")
        more = {"out": output("bf16", starts[-1], heads, depth), "starts": Tensor("i32", np.array(starts))}
        return {"q": q, "k": k, "v": v, **more, "heads": heads, "rows": starts[-1], "scale": depth**-0.5}

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        q, k, v = (np.swapaxes(arguments[name].values, 0, 1) for name in "qkv")
        out = np.empty_like(q)
        starts = arguments["starts"].values
        for begin, end in itertools.pairwise(starts):
            weights, _ = _weights(q[:, begin:end], k[:, begin:end], arguments["scale"], {})
            out[:, begin:end] = weights @ v[:, begin:end]
        return {"out": np.swapaxes(out, 0, 1)}

    def grid(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
        starts = arguments["starts"].values
        longest = int(np.diff(starts).max())
        return (triton.cdiv(longest, constants["BM"]), arguments["heads"], len(starts) - 1)

    return Case(
        name="attention_packed",
        fn=forward_packed,
        row="attention, packed sequences",
        make=make,
        reference=reference,
        tolerance=lambda arguments: {"out": within("bf16", epsilon("bf16"))},
        grid=grid,
        shapes=({"heads": 2, "starts": (0, 256, 512)}, {"heads": 2, "starts": (0, 70, 71, 300)}),
        constants={"BM": 128, "BN": 64, "D": depth},
        options={"num_warps": 4, "num_stages": 2},
    )


def _backward(name: str, row: str, fn: Any, dtype: str = "bf16", **more: Any) -> Case:
    constants = {"BM": 64, "BN": 64, "D": 64} | {key: more.pop(key) for key in list(more) if key.isupper()}
    depth = constants["D"]
    queries, atomic = fn is queries_gradient, constants.get("ATOMIC")

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        heads, length = shape["heads"], shape["length"]
        q, k, v, do = (normal(random, dtype, heads, length, depth) for _ in "qkvd")
        weights, logarithms = _weights(q.values, k.values, depth**-0.5, constants)
        delta = (do.values * (weights @ v.values)).sum(2)
        saved = {name: Tensor("fp32", rounded(x, "fp32")) for name, x in (("lse", logarithms), ("delta", delta))}
        results = {name: output(dtype, heads, length, depth) for name in ("dq", "dk", "dv")}
        if atomic:
            results["dq"] = Tensor("fp32", np.zeros((heads, length, depth)))
        if queries:
            results = {"dq": results["dq"]}
        sizes = {"heads": heads, "length": length, "scale": depth**-0.5, "section": 1}
        return {"q": q, "k": k, "v": v, "do": do, **saved, **results, **sizes}

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        q, k, v, do = (arguments[name].values for name in ("q", "k", "v", "do"))
        scale = arguments["scale"]
        weights, _ = _weights(q, k, scale, constants)
        change = weights * (do @ np.swapaxes(v, 1, 2) - arguments["delta"].values[:, :, None]) * scale
        gradients = {"dq": change @ k}
        if queries:
            return gradients
        keys = {"dk": np.swapaxes(change, 1, 2) @ q, "dv": np.swapaxes(weights, 1, 2) @ do}
        return keys | (gradients if atomic else {})

    def tolerance(arguments: Arguments) -> Mapping[str, Tolerance]:
        # Weights, and their changes that are some units wide, are rounded before they are multiplied. With a causal
        # mask the first keys are seen by every query and the first queries see few keys, so that weights are near 1.
        noise = (8 if constants.get("CAUSAL") else 2) * epsilon(dtype)
        names = ("dq",) if queries else ("dq", "dk", "dv") if atomic else ("dk", "dv")
        return {name: within("fp32" if name == "dq" and atomic else dtype, noise) for name in names}

    lengths = (256, 300, 40)
    return Case(
        name=name,
        fn=fn,
        row=row,
        make=make,
        reference=reference,
        tolerance=tolerance,
        grid=_blocks("BM" if queries else "BN"),
        shapes=tuple({"heads": 2, "length": length} for length in lengths),
        constants=constants,
        options={"num_warps": 4, "num_stages": 2} | more.pop("options", {}),
        **more,
    )


_CROWDED = "the chain of products takes more registers than threads have"
_ONE, _TWO, _BACK = "attention, one loop", "attention, two loops", "attention, backward"
_PAIR = {"num_warps": 8}
_LARGE = {"D": 128, "BN": 128, "EVEN": True, "options": {"num_warps": 8}}
_TILES = {"D": 128, "BN": 128, "PERSISTENT": True, "options": {"num_warps": 8}}

CASES = (
    _forward("attention", _ONE, EVEN=True),
    _forward("attention_odd", _ONE, "bf16"),
    _forward("attention_causal", _ONE, CAUSAL=True, EVEN=True),
    _forward("attention_128", _ONE, "bf16", **_LARGE),
    _forward("attention_128_4_warps", _ONE, "bf16", D=128, EVEN=True, expected=_CROWDED),
    _forward("attention_128_3_stages", _ONE, D=128, EVEN=True, options={"num_warps": 8, "num_stages": 3}),
    _forward("attention_64_rows", _ONE, BM=64, D=128, EVEN=True, expected="gain nothing"),
    _forward("attention_persistent", _ONE, "bf16", EVEN=True, **_TILES),
    _forward("attention_rank_3", _ONE, RANK=3),
    _forward("attention_grouped", _ONE, GROUP=4, CAUSAL=True),
    _forward("attention_window", _ONE, CAUSAL=True, WINDOW=100),
    _forward("attention_softcap", _ONE, SOFTCAP=20.0, EVEN=True),
    _packed(),
    _forward("attention_persistent_causal", _TWO, CAUSAL=True, LOOPS=2, GROUP=2, **_TILES | {"D": 64}),
    _forward("attention_causal_2_loops", _TWO, CAUSAL=True, LOOPS=2, EVEN=True),
    _forward("attention_causal_2_loops_128", _TWO, "bf16", CAUSAL=True, LOOPS=2, **_LARGE),
    _backward("attention_keys_gradient", _BACK, keys_gradient),
    _backward("attention_keys_gradient_causal", _BACK, keys_gradient, CAUSAL=True, BN=128, expected=_CROWDED),
    _backward(
        "attention_keys_gradient_persistent",
        _BACK,
        keys_gradient,
        D=128,
        BN=128,
        CAUSAL=True,
        LOOPS=2,
        PERSISTENT=True,
        options=_PAIR,
    ),
    _backward(
        "attention_queries_gradient_persistent", _BACK, queries_gradient, D=128, BM=128, PERSISTENT=True, options=_PAIR
    ),
    _backward("attention_keys_gradient_128", _BACK, keys_gradient, D=128, BN=128, options=_PAIR),
    _backward("attention_backward_atomic", _BACK, keys_gradient, ATOMIC=True, expected=USED_BETWEEN),
    _backward("attention_queries_gradient", _BACK, queries_gradient, expected="gain nothing"),
    _backward(
        "attention_queries_gradient_causal", _BACK, queries_gradient, CAUSAL=True, BM=128, options={"num_warps": 8}
    ),
)
