"""Gathers, scatters, embeddings and mixtures of experts."""

from __future__ import annotations

import itertools

import numpy as np
import triton
import triton.language as tl

from .case import Case, Tensor, cdiv, define, output, zeros
from .reductions import softmaxed

__all__ = ["CASES"]

CASES: list[Case] = []


@triton.jit
def gather(x, index, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, IM: tl.constexpr, IN: tl.constexpr):
    """out = x[index] along an axis of a tile in registers, for each of a batch."""
    batch = tl.program_id(0)
    value = tl.load(x + (batch * M + tl.arange(0, M)[:, None]) * N + tl.arange(0, N)[None, :])
    place = (batch * IM + tl.arange(0, IM)[:, None]) * IN + tl.arange(0, IN)[None, :]
    tl.store(out + place, tl.gather(value, tl.load(index + place), AXIS))


def _gathered(x, index, AXIS) -> dict[str, np.ndarray]:
    return {"out": np.take_along_axis(x, index, AXIS + 1)}


CASES += define(
    gather,
    make=lambda draw, batch, M, N, IM, IN, AXIS, dtype, places: {
        "x": draw.normal(dtype, batch, M, N),
        "index": draw.integers(places, 0, (M, N)[AXIS], batch, IM, IN),
        "out": output(dtype, batch, IM, IN),
    },
    reference=_gathered,
    grid=lambda x: len(x),
    sizes={"batch": 2, "dtype": "fp32", "places": "i32"},
    variants={
        "rows_i32": {"AXIS": 0, "M": 128, "N": 64, "IM": 256, "IN": 64},
        "rows_i64": {"AXIS": 0, "M": 128, "N": 64, "IM": 256, "IN": 64, "places": "i64"},
        "columns_i32": {"AXIS": 1, "M": 64, "N": 64, "IM": 64, "IN": 64},
        "columns_i64_fp16": {"AXIS": 1, "M": 32, "N": 128, "IM": 32, "IN": 128, "dtype": "fp16", "places": "i64"},
        "square_rows": {"AXIS": 0, "M": 64, "N": 64, "IM": 64, "IN": 64},
        "small": {"AXIS": 1, "M": 16, "N": 4, "IM": 16, "IN": 16, "num_warps": 1},
        "few": {"AXIS": 0, "M": 4, "N": 16, "IM": 8, "IN": 16, "num_warps": 1},
    },
)


@triton.jit
def gather_twice(x, y, index, out, M: tl.constexpr, N: tl.constexpr, REPEATS: tl.constexpr):
    """Sums of gathers of two tiles by one index, which a loop steps."""
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    first, second, at = tl.load(x + place), tl.load(y + place), tl.load(index + place)
    total = tl.zeros((M, N), tl.float32)
    for step in range(REPEATS):
        moved = (at + step) % N
        total += tl.gather(first, moved, 1) * tl.gather(second, moved, 1)
    tl.store(out + place, total)


def _gathered_twice(x, y, index, REPEATS) -> dict[str, np.ndarray]:
    moved = [(index + step) % x.shape[1] for step in range(REPEATS)]
    return {"out": sum(np.take_along_axis(x, at, 1) * np.take_along_axis(y, at, 1) for at in moved)}


CASES += define(
    gather_twice,
    make=lambda draw, M, N: {
        "x": draw.normal("fp32", M, N),
        "y": draw.normal("fp32", M, N),
        "index": draw.integers("i32", 0, N, M, N),
        "out": output("fp32", M, N),
    },
    reference=_gathered_twice,
    grid=lambda: 1,
    sizes={"M": 32, "N": 32, "REPEATS": 4},
    variants={"": {}},
    absolute=2.0**-16,
)


