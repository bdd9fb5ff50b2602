"""A tuned persistent GEMM for Hopper: cooperative or ping-pong consumers, epilogues, 16-bit and 8-bit operands.

python hopper_gemm.py

One task copies tiles into a ring of slots, one or two tasks multiply them, and each stores its result in parts, so that
its staging memory is small:

- *cooperative*: both consumers compute a half of the rows of the same tile. The second starts some steps behind the
  first, so that one multiplies while the other stores.
- *ping-pong*: each consumer computes whole tiles of its own, in turns, and stores while the other multiplies.
- *split*: several programs share the K of a tile, and the last of them adds up what the others leave in global memory.
- *clusters*, with each of these: two blocks compute tiles beside each other. Of what both read, each copies a half, to
  both (TMA multicast).

``matmul`` chooses a configuration by shape. On a machine without a Hopper GPU the script shows the machine code.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import triton
import triton.language as tl

import tritonext_tlx as tlx
from tritonext.inspect_code import stats
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import gpu_missing
from tritonext_tlx.cluster import launched_as

__all__ = [
    "CONFIGS",
    "Config",
    "add_bias",
    "choose",
    "compile_for",
    "gemm",
    "matmul",
    "plain",
    "prepare",
    "scale",
    "silu",
]


@triton.jit
def plain(part, row, column, M, N, x, y):
    """Epilogue that changes nothing.

    An epilogue gets a part of the product in fp32, the row and column of its first element, the sizes of the product
    and two pointers of its own, and returns what is stored.
    """
    return part


@triton.jit
def add_bias(part, row, column, M, N, x, y):
    """Epilogue that adds x[N] to each row."""
    columns = column + tl.arange(0, part.shape[1])
    return part + tl.load(x + columns, mask=columns < N, other=0).to(tl.float32)[None, :]


@triton.jit
def silu(part, row, column, M, N, x, y):
    """Epilogue that computes SiLU."""
    return part * tl.sigmoid(part)


@triton.jit
def scale(part, row, column, M, N, x, y):
    """Epilogue that multiplies each row by x[M] and each column by y[N]: operands that were scaled to 8 bits."""
    rows, columns = row + tl.arange(0, part.shape[0]), column + tl.arange(0, part.shape[1])
    by_row = tl.load(x + rows, mask=rows < M, other=0)
    by_column = tl.load(y + columns, mask=columns < N, other=0)
    return part * by_row[:, None] * by_column[None, :]


@triton.jit
def tile_of(tile, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP_M: tl.constexpr):
    """Return where a tile starts; neighbours share rows of A and columns of B in the cache."""
    rows = tl.cdiv(m, BM)
    band = GROUP_M * tl.cdiv(n, BN)
    first = tile // band * GROUP_M
    height = min(rows - first, GROUP_M)
    return (first + tile % band % height) * BM, tile % band // height * BN


@triton.jit
def place(CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr):
    """Return the number of the cluster, how many there are, and the row and column of this block in it."""
    BLOCKS: tl.constexpr = CLUSTER_M * CLUSTER_N
    rank = tlx.cluster_cta_rank() if BLOCKS > 1 else 0
    return tl.program_id(0) // BLOCKS, tl.num_programs(0) // BLOCKS, rank % CLUSTER_M, rank // CLUSTER_M


@triton.jit
def corner(
    work, M, N, down, across, BM: tl.constexpr, BN: tl.constexpr, GROUP_M: tl.constexpr, SPLIT: tl.constexpr,
    CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr,
):  # fmt: skip
    """Return where this block's tile starts in a piece of work of its cluster."""
    row, column = tile_of(work // SPLIT, M, N, BM * CLUSTER_M, BN * CLUSTER_N, GROUP_M)
    return row + down * BM, column + across * BN


@triton.jit
def works(M, N, BM: tl.constexpr, BN: tl.constexpr, SPLIT: tl.constexpr):
    """Return the number of pieces of work: tiles of a cluster, each with its K cut into SPLIT pieces."""
    return tl.cdiv(M, BM) * tl.cdiv(N, BN) * SPLIT


@triton.jit
def keep(pointer, part):
    """Store a part of an accumulator for :func:`add_kept`, in whatever layout it has: two neighbours at a time."""
    at = tl.arange(0, part.shape[0])[:, None] * part.shape[1] + tl.arange(0, part.shape[1])[None, :]
    tl.inline_asm_elementwise(
        "st.global.cg.v2.f32 [$2], {$4, $5}; mov.b32 $0, 0; mov.b32 $1, 0;",
        "=r,=r,l,l,f,f",
        [pointer + at, part],
        dtype=tl.int32,
        is_pure=False,
        pack=2,
    )


@triton.jit
def add_kept(pointer, part):
    """Return the sum with what :func:`keep` stored of a part with the same layout, read past the first-level cache."""
    at = tl.arange(0, part.shape[0])[:, None] * part.shape[1] + tl.arange(0, part.shape[1])[None, :]
    # A load alone would get a layout of its own, and the way to that of the accumulator leads through shared memory.
    return tl.inline_asm_elementwise(
        "{ .reg .f32 u, v; ld.global.cg.v2.f32 {u, v}, [$2]; add.f32 $0, $4, u; add.f32 $1, $5, v; }",
        "=f,=f,l,l,f,f",
        [pointer + at, part],
        dtype=tl.float32,
        is_pure=False,
        pack=2,
    )


@triton.jit
def halves(x):
    """Split a matrix into its left and right columns, which is no work: both are registers of the same threads."""
    return x.reshape(x.shape[0], 2, x.shape[1] // 2).permute(0, 2, 1).split()


@triton.jit
def copy_blocks(
    desc, tile, row, column, bar, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr, BLOCKS: tl.constexpr
):
    """Start the copy of a tile that is one block of its descriptor, or two along an axis."""
    for block in tl.static_range(BLOCKS):
        part = tlx.local_slice(tile, [block * ROWS * (1 - AXIS), block * COLUMNS * AXIS], [ROWS, COLUMNS])
        at = [row + block * ROWS * (1 - AXIS), column + block * COLUMNS * AXIS]
        tlx.async_descriptor_load(desc, part, at, bar)


@triton.jit
def copy(
    a, b, a_tiles, b_tiles, full, slot, row, column, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    PARTS: tl.constexpr, CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr, TRANS_B: tl.constexpr,
):  # fmt: skip
    """Start the copies of a tile of A, which is in PARTS parts, and of B."""
    ROWS: tl.constexpr = BM // PARTS
    BLOCKS: tl.constexpr = CLUSTER_N if PARTS == 1 else 1
    bar = full[slot]
    tlx.barrier_expect_bytes(bar, (BM + BN) * BK * tlx.size_of(tlx.dtype_of(a)))
    for part in tl.static_range(PARTS):
        tile = a_tiles[slot * PARTS + part]
        copy_blocks(a, tile, row + part * ROWS, k, bar, ROWS // BLOCKS, BK, 0, BLOCKS)
    if TRANS_B:
        copy_blocks(b, b_tiles[slot], column, k, bar, BN // CLUSTER_M, BK, 0, CLUSTER_M)
    else:
        copy_blocks(b, b_tiles[slot], k, column, bar, BK, BN // CLUSTER_M, 1, CLUSTER_M)


@triton.jit
def copy_half(
    desc, tile, half, row, column, bar, first, second, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr
):
    """Start the copy of a half of a tile, cut along an axis, to two blocks of the cluster."""
    DOWN: tl.constexpr = ROWS * (1 - AXIS)
    ACROSS: tl.constexpr = COLUMNS * AXIS
    if half == 0:
        part = tlx.local_slice(tile, [0, 0], [ROWS, COLUMNS])
    else:
        part = tlx.local_slice(tile, [DOWN, ACROSS], [ROWS, COLUMNS])
    at = [row + half * DOWN, column + half * ACROSS]
    tlx.async_descriptor_load(desc, part, at, bar, multicast_targets=(first, second))


@triton.jit
def copy_shared(
    a, b, a_tiles, b_tiles, full, slot, row, column, k, down, across, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, PARTS: tl.constexpr, CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr, TRANS_B: tl.constexpr,
):  # fmt: skip
    """Do what :func:`copy` does, but of what two blocks of the cluster share start a half, for both."""
    ROWS: tl.constexpr = BM // PARTS
    bar = full[slot]
    # With what the other block copies here.
    tlx.barrier_expect_bytes(bar, (BM + BN) * BK * tlx.size_of(tlx.dtype_of(a)))
    if CLUSTER_N == 1:
        for part in tl.static_range(PARTS):
            tlx.async_descriptor_load(a, a_tiles[slot * PARTS + part], [row + part * ROWS, k], bar)
    elif PARTS == 1:
        copy_half(a, a_tiles[slot], across, row, k, bar, down, down + CLUSTER_M, BM // 2, BK, 0)
    else:
        part = a_tiles[slot * PARTS + across]
        at = [row + across * ROWS, k]
        tlx.async_descriptor_load(a, part, at, bar, multicast_targets=(down, down + CLUSTER_M))
    if TRANS_B:
        if CLUSTER_M == 1:
            tlx.async_descriptor_load(b, b_tiles[slot], [column, k], bar)
        else:
            copy_half(b, b_tiles[slot], down, column, k, bar, 2 * across, 2 * across + 1, BN // 2, BK, 0)
    else:
        if CLUSTER_M == 1:
            tlx.async_descriptor_load(b, b_tiles[slot], [k, column], bar)
        else:
            copy_half(b, b_tiles[slot], down, k, column, bar, 2 * across, 2 * across + 1, BK, BN // 2, 1)


@triton.jit
def fill(
    a, b, a_tiles, b_tiles, full, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr,
    STAGES: tl.constexpr, PARTS: tl.constexpr, SPLIT: tl.constexpr, CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr,
    TRANS_B: tl.constexpr,
):  # fmt: skip
    """Start the first copies, as many as the ring has slots. Other blocks of the cluster may not have started yet."""
    work, _, down, across = place(CLUSTER_M, CLUSTER_N)
    if work < works(M, N, BM * CLUSTER_M, BN * CLUSTER_N, SPLIT):
        row, column = corner(work, M, N, down, across, BM, BN, GROUP_M, SPLIT, CLUSTER_M, CLUSTER_N)
        steps = tl.cdiv(tl.cdiv(K, BK), SPLIT)
        first = work % SPLIT * steps * BK
        for step in range(min(steps, STAGES)):
            copy(
                a, b, a_tiles, b_tiles, full, step, row, column, first + step * BK,
                BM, BN, BK, PARTS, CLUSTER_M, CLUSTER_N, TRANS_B,
            )  # fmt: skip


@triton.jit
def produce(
    a,
    b,
    a_tiles,
    b_tiles,
    full,
    empty,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
    PARTS: tl.constexpr,
    SPLIT: tl.constexpr,
    CLUSTER_M: tl.constexpr,
    CLUSTER_N: tl.constexpr,
    TRANS_B: tl.constexpr,
):
    """Go on with the copies that :func:`fill` has started."""
    start, stride, down, across = place(CLUSTER_M, CLUSTER_N)
    steps = tl.cdiv(tl.cdiv(K, BK), SPLIT)
    filled = min(steps, STAGES)
    step = 0
    for work in range(start, works(M, N, BM * CLUSTER_M, BN * CLUSTER_N, SPLIT), stride):
        row, column = corner(work, M, N, down, across, BM, BN, GROUP_M, SPLIT, CLUSTER_M, CLUSTER_N)
        # Past the last column of A and row of B come zeros, so the last piece is as long as the others.
        first = work % SPLIT * steps * BK
        for k in range(first, first + steps * BK, BK):
            if step >= filled:
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                # In a first round slots are empty: the phase before the first counts as complete.
                tlx.barrier_wait(empty[slot], phase ^ 1)
                if CLUSTER_M * CLUSTER_N == 1:
                    copy(
                        a, b, a_tiles, b_tiles, full, slot, row, column, k,
                        BM, BN, BK, PARTS, CLUSTER_M, CLUSTER_N, TRANS_B,
                    )  # fmt: skip
                else:
                    copy_shared(
                        a, b, a_tiles, b_tiles, full, slot, row, column, k, down, across,
                        BM, BN, BK, PARTS, CLUSTER_M, CLUSTER_N, TRANS_B,
                    )  # fmt: skip
            step += 1
    if CLUSTER_M * CLUSTER_N > 1:
        # The other block accesses this one until it has released all of its slots.
        for last in range(step, step + STAGES):
            slot, phase = tlx.get_bufidx_phase(last, STAGES)
            tlx.barrier_wait(empty[slot], phase ^ 1)


@triton.jit
def release(empty, down, across, CLUSTER_M: tl.constexpr, CLUSTER_N: tl.constexpr):
    """Say to all blocks that copy into a slot of this one that it may be filled."""
    tlx.barrier_arrive(empty)
    if CLUSTER_M == 2:
        tlx.barrier_arrive(empty, remote_cta_rank=across * CLUSTER_M + (down ^ 1))
    if CLUSTER_N == 2:
        tlx.barrier_arrive(empty, remote_cta_rank=(across ^ 1) * CLUSTER_M + down)


@triton.jit
def accumulate(
    a_tiles,
    b_tiles,
    full,
    empty,
    step,
    steps,
    ROWS: tl.constexpr,
    BN: tl.constexpr,
    STAGES: tl.constexpr,
    PARTS: tl.constexpr,
    PART: tl.constexpr,
    TRANS_B: tl.constexpr,
    CLUSTER_M: tl.constexpr = 1,
    CLUSTER_N: tl.constexpr = 1,
    down=0,
    across=0,
    following=None,
):
    """Add up the products of the next ``steps`` slots; return the sum, which the last may still write, and the step.

    ``following`` is the barrier of the consumer that multiplies next, who may start when the last slot is there: its
    first product then follows the last one without a gap.
    """
    acc = tl.zeros((ROWS, BN), tl.float32)
    for k in range(steps):
        slot, phase = tlx.get_bufidx_phase(step, STAGES)
        tlx.barrier_wait(full[slot], phase)
        if following is not None:  # noqa: SIM102 (a constant and a value)
            if k == steps - 1:
                tlx.barrier_arrive(following)
        b_tile = tlx.local_trans(b_tiles[slot]) if TRANS_B else b_tiles[slot]
        acc = tlx.async_dot(a_tiles[slot * PARTS + PART], b_tile, acc)
        # The product before this one has ended, so its slot may be filled.
        acc = tlx.async_dot_wait(1, acc)
        if k > 0:
            release(empty[(step - 1) % STAGES], down, across, CLUSTER_M, CLUSTER_N)
        step += 1
    return acc, step


@triton.jit
def store_part(
    c,
    staging,
    part,
    number: tl.constexpr,
    row,
    column,
    M,
    N,
    x,
    y,
    other,
    SIZE: tl.constexpr,
    STAGING: tl.constexpr,
    SPLIT: tl.constexpr,
    EPILOGUE: tl.constexpr,
):
    """Start the store of a part of a tile; ``other`` is where the other pieces of a split product are, SIZE apart."""
    slot: tl.constexpr = number % STAGING
    for piece in tl.static_range(SPLIT - 1):
        part = add_kept(other + piece * SIZE + number * part.shape[0] * part.shape[1], part)
    value = EPILOGUE(part, row, column + number * part.shape[1], M, N, x, y).to(tlx.dtype_of(staging))
    # The store that used the buffer before may still read it.
    tlx.async_descriptor_store_wait(STAGING - 1)
    tlx.local_store(staging[slot], value)
    tlx.fence_async_shared()
    tlx.async_descriptor_store(c, staging[slot], [row, column + number * part.shape[1]])


@triton.jit
def store_tile(
    c,
    staging,
    acc,
    row,
    column,
    M,
    N,
    x,
    y,
    other,
    SIZE: tl.constexpr,
    SUBTILE: tl.constexpr,
    STAGING: tl.constexpr,
    SPLIT: tl.constexpr,
    EPILOGUE: tl.constexpr,
):
    """Start the store of a tile, part by part."""
    if SUBTILE == 1:
        store_part(c, staging, acc, 0, row, column, M, N, x, y, other, SIZE, STAGING, SPLIT, EPILOGUE)
    else:
        left, right = halves(acc)
        if SUBTILE == 2:
            store_part(c, staging, left, 0, row, column, M, N, x, y, other, SIZE, STAGING, SPLIT, EPILOGUE)
            store_part(c, staging, right, 1, row, column, M, N, x, y, other, SIZE, STAGING, SPLIT, EPILOGUE)
        else:
            first, second = halves(left)
            third, fourth = halves(right)
            store_part(c, staging, first, 0, row, column, M, N, x, y, other, SIZE, STAGING, SPLIT, EPILOGUE)
            store_part(c, staging, second, 1, row, column, M, N, x, y, other, SIZE, STAGING, SPLIT, EPILOGUE)
            store_part(c, staging, third, 2, row, column, M, N, x, y, other, SIZE, STAGING, SPLIT, EPILOGUE)
            store_part(c, staging, fourth, 3, row, column, M, N, x, y, other, SIZE, STAGING, SPLIT, EPILOGUE)


@triton.jit
def keep_tile(other, acc, SUBTILE: tl.constexpr):
    """Leave a piece of a split product to the program that stores the tile, in the parts that it stores."""
    if SUBTILE == 1:
        keep(other, acc)
    else:
        left, right = halves(acc)
        if SUBTILE == 2:
            keep(other, left)
            keep(other + left.shape[0] * left.shape[1], right)
        else:
            first, second = halves(left)
            third, fourth = halves(right)
            SIZE: tl.constexpr = first.shape[0] * first.shape[1]
            keep(other, first)
            keep(other + SIZE, second)
            keep(other + 2 * SIZE, third)
            keep(other + 3 * SIZE, fourth)


@triton.jit
def consume(
    c,
    a_tiles,
    b_tiles,
    staging,
    full,
    empty,
    turn,
    M,
    N,
    K,
    x,
    y,
    partial,
    ready,
    GROUP: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
    GROUPS: tl.constexpr,
    PINGPONG: tl.constexpr,
    SKEW: tl.constexpr,
    SUBTILE: tl.constexpr,
    STAGING: tl.constexpr,
    SPLIT: tl.constexpr,
    CLUSTER_M: tl.constexpr,
    CLUSTER_N: tl.constexpr,
    TRANS_B: tl.constexpr,
    EPILOGUE: tl.constexpr,
):
    """Multiply the tiles of consumer number GROUP and store the results."""
    PARTS: tl.constexpr = 1 if PINGPONG else GROUPS
    PART: tl.constexpr = 0 if PINGPONG else GROUP
    ROWS: tl.constexpr = BM // PARTS
    start, stride, down, across = place(CLUSTER_M, CLUSTER_N)
    steps = tl.cdiv(tl.cdiv(K, BK), SPLIT)
    total = works(M, N, BM * CLUSTER_M, BN * CLUSTER_N, SPLIT)
    step = 0
    if PINGPONG:
        start += GROUP * stride
        stride *= GROUPS
        step = GROUP * steps
    elif GROUP > 0 and SKEW > 0:  # noqa: SIM102 (constants, decided by the compiler)
        # Slots come one after another, so this leaves the first steps to the other consumer. It cannot refill the slot,
        # so the phase stays the first.
        if start < total and steps > SKEW:
            tlx.barrier_wait(full[SKEW], 0)
    following = turn[(GROUP + 1) % GROUPS] if PINGPONG else None
    for work in range(start, total, stride):
        if PINGPONG:
            # The slots of the piece before have been waited for when its consumer hands over. A wait tells apart the
            # present phase of a slot and the one before, and no others.
            tlx.barrier_wait(turn[GROUP], (work // stride & 1) ^ (1 if GROUP == 0 else 0))
        acc, step = accumulate(
            a_tiles, b_tiles, full, empty, step, steps, ROWS, BN, STAGES, PARTS, PART, TRANS_B,
            CLUSTER_M, CLUSTER_N, down, across, following,
        )  # fmt: skip
        if PINGPONG and steps == 0:
            tlx.barrier_arrive(following)
        row, column = corner(work, M, N, down, across, BM, BN, GROUP_M, SPLIT, CLUSTER_M, CLUSTER_N)
        row += PART * ROWS
        acc = tlx.async_dot_wait(0, acc)
        if steps > 0:
            release(empty[(step - 1) % STAGES], down, across, CLUSTER_M, CLUSTER_N)
        if PINGPONG:
            step += steps * (GROUPS - 1)
        if SPLIT == 1:
            store_tile(c, staging, acc, row, column, M, N, x, y, None, 0, SUBTILE, STAGING, SPLIT, EPILOGUE)
        else:
            # The last piece is computed after the others, or beside them, and stores the tile.
            piece = work % SPLIT
            tile = work // SPLIT * (CLUSTER_M * CLUSTER_N) + across * CLUSTER_M + down
            marks = ready + (tile * PARTS + PART) * SPLIT
            other = partial + (tile * (SPLIT - 1)).to(tl.int64) * (BM * BN) + PART * ROWS * BN
            if piece < SPLIT - 1:
                keep_tile(other + piece * (BM * BN), acc, SUBTILE)
                tl.debug_barrier()
                tl.atomic_xchg(marks + piece, 1, sem="release")
            else:
                for before in tl.static_range(SPLIT - 1):
                    # Taking a mark leaves it as it was for the next launch.
                    while tl.atomic_cas(marks + before, 1, 0, sem="acquire") != 1:
                        pass
                store_tile(c, staging, acc, row, column, M, N, x, y, other, BM * BN, SUBTILE, STAGING, SPLIT, EPILOGUE)
    tlx.async_descriptor_store_wait(0)


@triton.jit
def gemm(
    a,
    b,
    c,
    M,
    N,
    K,
    x,
    y,
    partial,
    ready,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
    GROUPS: tl.constexpr,
    PINGPONG: tl.constexpr,
    SKEW: tl.constexpr,
    SUBTILE: tl.constexpr,
    STAGING: tl.constexpr,
    PRODUCER_WARPS: tl.constexpr,
    CONSUMER_REGISTERS: tl.constexpr,
    SPLIT: tl.constexpr,
    CLUSTER_M: tl.constexpr,
    CLUSTER_N: tl.constexpr,
    TRANS_B: tl.constexpr,
    EPILOGUE: tl.constexpr,
):
    """C = EPILOGUE(A @ B), from descriptors of the blocks that ``Config.blocks`` names."""
    PARTS: tl.constexpr = 1 if PINGPONG else GROUPS
    ROWS: tl.constexpr = BM // PARTS
    PRODUCER_REGISTERS: tl.constexpr = None if CONSUMER_REGISTERS is None else 40
    # The first copy would wait for its descriptor.
    tlx.prefetch(a, tensormap=True)
    tlx.prefetch(b, tensormap=True)
    a_tiles = tlx.local_alloc((ROWS, BK), tlx.dtype_of(a), STAGES * PARTS)
    b_tiles = tlx.local_alloc((BN, BK) if TRANS_B else (BK, BN), tlx.dtype_of(b), STAGES)
    full = tlx.alloc_barriers(STAGES)
    # Not by a task: tasks start later.
    fill(
        a, b, a_tiles, b_tiles, full, M, N, K,
        BM, BN, BK, GROUP_M, STAGES, PARTS, SPLIT, CLUSTER_M, CLUSTER_N, TRANS_B,
    )  # fmt: skip
    staging = tlx.local_alloc((ROWS, BN // SUBTILE), tlx.dtype_of(c), STAGING)
    if GROUPS == 2:
        staging_2 = tlx.local_alloc((ROWS, BN // SUBTILE), tlx.dtype_of(c), STAGING)
    empty = tlx.alloc_barriers(STAGES, arrive_count=PARTS * (CLUSTER_M + CLUSTER_N - 1))
    turn = tlx.alloc_barriers(GROUPS)

    with tlx.async_tasks(no_ending_cluster_sync=CLUSTER_M * CLUSTER_N > 1):
        with tlx.async_task("default"):
            if PRODUCER_WARPS == 4:
                produce(
                    a, b, a_tiles, b_tiles, full, empty, M, N, K,
                    BM, BN, BK, GROUP_M, STAGES, PARTS, SPLIT, CLUSTER_M, CLUSTER_N, TRANS_B,
                )  # fmt: skip
            else:
                consume(
                    c, a_tiles, b_tiles, staging, full, empty, turn, M, N, K, x, y, partial, ready,
                    0, BM, BN, BK, GROUP_M, STAGES, GROUPS, PINGPONG, SKEW, SUBTILE, STAGING, SPLIT,
                    CLUSTER_M, CLUSTER_N, TRANS_B, EPILOGUE,
                )  # fmt: skip
        if PRODUCER_WARPS == 4:
            with tlx.async_task(num_warps=4, num_regs=CONSUMER_REGISTERS):
                consume(
                    c, a_tiles, b_tiles, staging, full, empty, turn, M, N, K, x, y, partial, ready,
                    0, BM, BN, BK, GROUP_M, STAGES, GROUPS, PINGPONG, SKEW, SUBTILE, STAGING, SPLIT,
                    CLUSTER_M, CLUSTER_N, TRANS_B, EPILOGUE,
                )  # fmt: skip
        if GROUPS == 2:
            with tlx.async_task(num_warps=4, num_regs=CONSUMER_REGISTERS):
                consume(
                    c, a_tiles, b_tiles, staging_2, full, empty, turn, M, N, K, x, y, partial, ready,
                    1, BM, BN, BK, GROUP_M, STAGES, GROUPS, PINGPONG, SKEW, SUBTILE, STAGING, SPLIT,
                    CLUSTER_M, CLUSTER_N, TRANS_B, EPILOGUE,
                )  # fmt: skip
        if PRODUCER_WARPS == 1:
            with tlx.async_task(num_warps=1, num_regs=PRODUCER_REGISTERS):
                produce(
                    a, b, a_tiles, b_tiles, full, empty, M, N, K,
                    BM, BN, BK, GROUP_M, STAGES, PARTS, SPLIT, CLUSTER_M, CLUSTER_N, TRANS_B,
                )  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Tile and schedule of one compilation.

    Args:
        BM, BN, BK: Tile; of each consumer when PINGPONG, of both together otherwise.
        GROUP_M: Rows of tiles that are finished together.
        STAGES: Slots of the ring.
        GROUPS: Consumers, 1 or 2.
        PINGPONG: Whether consumers compute different tiles.
        SKEW: Steps that the second consumer of a tile starts behind the first.
        SUBTILE: Parts in which a tile is stored: 1, 2 or 4.
        STAGING: Buffers of a part for each consumer.
        PRODUCER_WARPS: 1, or 4: then the copies start sooner after the launch, and each costs barriers.
        CONSUMER_REGISTERS: Registers of a consumer's thread, taken from the producer; None when all have the same.
        SPLIT: Programs that share the K of a tile, where tiles are too few for all of them.
        CLUSTER_M: Blocks of a cluster along M, 1 or 2: two share what they read of B.
        CLUSTER_N: Blocks of a cluster along N, 1 or 2: two share what they read of A.
    """

    BM: int
    BN: int
    BK: int
    STAGES: int
    SUBTILE: int
    STAGING: int
    GROUPS: int = 2
    PINGPONG: bool = False
    SKEW: int = 0
    GROUP_M: int = 4
    PRODUCER_WARPS: int = 1
    CONSUMER_REGISTERS: int | None = None
    SPLIT: int = 1
    CLUSTER_M: int = 1
    CLUSTER_N: int = 1

    @property
    def cluster(self) -> int:
        """Return the number of blocks of a cluster."""
        return self.CLUSTER_M * self.CLUSTER_N

    def blocks(self, trans_b: bool) -> dict[str, list[int]]:
        """Return the blocks of the descriptors."""
        parts = 1 if self.PINGPONG else self.GROUPS
        columns = self.BN // self.CLUSTER_M
        b = [columns, self.BK] if trans_b else [self.BK, columns]
        a = [self.BM // max(parts, self.CLUSTER_N), self.BK]
        return {"a": a, "b": b, "c": [self.BM // parts, self.BN // self.SUBTILE]}

    def works(self, m: int, n: int) -> int:
        """Return the number of pieces of work of all blocks."""
        rows, columns = triton.cdiv(m, self.BM * self.CLUSTER_M), triton.cdiv(n, self.BN * self.CLUSTER_N)
        return rows * columns * self.cluster * self.SPLIT

    def __str__(self) -> str:
        kind = "ping-pong" if self.PINGPONG else "cooperative" if self.GROUPS == 2 else "single"
        split = f"-split{self.SPLIT}" if self.SPLIT > 1 else ""
        cluster = f"-c{self.CLUSTER_M}x{self.CLUSTER_N}" if self.cluster > 1 else ""
        return f"{self.BM}x{self.BN}x{self.BK}-s{self.STAGES}-{kind}-skew{self.SKEW}-g{self.GROUP_M}{split}{cluster}"


WIDE = Config(128, 256, 64, STAGES=4, SUBTILE=4, STAGING=2, SKEW=2, CONSUMER_REGISTERS=232)
TURNS = Config(128, 128, 64, STAGES=6, SUBTILE=2, STAGING=1, PINGPONG=True, CONSUMER_REGISTERS=232)
SMALL = Config(64, 128, 64, STAGES=8, SUBTILE=1, STAGING=1, GROUPS=1, PRODUCER_WARPS=4, GROUP_M=16)
SHARED = replace(WIDE, GROUP_M=8, CLUSTER_M=2)
DEEP = Config(128, 128, 64, STAGES=6, SUBTILE=2, STAGING=2, SPLIT=4)

CONFIGS = (
    WIDE,
    replace(WIDE, GROUP_M=16),
    replace(WIDE, BM=256, BN=128),
    SHARED,
    replace(SHARED, BM=256, BN=128, CLUSTER_M=1, CLUSTER_N=2),
    TURNS,
    replace(TURNS, GROUP_M=16),
    replace(TURNS, BM=64, BN=256, STAGES=5, SUBTILE=4, GROUP_M=8),
    replace(TURNS, GROUP_M=8, CLUSTER_M=2),
    SMALL,
    replace(SMALL, CLUSTER_M=2),
    replace(SMALL, CLUSTER_N=2),
    replace(SMALL, BM=128, BN=64),
    DEEP,
)
"""What is worth trying on an H200 or H100, of 16-bit operands."""

# Operands of 8 bits: a row of 128 bytes holds twice the elements.
CONFIGS_8 = tuple(
    replace(config, BK=2 * config.BK)
    for config in (
        WIDE,
        replace(TURNS, GROUP_M=8),
        SMALL,
        DEEP,
        replace(TURNS, GROUP_M=16),
        SHARED,
        replace(TURNS, GROUP_M=8, CLUSTER_M=2),
    )
)


def choose(m: int, n: int, k: int, processors: int, bits: int = 16) -> Config:
    """Return the configuration that was fastest for such shapes on an H200.

    Args:
        m, n, k: Sizes of the product.
        processors: Multiprocessors of the GPU.
        bits: Size of an element of the operands.
    """
    wide, turns, small, deep = (WIDE, TURNS, SMALL, DEEP) if bits == 16 else CONFIGS_8[:4]
    tiles = triton.cdiv(m, wide.BM) * triton.cdiv(n, wide.BN)
    if 8 * tiles <= processors and k >= 8192:
        return deep
    if 2 * tiles <= processors:
        return small
    # Turns hide the store of a tile behind the products of the next, and draw power evenly; wide tiles read less.
    if bits == 8:
        return CONFIGS_8[4] if tiles > 8 * processors else turns
    if tiles > 4 * processors or k < 2048:
        return turns
    # Blocks of a cluster start later, which more than two rounds of tiles make up for.
    return SHARED if tiles > 2 * processors else wide


def compile_for(
    target: str = "cuda:90",
    config: Config = WIDE,
    epilogue: Any = plain,
    operands: str = "fp16",
    out: str = "fp16",
    trans_b: bool = False,
    auxiliary: str | None = None,
):
    """Return the kernel compiled for a target, on any machine.

    Args:
        target: Such as ``cuda:90``.
        config: Tile and schedule.
        epilogue: Function of the interface of :func:`plain`.
        operands: Triton's name of their element type.
        out: That of the result.
        trans_b: Whether B is given as N x K, as operands of 8 bits have to be.
        auxiliary: Type of what the pointers of the epilogue point to; None when it uses none.
    """
    types = {"a": operands, "b": operands, "c": out}
    blocks = config.blocks(trans_b)
    text = ", ".join(f"{name}=tensordesc<{types[name]}{list(blocks[name])}>" for name in "abc")
    text += ", M=i32:16, N=i32:16, K=i32:16"
    constants = {**asdict(config), "TRANS_B": trans_b, "EPILOGUE": epilogue}
    if config.SPLIT > 1:
        text += ", partial=*fp32:16, ready=*i32:16"
    else:
        constants |= {"partial": None, "ready": None}
    if auxiliary is None:
        constants |= {"x": None, "y": None}
    else:
        text += f", x=*{auxiliary}:16, y=*{auxiliary}:16"
    with launched_as(config.cluster) if config.cluster > 1 else contextlib.nullcontext():
        return Specialization(gemm, parse_signature(text), constants, {"num_warps": 4}).compile(target)


@functools.cache
def teach_clusters() -> None:
    """Let launches take ``ctas_per_cga``, from now on."""
    tlx.install_compat()


def prepare(a, b, out, epilogue: Any = plain, x=None, y=None, config: Config | None = None) -> Callable[[], Any]:
    """Return a function that computes ``out = epilogue(a @ b)`` on a Hopper GPU.

    Args:
        a: M x K, rows contiguous.
        b: K x N, rows or columns contiguous; columns when elements have 8 bits.
        out: M x N, rows contiguous; every contiguous row or column of the three is a multiple of 16 bytes.
        epilogue: Function of the interface of :func:`plain`.
        x, y: Tensors of the epilogue.
        config: Tile and schedule; :func:`choose` does when None.

    Raises:
        ValueError: Sizes or strides do not fit.
    """
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    (m, k), (other, n) = a.shape, b.shape
    if other != k or tuple(out.shape) != (m, n):
        raise ValueError(f"expected shapes M x K, K x N and M x N, got {m} x {k}, {other} x {n} and {tuple(out.shape)}")
    trans_b = b.stride(1) != 1
    processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    config = config or choose(m, n, k, processors, 8 * a.element_size())
    blocks = config.blocks(trans_b)
    tensors = {"a": a, "b": b.T if trans_b else b, "c": out}
    described = [TensorDescriptor.from_tensor(tensors[name], blocks[name]) for name in "abc"]
    works = config.works(m, n)
    grid = (min(processors // config.cluster * config.cluster, works),)
    constants = {**asdict(config), "TRANS_B": trans_b, "EPILOGUE": epilogue}
    partial = ready = None
    if config.SPLIT > 1:
        tiles = works // config.SPLIT
        partial = torch.empty(tiles * (config.SPLIT - 1) * config.BM * config.BN, device=a.device, dtype=torch.float32)
        ready = torch.zeros(tiles * config.GROUPS * config.SPLIT, device=a.device, dtype=torch.int32)
    options: dict[str, Any] = {"num_warps": 4}
    if config.cluster > 1:
        teach_clusters()
        options["ctas_per_cga"] = (config.cluster, 1, 1)
    return lambda: gemm[grid](*described, m, n, k, x, y, partial, ready, **constants, **options)


def matmul(a, b, epilogue: Any = plain, x=None, y=None, out_dtype: Any = None, config: Config | None = None):
    """Return ``epilogue(a @ b)`` of two matrices on a Hopper GPU; the arguments are those of :func:`prepare`.

    ``out_dtype`` is the type of the result, that of ``a`` when None; bfloat16 for operands of 8 bits.
    """
    import torch

    dtype = out_dtype or (a.dtype if a.element_size() == 2 else torch.bfloat16)
    out = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=dtype)
    prepare(a, b, out, epilogue, x, y, config)()
    return out


def show_code() -> None:
    for name, config in (("cooperative", WIDE), ("ping-pong", TURNS)):
        kernel = compile_for(config=config)
        ptx, code = kernel.asm["ptx"], stats(kernel)
        print(f"{name}: {config}")
        for what, count in (
            ("tile copies", len(re.findall(r"cp\.async\.bulk\.tensor\.2d\.shared", ptx))),
            ("tile stores", len(re.findall(r"cp\.async\.bulk\.tensor\.2d\.global", ptx))),
            ("MMA instructions", code.mma),
            ("register budgets", len(re.findall(r"setmaxnreg", ptx))),
            ("spilled registers", code.spills),
            ("bytes of shared memory", code.shared_bytes),
        ):
            print(f"  {what:24}{count:8}")


def main() -> None:
    show_code()
    missing = gpu_missing()
    if missing is None:
        import torch

        if torch.cuda.get_device_capability() != (9, 0):
            missing = "the GPU is no Hopper"
    if missing:
        print(f"numbers not compared: {missing}")
        return
    m, n, k = 4096, 4096, 4096
    a, b = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (k, n)))
    out = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    run = prepare(a, b, out)
    run()
    print(f"largest error: {(out.double() - a.double() @ b.double()).abs().max().item():.3g}")
    for name, candidate in (("tlx", run), ("torch", lambda: torch.mm(a, b, out=out))):
        time = triton.testing.do_bench(candidate, return_mode="median")
        print(f"{name + ', TFLOPS at 4096':24}{2 * m * n * k / time / 1e9:8.0f}")


if __name__ == "__main__":
    main()
