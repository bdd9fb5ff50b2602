"""Attention: forward with every usual mask and score function, decoding, and backward with and without atomics."""

from __future__ import annotations

import itertools

import numpy as np
import triton
import triton.language as tl

from tritonext.testing.cases import rounded

from .case import FLOAT8, Case, Tensor, cdiv, define, output, zeros
from .reductions import softmaxed

__all__ = ["CASES"]

CASES: list[Case] = []

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def attention(
    q,
    k,
    v,
    bias,
    out,
    lse,
    heads,
    length,
    scale,
    SCORE: tl.constexpr,
    GROUP: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
):
    """Forward for [head, length, D]; GROUP heads of queries share keys. SCORE changes or masks scores."""
    head = tl.program_id(1)
    shared = head // GROUP
    rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + (head * length + rm[:, None]) * D + rd[None, :], mask=(rm < length)[:, None], other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    first = 0
    last = length
    if SCORE == "causal":
        last = tl.minimum(length, (tl.program_id(0) + 1) * BM)
    elif SCORE == "window":
        first = tl.maximum(tl.program_id(0) * BM - 64, 0) // BN * BN
        last = tl.minimum(length, (tl.program_id(0) + 1) * BM)
    for start in range(first, last, BN):
        rn = start + tl.arange(0, BN)
        place = (shared * length + rn[:, None]) * D + rd[None, :]
        key = tl.load(k + place, mask=(rn < length)[:, None], other=0.0)
        score = tl.dot(query, key.T) * (scale * LOG2E)
        if SCORE == "bias":
            score += tl.load(bias + (head * length + rm[:, None]) * length + rn[None, :]).to(tl.float32) * LOG2E
        elif SCORE == "slope":
            slope = tl.load(bias + head).to(tl.float32) * LOG2E
            score -= slope * tl.abs(rm[:, None] - rn[None, :]).to(tl.float32)
        elif SCORE == "cap":
            score = 20 * LOG2E * (1 - 2 / (1 + tl.exp2(score * (2 / 20))))
        elif SCORE == "documents":
            own = tl.load(bias + rm, mask=rm < length, other=0.0)
            score = tl.where(own[:, None] == tl.load(bias + rn, mask=rn < length, other=-1.0)[None, :], score, -1e30)
        seen = (rn < length)[None, :]
        if SCORE == "causal":
            seen = seen & (rm[:, None] >= rn[None, :])
        elif SCORE == "window":
            seen = seen & (rm[:, None] >= rn[None, :]) & (rm[:, None] - rn[None, :] < 64)
        score = tl.where(seen, score, -1e30)
        new = tl.maximum(top, tl.max(score, 1))
        weight = tl.exp2(score - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(weight, 1)
        value = tl.load(v + place, mask=(rn < length)[:, None], other=0.0)
        acc = tl.dot(weight.to(value.dtype), value, acc * shrink[:, None])
        top = new
    place = (head * length + rm[:, None]) * D + rd[None, :]
    tl.store(out + place, (acc / total[:, None]).to(out.dtype.element_ty), mask=(rm < length)[:, None])
    tl.store(lse + head * length + rm, top + tl.log2(total), mask=rm < length)


def scores(q: np.ndarray, k: np.ndarray, scale: float, causal: bool = False) -> np.ndarray:
    """Return the scaled products of queries and keys, masked if wanted."""
    found = q @ np.swapaxes(k, 1, 2) * scale
    return np.where(np.tri(*found.shape[1:], dtype=bool), found, -np.inf) if causal else found


def _attention(q, k, v, bias, scale, SCORE, GROUP) -> dict[str, np.ndarray]:
    k, v = np.repeat(k, GROUP, 0), np.repeat(v, GROUP, 0)
    score = scores(q, k, scale, SCORE in ("causal", "window"))
    at = np.arange(q.shape[1])
    distance = at[:, None] - at
    if SCORE == "bias":
        score = score + bias
    elif SCORE == "slope":
        score = score - bias[:, None, None] * np.abs(distance)
    elif SCORE == "cap":
        score = 20 * np.tanh(score / 20)
    elif SCORE == "documents":
        score = np.where(bias[:, None] == bias, score, -np.inf)
    elif SCORE == "window":
        score = np.where(distance < 64, score, -np.inf)
    top = score.max(2)
    lse = top + np.log(np.exp(score - top[:, :, None]).sum(2))
    return {"out": softmaxed(score) @ v, "lse": lse * np.log2(np.e)}


def _attention_tensors(draw, heads, length, D, GROUP, SCORE, dtype) -> dict:
    biases = {
        "bias": lambda: draw.normal("fp16", heads, length, length),
        "slope": lambda: draw.uniform("fp32", 0.01, 0.5, heads),
        "documents": lambda: draw.normal("fp32", length),
    }
    found = biases.get(SCORE, lambda: draw.normal("fp32", 16))()
    if SCORE == "documents":
        found.values[:] = np.arange(length) // 40
    return {
        "q": draw.normal(dtype, heads, length, D),
        "k": draw.normal(dtype, heads // GROUP, length, D),
        "v": draw.normal(dtype, heads // GROUP, length, D),
        "bias": found,
        "out": output("fp16" if dtype[:3] == "fp8" else dtype, heads, length, D),
        "lse": output("fp32", heads, length),
    }


_USUAL = {"BM": 128, "BN": 64, "D": 64, "num_warps": 4, "num_stages": 2, "dtype": "fp16", "GROUP": 1}

CASES += define(
    attention,
    make=_attention_tensors,
    reference=_attention,
    grid=lambda heads, length, BM: (cdiv(length, BM), heads),
    sizes={"heads": 2, "length": 208, "scale": 0.125, "SCORE": "none"},
    variants={
        "plain": _USUAL,
        "d128": _USUAL | {"D": 128, "num_warps": 8},
        "d128_w4": _USUAL | {"D": 128, "BM": 64},
        "causal": _USUAL | {"SCORE": "causal"},
        "causal_bf16": _USUAL | {"SCORE": "causal", "dtype": "bf16", "D": 128, "num_warps": 8},
        "grouped": _USUAL | {"GROUP": 2, "BM": 64},
        "bias": _USUAL | {"SCORE": "bias"},
        "slope": _USUAL | {"SCORE": "slope"},
        "cap": _USUAL | {"SCORE": "cap"},
        "documents": _USUAL | {"SCORE": "documents"},
        "window": _USUAL | {"SCORE": "window"},
        "fp8": _USUAL | {"dtype": "fp8e5", "targets": FLOAT8, "absolute": 0.15},
    },
    absolute=2.0**-8,
)


@triton.jit
def decode_split(
    q,
    k,
    v,
    pages,
    parts,
    lse,
    length,
    scale,
    GROUP: tl.constexpr,
    PAGE: tl.constexpr,
    SPLITS: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
):
    """One query for each of GROUP heads, keys in pages [page, PAGE, D], the sequence split over programs."""
    split, rows, rd = tl.program_id(0), tl.arange(0, GROUP), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + rd[None, :])
    acc = tl.zeros((GROUP, D), tl.float32)
    top = tl.full((GROUP,), -1e30, tl.float32)
    total = tl.zeros((GROUP,), tl.float32)
    share = tl.cdiv(tl.cdiv(length, SPLITS), BN) * BN
    for start in range(split * share, tl.minimum((split + 1) * share, length), BN):
        rn = start + tl.arange(0, BN)
        page = tl.load(pages + rn // PAGE, mask=rn < length, other=0)
        place = (page * PAGE + rn % PAGE)[:, None] * D + rd[None, :]
        key = tl.load(k + place, mask=(rn < length)[:, None], other=0.0)
        score = tl.where((rn < length)[None, :], tl.dot(query, key.T) * scale, -1e30)
        new = tl.maximum(top, tl.max(score, 1))
        weight, shrink = tl.exp(score - new[:, None]), tl.exp(top - new)
        total = total * shrink + tl.sum(weight, 1)
        value = tl.load(v + place, mask=(rn < length)[:, None], other=0.0)
        acc = tl.dot(weight.to(value.dtype), value, acc * shrink[:, None])
        top = new
    tl.store(parts + (split * GROUP + rows[:, None]) * D + rd[None, :], acc / tl.maximum(total, 1e-30)[:, None])
    tl.store(lse + split * GROUP + rows, top + tl.log(tl.maximum(total, 1e-30)))


def _decode_split(q, k, v, pages, length, scale, PAGE, SPLITS, BN, D) -> dict[str, np.ndarray]:
    key, value = (data[pages].reshape(-1, D)[:length] for data in (k, v))
    share = cdiv(cdiv(length, SPLITS), BN) * BN
    parts, lse = [], []
    for split in range(SPLITS):
        score = q @ key[split * share : (split + 1) * share].T * scale
        parts.append(softmaxed(score) @ value[split * share : (split + 1) * share])
        lse.append(np.log(np.exp(score).sum(1)))
    return {"parts": np.array(parts), "lse": np.array(lse)}


CASES += define(
    decode_split,
    make=lambda draw, length, GROUP, PAGE, SPLITS, D: {
        "q": draw.normal("bf16", GROUP, D),
        "k": draw.normal("bf16", cdiv(length, PAGE), PAGE, D),
        "v": draw.normal("bf16", cdiv(length, PAGE), PAGE, D),
        "pages": draw.permutation("i32", cdiv(length, PAGE)),
        "parts": output("fp32", SPLITS, GROUP, D),
        "lse": output("fp32", SPLITS, GROUP),
    },
    reference=_decode_split,
    grid=lambda SPLITS: SPLITS,
    sizes={"length": 500, "scale": 0.125, "GROUP": 16, "PAGE": 16, "SPLITS": 4, "D": 64},
    variants={"": {"BN": 64}, "d128": {"BN": 64, "D": 128}},
    absolute=2.0**-6,
)


@triton.jit
def decode_combine(parts, lse, out, D: tl.constexpr, SPLITS: tl.constexpr, GROUP: tl.constexpr):
    """Weigh the parts of a split sequence: a reduction of the first of two dimensions."""
    row, split, rd = tl.program_id(0), tl.arange(0, SPLITS), tl.arange(0, D)
    level = tl.load(lse + split * GROUP + row)
    weight = tl.exp(level - tl.max(level, 0))
    value = tl.load(parts + (split[:, None] * GROUP + row) * D + rd[None, :])
    value = tl.sum(value * weight[:, None], 0) / tl.sum(weight, 0)
    tl.store(out + row * D + rd, value.to(out.dtype.element_ty))


CASES += define(
    decode_combine,
    make=lambda draw, SPLITS, GROUP, D: {
        "parts": draw.normal("fp32", SPLITS, GROUP, D),
        "lse": draw.normal("fp32", SPLITS, GROUP),
        "out": output("bf16", GROUP, D),
    },
    reference=lambda parts, lse: {"out": (parts * softmaxed(lse, 0)[:, :, None]).sum(0)},
    grid=lambda GROUP: GROUP,
    sizes={"SPLITS": 16, "GROUP": 4, "D": 128},
    variants={"": {}},
)


@triton.jit
def decode_latent(q, c, out, length, scale, BN: tl.constexpr, H: tl.constexpr, D: tl.constexpr, R: tl.constexpr):
    """One query of H heads over latent rows [length, D + R], whose first D columns are the values too."""
    rows, rd, rr = tl.arange(0, H), tl.arange(0, D), D + tl.arange(0, R)
    query = tl.load(q + rows[:, None] * (D + R) + rd[None, :])
    turned = tl.load(q + rows[:, None] * (D + R) + rr[None, :])
    acc = tl.zeros((H, D), tl.float32)
    top = tl.full((H,), -1e30, tl.float32)
    total = tl.zeros((H,), tl.float32)
    for start in range(0, length, BN):
        rn = start + tl.arange(0, BN)
        latent = tl.load(c + rn[:, None] * (D + R) + rd[None, :], mask=(rn < length)[:, None], other=0.0)
        angle = tl.load(c + rn[:, None] * (D + R) + rr[None, :], mask=(rn < length)[:, None], other=0.0)
        score = tl.dot(query, latent.T) + tl.dot(turned, angle.T)
        score = tl.where((rn < length)[None, :], score * scale, -1e30)
        new = tl.maximum(top, tl.max(score, 1))
        weight, shrink = tl.exp(score - new[:, None]), tl.exp(top - new)
        total = total * shrink + tl.sum(weight, 1)
        acc = tl.dot(weight.to(latent.dtype), latent, acc * shrink[:, None])
        top = new
    tl.store(out + rows[:, None] * D + rd[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


CASES += define(
    decode_latent,
    make=lambda draw, length, H, D, R: {
        "q": draw.normal("bf16", H, D + R),
        "c": draw.normal("bf16", length, D + R),
        "out": output("bf16", H, D),
    },
    reference=lambda q, c, scale, D: {"out": softmaxed(q @ c.T * scale) @ c[:, :D]},
    grid=lambda: 1,
    sizes={"length": 100, "scale": 0.08, "H": 16, "D": 128, "R": 64},
    variants={"": {"BN": 32}},
    absolute=2.0**-6,
)


@triton.jit
def row_products(out, doubt, delta, length, BM: tl.constexpr, D: tl.constexpr):
    """delta = sum(out * doubt) of rows, which the gradients need."""
    rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    place = rm[:, None] * D + rd[None, :]
    value = tl.load(out + place).to(tl.float32) * tl.load(doubt + place).to(tl.float32)
    tl.store(delta + rm, tl.sum(value, 1))


CASES += define(
    row_products,
    make=lambda draw, length, D: {
        "out": draw.normal("bf16", length, D),
        "doubt": draw.normal("bf16", length, D),
        "delta": output("fp32", length),
    },
    reference=lambda out, doubt: {"delta": (out * doubt).sum(1)},
    grid=lambda length, BM: length // BM,
    sizes={"length": 256, "D": 64},
    variants={"": {"BM": 128}},
    absolute=2.0**-14,
)


@triton.jit
def attention_keys_backward(
    q,
    k,
    v,
    doubt,
    lse,
    delta,
    dq,
    dk,
    dv,
    length,
    scale,
    ATOMIC: tl.constexpr,
    CAUSAL: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
):
    """Gradients of a tile of keys and values in a loop over queries; with ATOMIC, what it gives the queries too."""
    head = tl.program_id(1) * length
    rn, rd = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    key = tl.load(k + (head + rn[:, None]) * D + rd[None, :])
    value = tl.load(v + (head + rn[:, None]) * D + rd[None, :])
    to_key = tl.zeros((BN, D), tl.float32)
    to_value = tl.zeros((BN, D), tl.float32)
    first = tl.program_id(0) * BN // BM * BM if CAUSAL else 0
    for start in range(first, length, BM):
        rm = start + tl.arange(0, BM)
        place = (head + rm[:, None]) * D + rd[None, :]
        query, slope = tl.load(q + place), tl.load(doubt + place)
        # Keys by queries, so that the products need no transpose.
        score = tl.dot(key, query.T) * (scale * LOG2E)
        weight = tl.exp2(score - tl.load(lse + head + rm)[None, :])
        if CAUSAL:
            weight = tl.where(rm[None, :] >= rn[:, None], weight, 0.0)
        to_value = tl.dot(weight.to(slope.dtype), slope, to_value)
        change = tl.dot(value, slope.T) - tl.load(delta + head + rm)[None, :]
        change = (weight * change * scale).to(query.dtype)
        to_key = tl.dot(change, query, to_key)
        if ATOMIC:
            tl.atomic_add(dq + place, tl.dot(change.T, key), sem="relaxed")
    place = (head + rn[:, None]) * D + rd[None, :]
    tl.store(dk + place, to_key.to(dk.dtype.element_ty))
    tl.store(dv + place, to_value.to(dv.dtype.element_ty))


@triton.jit
def attention_queries_backward(
    q,
    k,
    v,
    doubt,
    lse,
    delta,
    dq,
    length,
    scale,
    CAUSAL: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
):
    """Gradient of a tile of queries in a loop over keys."""
    head = tl.program_id(1) * length
    rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    place = (head + rm[:, None]) * D + rd[None, :]
    query, slope = tl.load(q + place), tl.load(doubt + place)
    level, shift = tl.load(lse + head + rm), tl.load(delta + head + rm)
    to_query = tl.zeros((BM, D), tl.float32)
    last = (tl.program_id(0) + 1) * BM if CAUSAL else length
    for start in range(0, last, BN):
        rn = start + tl.arange(0, BN)
        key = tl.load(k + (head + rn[:, None]) * D + rd[None, :])
        value = tl.load(v + (head + rn[:, None]) * D + rd[None, :])
        weight = tl.exp2(tl.dot(query, key.T) * (scale * LOG2E) - level[:, None])
        if CAUSAL:
            weight = tl.where(rm[:, None] >= rn[None, :], weight, 0.0)
        change = weight * (tl.dot(slope, value.T) - shift[:, None])
        to_query = tl.dot(change.to(key.dtype), key, to_query)
    tl.store(dq + place, (to_query * scale).to(dq.dtype.element_ty))


def _backward(q, k, v, doubt, lse, delta, scale, CAUSAL) -> dict[str, np.ndarray]:
    score = scores(q, k, scale, CAUSAL)
    weight = np.exp(score - lse[:, :, None] * np.log(2))
    change = weight * (doubt @ np.swapaxes(v, 1, 2) - delta[:, :, None]) * scale
    return {
        "dq": change @ k,
        "dk": np.swapaxes(change, 1, 2) @ q,
        "dv": np.swapaxes(weight, 1, 2) @ doubt,
    }


def _backward_tensors(draw, heads, length, D, scale, CAUSAL, dtype) -> dict:
    found = {name: draw.normal(dtype, heads, length, D) for name in ("q", "k", "v", "doubt")}
    score = scores(found["q"].values, found["k"].values, scale, CAUSAL)
    out = softmaxed(score) @ found["v"].values
    lse = np.log2(np.exp(score).sum(2))
    delta = (out * found["doubt"].values).sum(2)
    found |= {name: Tensor("fp32", rounded(values, "fp32")) for name, values in (("lse", lse), ("delta", delta))}
    return found | {"dk": output(dtype, heads, length, D), "dv": output(dtype, heads, length, D)}


CASES += define(
    attention_keys_backward,
    make=lambda draw, heads, length, D, scale, CAUSAL, ATOMIC, dtype: (
        _backward_tensors(draw, heads, length, D, scale, CAUSAL, dtype) | {"dq": zeros("fp32", heads, length, D)}
    ),
    reference=lambda q, k, v, doubt, lse, delta, scale, CAUSAL, ATOMIC: {
        name: value
        for name, value in _backward(q, k, v, doubt, lse, delta, scale, CAUSAL).items()
        if name != "dq" or ATOMIC
    },
    grid=lambda heads, length, BN: (length // BN, heads),
    sizes={"heads": 2, "length": 256, "scale": 0.125, "dtype": "fp16", "ATOMIC": False, "CAUSAL": False},
    variants={
        "": {"BM": 64, "BN": 64, "D": 64},
        "causal": {"BM": 32, "BN": 128, "D": 64, "CAUSAL": True},
        "d128": {"BM": 64, "BN": 128, "D": 128, "num_warps": 8, "dtype": "bf16", "absolute": 2.0**-4},
        "atomic": {"BM": 64, "BN": 64, "D": 64, "ATOMIC": True, "ordered": False},
        "atomic_causal": {
            "BM": 64,
            "BN": 128,
            "D": 64,
            "ATOMIC": True,
            "ordered": False,
            "CAUSAL": True,
            "num_warps": 8,
        },
        "atomic_d128": {"BM": 64, "BN": 64, "D": 128, "ATOMIC": True, "num_warps": 8, "ordered": False},
    },
    absolute=2.0**-6,
)

CASES += define(
    attention_queries_backward,
    make=lambda draw, heads, length, D, scale, CAUSAL, dtype: (
        _backward_tensors(draw, heads, length, D, scale, CAUSAL, dtype) | {"dq": output(dtype, heads, length, D)}
    ),
    reference=lambda q, k, v, doubt, lse, delta, scale, CAUSAL: {
        "dq": _backward(q, k, v, doubt, lse, delta, scale, CAUSAL)["dq"]
    },
    grid=lambda heads, length, BM: (length // BM, heads),
    sizes={"heads": 2, "length": 256, "scale": 0.125, "dtype": "fp16"},
    variants={
        "": {"BM": 64, "BN": 64, "D": 64, "CAUSAL": False},
        "causal_d128": {"BM": 128, "BN": 64, "D": 128, "CAUSAL": True, "num_warps": 8},
    },
    absolute=2.0**-6,
)


@triton.jit
def attention_ragged(q, k, v, starts, out, heads, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Causal forward for sequences packed one after another, [token, head, D]."""
    sequence, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    start, end = tl.load(starts + sequence), tl.load(starts + sequence + 1)
    if tl.program_id(0) * BM < end - start:
        rm, rd = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
        inside = (rm < end - start)[:, None]
        place = ((start + rm[:, None]) * heads + head) * D + rd[None, :]
        query = tl.load(q + place, mask=inside, other=0.0)
        acc = tl.zeros((BM, D), tl.float32)
        top = tl.full((BM,), -1e30, tl.float32)
        total = tl.zeros((BM,), tl.float32)
        for at in range(0, tl.minimum(end - start, (tl.program_id(0) + 1) * BM), BN):
            rn = at + tl.arange(0, BN)
            there = ((start + rn[:, None]) * heads + head) * D + rd[None, :]
            key = tl.load(k + there, mask=(rn < end - start)[:, None], other=0.0)
            score = tl.where(rm[:, None] >= rn[None, :], tl.dot(query, key.T) * scale, -1e30)
            new = tl.maximum(top, tl.max(score, 1))
            weight, shrink = tl.exp(score - new[:, None]), tl.exp(top - new)
            total = total * shrink + tl.sum(weight, 1)
            value = tl.load(v + there, mask=(rn < end - start)[:, None], other=0.0)
            acc = tl.dot(weight.to(value.dtype), value, acc * shrink[:, None])
            top = new
        tl.store(out + place, (acc / total[:, None]).to(out.dtype.element_ty), mask=inside)


def _ragged(q, k, v, starts, scale) -> dict[str, np.ndarray]:
    found = []
    for start, end in itertools.pairwise(starts):
        query, key, value = (data[start:end].transpose(1, 0, 2) for data in (q, k, v))
        found.append((softmaxed(scores(query, key, scale, True)) @ value).transpose(1, 0, 2))
    return {"out": np.concatenate(found)}


def _starts(*values: int):
    return Tensor("i32", np.array(values))


CASES += define(
    attention_ragged,
    make=lambda draw, heads, D: (
        {name: draw.normal("bf16", 200, heads, D) for name in "qkv"}
        | {"starts": _starts(0, 70, 87, 200), "out": output("bf16", 200, heads, D)}
    ),
    reference=_ragged,
    grid=lambda heads, BM: (cdiv(113, BM), 3 * heads),
    sizes={"heads": 2, "scale": 0.125, "D": 64},
    variants={"": {"BM": 64, "BN": 64}},
    absolute=2.0**-6,
)