@triton.jit
def lookup_codebook(codes, book, out, columns, BN: tl.constexpr, SIZE: tl.constexpr):
    """Numbers of a small table in registers by bytes: dequantization with a codebook."""
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    table = tl.load(book + tl.arange(0, SIZE))
    code = tl.load(codes + at).to(tl.int32)
    low = tl.gather(table, code & 15, 0)
    high = tl.gather(table, (code >> 4) & 15, 0)
    both = tl.program_id(0) * 2 * BN + tl.arange(0, 2 * BN)
    tl.store(out + both, tl.interleave(low, high))


CASES += define(
    lookup_codebook,
    make=lambda draw, N, SIZE: {
        "codes": draw.integers("i8", -128, 128, N),
        "book": draw.normal("fp16", SIZE),
        "out": output("fp16", 2 * N),
        "columns": N,
    },
    reference=lambda codes, book: {"out": np.stack([book[codes & 15], book[codes >> 4 & 15]], 1).ravel()},
    grid=lambda N, BN: N // BN,
    sizes={"N": 1024, "SIZE": 16},
    variants={"": {"BN": 512}},
)


@triton.jit
def embedding(table, tokens, out, count, width, BT: tl.constexpr, BD: tl.constexpr):
    """Rows of a table by number."""
    row = tl.program_id(0) * BT + tl.arange(0, BT)
    column = tl.program_id(1) * BD + tl.arange(0, BD)
    token = tl.load(tokens + row, mask=row < count, other=0)
    inside = (row < count)[:, None] & (column < width)[None, :]
    value = tl.load(table + token[:, None] * width + column[None, :], mask=inside)
    tl.store(out + row[:, None] * width + column[None, :], value, mask=inside)


CASES += define(
    embedding,
    make=lambda draw, rows, count, width: {
        "table": draw.normal("bf16", rows, width),
        "tokens": draw.integers("i64", 0, rows, count),
        "out": output("bf16", count, width),
    },
    reference=lambda table, tokens: {"out": table[tokens]},
    grid=lambda count, width, BT, BD: (cdiv(count, BT), cdiv(width, BD)),
    sizes={"rows": 100, "count": 40, "width": 192},
    variants={"": {"BT": 16, "BD": 128}},
)


