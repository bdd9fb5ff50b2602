"""A persistent, warp-specialized product of a sparse weight and activations for Hopper GPUs.

A linear layer is ``out[t, f] = sum over k of x[t, k] * w[f, k]``. The sparse operand of the hardware is the left one,
so a block computes a tile of ``w @ x.T``, and writes its transpose: the accumulator goes through shared memory by
``stmatrix.trans``, and from there to ``out`` in rows.

One warp copies tiles of ``values`` and ``x`` into a ring in shared memory; two warp groups each multiply half of the
rows with all of the columns. Their metadata comes from global memory straight into registers, in the order of those.

Tiles that would leave half of a wave's blocks idle can be divided along K among them. Each block writes its sums of
such a tile to memory, and the one that comes last adds them up, always in the same order.
"""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from ..warp_group import async_sparse_dot, metadata_layout

if TYPE_CHECKING:
    import torch

__all__ = ["ACTIVATIONS", "TILES", "Config", "candidates", "choose", "fitted", "reserve", "sparse_linear_hopper"]

ACTIVATIONS = ("none", "relu", "relu2", "silu", "gelu")
"""What can be applied to the sums: ``relu2`` is the square of ``relu``, ``gelu`` that with the error function."""

# Words of metadata of a tile of 64 x 64: one for each thread of a warp group.
_WORDS = gl.constexpr(128)
# Steps along K whose metadata is loaded ahead. Its latency is that of several steps of a small tile.
_AHEAD = gl.constexpr(4)


@gluon.constexpr_function
def _flat_layout(row_tiles: int, units: int) -> gl.DistributedLinearLayout:
    """Return the layout of words of metadata as they lie in memory: one to a thread, 128 threads in order."""
    size = row_tiles * units * 128
    beyond = [[1 << bit] for bit in range(7, size.bit_length() - 1)]
    return gl.DistributedLinearLayout(beyond, [[1 << bit] for bit in range(5)], [[32], [64]], [], [size])


