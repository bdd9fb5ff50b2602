"""Linear attention and state space models: chunks, gates, the delta rule, and recurrences by step."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from tritonext.testing.cases import rounded

from .case import Case, Tensor, define, output

__all__ = ["CASES"]

CASES: list[Case] = []


@triton.jit
def chunk_states(k, v, states, length, BT: tl.constexpr, D: tl.constexpr):
    """State before each chunk of [head, length, D]: sums of K^T V, each stored and then updated."""
    head, rd, rt = tl.program_id(0), tl.arange(0, D), tl.arange(0, BT)
    state = tl.zeros((D, D), tl.float32)
    for chunk in range(length // BT):
        place = (head * (length // BT) + chunk) * D * D + rd[:, None] * D + rd[None, :]
        tl.store(states + place, state.to(states.dtype.element_ty))
        at = (head * length + chunk * BT + rt[:, None]) * D + rd[None, :]
        state = tl.dot(tl.load(k + at).T, tl.load(v + at), state)


def _chunk_states(k, v, BT) -> dict[str, np.ndarray]:
    heads, _, depth = k.shape
    parts = np.swapaxes(k.reshape(heads, -1, BT, depth), 2, 3) @ v.reshape(heads, -1, BT, depth)
    return {"states": parts.cumsum(1) - parts}


CASES += define(
    chunk_states,
    make=lambda draw, heads, length, D, BT: {
        "k": draw.normal("bf16", heads, length, D, scale=D**-0.5),
        "v": draw.normal("bf16", heads, length, D),
        "states": output("bf16", heads, length // BT, D, D),
    },
    reference=_chunk_states,
    grid=lambda heads: heads,
    sizes={"heads": 2, "length": 256, "D": 64},
    variants={"": {"BT": 64}, "d128": {"BT": 32, "D": 128, "num_warps": 8}},
    absolute=2.0**-6,
)


@triton.jit
def chunk_output(q, k, v, states, gates, out, length, BT: tl.constexpr, D: tl.constexpr):
    """Output of a chunk with a decay by position: what the state gives and what the chunk itself gives."""
    head, chunk, rd, rt = tl.program_id(1), tl.program_id(0), tl.arange(0, D), tl.arange(0, BT)
    at = (head * length + chunk * BT + rt[:, None]) * D + rd[None, :]
    query, key = tl.load(q + at), tl.load(k + at)
    state = tl.load(states + (head * (length // BT) + chunk) * D * D + rd[:, None] * D + rd[None, :])
    # Logarithms of decay, already added up inside the chunk.
    gate = tl.load(gates + head * length + chunk * BT + rt)
    acc = tl.dot(query, state) * tl.exp(gate)[:, None]
    score = tl.dot(query, key.T) * tl.exp(gate[:, None] - gate[None, :])
    score = tl.where(rt[:, None] >= rt[None, :], score, 0.0)
    acc = tl.dot(score.to(query.dtype), tl.load(v + at), acc)
    tl.store(out + at, acc.to(out.dtype.element_ty))


def _chunk_output(q, k, v, states, gates, BT) -> dict[str, np.ndarray]:
    shape = (q.shape[0], -1, BT, q.shape[2])
    query, key, value = (data.reshape(shape) for data in (q, k, v))
    gate = gates.reshape(shape[0], -1, BT)
    decay = np.tril(np.exp(np.minimum(gate[..., :, None] - gate[..., None, :], 0)))
    inner = (query @ np.swapaxes(key, 2, 3) * decay) @ value
    return {"out": (query @ states * np.exp(gate)[..., None] + inner).reshape(q.shape)}


def _decays(draw, heads, length, BT):
    steps = -draw.random.uniform(0, 0.05, (heads, length // BT, BT))
    return Tensor("fp32", rounded(steps.cumsum(2).reshape(heads, length), "fp32"))


CASES += define(
    chunk_output,
    make=lambda draw, heads, length, D, BT: {
        "q": draw.normal("bf16", heads, length, D, scale=D**-0.5),
        "k": draw.normal("bf16", heads, length, D),
        "v": draw.normal("bf16", heads, length, D),
        "states": draw.normal("bf16", heads, length // BT, D, D),
        "gates": _decays(draw, heads, length, BT),
        "out": output("bf16", heads, length, D),
    },
    reference=_chunk_output,
    grid=lambda heads, length, BT: (length // BT, heads),
    sizes={"heads": 2, "length": 128, "D": 64},
    variants={"": {"BT": 64}, "d128": {"BT": 64, "D": 128, "num_warps": 8}},
    absolute=2.0**-4,
)


@triton.jit
def retention(q, k, v, out, length, decay, BT: tl.constexpr, D: tl.constexpr):
    """A fixed decay per step, state and chunks in one loop: four products and a scale each of rows and columns."""
    head, rd, rt = tl.program_id(0), tl.arange(0, D), tl.arange(0, BT)
    past = tl.exp2(decay * (rt + 1))
    left = tl.exp2(decay * (BT - 1 - rt))
    inner = tl.where(rt[:, None] >= rt[None, :], tl.exp2(decay * (rt[:, None] - rt[None, :])), 0.0)
    state = tl.zeros((D, D), tl.float32)
    for start in range(0, length, BT):
        at = (head * length + start + rt[:, None]) * D + rd[None, :]
        query, key, value = tl.load(q + at), tl.load(k + at), tl.load(v + at)
        acc = tl.dot(query, state.to(query.dtype)) * past[:, None]
        score = tl.dot(query, key.T) * inner
        acc = tl.dot(score.to(value.dtype), value, acc)
        tl.store(out + at, acc.to(out.dtype.element_ty))
        weighted = (key * left[:, None]).to(key.dtype)
        state = tl.dot(weighted.T, value, state * tl.exp2(decay * BT))


def _retention(q, k, v, decay) -> dict[str, np.ndarray]:
    at = np.arange(q.shape[1])
    weight = np.tril(2.0 ** (decay * np.maximum(at[:, None] - at, 0)))
    return {"out": (q @ np.swapaxes(k, 1, 2) * weight) @ v}


CASES += define(
    retention,
    make=lambda draw, heads, length, D: {
        "q": draw.normal("bf16", heads, length, D, scale=D**-0.5),
        "k": draw.normal("bf16", heads, length, D),
        "v": draw.normal("bf16", heads, length, D),
        "out": output("bf16", heads, length, D),
    },
    reference=_retention,
    grid=lambda heads: heads,
    sizes={"heads": 2, "length": 256, "D": 64, "decay": -0.125},
    variants={"": {"BT": 64}, "w8": {"BT": 64, "D": 128, "num_warps": 8, "length": 128}},
    absolute=2.0**-3,
)


@triton.jit
def gate_sums(gates, out, length, heads, BT: tl.constexpr, H: tl.constexpr):
    """Running sums of [length, head] inside chunks: a scan over rows."""
    at = (tl.program_id(0) * BT + tl.arange(0, BT)[:, None]) * heads + tl.arange(0, H)[None, :]
    value = tl.load(gates + at).to(tl.float32)
    tl.store(out + at, tl.cumsum(value, 0))


CASES += define(
    gate_sums,
    make=lambda draw, length, heads: {
        "gates": draw.normal("bf16", length, heads),
        "out": output("fp32", length, heads),
    },
    reference=lambda gates, BT: {"out": gates.reshape(-1, BT, gates.shape[1]).cumsum(1).reshape(gates.shape)},
    grid=lambda length, BT: length // BT,
    sizes={"length": 256, "heads": 32},
    variants={"": {"BT": 64, "H": 32}},
    absolute=2.0**-14,
)


@triton.jit
def gated_keys(q, k, gates, queries, keys, length, BT: tl.constexpr, D: tl.constexpr):
    """Gates by channel: queries times their decay since the chunk began, keys divided by it, and its end per chunk."""
    head, rd, rt = tl.program_id(1), tl.arange(0, D), tl.arange(0, BT)
    at = (head * length + tl.program_id(0) * BT + rt[:, None]) * D + rd[None, :]
    gate = tl.cumsum(tl.load(gates + at), 0)
    total = tl.sum(tl.where((rt == BT - 1)[:, None], gate, 0.0), 0)
    query = tl.load(q + at).to(tl.float32) * tl.exp(gate)
    key = tl.load(k + at).to(tl.float32) * tl.exp(total[None, :] - gate)
    tl.store(queries + at, query.to(queries.dtype.element_ty))
    tl.store(keys + at, key.to(keys.dtype.element_ty))


def _gated_keys(q, k, gates, BT) -> dict[str, np.ndarray]:
    heads, _, depth = q.shape
    gate = gates.reshape(heads, -1, BT, depth).cumsum(2)
    left = (gate[:, :, -1:] - gate).reshape(q.shape)
    return {"queries": q * np.exp(gate.reshape(q.shape)), "keys": k * np.exp(left)}


CASES += define(
    gated_keys,
    make=lambda draw, heads, length, D: {
        "q": draw.normal("bf16", heads, length, D),
        "k": draw.normal("bf16", heads, length, D),
        "gates": draw.uniform("fp32", -0.05, 0, heads, length, D),
        "queries": output("bf16", heads, length, D),
        "keys": output("bf16", heads, length, D),
    },
    reference=_gated_keys,
    grid=lambda heads, length, BT: (length // BT, heads),
    sizes={"heads": 2, "length": 128, "D": 64},
    variants={"": {"BT": 32}, "tall": {"BT": 64, "num_warps": 8}},
    absolute=2.0**-12,
)


@triton.jit
def delta_inverse(k, beta, out, length, BT: tl.constexpr, D: tl.constexpr):
    """(I + tril(beta K K^T, -1))^-1 of a chunk, row by row: each row is picked out, multiplied and put back."""
    head, rd, rt = tl.program_id(1), tl.arange(0, D), tl.arange(0, BT)
    row = head * length + tl.program_id(0) * BT
    key = tl.load(k + (row + rt[:, None]) * D + rd[None, :])
    factor = tl.load(beta + row + rt).to(tl.float32)
    matrix = tl.dot(key, key.T) * factor[:, None]
    matrix = -tl.where(rt[:, None] > rt[None, :], matrix, 0.0)
    for i in range(1, BT):
        own = tl.sum(tl.where((rt == i)[:, None], matrix, 0.0), 0)
        own += tl.sum(own[:, None] * matrix, 0) * (rt < i)
        matrix = tl.where((rt == i)[:, None], own[None, :], matrix)
    matrix += (rt[:, None] == rt[None, :]).to(tl.float32)
    tl.store(out + (row + rt[:, None]) * BT + rt[None, :], matrix)


def _delta_inverse(k, beta, BT) -> dict[str, np.ndarray]:
    heads, length, depth = k.shape
    key, factor = k.reshape(heads, -1, BT, depth), beta.reshape(heads, -1, BT)
    lower = np.tril(key @ np.swapaxes(key, 2, 3) * factor[..., None], -1)
    return {"out": np.linalg.inv(np.eye(BT) + lower).reshape(heads, length, BT)}


CASES += define(
    delta_inverse,
    make=lambda draw, heads, length, D, BT: {
        "k": draw.normal("bf16", heads, length, D, scale=D**-0.5),
        "beta": draw.uniform("fp32", 0, 0.5, heads, length),
        "out": output("fp32", heads, length, BT),
    },
    reference=_delta_inverse,
    grid=lambda heads, length, BT: (length // BT, heads),
    sizes={"heads": 2, "length": 128, "D": 64},
    variants={"": {"BT": 16}, "wide": {"BT": 32, "num_warps": 2}, "w4": {"BT": 64, "num_warps": 4}},
    absolute=2.0**-12,
)


@triton.jit
def delta_rows(a, k, v, beta, w, u, length, BT: tl.constexpr, D: tl.constexpr):
    """W = A (beta K) and U = A (beta V): products whose right operand gets a factor by row."""
    head, rd, rt = tl.program_id(1), tl.arange(0, D), tl.arange(0, BT)
    row = head * length + tl.program_id(0) * BT
    matrix = tl.load(a + (row + rt[:, None]) * BT + rt[None, :])
    factor = tl.load(beta + row + rt)[:, None]
    at = (row + rt[:, None]) * D + rd[None, :]
    key = (tl.load(k + at) * factor).to(matrix.dtype)
    value = (tl.load(v + at) * factor).to(matrix.dtype)
    tl.store(w + at, tl.dot(matrix, key).to(w.dtype.element_ty))
    tl.store(u + at, tl.dot(matrix, value).to(u.dtype.element_ty))


def _delta_rows(a, k, v, beta, BT) -> dict[str, np.ndarray]:
    heads, _, depth = k.shape
    matrix = a.reshape(heads, -1, BT, BT)
    key, value = ((data * beta[..., None]).reshape(heads, -1, BT, depth) for data in (k, v))
    return {"w": (matrix @ key).reshape(k.shape), "u": (matrix @ value).reshape(k.shape)}


CASES += define(
    delta_rows,
    make=lambda draw, heads, length, D, BT: {
        "a": draw.normal("bf16", heads, length, BT, scale=BT**-0.5),
        "k": draw.normal("bf16", heads, length, D),
        "v": draw.normal("bf16", heads, length, D),
        "beta": draw.uniform("fp32", 0, 1, heads, length),
        "w": output("bf16", heads, length, D),
        "u": output("bf16", heads, length, D),
    },
    reference=_delta_rows,
    grid=lambda heads, length, BT: (length // BT, heads),
    sizes={"heads": 2, "length": 128, "D": 64},
    variants={"": {"BT": 64}},
    absolute=2.0**-6,
)


@triton.jit
def delta_states(k, w, u, states, news, length, BT: tl.constexpr, D: tl.constexpr, BV: tl.constexpr):
    """The delta rule by chunks: what the state foretells of the values is taken off, and the rest goes into it."""
    head, rd, rt = tl.program_id(1), tl.arange(0, D), tl.arange(0, BT)
    rv = tl.program_id(0) * BV + tl.arange(0, BV)
    state = tl.zeros((D, BV), tl.float32)
    for chunk in range(length // BT):
        place = (head * (length // BT) + chunk) * D * D + rd[:, None] * D + rv[None, :]
        tl.store(states + place, state.to(states.dtype.element_ty))
        row = head * length + chunk * BT + rt[:, None]
        at = row * D + rv[None, :]
        new = tl.load(u + at) - tl.dot(tl.load(w + row * D + rd[None, :]), state.to(w.dtype.element_ty))
        tl.store(news + at, new.to(news.dtype.element_ty))
        state = tl.dot(tl.load(k + row * D + rd[None, :]).T, new.to(k.dtype.element_ty), state)


def _delta_states(k, w, u, BT) -> dict[str, np.ndarray]:
    heads, length, depth = k.shape
    state = np.zeros((heads, depth, depth))
    states, news = [], np.empty_like(u)
    for start in range(0, length, BT):
        part = slice(start, start + BT)
        states.append(state)
        news[:, part] = u[:, part] - w[:, part] @ state
        state = state + np.swapaxes(k[:, part], 1, 2) @ news[:, part]
    return {"states": np.stack(states, 1), "news": news}


CASES += define(
    delta_states,
    make=lambda draw, heads, length, D, BT: {
        "k": draw.normal("bf16", heads, length, D, scale=0.05),
        "w": draw.normal("bf16", heads, length, D, scale=0.05),
        "u": draw.normal("fp32", heads, length, D),
        "states": output("bf16", heads, length // BT, D, D),
        "news": output("bf16", heads, length, D),
    },
    reference=_delta_states,
    grid=lambda heads, D, BV: (D // BV, heads),
    sizes={"heads": 2, "length": 128, "D": 64},
    variants={"": {"BT": 32, "BV": 32}, "wide": {"BT": 64, "BV": 64, "num_warps": 8}},
    absolute=2.0**-5,
)


@triton.jit
def selective_scan(x, delta, a, b, c, out, length, width, N: tl.constexpr, BD: tl.constexpr):
    """A recurrence by step with a state of N for each channel: vectors along either dimension in every step."""
    channel, rn = tl.program_id(0) * BD + tl.arange(0, BD), tl.arange(0, N)
    rate = tl.load(a + channel[:, None] * N + rn[None, :])
    state = tl.zeros((BD, N), tl.float32)
    for t in range(length):
        step = tl.load(delta + t * width + channel)
        value = tl.load(x + t * width + channel).to(tl.float32)
        gain = tl.load(b + t * N + rn)
        state = state * tl.exp(rate * step[:, None]) + (step * value)[:, None] * gain[None, :]
        read = tl.load(c + t * N + rn)
        tl.store(out + t * width + channel, tl.sum(state * read[None, :], 1).to(out.dtype.element_ty))


def _selective_scan(x, delta, a, b, c) -> dict[str, np.ndarray]:
    state, out = np.zeros_like(a), np.empty_like(x)
    for t in range(len(x)):
        state = state * np.exp(a * delta[t][:, None]) + (delta[t] * x[t])[:, None] * b[t]
        out[t] = state @ c[t]
    return {"out": out}


CASES += define(
    selective_scan,
    make=lambda draw, length, width, N: {
        "x": draw.normal("bf16", length, width),
        "delta": draw.uniform("fp32", 0, 1, length, width),
        "a": draw.uniform("fp32", -1, 0, width, N),
        "b": draw.normal("fp32", length, N),
        "c": draw.normal("fp32", length, N),
        "out": output("bf16", length, width),
    },
    reference=_selective_scan,
    grid=lambda width, BD: width // BD,
    sizes={"length": 24, "width": 128, "N": 16},
    variants={"": {"BD": 64}},
    absolute=2.0**-9,
)


@triton.jit
def recurrent_delta(q, k, v, beta, gates, out, length, D: tl.constexpr, BV: tl.constexpr):
    """The gated delta rule by step: a state [D, BV], reduced over its rows twice in every step."""
    head, rd = tl.program_id(1), tl.arange(0, D)
    rv = tl.program_id(0) * BV + tl.arange(0, BV)
    state = tl.zeros((D, BV), tl.float32)
    for t in range(length):
        row = head * length + t
        query = tl.load(q + row * D + rd).to(tl.float32)
        key = tl.load(k + row * D + rd).to(tl.float32)
        value = tl.load(v + row * D + rv).to(tl.float32)
        state *= tl.exp(tl.load(gates + row))
        value = (value - tl.sum(state * key[:, None], 0)) * tl.load(beta + row)
        state += key[:, None] * value[None, :]
        tl.store(out + row * D + rv, tl.sum(state * query[:, None], 0).to(out.dtype.element_ty))


def _recurrent_delta(q, k, v, beta, gates) -> dict[str, np.ndarray]:
    heads, length, depth = q.shape
    state, out = np.zeros((heads, depth, depth)), np.empty_like(v)
    for t in range(length):
        state = state * np.exp(gates[:, t])[:, None, None]
        told = np.einsum("hdv,hd->hv", state, k[:, t])
        state = state + k[:, t][:, :, None] * ((v[:, t] - told) * beta[:, t][:, None])[:, None, :]
        out[:, t] = np.einsum("hdv,hd->hv", state, q[:, t])
    return {"out": out}


CASES += define(
    recurrent_delta,
    make=lambda draw, heads, length, D: {
        "q": draw.normal("bf16", heads, length, D, scale=D**-0.5),
        "k": draw.normal("bf16", heads, length, D, scale=D**-0.5),
        "v": draw.normal("bf16", heads, length, D),
        "beta": draw.uniform("fp32", 0, 1, heads, length),
        "gates": draw.uniform("fp32", -0.5, 0, heads, length),
        "out": output("bf16", heads, length, D),
    },
    reference=_recurrent_delta,
    grid=lambda heads, D, BV: (D // BV, heads),
    sizes={"heads": 2, "length": 16, "D": 128},
    variants={"": {"BV": 32, "num_warps": 2}, "wide": {"BV": 64, "D": 64}},
    absolute=2.0**-9,
)


@triton.jit
def state_space_chunk(
    x, delta, decay, b, c, states, out, length, width, BT: tl.constexpr, P: tl.constexpr, N: tl.constexpr
):
    """Output of a chunk of a scalar-gated state space model: C B^T with a decay and a step, times X, and the state."""
    head, chunk = tl.program_id(1), tl.program_id(0)
    rt, rp, rn = tl.arange(0, BT), tl.arange(0, P), tl.arange(0, N)
    row = chunk * BT + rt
    level = tl.load(decay + head * length + row)
    step = tl.load(delta + head * length + row)
    at = row[:, None] * width + head * P + rp[None, :]
    read = tl.load(c + row[:, None] * N + rn[None, :])
    state = tl.load(states + ((chunk * tl.num_programs(1) + head) * N + rn[:, None]) * P + rp[None, :])
    acc = tl.dot(read, state) * tl.exp(level)[:, None]
    score = tl.dot(read, tl.load(b + row[:, None] * N + rn[None, :]).T)
    score = score * tl.exp(level[:, None] - level[None, :]) * step[None, :]
    score = tl.where(rt[:, None] >= rt[None, :], score, 0.0)
    acc = tl.dot(score.to(read.dtype), tl.load(x + at), acc)
    tl.store(out + at, acc.to(out.dtype.element_ty))


def _state_space_chunk(x, delta, decay, b, c, states, BT, P) -> dict[str, np.ndarray]:
    length, width = x.shape
    out = np.empty_like(x)
    for head in range(width // P):
        for chunk in range(length // BT):
            part, own = slice(chunk * BT, (chunk + 1) * BT), slice(head * P, (head + 1) * P)
            level, step = decay[head, part], delta[head, part]
            fade = np.tril(np.exp(np.minimum(level[:, None] - level, 0)))
            out[part, own] = (c[part] @ b[part].T * fade * step) @ x[part, own]
            out[part, own] += c[part] @ states[chunk, head] * np.exp(level)[:, None]
    return {"out": out}


CASES += define(
    state_space_chunk,
    make=lambda draw, length, width, BT, P, N: {
        "x": draw.normal("bf16", length, width),
        "delta": draw.uniform("fp32", 0, 1, width // P, length),
        "decay": _decays(draw, width // P, length, BT),
        "b": draw.normal("bf16", length, N, scale=N**-0.5),
        "c": draw.normal("bf16", length, N),
        "states": draw.normal("bf16", length // BT, width // P, N, P),
        "out": output("bf16", length, width),
    },
    reference=_state_space_chunk,
    grid=lambda length, width, BT, P: (length // BT, width // P),
    sizes={"length": 128, "width": 128},
    variants={"": {"BT": 64, "P": 64, "N": 64}, "n128": {"BT": 128, "P": 64, "N": 128, "num_warps": 8}},
    absolute=2.0**-4,
)


@triton.jit
def causal_convolution(x, weight, bias, out, length, width, W: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    """Depthwise convolution along the sequence, [length, width], and SiLU."""
    row = tl.program_id(0) * BT + tl.arange(0, BT)[:, None]
    channel = tl.program_id(1) * BD + tl.arange(0, BD)
    acc = tl.zeros((BT, BD), tl.float32) + tl.load(bias + channel)[None, :]
    for tap in tl.static_range(W):
        at = row - (W - 1 - tap)
        value = tl.load(x + at * width + channel[None, :], mask=at >= 0, other=0.0).to(tl.float32)
        acc += value * tl.load(weight + channel * W + tap)[None, :]
    tl.store(out + row * width + channel[None, :], (acc * tl.sigmoid(acc)).to(out.dtype.element_ty))


def _causal_convolution(x, weight, bias, W) -> dict[str, np.ndarray]:
    padded = np.concatenate([np.zeros((W - 1, x.shape[1])), x])
    value = bias + sum(padded[tap : tap + len(x)] * weight[:, tap] for tap in range(W))
    return {"out": value / (1 + np.exp(-value))}


CASES += define(
    causal_convolution,
    make=lambda draw, length, width, W: {
        "x": draw.normal("bf16", length, width),
        "weight": draw.normal("fp32", width, W),
        "bias": draw.normal("fp32", width),
        "out": output("bf16", length, width),
    },
    reference=_causal_convolution,
    grid=lambda length, width, BT, BD: (length // BT, width // BD),
    sizes={"length": 64, "width": 128, "W": 4},
    variants={"": {"BT": 32, "BD": 64}},
)
