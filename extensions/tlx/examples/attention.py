"""Attention for Hopper GPUs, forward and backward, of copying tasks and two computing ones; then its machine code.

python attention.py

Heads may share keys and values, sequences may be packed behind each other, and rows of queries may end at the diagonal.
Forward: each computing task owns 64 rows of queries. The product of a block of keys is started before that of the
values of the block before, also from one tile to the next, and tasks take turns on the tensor cores, so that the
softmax of one hides behind the products of the other (Shah et al., FlashAttention-3, 2024). One warp draws tiles from a
counter, the longest first, and copies their queries ahead; another copies keys and values.
Backward: each computing task owns 64 rows of keys and values and walks over blocks of queries. The gradient of a block
of queries, which needs both, is computed a step later, and added up in memory by the copy engine.
On a machine with a Hopper GPU and torch the results are compared with float64.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl

import tritonext_tlx as tlx
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import gpu_missing

# Tiles by size of a head, the best on an H200 first.
FORWARD: dict[int, tuple[dict[str, Any], ...]] = {
    64: ({"BM": 128, "BN": 128, "STAGES": 2, "Q_SLOTS": 2},),
    128: ({"BM": 128, "BN": 128, "STAGES": 2, "Q_SLOTS": 2},),
}
BACKWARD: dict[int, tuple[dict[str, Any], ...]] = {
    64: ({"BM": 64, "BN": 128, "Q_SLOTS": 3, "SLOTS": 2},),
    128: ({"BM": 64, "BN": 128, "Q_SLOTS": 3, "SLOTS": 2},),
}

# Sums of bytes that tiles in flight read should stay in the L2 cache, of which Hopper has 50 MB.
_CACHED_BYTES = 32 * 2**20
_LOG2_E = math.log2(math.e)
_LN_2 = tl.constexpr(math.log(2))
_SIZES = ["q_size", "k_size", "blocks", "tiles", "heads", "shared", "section"]
# Computing tasks, and registers of their threads: what 384 threads leave when the others keep 24.
GROUPS = tl.constexpr(2)
_REGISTERS = tl.constexpr(240)


@triton.jit
def place_of(tile, blocks, batch_heads, section):
    """Return block and head of a tile: sections of heads, whose data fit in the cache, from the last block down."""
    first = tile // (section * blocks) * section
    rest = tile - first * blocks
    size = tl.minimum(section, batch_heads - first)
    return blocks - 1 - rest // size, first + rest % size


@triton.jit
def extent(batch, size, starts, PACKED: tl.constexpr):
    """Return the first row and the number of rows of a sequence."""
    if PACKED:
        first = tl.load(starts + batch)
        return first, tl.load(starts + batch + 1) - first
    return batch * size, size


@triton.jit
def steps_of(row, q_count, k_count, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    """Return how many blocks of keys a tile of queries visits, at least one, and how many of those need a mask."""
    end = k_count
    whole = k_count // BN
    if CAUSAL:
        end = tl.minimum(k_count, row + BM + k_count - q_count)
        whole = tl.minimum(whole, tl.maximum(row + 1 + k_count - q_count, 0) // BN)
    steps = tl.maximum(tl.cdiv(end, BN), 1)
    return steps, tl.maximum(steps - whole, 1)


@triton.jit
def masked(scores, row, column, q_count, k_count, CAUSAL: tl.constexpr):
    """Return scores with those behind the end, or behind the diagonal, at minus infinity."""
    # The limit changes and the columns do not: compared the other way round, 32 columns would stay in registers.
    limit = k_count - column
    if CAUSAL:
        diagonal = row - column + k_count - q_count + 1 + tl.arange(0, scores.shape[0])
        limit = tl.minimum(limit, diagonal)[:, None]
    return tl.where(tl.arange(0, scores.shape[1])[None, :] < limit, scores, float("-inf"))


@triton.jit
def softmax_step(scores, top, total, scale):
    """Return powers of two of the scores, the factor of what was summed up before, and the new maxima and sums."""
    new = tl.maximum(top, tl.max(scores, 1))
    # Of a row without any key so far the maximum is minus infinity, and a difference of two of them no number.
    base = tl.where(new == float("-inf"), 0.0, new) * scale
    factor = tl.math.exp2(top * scale - base)
    powers = tl.math.exp2(scores * scale - base[:, None])
    return powers, factor, new, total * factor + tl.sum(powers, 1)


@triton.jit
def store_rows(desc, out, tile, value, row, column, stride, left):
    """Store the first ``left`` rows of a tile, which is free; rows behind may be those of another sequence."""
    tlx.local_store(tile, value)
    if left >= value.shape[0]:
        tlx.fence_async_shared()
        tlx.async_descriptor_store(desc, tile, [row, column])
    else:
        rows = tl.arange(0, value.shape[0])[:, None]
        cells = rows * stride + tl.arange(0, value.shape[1])[None, :]
        tl.store(out + (row.to(tl.int64) * stride + column) + cells, tlx.local_load(tile), mask=rows < left)


@triton.jit
def announce(work, work_full, work_empty, number, block, head):
    """Tell the other tasks what the next tile is; a negative block tells them that there is none."""
    slot, phase = tlx.get_bufidx_phase(number, 2)
    tlx.barrier_wait(work_empty[slot], phase ^ 1)
    tlx.local_store(work[2 * slot], tl.full((1,), block, tl.int32))
    tlx.local_store(work[2 * slot + 1], tl.full((1,), head, tl.int32))
    tlx.barrier_arrive(work_full[slot])


@triton.jit
def take(work, work_full, work_empty, number):
    """Return the block and head of the next tile."""
    slot, phase = tlx.get_bufidx_phase(number, 2)
    tlx.barrier_wait(work_full[slot], phase)
    block = tl.max(tlx.local_load(work[2 * slot]), 0)
    head = tl.max(tlx.local_load(work[2 * slot + 1]), 0)
    tlx.barrier_arrive(work_empty[slot])
    return block, head


@triton.jit
def consume(
    q_tiles, o_tiles, k_tiles, v_tiles, work, q_full, q_empty, k_full, k_empty, v_full, v_empty, work_full, work_empty,
    o, out, lse, q_starts, k_starts, q_size, k_size, heads, scale,
    group: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr,
    Q_SLOTS: tl.constexpr, CAUSAL: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """Attend with the rows of a group of each tile.

    The softmax of a task overlaps with the products of the other one and not with its own. Held behind a branch, which
    the assembler moves no wait across, it did that too, and an H200 was 4 % slower. Queries in registers, and rounding
    and rescaling behind the start of the next product, were up to 5 % slower.
    """
    DTYPE: tl.constexpr = o.dtype
    ROWS: tl.constexpr = BM // GROUPS
    # Barrier 15 - g gives group g its turn on the tensor cores, of 128 threads that wait and 128 that arrive.
    own: tl.constexpr = 15 - group
    other: tl.constexpr = 14 + group
    step = 0
    number = 0
    if group == GROUPS - 1:
        tlx.named_barrier_arrive(15, 256)
    block, head = take(work, work_full, work_empty, 0)
    lowest = tl.full((ROWS,), float("-inf"), tl.float32)
    nothing = tl.zeros((ROWS,), tl.float32)
    top = lowest
    total = nothing
    p = tl.zeros((ROWS, BN), DTYPE)
    if block >= 0:
        _, q_count = extent(head // heads, q_size, q_starts, PACKED)
        _, k_count = extent(head // heads, k_size, k_starts, PACKED)
        steps, _ = steps_of(block * BM, q_count, k_count, BM, BN, CAUSAL)
        tlx.barrier_wait(q_full[group], 0)
        tlx.barrier_wait(k_full[0], 0)
        tlx.named_barrier_wait(own, 256)
        scores = tlx.async_dot(q_tiles[group], tlx.local_trans(k_tiles[0]))
        tlx.named_barrier_arrive(other, 256)
        scores = tlx.async_dot_wait(0, scores)
        tlx.barrier_arrive(k_empty[0])
        scores = masked(scores, block * BM + group * ROWS, (steps - 1) * BN, q_count, k_count, CAUSAL)
        powers, factor, top, total = softmax_step(scores, lowest, nothing, scale)
        p = powers.to(DTYPE)
    while block >= 0:
        q_first, q_count = extent(head // heads, q_size, q_starts, PACKED)
        _, k_count = extent(head // heads, k_size, k_starts, PACKED)
        row = block * BM + group * ROWS
        steps, edges = steps_of(block * BM, q_count, k_count, BM, BN, CAUSAL)
        q_slot = number % Q_SLOTS * GROUPS + group
        acc = tl.zeros((ROWS, D), tl.float32)
        for part in tl.static_range(2):
            # Blocks with a mask come first, then those without.
            for i in range(1 if part == 0 else edges, edges if part == 0 else steps):
                last = step % STAGES
                slot, phase = tlx.get_bufidx_phase(step + 1, STAGES)
                tlx.barrier_wait(k_full[slot], phase)
                tlx.named_barrier_wait(own, 256)
                scores = tlx.async_dot(q_tiles[q_slot], tlx.local_trans(k_tiles[slot]))
                tlx.barrier_wait(v_full[last], (step // STAGES) & 1)
                acc = tlx.async_dot(p, v_tiles[last], acc)
                tlx.named_barrier_arrive(other, 256)
                scores = tlx.async_dot_wait(1, scores)
                tlx.barrier_arrive(k_empty[slot])
                if part == 0:
                    scores = masked(scores, row, (steps - 1 - i) * BN, q_count, k_count, CAUSAL)
                powers, factor, top, total = softmax_step(scores, top, total, scale)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(v_empty[last])
                acc = acc * factor[:, None]
                p = powers.to(DTYPE)
                step += 1
        tlx.barrier_arrive(q_empty[q_slot])
        number += 1
        rows = row + tl.arange(0, ROWS)
        if PACKED:
            q_at = head % heads * q_size + q_first
            o_row = q_first + row
            o_column = head % heads * D
            stride = heads * D
        else:
            q_at = head * q_size
            o_row = head * q_size + row
            o_column = 0
            stride = D
        tl.store(lse + q_at + rows, (top * scale + tl.math.log2(total)) * _LN_2, mask=rows < q_count)
        inverse = 1 / tl.where(total == 0, 1, total)

        block, next_head = take(work, work_full, work_empty, number)
        last = step % STAGES
        if block >= 0:
            # The first block of the next tile goes with the last values of this one.
            _, q_next = extent(next_head // heads, q_size, q_starts, PACKED)
            _, k_next = extent(next_head // heads, k_size, k_starts, PACKED)
            steps, _ = steps_of(block * BM, q_next, k_next, BM, BN, CAUSAL)
            q_slot, phase = tlx.get_bufidx_phase(number, Q_SLOTS)
            tlx.barrier_wait(q_full[q_slot * GROUPS + group], phase)
            slot, phase = tlx.get_bufidx_phase(step + 1, STAGES)
            tlx.barrier_wait(k_full[slot], phase)
            tlx.named_barrier_wait(own, 256)
            scores = tlx.async_dot(q_tiles[q_slot * GROUPS + group], tlx.local_trans(k_tiles[slot]))
            tlx.barrier_wait(v_full[last], (step // STAGES) & 1)
            acc = tlx.async_dot(p, v_tiles[last], acc)
            tlx.named_barrier_arrive(other, 256)
            scores = tlx.async_dot_wait(1, scores)
            tlx.barrier_arrive(k_empty[slot])
            scores = masked(scores, block * BM + group * ROWS, (steps - 1) * BN, q_next, k_next, CAUSAL)
            powers, factor, top, total = softmax_step(scores, lowest, nothing, scale)
            acc = tlx.async_dot_wait(0, acc)
            p = powers.to(DTYPE)
        else:
            tlx.barrier_wait(v_full[last], (step // STAGES) & 1)
            acc = tlx.async_dot(p, v_tiles[last], acc)
            acc = tlx.async_dot_wait(0, acc)
        tlx.barrier_arrive(v_empty[last])
        step += 1
        result = (acc * inverse[:, None]).to(DTYPE)
        tlx.async_descriptor_store_wait(0)
        store_rows(o, out, o_tiles[group], result, o_row, o_column, stride, q_count - row)
        head = next_head
    tlx.async_descriptor_store_wait(0)
    if group == 0:
        # The last turn, which nobody takes.
        tlx.named_barrier_wait(15, 256)


@triton.jit(do_not_specialize=_SIZES)
def forward(
    q,
    k,
    v,
    o,
    out,
    lse,
    q_starts,
    k_starts,
    q_size,
    k_size,
    blocks,
    tiles,
    heads,
    shared,
    section,
    scale,
    counter,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    STAGES: tl.constexpr,
    Q_SLOTS: tl.constexpr,
    CAUSAL: tl.constexpr,
    PACKED: tl.constexpr,
):
    """Attend with ``tiles`` tiles of BM queries, those of one task in blocks of BM / GROUPS rows.

    ``shared`` heads share keys and values; ``scale`` is that of the scores times log2(e).
    """
    DTYPE: tl.constexpr = q.dtype
    ROWS: tl.constexpr = BM // GROUPS
    q_tiles = tlx.local_alloc((ROWS, D), DTYPE, Q_SLOTS * GROUPS)
    o_tiles = tlx.local_alloc((ROWS, D), DTYPE, GROUPS)
    k_tiles = tlx.local_alloc((BN, D), DTYPE, STAGES)
    v_tiles = tlx.local_alloc((BN, D), DTYPE, STAGES)
    work = tlx.local_alloc((1,), tl.int32, 4)
    q_full = tlx.alloc_barriers(Q_SLOTS * GROUPS)
    q_empty = tlx.alloc_barriers(Q_SLOTS * GROUPS)
    k_full = tlx.alloc_barriers(STAGES)
    k_empty = tlx.alloc_barriers(STAGES, arrive_count=GROUPS)
    v_full = tlx.alloc_barriers(STAGES)
    v_empty = tlx.alloc_barriers(STAGES, arrive_count=GROUPS)
    work_full = tlx.alloc_barriers(2)
    work_empty = tlx.alloc_barriers(2, arrive_count=GROUPS + 1)
    batch_heads = tiles // blocks

    with tlx.async_tasks():
        with tlx.async_task("default"):
            consume(
                q_tiles, o_tiles, k_tiles, v_tiles, work, q_full, q_empty, k_full, k_empty, v_full, v_empty,
                work_full, work_empty, o, out, lse, q_starts, k_starts, q_size, k_size, heads, scale,
                0, D, BM, BN, STAGES, Q_SLOTS, CAUSAL, PACKED,
            )  # fmt: skip
        with tlx.async_task(num_warps=4, num_regs=_REGISTERS):
            consume(
                q_tiles, o_tiles, k_tiles, v_tiles, work, q_full, q_empty, k_full, k_empty, v_full, v_empty,
                work_full, work_empty, o, out, lse, q_starts, k_starts, q_size, k_size, heads, scale,
                1, D, BM, BN, STAGES, Q_SLOTS, CAUSAL, PACKED,
            )  # fmt: skip
        with tlx.async_task(num_warps=1, num_regs=24):
            tile = tl.program_id(0)
            number = 0
            while tile < tiles:
                block, head = place_of(tile, blocks, batch_heads, section)
                q_first, q_count = extent(head // heads, q_size, q_starts, PACKED)
                if block * BM < q_count:
                    announce(work, work_full, work_empty, number, block, head)
                    if PACKED:
                        q_row = q_first + block * BM
                        q_column = head % heads * D
                    else:
                        q_row = head * q_size + block * BM
                        q_column = 0
                    slot = number % Q_SLOTS
                    for g in tl.static_range(GROUPS):
                        part = slot * GROUPS + g
                        tlx.barrier_expect_bytes(q_full[part], ROWS * D * 2)
                        tlx.async_descriptor_load(q, q_tiles[part], [q_row + g * ROWS, q_column], q_full[part])
                    number += 1
                    # A tile is drawn when there is room for its queries, and not earlier than that.
                    slot, phase = tlx.get_bufidx_phase(number, Q_SLOTS)
                    for g in tl.static_range(GROUPS):
                        tlx.barrier_wait(q_empty[slot * GROUPS + g], phase ^ 1)
                drawn = tl.atomic_add(counter, 1, sem="relaxed")
                # All programs together draw once for each tile, so this is the last one and leaves it for the next.
                if drawn == tiles - 1:
                    tl.store(counter, 0)
                tile = tl.num_programs(0) + drawn
            announce(work, work_full, work_empty, number, -1, 0)

        with tlx.async_task(num_warps=1, num_regs=24):
            number = 0
            step = 0
            block, head = take(work, work_full, work_empty, 0)
            while block >= 0:
                _, q_count = extent(head // heads, q_size, q_starts, PACKED)
                k_first, k_count = extent(head // heads, k_size, k_starts, PACKED)
                if PACKED:
                    k_column = head % heads // shared * D
                else:
                    k_first = head // shared * k_size
                    k_column = 0
                steps, _ = steps_of(block * BM, q_count, k_count, BM, BN, CAUSAL)
                for i in range(steps):
                    at = k_first + (steps - 1 - i) * BN
                    slot, phase = tlx.get_bufidx_phase(step, STAGES)
                    tlx.barrier_wait(k_empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(k_full[slot], BN * D * 2)
                    tlx.async_descriptor_load(k, k_tiles[slot], [at, k_column], k_full[slot])
                    tlx.barrier_wait(v_empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(v_full[slot], BN * D * 2)
                    tlx.async_descriptor_load(v, v_tiles[slot], [at, k_column], v_full[slot])
                    step += 1
                number += 1
                block, head = take(work, work_full, work_empty, number)


@triton.jit
def never(step):
    """Return 0 in a way that the compiler does not see.

    Addresses of tiles that never change would otherwise be computed before the loop and stay in some 40 registers.
    """
    return step >> 30


@triton.jit
def interleaved(values):
    """Swap the middle two of the digits 4, 4 and 2 of the last dimension, which a second call swaps back.

    A product leaves pairs of neighbours to four threads each. In this order the eight values that a thread has of 32
    are neighbours, so that it stores 16 bytes at once, and the threads that store together hit different banks.
    """
    LAST: tl.constexpr = values.shape[len(values.shape) - 1]
    ROWS: tl.constexpr = values.numel // LAST
    digits = tl.reshape(values, (ROWS, LAST // 32, 4, 4, 2))
    return tl.reshape(tl.permute(digits, (0, 1, 3, 2, 4)), values.shape)


@triton.jit
def start_query_gradient(k_tiles, ds_tiles, before, zero, group: tl.constexpr):
    """Start the product for one half of the columns of the gradient of a block of queries."""
    ROWS: tl.constexpr = k_tiles.shape[0]
    HALF: tl.constexpr = k_tiles.shape[1] // 2
    upper = tlx.local_slice(k_tiles[zero], [0, group * HALF], [ROWS, HALF])
    lower = tlx.local_slice(k_tiles[1 + zero], [0, group * HALF], [ROWS, HALF])
    part = tlx.async_dot(tlx.local_trans(ds_tiles[2 * before]), upper)
    return tlx.async_dot(tlx.local_trans(ds_tiles[2 * before + 1]), lower, part)


@triton.jit
def add_query_gradient(dq, dq_tile, part, row, column):
    """Add a half of a gradient in memory, by the copy engine."""
    tlx.async_descriptor_store_wait(0)
    tlx.local_store(dq_tile, interleaved(part))
    tlx.fence_async_shared()
    tlx.async_descriptor_store(dq, dq_tile, [row, column], store_reduce="add")


@triton.jit
def backward_step(
    scores,
    dk,
    dv,
    step,
    column,
    row,
    dq_row,
    dq_column,
    q_count,
    k_count,
    scale,
    dq,
    k_tiles,
    v_tiles,
    q_tiles,
    do_tiles,
    lse_tiles,
    delta_tiles,
    ds_tiles,
    dq_tiles,
    q_full,
    q_empty,
    do_full,
    do_empty,
    ds_full,
    group: tl.constexpr,
    Q_SLOTS: tl.constexpr,
    SLOTS: tl.constexpr,
    CAUSAL: tl.constexpr,
    EDGE: tl.constexpr,
):
    """Use a block of queries, whose transposed scores are given; return those of the next block and the new sums.

    The gradient of queries that is added is that of the block before, at ``dq_row`` and ``dq_column``. By now the other
    task has stored its half of what it takes, so that neither waits for the other.
    """
    ROWS: tl.constexpr = k_tiles.shape[0]
    HALF: tl.constexpr = k_tiles.shape[1] // 2
    BM: tl.constexpr = q_tiles.shape[0]
    DTYPE: tl.constexpr = tlx.dtype_of(do_tiles)
    q_slot = step % Q_SLOTS
    slot, phase = tlx.get_bufidx_phase(step, SLOTS)
    tlx.barrier_wait(do_full[slot], phase)
    dp = tlx.async_dot(v_tiles[group + never(step)], tlx.local_trans(do_tiles[slot]))
    powers = tl.math.exp2(scores * scale - tlx.local_load(lse_tiles[q_slot])[None, :])
    if EDGE:
        rows = tl.arange(0, ROWS)[:, None] + (column + group * ROWS)
        keep = rows < k_count
        if CAUSAL:
            keep = keep & (rows <= (tl.arange(0, BM) + (row + k_count - q_count))[None, :])
        powers = tl.where(keep, powers, 0.0)
    p = powers.to(DTYPE)
    dv = tlx.async_dot(p, do_tiles[slot], dv)
    delta = tlx.local_load(delta_tiles[slot])
    dp = tlx.async_dot_wait(1, dp)
    # The probabilities before rounding would take 32 registers more than there are.
    ds = (p.to(tl.float32) * (dp - delta[None, :])).to(DTYPE)
    # The queries ahead take the place of those of two steps ago. Once they are there, both tasks are through with that
    # step, and with the tile of the step before it, which is overwritten here.
    ahead, phase = tlx.get_bufidx_phase(step + 1, Q_SLOTS)
    tlx.barrier_wait(q_full[ahead], phase)
    ds_slot = (step + 1) % Q_SLOTS
    tlx.local_store(ds_tiles[2 * ds_slot + group], ds)
    tlx.fence_async_shared()
    dv = tlx.async_dot_wait(0, dv)
    tlx.barrier_arrive(ds_full[ds_slot])
    tlx.barrier_arrive(do_empty[slot])
    before, phase = tlx.get_bufidx_phase(step, Q_SLOTS)
    tlx.barrier_wait(ds_full[before], phase)
    part = start_query_gradient(k_tiles, ds_tiles, before, never(step), group)
    scores = tlx.async_dot(k_tiles[group + never(step)], tlx.local_trans(q_tiles[ahead]))
    dk = tlx.async_dot(ds, q_tiles[q_slot], dk)
    part = tlx.async_dot_wait(2, part)
    add_query_gradient(dq, dq_tiles[group + never(step)], part, dq_row, dq_column + group * HALF)
    scores = tlx.async_dot_wait(0, scores)
    dk = tlx.async_dot_wait(0, dk)
    tlx.barrier_arrive(q_empty[q_slot])
    return scores, dk, dv


@triton.jit(do_not_specialize=_SIZES)
def backward(
    q,
    k,
    v,
    do,
    dq,
    dk,
    dv,
    dk_out,
    dv_out,
    lse,
    delta,
    q_starts,
    k_starts,
    q_size,
    k_size,
    blocks,
    tiles,
    heads,
    shared,
    section,
    scale,
    factor,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    Q_SLOTS: tl.constexpr,
    SLOTS: tl.constexpr,
    CAUSAL: tl.constexpr,
    PACKED: tl.constexpr,
):
    """Compute gradients of BN keys and values, and add those of the queries, unscaled, to the fp32 tensor ``dq``.

    ``lse`` and ``delta`` are what :func:`prepare` makes; ``scale`` is that of the scores times log2(e), ``factor`` that
    without it.
    """
    DTYPE: tl.constexpr = q.dtype
    ROWS: tl.constexpr = BN // 2
    k_tiles = tlx.local_alloc((ROWS, D), DTYPE, 2)
    v_tiles = tlx.local_alloc((ROWS, D), DTYPE, 2)
    q_tiles = tlx.local_alloc((BM, D), DTYPE, Q_SLOTS)
    do_tiles = tlx.local_alloc((BM, D), DTYPE, SLOTS)
    ds_tiles = tlx.local_alloc((ROWS, BM), DTYPE, 2 * Q_SLOTS)
    dq_tiles = tlx.local_alloc((BM, D // 2), tl.float32, 2)
    lse_tiles = tlx.local_alloc((BM,), tl.float32, Q_SLOTS)
    delta_tiles = tlx.local_alloc((BM,), tl.float32, SLOTS)
    kv_full = tlx.alloc_barriers(1)
    # Bytes of a tile by the copy engine, and a vector by plain stores.
    q_full = tlx.alloc_barriers(Q_SLOTS, arrive_count=2)
    q_empty = tlx.alloc_barriers(Q_SLOTS, arrive_count=2)
    do_full = tlx.alloc_barriers(SLOTS, arrive_count=2)
    do_empty = tlx.alloc_barriers(SLOTS, arrive_count=2)
    ds_full = tlx.alloc_barriers(Q_SLOTS, arrive_count=2)

    heads_kv = heads // shared
    block, head_kv = place_of(tl.program_id(0), blocks, tiles // blocks, section)
    # The first keys are those that the most queries attend to.
    column = (blocks - 1 - block) * BN
    if PACKED:
        q_first, q_count = extent(head_kv // heads_kv, q_size, q_starts, PACKED)
        k_first, k_count = extent(head_kv // heads_kv, k_size, k_starts, PACKED)
        k_row = k_first + column
        k_column = head_kv % heads_kv * D
        k_stride = heads_kv * D
    else:
        q_first = head_kv * shared * q_size
        q_count = q_size
        k_count = k_size
        k_row = head_kv * k_size + column
        k_column = 0
        k_stride = D
    if column < k_count:
        end = tl.cdiv(q_count, BM)
        first = 0
        whole = 0
        if CAUSAL:
            first = tl.minimum(tl.maximum(column + q_count - k_count, 0) // BM, end)
            whole = tl.minimum(tl.cdiv(tl.maximum(column + BN - 1 + q_count - k_count, 0), BM), end)
        if column + BN > k_count:
            whole = end
        edges = tl.maximum(whole, first)

        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.barrier_expect_bytes(kv_full[0], 2 * BN * D * 2)
                for g in tl.static_range(2):
                    tlx.async_descriptor_load(k, k_tiles[g], [k_row + g * ROWS, k_column], kv_full[0])
                    tlx.async_descriptor_load(v, v_tiles[g], [k_row + g * ROWS, k_column], kv_full[0])
                rows = tl.arange(0, BM)
                step = 0
                for g in range(shared):
                    if PACKED:
                        head = head_kv % heads_kv * shared + g
                        q_row = q_first
                        q_column = head * D
                        q_at = head * q_size + q_first
                    else:
                        q_row = q_first + g * q_size
                        q_column = 0
                        q_at = q_row
                    for i in range(first, end):
                        at = i * BM
                        keep = rows < q_count - at
                        # Rows behind the end get the probability 0.
                        lse_rows = tl.load(lse + q_at + at + rows, mask=keep, other=float("inf"))
                        delta_rows = tl.load(delta + q_at + at + rows, mask=keep, other=0.0)
                        slot, phase = tlx.get_bufidx_phase(step, Q_SLOTS)
                        tlx.barrier_wait(q_empty[slot], phase ^ 1)
                        tlx.barrier_expect_bytes(q_full[slot], BM * D * 2)
                        tlx.async_descriptor_load(q, q_tiles[slot], [q_row + at, q_column], q_full[slot])
                        tlx.local_store(lse_tiles[slot], lse_rows)
                        tlx.barrier_arrive(q_full[slot])
                        slot, phase = tlx.get_bufidx_phase(step, SLOTS)
                        tlx.barrier_wait(do_empty[slot], phase ^ 1)
                        tlx.barrier_expect_bytes(do_full[slot], BM * D * 2)
                        tlx.async_descriptor_load(do, do_tiles[slot], [q_row + at, q_column], do_full[slot])
                        tlx.local_store(delta_tiles[slot], delta_rows)
                        tlx.barrier_arrive(do_full[slot])
                        step += 1
                # Each step starts the scores of the next one, also the last.
                slot, phase = tlx.get_bufidx_phase(step, Q_SLOTS)
                tlx.barrier_wait(q_empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(q_full[slot], BM * D * 2)
                tlx.async_descriptor_load(q, q_tiles[slot], [0, 0], q_full[slot])
                tlx.barrier_arrive(q_full[slot])

            with tlx.async_task(num_warps=4, num_regs=_REGISTERS, replicate=2):
                group: tl.constexpr = tlx.async_task_replica_id()
                dk_part = tl.zeros((ROWS, D), tl.float32)
                dv_part = tl.zeros((ROWS, D), tl.float32)
                tlx.barrier_wait(kv_full[0], 0)
                tlx.barrier_wait(q_full[0], 0)
                scores = tlx.async_dot(k_tiles[group], tlx.local_trans(q_tiles[0]))
                scores = tlx.async_dot_wait(0, scores)
                step = 0
                # The first step adds the gradient of a step before it, which is zero.
                tlx.local_store(ds_tiles[group], tl.zeros((ROWS, BM), DTYPE))
                tlx.fence_async_shared()
                tlx.barrier_arrive(ds_full[0])
                dq_row = q_first
                dq_column = 0
                if PACKED:
                    dq_column += head_kv % heads_kv * shared * D
                for g in range(shared):
                    o_row = q_first
                    o_column = 0
                    if PACKED:
                        o_column += (head_kv % heads_kv * shared + g) * D
                    else:
                        o_row += g * q_size
                    for part in tl.static_range(2):
                        # Blocks with a mask come first, then those without.
                        for i in range(first if part == 0 else edges, edges if part == 0 else end):
                            scores, dk_part, dv_part = backward_step(
                                scores, dk_part, dv_part, step, column, i * BM, dq_row, dq_column, q_count, k_count,
                                scale, dq, k_tiles, v_tiles, q_tiles, do_tiles, lse_tiles, delta_tiles, ds_tiles,
                                dq_tiles, q_full, q_empty, do_full, do_empty, ds_full, group, Q_SLOTS, SLOTS, CAUSAL,
                                part == 0
                            )  # fmt: skip
                            dq_row = o_row + i * BM
                            dq_column = o_column
                            step += 1
                slot, phase = tlx.get_bufidx_phase(step, Q_SLOTS)
                tlx.barrier_wait(ds_full[slot], phase)
                rest = start_query_gradient(k_tiles, ds_tiles, slot, 0, group)
                rest = tlx.async_dot_wait(0, rest)
                add_query_gradient(dq, dq_tiles[group], rest, dq_row, dq_column + group * (D // 2))
                # The other task reads this one's half of the keys until here.
                tlx.named_barrier_wait(15, 256)
                left = k_count - column - group * ROWS
                k_row += group * ROWS
                store_rows(dv, dv_out, v_tiles[group], dv_part.to(DTYPE), k_row, k_column, k_stride, left)
                store_rows(dk, dk_out, k_tiles[group], (dk_part * factor).to(DTYPE), k_row, k_column, k_stride, left)
                tlx.async_descriptor_store_wait(0)


@triton.jit(do_not_specialize=["count", "heads", "size"])
def prepare(
    out,
    do,
    lse,
    delta,
    lse2,
    total,
    count,
    heads,
    size,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    PACKED: tl.constexpr,
):
    """Sum up ``out * do`` over each row, and turn logarithms to base 2; rows without keys get plus infinity.

    Sums of gradients, in ``total``, start at zero.
    """
    # The last rows first, so that the first ones, where the next kernel begins, are the last to enter the cache.
    rows = (tl.num_programs(0) - 1 - tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
    keep = rows < count
    cells = rows.to(tl.int64)[:, None] * D + tl.arange(0, D)[None, :]
    left = tl.load(out + cells, mask=keep[:, None], other=0.0).to(tl.float32)
    right = tl.load(do + cells, mask=keep[:, None], other=0.0).to(tl.float32)
    tl.store(total + cells, tl.zeros((ROWS, D), tl.float32), mask=keep[:, None])
    # Rows of packed sequences lie by position and head, the sums by head and position.
    at = rows % heads * size + rows // heads if PACKED else rows
    logarithm = tl.load(lse + at, mask=keep, other=0.0)
    tl.store(delta + at, tl.sum(left * right, 1), mask=keep)
    tl.store(lse2 + at, tl.where(logarithm == float("-inf"), float("inf"), logarithm / _LN_2), mask=keep)


@triton.jit(do_not_specialize=["count"])
def finish(total, dq, factor, count, CELLS: tl.constexpr):
    """Scale and round the gradient of the queries, and put it in order."""
    # The last gradients are those that the cache still holds.
    cells = (tl.num_programs(0) - 1 - tl.program_id(0)).to(tl.int64) * CELLS + tl.arange(0, CELLS)
    value = tl.load(total + cells, mask=cells < count) * factor
    tl.store(dq + cells, interleaved(value).to(dq.dtype.element_ty), mask=cells < count)


@dataclass(frozen=True)
class Packed:
    """Where sequences start that lie behind each other.

    Args:
        q_starts: Starts of the queries and their end, int32, on the GPU.
        k_starts: The same of keys and values.
        q_longest: Length of the longest sequence of queries.
        k_longest: The same of keys.
    """

    q_starts: Any
    k_starts: Any
    q_longest: int
    k_longest: int


@dataclass(frozen=True)
class _Problem:
    """Sizes of a call: ``heads`` and the rest of queries, ``shared`` of which have keys in common."""

    batches: int
    heads: int
    shared: int
    q_size: int
    k_size: int
    q_longest: int
    k_longest: int
    dim: int

    @classmethod
    def of(cls, q: Any, k: Any, v: Any, packed: Packed | None) -> _Problem:
        rank = 3 if packed else 4
        if q.ndim != rank or k.ndim != rank or k.shape != v.shape:
            expected = "(total, heads, D)" if packed else "(batches, heads, N, D)"
            raise ValueError(f"expected q, k and v of shape {expected}, got {[tuple(x.shape) for x in (q, k, v)]}")
        if any(not x.is_contiguous() or x.dtype != q.dtype for x in (q, k, v)):
            raise ValueError("expected contiguous q, k and v of one type")
        if q.shape[-1] not in FORWARD or k.shape[-1] != q.shape[-1]:
            raise ValueError(f"expected a head size of {sorted(FORWARD)}, got {q.shape[-1]} and {k.shape[-1]}")
        if packed:
            batches, heads, heads_kv = packed.q_starts.numel() - 1, q.shape[1], k.shape[1]
            sizes = q.shape[0], k.shape[0], packed.q_longest, packed.k_longest
        else:
            batches, heads, heads_kv = q.shape[0], q.shape[1], k.shape[1]
            sizes = q.shape[2], k.shape[2], q.shape[2], k.shape[2]
        if heads % heads_kv:
            raise ValueError(f"expected heads of q to be a multiple of those of k, got {heads} and {heads_kv}")
        return cls(batches, heads, heads // heads_kv, *sizes, q.shape[-1])

    def describe(self, tensor: Any, rows: int, columns: int | None = None) -> Any:
        """Return a descriptor of the rows of all heads, or of all positions of packed sequences."""
        from triton.tools.tensor_descriptor import TensorDescriptor

        flat = tensor.view(-1, self.dim) if tensor.ndim == 4 else tensor.view(tensor.shape[0], -1)
        return TensorDescriptor.from_tensor(flat, [rows, columns or self.dim])


_counters: dict[tuple[Any, int], Any] = {}


def _counter(device: Any) -> Any:
    """Return a zero that a launch leaves zero; launches on one stream do not overlap."""
    import torch

    key = (device, torch.cuda.current_stream(device).cuda_stream)
    if key not in _counters:
        _counters[key] = torch.zeros(1, dtype=torch.int32, device=device)
    return _counters[key]


def _section(problem: _Problem, heads: int, rows: int, causal: bool) -> int:
    """Return how many heads are in flight: one, or for tiles of unequal length as many as the cache holds."""
    return max(1, min(heads, _CACHED_BYTES // (4 * problem.dim * rows))) if causal else 1


def attention(
    q: Any,
    k: Any,
    v: Any,
    causal: bool = False,
    scale: float | None = None,
    packed: Packed | None = None,
    **config: Any,
) -> tuple[Any, Any]:
    """Return attention and the logarithms of the sums of its rows, of torch tensors on a Hopper GPU.

    Args:
        q: Queries of shape (batches, heads, N, D), or (total, heads, D) when packed; fp16 or bf16, D 64 or 128.
        k: Keys, of as many heads or a divisor of that; of another length than q if need be.
        v: Values, like the keys.
        causal: Whether the last query attends to all keys, and each before it to one less.
        scale: Factor of the scores, positive; D ** -0.5 when None.
        packed: Where sequences start. A tile that reaches over an end multiplies rows of the next one by zero, so those
            have to be finite.
        config: Replaces values of FORWARD.

    Returns:
        The result, like q, and float32 of shape (batches, heads, N) or (heads, total). A query without keys gets zeros
        and minus infinity.

    Raises:
        ValueError: Shapes, types or scale are none of these.
    """
    import torch

    problem = _Problem.of(q, k, v, packed)
    scale = problem.dim**-0.5 if scale is None else scale
    if not scale > 0:
        raise ValueError(f"expected a positive scale, got {scale}")
    tile = {**FORWARD[problem.dim][0], **config}
    rows = tile["BM"] // GROUPS.value
    out = torch.empty_like(q)
    shape = (problem.heads, problem.q_size) if packed else q.shape[:3]
    lse = torch.empty(shape, device=q.device, dtype=torch.float32)
    blocks = triton.cdiv(problem.q_longest, tile["BM"])
    tiles = blocks * problem.batches * problem.heads
    if tiles == 0:
        return out, lse
    section = _section(problem, problem.batches * problem.heads, max(problem.k_longest // problem.shared, 1), causal)
    starts = (packed.q_starts, packed.k_starts) if packed else (lse, lse)
    forward[(min(tiles, _processors(q.device)),)](
        *(problem.describe(x, n) for x, n in ((q, rows), (k, tile["BN"]), (v, tile["BN"]), (out, rows))),
        out, lse, *starts, problem.q_size, problem.k_size, blocks, tiles, problem.heads, problem.shared, section,
        scale * _LOG2_E, _counter(q.device),
        D=problem.dim, CAUSAL=causal, PACKED=packed is not None, **tile, num_warps=4, enable_fp_fusion=True,
    )  # fmt: skip
    return out, lse


def _processors(device: Any) -> int:
    import torch

    return torch.cuda.get_device_properties(device).multi_processor_count


def attention_backward(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    causal: bool = False,
    scale: float | None = None,
    packed: Packed | None = None,
    **config: Any,
) -> tuple[Any, Any, Any]:
    """Return the gradients of q, k and v; those of q vary in their last bits from run to run, with the order of sums.

    Args:
        do: Gradient of the result, contiguous and like q.
        q: As of :func:`attention`, and so are the others.
        out: The result.
        lse: The logarithms that came with it.
        config: Replaces values of BACKWARD.

    Raises:
        ValueError: Shapes, types or scale are none of these.
    """
    import torch

    problem = _Problem.of(q, k, v, packed)
    if do.shape != q.shape or do.dtype != q.dtype or not do.is_contiguous():
        raise ValueError(f"expected a contiguous gradient like q, {tuple(q.shape)}, got {tuple(do.shape)}")
    scale = problem.dim**-0.5 if scale is None else scale
    tile = {**BACKWARD[problem.dim][0], **config}
    rows, half = tile["BN"] // 2, problem.dim // 2
    # The copy engine adds in fp32, in any order.
    total = torch.empty(q.shape, device=q.device, dtype=torch.float32)
    dq, dk, dv = (torch.empty_like(x) for x in (q, k, v))
    delta, lse2 = torch.empty_like(lse), torch.empty_like(lse)
    count = lse.numel()
    is_packed = packed is not None
    if count == 0 or k.numel() == 0:
        return dq.zero_(), dk.zero_(), dv.zero_()
    prepare[(triton.cdiv(count, 64),)](
        out, do, lse, delta, lse2, total, count, problem.heads, problem.q_size, D=problem.dim, ROWS=64, PACKED=is_packed
    )
    blocks = triton.cdiv(problem.k_longest, tile["BN"])
    heads = problem.batches * problem.heads // problem.shared
    section = _section(problem, heads, problem.q_longest * problem.shared, causal)
    starts = (packed.q_starts, packed.k_starts) if packed else (lse, lse)
    described = [problem.describe(x, n) for x, n in ((q, tile["BM"]), (k, rows), (v, rows), (do, tile["BM"]))]
    described += [problem.describe(total, tile["BM"], half), problem.describe(dk, rows), problem.describe(dv, rows)]
    backward[(blocks * heads,)](
        *described, dk, dv, lse2, delta, *starts, problem.q_size, problem.k_size, blocks, blocks * heads, problem.heads,
        problem.shared, section, scale * _LOG2_E, scale,
        D=problem.dim, CAUSAL=causal, PACKED=is_packed, **tile, num_warps=4, enable_fp_fusion=True,
    )  # fmt: skip
    finish[(triton.cdiv(q.numel(), 4096),)](total, dq, scale, q.numel(), CELLS=4096)
    return dq, dk, dv


_TAIL = (
    "q_starts=*i32, k_starts=*i32, q_size=i32, k_size=i32, blocks=i32, tiles=i32, heads=i32, shared=i32, section=i32"
)


def compile_forward(
    dim: int = 128,
    causal: bool = False,
    packed: bool = False,
    dtype: str = "fp16",
    target: str = "cuda:90",
    options: dict[str, Any] | None = None,
    **config: Any,
):
    """Return the forward kernel compiled for a target, on any machine; ``options`` are added to those of a launch."""
    tile = {**FORWARD[dim][0], **config}
    rows = tile["BM"] // GROUPS.value
    blocks = {"q": rows, "k": tile["BN"], "v": tile["BN"], "o": rows}
    text = ", ".join(f"{name}=tensordesc<{dtype}{[size, dim]}>" for name, size in blocks.items())
    text += f", out=*{dtype}:16, lse=*fp32:16, {_TAIL}, scale=fp32, counter=*i32:16"
    constants = {**tile, "D": dim, "CAUSAL": causal, "PACKED": packed}
    options = {"num_warps": 4, "enable_fp_fusion": True} | (options or {})
    return Specialization(forward, parse_signature(text), constants, options).compile(target)


def compile_backward(
    dim: int = 128,
    causal: bool = False,
    packed: bool = False,
    dtype: str = "fp16",
    target: str = "cuda:90",
    options: dict[str, Any] | None = None,
    **config: Any,
):
    """Return the backward kernel compiled for a target, on any machine; ``options`` are added to those of a launch."""
    tile = {**BACKWARD[dim][0], **config}
    rows = tile["BN"] // 2
    blocks = {"q": tile["BM"], "k": rows, "v": rows, "do": tile["BM"], "dq": tile["BM"], "dk": rows, "dv": rows}
    kinds = {name: ("fp32", dim // 2) if name == "dq" else (dtype, dim) for name in blocks}
    text = ", ".join(f"{name}=tensordesc<{kinds[name][0]}{[size, kinds[name][1]]}>" for name, size in blocks.items())
    text += f", dk_out=*{dtype}:16, dv_out=*{dtype}:16, lse=*fp32:16, delta=*fp32:16, {_TAIL}, scale=fp32, factor=fp32"
    constants = {**tile, "D": dim, "CAUSAL": causal, "PACKED": packed}
    options = {"num_warps": 4, "enable_fp_fusion": True} | (options or {})
    return Specialization(backward, parse_signature(text), constants, options).compile(target)


def main() -> None:
    for name, kernel in (("forward", compile_forward()), ("backward", compile_backward())):
        for what, pattern in (
            ("tile copies", r"cp\.async\.bulk\.tensor\.2d\.shared"),
            ("tile stores", r"cp\.async\.bulk\.tensor\.2d\.global"),
            ("tile sums", r"cp\.reduce\.async\.bulk\.tensor\.2d\.global"),
            ("MMA instructions", r"wgmma\.mma_async"),
            ("register budgets", r"setmaxnreg"),
        ):
            print(f"{name + ', ' + what:28}{len(re.findall(pattern, kernel.asm['ptx'])):4}")
    if (reason := gpu_missing()) is not None:
        print(f"numbers not compared: {reason}")
        return
    import torch

    q, k, v, do = (torch.randn((2, 8, 1000, 128), device="cuda", dtype=torch.float16) for _ in range(4))
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=True)
    expected.backward(do.double())
    out, lse = attention(q, k, v, causal=True)
    results = [out, *attention_backward(do, q, k, v, out, lse, causal=True)]
    for name, found, wanted in zip(("out", "dq", "dk", "dv"), results, [expected, *(x.grad for x in wide)]):
        print(f"largest error of {name + ', 1000x1000 causal':24}{(found.double() - wanted).abs().max().item():9.2e}")


if __name__ == "__main__":
    main()