@gluon.constexpr_function
def unpacking(M: int, K: int, bits: int) -> tuple[list[int], list[int]]:
    """Return how bytes in fragment order become M x K / 8: reshape to the first, and permute by the second.

    That is ``wgmma_orders(dtype).meta.unpacking(M, K // 8)``, which kernels cannot call.
    """
    axes = [0, 2, 5, 3, 1, 4, 6, 7] if bits == 8 else [0, 2, 6, 3, 1, 4, 5, 7]
    return [M // 64, K // 64, 4, 8, 2, 2, 2, 2], axes


@gluon.jit
def load_words(meta, row_tile, unit, row_tiles, units, M: gl.constexpr, K: gl.constexpr):
    """Load metadata in fragment order: M x K / 32 words, in the order of memory.

    Words rather than bytes, because a loop that carries bytes takes words apart, and so waits for them, as soon as they
    are loaded.

    Args:
        meta: Prepacked metadata, ``row_tiles`` x ``units`` tiles of 64 x 64 logical elements.
        row_tile: Number of the first tile along rows; those behind the last are that.
        unit: Number of the first tile along K; those behind the last are that.
        row_tiles: How many tiles there are along rows.
        units: How many there are along K.
        M: Rows.
        K: Logical columns.
    """
    ALONG: gl.constexpr = K // 64
    at = gl.arange(0, M // 64 * ALONG * _WORDS, _flat_layout(M // 64, ALONG))
    row = gl.minimum(at // (ALONG * _WORDS) + row_tile, row_tiles - 1)
    column = gl.minimum(at // _WORDS % ALONG + unit, units - 1)
    return gl.load(meta + (row * units + column) * _WORDS + at % _WORDS)


@gluon.jit
def unpack_words(words, M: gl.constexpr, K: gl.constexpr, acc_layout: gl.constexpr, BITS: gl.constexpr):
    """Return words of :func:`load_words` as bytes, M x K / 8, in the layout that products read. No data moves.

    Args:
        words: The words.
        M: Rows.
        K: Logical columns.
        acc_layout: Layout of the accumulator.
        BITS: Bits of an element of the values.
    """
    even = gl.join(words.to(gl.uint8), (words >> 16).to(gl.uint8))
    odd = gl.join((words >> 8).to(gl.uint8), (words >> 24).to(gl.uint8))
    digits: gl.constexpr = unpacking(M, K, BITS)
    parts = gl.join(even, odd).reshape(digits[0]).permute(digits[1])
    layout: gl.constexpr = metadata_layout(acc_layout, M, K, BITS)
    return gl.convert_layout(parts.reshape([M, K // 8]), layout, assert_trivial=True)


@gluon.jit
def _place(tile, tiles_m, tiles_n, GROUP: gl.constexpr):
    """Return the row and the column of a tile; groups of rows of tiles go along columns together."""
    size = GROUP * tiles_n
    first = tile // size * GROUP
    rows = gl.minimum(tiles_m - first, GROUP)
    return first + tile % size % rows, tile % size // rows


@gluon.jit
def _count(tiles, parts, DIVIDED: gl.constexpr):
    """Return how many tiles and pieces of tiles this block computes, and how many tiles are divided."""
    block = gl.program_id(0)
    blocks = gl.num_programs(0)
    count = gl.cdiv(tiles - block, blocks)
    rest = 0
    if DIVIDED:
        rest = tiles % blocks
        count = tiles // blocks + (block < rest * parts).to(gl.int32)
    return count, rest


@gluon.jit
def _piece(item, tiles, rounds, rest, parts, DIVIDED: gl.constexpr):
    """Return the tile of a piece, and the first and the last of its rounds.

    Blocks next to each other have the same part of K, and so find each other's operands in the cache.
    """
    block = gl.program_id(0)
    tile = item * gl.num_programs(0) + block
    begin = 0
    end = rounds
    if DIVIDED:
        behind = tiles - rest
        if tile >= behind:
            part = block // rest
            tile = behind + block % rest
            begin = part * rounds // parts
            end = (part + 1) * rounds // parts
    return tile, begin, end


@gluon.jit
def _token(tile_n, tokens, tiles, BLOCK_N: gl.constexpr, DIVIDED: gl.constexpr):
    """Return the first token of a tile.

    The last tile begins early enough to be full, and computes some sums of the one before again: copies of tiles that
    end beyond a tensor are slower. That is left alone where only one of both may be divided, and their last bits
    differ.
    """
    last = tokens - BLOCK_N
    if DIVIDED:
        last = gl.where(tiles < gl.num_programs(0), last, tokens)
    return gl.maximum(gl.minimum(tile_n * BLOCK_N, last), 0)


@gluon.jit
def _added(acc, whole, partials, arrivals, rest, parts, WHICH: gl.constexpr, SIZE: gl.constexpr):
    """Return whether the sums of a tile are complete, and then the sums; those of a piece are written to memory."""
    COLUMNS: gl.constexpr = acc.shape[1]
    rows = gl.arange(0, acc.shape[0], gl.SliceLayout(1, acc.type.layout))
    columns = gl.arange(0, COLUMNS, gl.SliceLayout(0, acc.type.layout))
    at = partials + (WHICH * acc.shape[0] + rows)[:, None] * COLUMNS + columns[None, :]
    complete = whole
    if not whole:
        block = gl.program_id(0)
        gl.store(at + block * SIZE, acc)
        gl.barrier()
        number = block % rest
        arrival = arrivals + 2 * number + WHICH
        complete = gl.atomic_add(arrival, 1, sem="acq_rel", scope="gpu") == parts - 1
        if complete:
            acc = gl.load(at + number * SIZE, cache_modifier=".cg")
            for part in range(1, parts):
                acc += gl.load(at + (part * rest + number) * SIZE, cache_modifier=".cg")
            # The next launch counts again.
            gl.store(arrival, 0)
    return complete, acc


@gluon.jit
def _advance(stage, phase, STAGES: gl.constexpr):
    following = stage + 1
    wrapped = following == STAGES
    return gl.where(wrapped, 0, following), gl.where(wrapped, phase ^ 1, phase)


@gluon.jit
def _produce(
    values_desc,
    x_desc,
    values,
    x,
    full,
    empty,
    tiles_m,
    tiles_n,
    rounds,
    parts,
    tokens,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
    GROUP: gl.constexpr,
    DIVIDED: gl.constexpr,
):
    count, rest = _count(tiles_m * tiles_n, parts, DIVIDED)
    stage = 0
    phase = 1
    for item in range(count):
        tile, begin, end = _piece(item, tiles_m * tiles_n, rounds, rest, parts, DIVIDED)
        tile_m, tile_n = _place(tile, tiles_m, tiles_n, GROUP)
        token = _token(tile_n, tokens, tiles_m * tiles_n, BLOCK_N, DIVIDED)
        for step in range(begin * _AHEAD, end * _AHEAD):
            mbarrier.wait(empty.index(stage), phase)
            ready = full.index(stage)
            mbarrier.expect(ready, values_desc.nbytes_per_cta + x_desc.nbytes_per_cta)
            tma.async_load(values_desc, [tile_m * BLOCK_M, step * (BLOCK_K // 2)], ready, values.index(stage))
            tma.async_load(x_desc, [token, step * BLOCK_K], ready, x.index(stage))
            stage, phase = _advance(stage, phase, STAGES)


@gluon.jit
def _activate(value, ACTIVATION: gl.constexpr):
    if ACTIVATION == "relu" or ACTIVATION == "relu2":
        value = gl.maximum(value, 0.0)
    if ACTIVATION == "relu2":
        value = value * value
    if ACTIVATION == "silu":
        value = value / (1.0 + gl.exp(-value))
    if ACTIVATION == "gelu":
        value = 0.5 * value * (1.0 + gl.erf(value * 0.7071067811865476))
    return value


@gluon.jit
def _loaded(pointer, first, size, SIZE: gl.constexpr, layout: gl.constexpr):
    """Return a part of a vector as float32; None of None."""
    value = None
    if pointer is not None:
        at = first + gl.arange(0, SIZE, layout)
        value = gl.load(pointer + at, mask=at < size, other=0.0).to(gl.float32)
    return value


@gluon.jit
def _write(
    out_desc,
    buffer,
    sums,
    factors_w,
    factors_x,
    added,
    residual,
    feature,
    token,
    tokens,
    features,
    ACTIVATION: gl.constexpr,
):
    """Finish a part of the transposed accumulator, which begins at a feature and a token, and write it."""
    layout: gl.constexpr = sums.type.layout
    rows = feature + gl.arange(0, sums.shape[0], gl.SliceLayout(1, layout))
    columns = token + gl.arange(0, sums.shape[1], gl.SliceLayout(0, layout))
    if factors_w is not None:
        sums = sums * gl.convert_layout(factors_w, gl.SliceLayout(1, layout))[:, None]
    if factors_x is not None:
        sums = sums * gl.convert_layout(factors_x, gl.SliceLayout(0, layout))[None, :]
    if added is not None:
        sums = sums + gl.convert_layout(added, gl.SliceLayout(1, layout))[:, None]
    sums = _activate(sums, ACTIVATION)
    if residual is not None:
        inside = (rows < features)[:, None] & (columns < tokens)[None, :]
        at = residual + columns.to(gl.int64)[None, :] * features + rows[:, None]
        sums = sums + gl.load(at, mask=inside, other=0.0).to(gl.float32)
    tma.store_wait(0)
    buffer.store(sums.to(out_desc.dtype).permute([1, 0]))
    fence_async_shared()
    tma.async_store(out_desc, [token, feature], buffer)


@gluon.jit
def _multiply(
    values,
    x,
    full,
    empty,
    words,
    acc,
    stage,
    phase,
    WHICH: gl.constexpr,
    ROWS: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
):
    """Add the product of one stage, and hand the stage back."""
    meta = unpack_words(words, ROWS, BLOCK_K, acc.type.layout, values.dtype.primitive_bitwidth)
    mbarrier.wait(full.index(stage), phase)
    left = values.index(stage).slice(WHICH * ROWS, ROWS)
    token = async_sparse_dot(left, meta, x.index(stage).permute([1, 0]), acc)
    # The other warp group keeps the tensor cores busy meanwhile.
    acc = warpgroup_mma_wait(0, [token])
    mbarrier.arrive(empty.index(stage))
    stage, phase = _advance(stage, phase, STAGES)
    return acc, stage, phase


@gluon.jit
def _consume(
    out_desc,
    meta,
    scale_w,
    scale_x,
    bias,
    residual,
    values,
    x,
    buffers,
    full,
    empty,
    partials,
    arrivals,
    tiles_m,
    tiles_n,
    rounds,
    parts,
    row_tiles,
    units,
    tokens,
    features,
    WHICH: gl.constexpr,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
    GROUP: gl.constexpr,
    SPLIT: gl.constexpr,
    ACTIVATION: gl.constexpr,
):
    ROWS: gl.constexpr = BLOCK_M // 2
    UNITS: gl.constexpr = BLOCK_K // 64
    layout: gl.constexpr = gl.NVMMADistributedLayout(
        [3, 0], [4, 1], [16, BLOCK_N, 256 // values.dtype.primitive_bitwidth]
    )
    PART: gl.constexpr = BLOCK_N // SPLIT
    flat: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    buffer = buffers.index(WHICH)
    DIVIDED: gl.constexpr = partials is not None
    count, rest = _count(tiles_m * tiles_n, parts, DIVIDED)
    stage = 0
    phase = 0
    for item in range(count):
        tile, begin, end = _piece(item, tiles_m * tiles_n, rounds, rest, parts, DIVIDED)
        tile_m, tile_n = _place(tile, tiles_m, tiles_n, GROUP)
        feature = tile_m * BLOCK_M + WHICH * ROWS
        row_tile = feature // 64
        token = _token(tile_n, tokens, tiles_m * tiles_n, BLOCK_N, DIVIDED)
        # Behind the last product nothing else would hide the latency of these loads.
        factors_w = _loaded(scale_w, feature, features, ROWS, gl.SliceLayout(1, layout))
        added = _loaded(bias, feature, features, ROWS, gl.SliceLayout(1, layout))
        factors_x = _loaded(scale_x, token, tokens, PART, flat)
        if SPLIT == 2:
            factors_y = _loaded(scale_x, token + PART, tokens, PART, flat)
        acc = gl.zeros([ROWS, BLOCK_N], gl.float32, layout)
        # Each has registers of its own, which are loaded again right behind the product that read them.
        unit = begin * _AHEAD * UNITS
        words0 = load_words(meta, row_tile, unit, row_tiles, units, ROWS, BLOCK_K)
        words1 = load_words(meta, row_tile, unit + UNITS, row_tiles, units, ROWS, BLOCK_K)
        words2 = load_words(meta, row_tile, unit + 2 * UNITS, row_tiles, units, ROWS, BLOCK_K)
        words3 = load_words(meta, row_tile, unit + 3 * UNITS, row_tiles, units, ROWS, BLOCK_K)
        for turn in range(begin, end):
            unit = (turn + 1) * _AHEAD * UNITS
            acc, stage, phase = _multiply(
                values, x, full, empty, words0, acc, stage, phase, WHICH, ROWS, BLOCK_K, STAGES
            )
            words0 = load_words(meta, row_tile, unit, row_tiles, units, ROWS, BLOCK_K)
            acc, stage, phase = _multiply(
                values, x, full, empty, words1, acc, stage, phase, WHICH, ROWS, BLOCK_K, STAGES
            )
            words1 = load_words(meta, row_tile, unit + UNITS, row_tiles, units, ROWS, BLOCK_K)
            acc, stage, phase = _multiply(
                values, x, full, empty, words2, acc, stage, phase, WHICH, ROWS, BLOCK_K, STAGES
            )
            words2 = load_words(meta, row_tile, unit + 2 * UNITS, row_tiles, units, ROWS, BLOCK_K)
            acc, stage, phase = _multiply(
                values, x, full, empty, words3, acc, stage, phase, WHICH, ROWS, BLOCK_K, STAGES
            )
            words3 = load_words(meta, row_tile, unit + 3 * UNITS, row_tiles, units, ROWS, BLOCK_K)

        complete = end - begin == rounds
        if DIVIDED:
            complete, acc = _added(acc, complete, partials, arrivals, rest, parts, WHICH, BLOCK_M * BLOCK_N)
        if complete:
            if SPLIT == 1:
                _write(
                    out_desc,
                    buffer,
                    acc,
                    factors_w,
                    factors_x,
                    added,
                    residual,
                    feature,
                    token,
                    tokens,
                    features,
                    ACTIVATION,
                )
            else:
                left, right = acc.reshape([ROWS, 2, PART]).permute([0, 2, 1]).split()
                _write(
                    out_desc,
                    buffer,
                    left,
                    factors_w,
                    factors_x,
                    added,
                    residual,
                    feature,
                    token,
                    tokens,
                    features,
                    ACTIVATION,
                )
                _write(
                    out_desc,
                    buffer,
                    right,
                    factors_w,
                    factors_y,
                    added,
                    residual,
                    feature,
                    token + PART,
                    tokens,
                    features,
                    ACTIVATION,
                )
    tma.store_wait(0)


# One kernel for all sizes: nothing in it is faster for those that 16 divides.
@gluon.jit(do_not_specialize=["parts", "tokens", "features", "K"])
def sparse_gemm(
    values_desc,
    x_desc,
    out_desc,
    meta,
    scale_w,
    scale_x,
    bias,
    residual,
    partials,
    arrivals,
    parts,
    tokens,
    features,
    K,
    BLOCK_M: gl.constexpr,
    BLOCK_N: gl.constexpr,
    BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr,
    GROUP: gl.constexpr,
    SPLIT: gl.constexpr,
    ACTIVATION: gl.constexpr,
):
    """Compute ``out = activation(x @ w.T * scales + bias) + residual`` of a weight that is 2:4 sparse.

    With memory for ``partials`` each tile behind the last full wave is divided among so many blocks as there are parts.
    """
    values = gl.allocate_shared_memory(values_desc.dtype, [STAGES, BLOCK_M, BLOCK_K // 2], values_desc.layout)
    x = gl.allocate_shared_memory(x_desc.dtype, [STAGES, BLOCK_N, BLOCK_K], x_desc.layout)
    buffers = gl.allocate_shared_memory(out_desc.dtype, [2, BLOCK_N // SPLIT, BLOCK_M // 2], out_desc.layout)
    full = mbarrier.allocate_mbarrier(batch=STAGES)
    empty = mbarrier.allocate_mbarrier(batch=STAGES)
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=2)
    fence_async_shared()
    tiles_m = gl.cdiv(features, BLOCK_M)
    tiles_n = gl.cdiv(tokens, BLOCK_N)
    # Whole rounds of those that are loaded ahead: behind the last column copies bring zeros.
    rounds = gl.cdiv(K, _AHEAD * BLOCK_K)
    row_tiles = gl.cdiv(features, 64)
    units = gl.cdiv(K, 64)
    gl.warp_specialize(
        [
            (
                _consume,
                (
                    out_desc,
                    meta,
                    scale_w,
                    scale_x,
                    bias,
                    residual,
                    values,
                    x,
                    buffers,
                    full,
                    empty,
                    partials,
                    arrivals,
                    tiles_m,
                    tiles_n,
                    rounds,
                    parts,
                    row_tiles,
                    units,
                    tokens,
                    features,
                    0,
                    BLOCK_M,
                    BLOCK_N,
                    BLOCK_K,
                    STAGES,
                    GROUP,
                    SPLIT,
                    ACTIVATION,
                ),
            ),
            (
                _consume,
                (
                    out_desc,
                    meta,
                    scale_w,
                    scale_x,
                    bias,
                    residual,
                    values,
                    x,
                    buffers,
                    full,
                    empty,
                    partials,
                    arrivals,
                    tiles_m,
                    tiles_n,
                    rounds,
                    parts,
                    row_tiles,
                    units,
                    tokens,
                    features,
                    1,
                    BLOCK_M,
                    BLOCK_N,
                    BLOCK_K,
                    STAGES,
                    GROUP,
                    SPLIT,
                    ACTIVATION,
                ),
            ),
            (
                _produce,
                (
                    values_desc,
                    x_desc,
                    values,
                    x,
                    full,
                    empty,
                    tiles_m,
                    tiles_n,
                    rounds,
                    parts,
                    tokens,
                    BLOCK_M,
                    BLOCK_N,
                    BLOCK_K,
                    STAGES,
                    GROUP,
                    partials is not None,
                ),
            ),
        ],
        [4, 1],
        # Dividing tiles takes the warp that copies more than 24.
        [240, 24] if partials is None else [232, 40],
    )


@dataclass(frozen=True)
class Config:
    """Sizes of a tile of the product.

    Attributes:
        block_m: Features of the output, 128 or 256.
        block_n: Tokens, a power of two from 16 to 256.
        block_k: Columns of the weight, a multiple of 64, or of 128 for 8-bit types.
        stages: Tiles in the ring.
        group: Rows of tiles that are computed together.
        split: In how many parts a tile is written, 1 or 2.
        divided: Whether the tiles behind the last full wave are divided along K, where there is more than one
            multiprocessor for each.
    """

    block_m: int = 256
    block_n: int = 128
    block_k: int = 128
    stages: int = 3
    group: int = 8
    split: int = 2
    divided: bool = False

    def memory(self, itemsize: int, out_itemsize: int) -> int:
        """Return how many bytes of shared memory a block takes, for operands and an output of such elements."""
        stage = (self.block_m // 2 + self.block_n) * self.block_k * itemsize
        return self.stages * (stage + 16) + self.block_m * self.block_n // self.split * out_itemsize + 2048


DEFAULT = Config()

# Bytes of shared memory that a block of a Hopper GPU may have.
MEMORY = 232448

# Tiles, and the microseconds in which all multiprocessors of an H200 multiply one each with 4,096 columns, of 16-bit
# and of 8-bit types. A stage of 8-bit types has twice the columns that stand here.
TILES = (
    (DEFAULT, 31.3, 17.8),
    (Config(128, 256, 64, 4, 8, 2), 33.0, 17.9),
    (Config(256, 64, 128, 4, 8, 1), 22.0, 12.6),
    (Config(128, 128, 128, 4, 8, 1), 19.7, 10.4),
    (Config(128, 64, 128, 6, 8, 1), 13.6, 7.1),
    (Config(128, 32, 128, 8, 8, 1), 10.2, 5.6),
    (Config(128, 16, 128, 8, 8, 1), 8.6, 5.1),
)

# Microseconds that dividing tiles takes longer: at least, and for each element once and for each part.
EXCHANGE = (5.0, 3e-4, 9e-5)


def candidates(
    tokens: int, features: int, depth: int, dtype: torch.dtype, out_dtype: torch.dtype, count: int
) -> list[Config]:
    """Return sizes of tiles for a product, those first that are expected to be fastest.

    Args:
        tokens: Rows of the activations.
        features: Rows of the weight.
        depth: Columns of both.
        dtype: Type of both.
        out_dtype: Type of the output.
        count: Multiprocessors of the GPU.
    """
    costs: list[tuple[float, Config]] = []
    for shape, *microseconds in TILES:
        config = fitted(replace(shape, block_k=shape.block_k * 2 // dtype.itemsize), dtype, out_dtype)
        wave = microseconds[0 if dtype.itemsize == 2 else 1] * depth / 4096
        tiles = -(-tokens // config.block_n) * -(-features // config.block_m)
        costs.append((-(-tiles // count) * wave, config))
        parts = _parts(tiles, depth, config, count)
        if parts > 1:
            exchange = EXCHANGE[0] + (EXCHANGE[1] + EXCHANGE[2] * parts) * config.block_m * config.block_n
            costs.append(((tiles // count + 1 / parts) * wave + exchange, replace(config, divided=True)))
    return [config for _, config in sorted(costs, key=lambda cost: cost[0])]


def _parts(tiles: int, depth: int, config: Config, count: int) -> int:
    """Return how many blocks compute each tile behind the last full wave where these are divided."""
    rest = tiles % count
    return min(count // rest, -(-depth // (_AHEAD.value * config.block_k))) if rest else 1


def fitted(config: Config, dtype: torch.dtype, out_dtype: torch.dtype) -> Config:
    """Return a configuration with as many stages as shared memory has room for, at most those of ``config``."""
    while config.stages > 1 and config.memory(dtype.itemsize, out_dtype.itemsize) > MEMORY:
        config = replace(config, stages=config.stages - 1)
    return config


def choose(x: torch.Tensor, features: int, out_dtype: torch.dtype) -> Config:
    """Return the sizes of tiles for a product of ``x`` with a weight of so many rows: the first candidate."""
    tokens, depth = x.shape
    return candidates(tokens, features, depth, x.dtype, out_dtype, _multiprocessors(x.device.index))[0]


@functools.cache
def shared_layout(block: tuple[int, ...], bits: int) -> gl.NVMMASharedLayout:
    """Return the layout in shared memory of a tile with rows of at least 32 bytes."""
    width = block[-1] * bits // 8
    return gl.NVMMASharedLayout(min(128, width & -width), bits, len(block))


def sparse_linear_hopper(
    values: torch.Tensor,
    meta: torch.Tensor,
    x: torch.Tensor,
    out: torch.Tensor,
    *,
    scale_w: torch.Tensor | None = None,
    scale_x: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    activation: str = "none",
    config: Config = DEFAULT,
) -> torch.Tensor:
    """Write ``activation(scale_x * scale_w * (x @ w.T) + bias) + residual`` to ``out``, and return it.

    Nothing is checked here: see ``sparse_linear`` for a function that does.

    Args:
        values: What the weight keeps, [features, K / 2], of float16, bfloat16 or an 8-bit float.
        meta: Its metadata in fragment order, ``wgmma_orders(dtype).meta``, of rows and columns filled up to multiples
            of 64.
        x: [tokens, K] of the type of ``values``, or another 8-bit float.
        out: [tokens, features], of any type of floats.
        scale_w: Factors of features.
        scale_x: Factors of tokens.
        bias: Of features.
        residual: [tokens, features], contiguous.
        activation: One of :data:`ACTIVATIONS`.
        config: Sizes of tiles.
    """
    import torch

    tokens, K = x.shape
    features = values.shape[0]

    def describe(tensor: torch.Tensor, *block: int) -> TensorDescriptor:
        return TensorDescriptor.from_tensor(tensor, list(block), shared_layout(block, 8 * tensor.element_size()))

    tiles = -(-tokens // config.block_n) * -(-features // config.block_m)
    blocks = _multiprocessors(x.device.index)
    parts = _parts(tiles, K, config, blocks) if config.divided else 1
    partials = arrivals = None
    if parts > 1:
        size = tiles % blocks * parts * config.block_m * config.block_n
        partials = torch.empty(size, dtype=torch.float32, device=x.device)
        arrivals = _arrivals_of(x.device).take()
    else:
        blocks = min(tiles, blocks)
    sparse_gemm[(blocks,)](
        describe(values, config.block_m, config.block_k // 2),
        describe(x, config.block_n, config.block_k),
        describe(out, config.block_n // config.split, config.block_m // 2),
        meta.view(torch.int32),
        scale_w,
        scale_x,
        bias,
        residual,
        partials,
        arrivals,
        parts,
        tokens,
        features,
        K,
        BLOCK_M=config.block_m,
        BLOCK_N=config.block_n,
        BLOCK_K=config.block_k,
        STAGES=config.stages,
        GROUP=config.group,
        SPLIT=config.split,
        ACTIVATION=activation,
        num_warps=4,
    )
    return out


@functools.cache
def _multiprocessors(device: int) -> int:
    import torch

    return torch.cuda.get_device_properties(device).multi_processor_count


class _Arrivals:
    """Counters of the pieces of divided tiles on one GPU, which are zero between launches.

    Launches on one stream come one after another, and share counters. A graph is launched anywhere, so each launch that
    it captures has counters of its own.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._size = 2 * _multiprocessors(device.index)
        self._unused: list[torch.Tensor] = []
        self._of_streams: dict[int, torch.Tensor] = {}
        self._lock = threading.Lock()

    def reserve(self) -> None:
        """Make counters to take.

        Not at a launch: that may be in the private memory pool of a graph, where PyTorch's compiler takes them for a
        leak.
        """
        with self._lock:
            if len(self._unused) < 64:
                # A copy from the host is over when it returns, so that other streams find zeros.
                self._unused.extend(self._zeros("cpu", 512).to(self._device).unbind())

    def take(self) -> torch.Tensor:
        """Return counters for a launch on the current stream."""
        import torch

        with self._lock:
            if torch.cuda.is_current_stream_capturing():
                # Without any at hand the graph clears them each time.
                return self._unused.pop() if self._unused else self._zeros(self._device)
            stream = torch.cuda.current_stream(self._device).cuda_stream
            if stream not in self._of_streams:
                unused = self._unused
                self._of_streams[stream] = unused.pop() if unused else self._zeros("cpu").to(self._device)
            return self._of_streams[stream]

    def _zeros(self, device: torch.device | str, *count: int) -> torch.Tensor:
        import torch

        return torch.zeros((*count, self._size), dtype=torch.int32, device=device)


@functools.cache
def _arrivals_of(device: torch.device) -> _Arrivals:
    return _Arrivals(device)


def reserve(device: torch.device) -> None:
    """Make what launches share on a GPU, before one of them is captured in a graph."""
    _arrivals_of(device).reserve()