@triton.jit
def embedding_backward(gradient, tokens, dtable, count, width, BT: tl.constexpr, BD: tl.constexpr):
    """Rows added to those of a table by atomics."""
    row = tl.program_id(0) * BT + tl.arange(0, BT)
    column = tl.program_id(1) * BD + tl.arange(0, BD)
    token = tl.load(tokens + row, mask=row < count, other=0)
    inside = (row < count)[:, None] & (column < width)[None, :]
    value = tl.load(gradient + row[:, None] * width + column[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.atomic_add(dtable + token[:, None] * width + column[None, :], value, mask=inside, sem="relaxed")


def _added(gradient, tokens, rows) -> dict[str, np.ndarray]:
    found = np.zeros((rows, gradient.shape[1]))
    np.add.at(found, tokens, gradient)
    return {"dtable": found}


CASES += define(
    embedding_backward,
    make=lambda draw, rows, count, width: {
        "gradient": draw.normal("bf16", count, width),
        "tokens": draw.integers("i64", 0, rows, count),
        "dtable": zeros("fp32", rows, width),
    },
    reference=_added,
    grid=lambda count, width, BT, BD: (cdiv(count, BT), cdiv(width, BD)),
    sizes={"rows": 20, "count": 40, "width": 128},
    variants={"": {"BT": 16, "BD": 128}},
    absolute=2.0**-16,
    ordered=False,
)


@triton.jit
def scatter_rows(x, places, out, width, BT: tl.constexpr, BD: tl.constexpr):
    """out[places] = x with narrower numbers, into rows of a cache."""
    row, column = tl.program_id(0) * BT + tl.arange(0, BT), tl.arange(0, BD)
    place = tl.load(places + row)
    value = tl.load(x + row[:, None] * width + column[None, :], mask=(column < width)[None, :])
    inside = (column < width)[None, :] & (place >= 0)[:, None]
    tl.store(out + place[:, None] * width + column[None, :], value.to(out.dtype.element_ty), mask=inside)


def _scattered(x, places) -> dict[str, np.ndarray]:
    found = np.full_like(x, -384.0)
    found[places] = x
    return {"out": found}


CASES += define(
    scatter_rows,
    make=lambda draw, count, width: {
        "x": draw.normal("fp32", count, width),
        "places": draw.permutation("i64", count),
        "out": output("bf16", count, width),
    },
    reference=_scattered,
    grid=lambda count, BT: count // BT,
    sizes={"count": 64, "width": 128},
    variants={"": {"BT": 16, "BD": 128}},
)


@triton.jit
def route(logits, weights, chosen, experts, K: tl.constexpr, BT: tl.constexpr, BE: tl.constexpr):
    """The K best experts of each token and the softmax over these: maxima found and masked one after another."""
    row, at = tl.program_id(0) * BT + tl.arange(0, BT), tl.arange(0, BE)
    value = tl.load(logits + row[:, None] * experts + at[None, :], mask=(at < experts)[None, :], other=float("-inf"))
    value = value.to(tl.float32)
    first = tl.max(value, 1)
    total = tl.zeros((BT,), tl.float32)
    for k in tl.static_range(K):
        best, place = tl.max(value, 1, return_indices=True)
        total += tl.exp(best - first)
        tl.store(chosen + row * K + k, place)
        tl.store(weights + row * K + k, tl.exp(best - first))
        value = tl.where(at[None, :] == place[:, None], float("-inf"), value)
    tl.debug_barrier()
    for k in tl.static_range(K):
        tl.store(weights + row * K + k, tl.load(weights + row * K + k) / total)


def _routed(logits, K) -> dict[str, np.ndarray]:
    order = np.argsort(-logits, 1)[:, :K]
    return {"chosen": order, "weights": softmaxed(np.take_along_axis(logits, order, 1))}


CASES += define(
    route,
    make=lambda draw, tokens, experts, K: {
        "logits": draw.distinct("fp32", tokens, experts),
        "weights": output("fp32", tokens, K),
        "chosen": draw.integers("i32", -9, -1, tokens, K),
    },
    reference=_routed,
    grid=lambda tokens, BT: tokens // BT,
    sizes={"tokens": 64, "experts": 60},
    variants={"": {"K": 2, "BT": 32, "BE": 64}},
    absolute=2.0**-16,
)


@triton.jit
def sort_tokens(chosen, offsets, places, count, EXPERTS: tl.constexpr, BN: tl.constexpr):
    """Where each token goes when they are sorted by expert: comparisons, a scan over rows and a sum over columns."""
    expert = tl.arange(0, EXPERTS)
    seen = tl.zeros((EXPERTS,), tl.int32)
    for start in range(0, count, BN):
        at = start + tl.arange(0, BN)
        own = tl.load(chosen + at, mask=at < count, other=-1)
        hit = (own[:, None] == expert[None, :]).to(tl.int32)
        rank = tl.cumsum(hit, 0) - hit + seen[None, :] + tl.load(offsets + expert)[None, :]
        tl.store(places + at, tl.sum(hit * rank, 1), mask=at < count)
        seen += tl.sum(hit, 0)


def _sorted_tokens(chosen, offsets) -> dict[str, np.ndarray]:
    places = np.empty_like(chosen)
    places[np.argsort(chosen, kind="stable")] = np.arange(len(chosen))
    return {"places": places}


def _experts(draw, count: int, EXPERTS: int) -> dict:
    chosen = draw.integers("i32", 0, EXPERTS, count)
    counts = np.bincount(chosen.values, minlength=EXPERTS)
    return {"chosen": chosen, "offsets": Tensor("i32", counts.cumsum() - counts)}


CASES += define(
    sort_tokens,
    make=lambda draw, count, EXPERTS: _experts(draw, count, EXPERTS) | {"places": draw.integers("i32", -9, -1, count)},
    reference=_sorted_tokens,
    grid=lambda: 1,
    sizes={"count": 300, "EXPERTS": 16},
    variants={"": {"BN": 128}},
)


@triton.jit
def experts_gemm(
    x, w, weights, tokens, experts, out, N, K, TOP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Tiles of rows gathered by number, each times the matrix of its expert [expert, N, K], weighed and scattered."""
    slot = tl.program_id(0) * BM + tl.arange(0, BM)
    token = tl.load(tokens + slot)
    expert = tl.load(experts + tl.program_id(0)).to(tl.int64)
    inside = (token >= 0)[:, None]
    rn, rk = tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(x + (token // TOP)[:, None] * K + k + rk[None, :], mask=inside, other=0.0)
        right = tl.load(w + (expert * N + rn[None, :]) * K + k + rk[:, None])
        acc = tl.dot(left, right, acc)
    acc = acc * tl.load(weights + token, mask=token >= 0, other=0.0)[:, None]
    tl.store(out + token[:, None] * N + rn[None, :], acc.to(out.dtype.element_ty), mask=inside)


def _experts_gemm(x, w, weights, tokens, experts, TOP, BM) -> dict[str, np.ndarray]:
    found = np.full((weights.size, w.shape[1]), np.nan)
    for tile, expert in enumerate(experts):
        own = tokens[tile * BM : (tile + 1) * BM]
        own = own[own >= 0]
        found[own] = x[own // TOP] @ w[expert].T * weights[own][:, None]
    return {"out": found}


def _experts_tensors(draw, count, N, K, TOP, BM, EXPERTS) -> dict:
    slots = draw.random.integers(0, EXPERTS, count * TOP)
    tokens, experts = [], []
    for expert in range(EXPERTS):
        own = np.flatnonzero(slots == expert)
        padded = np.full(cdiv(len(own), BM) * BM, -1)
        padded[: len(own)] = own
        tokens.append(padded)
        experts += [expert] * (len(padded) // BM)
    # Tiles without tokens bring their number to one that sizes alone determine.
    spare = cdiv(count * TOP, BM) + EXPERTS - len(experts)
    return {
        "x": draw.normal("bf16", count, K),
        "w": draw.normal("bf16", EXPERTS, N, K, scale=K**-0.5),
        "weights": draw.uniform("fp32", 0, 1, count * TOP),
        "tokens": Tensor("i32", np.concatenate([*tokens, np.full(spare * BM, -1)])),
        "experts": Tensor("i32", np.array(experts + [0] * spare)),
        "out": output("bf16", count * TOP, N),
    }


CASES += define(
    experts_gemm,
    make=_experts_tensors,
    reference=_experts_gemm,
    grid=lambda tokens, N, BM, BN: (len(tokens) // BM, N // BN),
    sizes={"count": 50, "N": 128, "K": 128, "TOP": 2, "EXPERTS": 4},
    variants={"": {"BM": 64, "BN": 64, "BK": 64}, "flat": {"BM": 16, "BN": 128, "BK": 128}},
    absolute=2.0**-8,
)


@triton.jit
def combine_experts(parts, out, width, TOP: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    """Sum of what TOP experts gave each token: a reduction of the middle of three dimensions."""
    token = tl.program_id(0) * BT + tl.arange(0, BT)
    column = tl.program_id(1) * BD + tl.arange(0, BD)
    part = tl.arange(0, TOP)
    row = token[:, None] * TOP + part[None, :]
    value = tl.load(parts + row[:, :, None] * width + column[None, None, :]).to(tl.float32)
    tl.store(out + token[:, None] * width + column[None, :], tl.sum(value, 1).to(out.dtype.element_ty))


CASES += define(
    combine_experts,
    make=lambda draw, count, width, TOP: {
        "parts": draw.normal("bf16", count, TOP, width),
        "out": output("bf16", count, width),
    },
    reference=lambda parts: {"out": parts.sum(1)},
    grid=lambda count, width, BT, BD: (count // BT, width // BD),
    sizes={"count": 32, "width": 256},
    variants={"": {"TOP": 2, "BT": 8, "BD": 128}, "eight": {"TOP": 8, "BT": 4, "BD": 128}},
    absolute=2.0**-16,
)


@triton.jit
def write_cache(key, value, places, keys, values, heads, PAGE: tl.constexpr, H: tl.constexpr, D: tl.constexpr):
    """New keys into pages [page, head, D, PAGE], values into [page, head, PAGE, D]: one store strided, one not."""
    token = tl.program_id(0)
    place = tl.load(places + token)
    head, rd = tl.arange(0, H)[:, None], tl.arange(0, D)[None, :]
    page, slot = place // PAGE, place % PAGE
    source = (token * heads + head) * D + rd
    tl.store(keys + ((page * heads + head) * D + rd) * PAGE + slot, tl.load(key + source))
    tl.store(values + ((page * heads + head) * PAGE + slot) * D + rd, tl.load(value + source))


def _cached(key, value, places, heads, PAGE, D, pages) -> dict[str, np.ndarray]:
    keys = np.full((pages, heads, D, PAGE), -384.0)
    values = np.full((pages, heads, PAGE, D), -384.0)
    for token, place in enumerate(places):
        keys[place // PAGE, :, :, place % PAGE] = key[token]
        values[place // PAGE, :, place % PAGE] = value[token]
    return {"keys": keys, "values": values}


CASES += define(
    write_cache,
    make=lambda draw, count, heads, pages, PAGE, D: {
        "key": draw.normal("bf16", count, heads, D),
        "value": draw.normal("bf16", count, heads, D),
        "places": _some(draw, pages * PAGE, count),
        "keys": output("bf16", pages, heads, D, PAGE),
        "values": output("bf16", pages, heads, PAGE, D),
    },
    reference=_cached,
    grid=lambda count: count,
    sizes={"count": 10, "heads": 8, "pages": 3, "PAGE": 16, "D": 64},
    variants={"": {"H": 8}},
)


def _some(draw, size: int, count: int):
    return Tensor("i32", draw.random.permutation(size)[:count])


@triton.jit
def ragged_to_padded(x, starts, out, width, longest, BT: tl.constexpr, BD: tl.constexpr):
    """Sequences packed one after another, to rows padded with zeros."""
    sequence = tl.program_id(1)
    start, end = tl.load(starts + sequence), tl.load(starts + sequence + 1)
    at, column = tl.program_id(0) * BT + tl.arange(0, BT), tl.arange(0, BD)
    there = (start + at < end)[:, None] & (column < width)[None, :]
    value = tl.load(x + (start + at[:, None]) * width + column[None, :], mask=there, other=0.0)
    inside = (at < longest)[:, None] & (column < width)[None, :]
    tl.store(out + (sequence * longest + at[:, None]) * width + column[None, :], value, mask=inside)


def _padded(x, starts, longest) -> dict[str, np.ndarray]:
    found = np.zeros((len(starts) - 1, longest, x.shape[1]))
    for row, (start, end) in enumerate(itertools.pairwise(starts)):
        found[row, : end - start] = x[start:end]
    return {"out": found}


CASES += define(
    ragged_to_padded,
    make=lambda draw, width, longest: {
        "x": draw.normal("fp32", 60, width),
        "starts": _numbers(0, 13, 30, 60),
        "out": output("fp32", 3, longest, width),
    },
    reference=_padded,
    grid=lambda longest, BT: (cdiv(longest, BT), 3),
    sizes={"width": 96, "longest": 30},
    variants={"": {"BT": 16, "BD": 128}},
)


def _numbers(*values: int):
    return Tensor("i32", np.array(values))
