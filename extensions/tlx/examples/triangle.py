"""The triangle multiplicative update of pair representations for Hopper, in three kernels of tasks.

python triangle.py

Of a pair tensor z[i, j] with C channels, normalized to x (Jumper et al., AlphaFold, 2021, algorithms 11 and 12, without
biases in the projections as in AlphaFold 3):

    a, b = mask * sigmoid(x @ g_in) * (x @ p_in)
    t[i, j] = sum over k of a[i, k] * b[j, k]                   outgoing; incoming: of a[k, i] * b[k, j]
    out[i, j] = sigmoid(x @ g_out) * (norm(t[i, j]) @ p_out)

- ``project`` keeps the weights in shared memory and computes a and b by channel: as weights times x transposed, so that
  results leave the tensor cores as rows of pairs. Incoming edges are outgoing ones of z transposed, which is another
  descriptor of z. One task copies, one normalizes tiles in place, and two multiply them by half of the weights each.
- ``multiply`` is a ping-pong GEMM over the matrices of all channels, on the tasks of ``hopper_gemm``.
- ``finish`` turns t back by the transposed operands of its products, and computes x again rather than its gate before.
  One task copies, and two normalize, multiply and store tiles of their own. The result goes through an epilogue, which
  may add the pairs.

On a machine without a Hopper GPU the script shows the machine code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl
from hopper_gemm import accumulate, halves, tile_of
from triton.experimental.gluon.language import BlockedLayout

import tritonext_tlx as tlx
from tritonext.inspect_code import stats
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import gpu_missing

__all__ = [
    "CONFIGS",
    "Config",
    "Weights",
    "add",
    "compile_for",
    "finish",
    "in_torch",
    "multiply",
    "plain",
    "prepare",
    "project",
    "random_weights",
    "sigmoid",
    "sigmoid_approx",
    "triangle_update",
    "views",
]

# Rows of a weight that one product of a warpgroup takes.
_ROWS = tl.constexpr(64)
# Of tiles to be normalized over their columns, or rows: sums stay in a warp, and the 16 bytes that each of eight
# threads reads come from all banks of a swizzled tile.
_BY_ROW = tl.constexpr(BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))
_BY_COLUMN = tl.constexpr(BlockedLayout([1, 8], [16, 2], [1, 4], [0, 1]))


@triton.jit
def sigmoid(x):
    """Gate by exponential and quotient."""
    return tl.sigmoid(x)


@triton.jit
def sigmoid_approx(x):
    """Gate by the hyperbolic tangent of the GPU, one instruction with a relative error of 2**-11: PTX ISA, tanh."""
    half = tl.inline_asm_elementwise(
        "tanh.approx.f32 $0, $1;", "=f,f", [0.5 * x], dtype=tl.float32, is_pure=True, pack=1
    )
    return 0.5 * half + 0.5


@triton.jit
def plain(update, other):
    """Epilogue that changes nothing.

    An epilogue gets a tile of the update in fp32 and the same tile of another tensor, or None without one, and returns
    what is stored.
    """
    return update


@triton.jit
def add(update, other):
    """Epilogue that adds the other tensor, such as the pairs before the update."""
    return other.to(tl.float32) + update


@triton.jit
def normalize(tile, gamma, beta, eps, AXIS: tl.constexpr):
    """Normalize a tile in place over a dimension, as torch rounds it: once, behind scale and shift."""
    SIZE: tl.constexpr = tile.shape[AXIS]
    LAYOUT: tl.constexpr = _BY_ROW if AXIS == 1 else _BY_COLUMN
    scale = tlx.require_layout(tl.expand_dims(gamma, 1 - AXIS).broadcast_to(tile.shape), LAYOUT)
    shift = tlx.require_layout(tl.expand_dims(beta, 1 - AXIS).broadcast_to(tile.shape), LAYOUT)
    value = tlx.local_load(tile, layout=LAYOUT).to(tl.float32)
    centered = value - tl.expand_dims(tl.sum(value, AXIS) * (1.0 / SIZE), AXIS)
    variance = tl.sum(centered * centered, AXIS) * (1.0 / SIZE)
    inverse = tl.expand_dims(tl.rsqrt(variance + eps), AXIS)
    result = centered * inverse * scale + shift
    # Required at both ends, the layout is that of everything in between.
    tlx.local_store(tile, tlx.require_layout(result.to(tlx.dtype_of(tile)), LAYOUT))


@triton.jit
def rounds_of(tiles):
    """Return how many tiles a program has."""
    return tl.cdiv(tiles - tl.program_id(0), tl.num_programs(0))


@triton.jit
def place(tile, N, BM: tl.constexpr):
    """Return line and first pair in it of a tile; lines are those of all batches."""
    blocks = tl.cdiv(N, BM)
    return tile // blocks, tile % blocks * BM


@triton.jit
def project(
    x,
    p_in,
    g_in,
    ab,
    mask,
    gamma,
    beta,
    N,
    lines,
    eps,
    C: tl.constexpr,
    BM: tl.constexpr,
    STAGES: tl.constexpr,
    REGISTERS: tl.constexpr,
    INCOMING: tl.constexpr,
    MASKED: tl.constexpr,
    GATE: tl.constexpr,
):
    """Write the gated projections ab[2 C, lines, N] of x, seen as lines * N x C, or as lines x N * C if INCOMING."""
    DTYPE: tl.constexpr = tlx.dtype_of(x)
    CHUNKS: tl.constexpr = C // _ROWS
    x_tiles = tlx.local_alloc((BM, C), DTYPE, STAGES)
    if MASKED:
        mask_tiles = tlx.local_alloc((BM,), tl.float32, STAGES)
    p_tiles = tlx.local_alloc((_ROWS, C), DTYPE, 2 * CHUNKS)
    g_tiles = tlx.local_alloc((_ROWS, C), DTYPE, 2 * CHUNKS)
    staging = tlx.local_alloc((1, _ROWS, BM), DTYPE, 2)
    weights = tlx.alloc_barriers(1)
    full = tlx.alloc_barriers(STAGES)
    ready = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES, arrive_count=2)
    rounds = rounds_of(lines * tl.cdiv(N, BM))

    with tlx.async_tasks():
        with tlx.async_task("default"):
            channels = tl.arange(0, C)
            scale = tl.load(gamma + channels).to(tl.float32)
            shift = tl.load(beta + channels).to(tl.float32)
            for step in range(rounds):
                tile = tl.program_id(0) + step * tl.num_programs(0)
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                if MASKED:
                    line, first = place(tile, N, BM)
                    pairs = first + tl.arange(0, BM)
                    if INCOMING:
                        at = (line // N * N + pairs).to(tl.int64) * N + line % N
                    else:
                        at = line.to(tl.int64) * N + pairs
                    kept = tl.load(mask + at, mask=pairs < N, other=0).to(tl.float32)
                tlx.barrier_wait(full[slot], phase)
                for part in tl.static_range(BM // _ROWS):
                    rows = tlx.local_slice(x_tiles[slot], [part * _ROWS, 0], [_ROWS, C])
                    normalize(rows, scale, shift, eps, 1)
                if MASKED:
                    tlx.local_store(mask_tiles[slot], kept)
                tlx.fence_async_shared()
                tlx.barrier_arrive(ready[slot])
        with tlx.async_task(num_warps=4, num_regs=REGISTERS, replicate=2):
            group: tl.constexpr = tlx.async_task_replica_id()
            tlx.barrier_wait(weights[0], 0)
            for step in range(rounds):
                tile = tl.program_id(0) + step * tl.num_programs(0)
                line, first = place(tile, N, BM)
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(ready[slot], phase)
                for part in tl.static_range(CHUNKS):
                    columns = tlx.local_trans(x_tiles[slot])
                    value = tlx.async_dot(p_tiles[group * CHUNKS + part], columns)
                    gate = tlx.async_dot(g_tiles[group * CHUNKS + part], columns)
                    gate = tlx.async_dot_wait(0, gate)
                    value = tlx.async_dot_wait(0, value)
                    value = value * GATE(gate)
                    if MASKED:
                        value = value * tlx.local_load(mask_tiles[slot])[None, :]
                    if part == CHUNKS - 1:
                        tlx.barrier_arrive(empty[slot])
                    tlx.async_descriptor_store_wait(0)
                    tlx.local_store(tlx.local_reshape(staging[group], [_ROWS, BM]), value.to(DTYPE))
                    tlx.fence_async_shared()
                    tlx.async_descriptor_store(ab, staging[group], [line, (group * CHUNKS + part) * _ROWS, first])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1, num_regs=24):
            tlx.barrier_expect_bytes(weights[0], 4 * C * C * tlx.size_of(DTYPE))
            for chunk in tl.static_range(2 * CHUNKS):
                tlx.async_descriptor_load(p_in, p_tiles[chunk], [chunk * _ROWS, 0], weights[0])
                tlx.async_descriptor_load(g_in, g_tiles[chunk], [chunk * _ROWS, 0], weights[0])
            for step in range(rounds):
                tile = tl.program_id(0) + step * tl.num_programs(0)
                line, first = place(tile, N, BM)
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], BM * C * tlx.size_of(DTYPE))
                # Pairs past the end of a line are those of the next. Their results are not stored.
                if INCOMING:
                    tlx.async_descriptor_load(x, x_tiles[slot], [line // N * N + first, line % N * C], full[slot])
                else:
                    tlx.async_descriptor_load(x, x_tiles[slot], [line * N + first, 0], full[slot])


@triton.jit
def take_turns(
    t,
    a_tiles,
    b_tiles,
    staging,
    full,
    empty,
    turn,
    N,
    matrices,
    GROUP: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Multiply and store each second tile of the program."""
    tiles = tl.cdiv(N, BM) * tl.cdiv(N, BN)
    steps = tl.cdiv(N, BK)
    step = GROUP * steps
    first = tl.program_id(0) + GROUP * tl.num_programs(0)
    stride = 2 * tl.num_programs(0)
    for number in range(tl.cdiv(matrices * tiles - first, stride)):
        work = first + number * stride
        tlx.barrier_wait(turn[GROUP], (number & 1) ^ (1 if GROUP == 0 else 0))
        acc, step = accumulate(a_tiles, b_tiles, full, empty, step, steps, BM, BN, STAGES, 1, 0, True)
        tlx.barrier_arrive(turn[1 - GROUP])
        row, column = tile_of(work % tiles, N, N, BM, BN, GROUP_M)
        acc = tlx.async_dot_wait(0, acc)
        tlx.barrier_arrive(empty[(step - 1) % STAGES])
        step += steps
        left, right = halves(acc)
        store_half(t, staging, left, work // tiles, row, column)
        store_half(t, staging, right, work // tiles, row, column + BN // 2)
    tlx.async_descriptor_store_wait(0)


@triton.jit
def store_half(t, staging, part, matrix, row, column):
    """Start the store of a half of a tile; what is past the end of a matrix stays as it is."""
    tlx.async_descriptor_store_wait(0)
    tlx.local_store(tlx.local_reshape(staging[0], [part.shape[0], part.shape[1]]), part.to(tlx.dtype_of(staging)))
    tlx.fence_async_shared()
    tlx.async_descriptor_store(t, staging[0], [matrix, row, column])


@triton.jit
def multiply(
    a,
    b,
    t,
    N,
    matrices,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Compute t[m] = a[m] @ a[matrices + m].T of N x N matrices below each other in a, of which b has other blocks."""
    DTYPE: tl.constexpr = tlx.dtype_of(a)
    a_tiles = tlx.local_alloc((BM, BK), DTYPE, STAGES)
    b_tiles = tlx.local_alloc((BN, BK), DTYPE, STAGES)
    first = tlx.local_alloc((1, BM, BN // 2), DTYPE, 1)
    second = tlx.local_alloc((1, BM, BN // 2), DTYPE, 1)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    turn = tlx.alloc_barriers(2)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            take_turns(
                t, a_tiles, b_tiles, first, full, empty, turn, N, matrices, 0, BM, BN, BK, GROUP_M, STAGES
            )  # fmt: skip
        with tlx.async_task(num_warps=4, num_regs=232):
            take_turns(
                t, a_tiles, b_tiles, second, full, empty, turn, N, matrices, 1, BM, BN, BK, GROUP_M, STAGES
            )  # fmt: skip
        with tlx.async_task(num_warps=1, num_regs=40):
            tiles = tl.cdiv(N, BM) * tl.cdiv(N, BN)
            step = 0
            for work in range(tl.program_id(0), matrices * tiles, tl.num_programs(0)):
                row, column = tile_of(work % tiles, N, N, BM, BN, GROUP_M)
                row += work // tiles * N
                column += (matrices + work // tiles) * N
                for k in range(0, N, BK):
                    slot, phase = tlx.get_bufidx_phase(step, STAGES)
                    tlx.barrier_wait(empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(full[slot], (BM + BN) * BK * tlx.size_of(DTYPE))
                    # Past the last column come zeros, past the last row another matrix, which is not stored.
                    tlx.async_descriptor_load(a, a_tiles[slot], [row, k], full[slot])
                    tlx.async_descriptor_load(b, b_tiles[slot], [column, k], full[slot])
                    step += 1


@triton.jit
def complete(
    out,
    other,
    gamma_in,
    beta_in,
    gamma_out,
    beta_out,
    t_tiles,
    x_tiles,
    p_tile,
    g_tile,
    staging,
    weights,
    full,
    empty,
    loaded,
    rounds,
    N,
    eps,
    GROUP: tl.constexpr,
    GROUPS: tl.constexpr,
    STAGES: tl.constexpr,
    GATE: tl.constexpr,
    EPILOGUE: tl.constexpr,
):
    """Normalize, multiply and store the tiles of a group."""
    ROWS: tl.constexpr = x_tiles.shape[0]
    C: tl.constexpr = x_tiles.shape[1]
    DTYPE: tl.constexpr = tlx.dtype_of(x_tiles)
    channels = tl.arange(0, C)
    x_scale = tl.load(gamma_in + channels).to(tl.float32)
    x_shift = tl.load(beta_in + channels).to(tl.float32)
    t_scale = tl.load(gamma_out + channels).to(tl.float32)
    t_shift = tl.load(beta_out + channels).to(tl.float32)
    result = tlx.local_reshape(staging[0], [ROWS, C])
    tlx.barrier_wait(weights[0], 0)
    for step in range(rounds):
        line, start = place(tl.program_id(0) + step * tl.num_programs(0), N, GROUPS * ROWS)
        start += GROUP * ROWS
        slot, phase = tlx.get_bufidx_phase(step, STAGES)
        part = slot * GROUPS + GROUP
        # The store of the tile before may still read the buffer.
        tlx.async_descriptor_store_wait(0)
        if other is not None:
            # The tile comes to where the result will be.
            tlx.barrier_expect_bytes(loaded[GROUP], ROWS * C * tlx.size_of(DTYPE))
            tlx.async_descriptor_load(other, staging[0], [line, start, 0], loaded[GROUP])
        tlx.barrier_wait(full[part], phase)
        normalize(x_tiles[part], x_scale, x_shift, eps, 1)
        tlx.fence_async_shared()
        # The gate is computed while the other tile is normalized.
        gate = tlx.async_dot(x_tiles[part], tlx.local_trans(g_tile[0]))
        normalize(t_tiles[part], t_scale, t_shift, eps, 0)
        tlx.fence_async_shared()
        value = tlx.async_dot(tlx.local_trans(t_tiles[part]), tlx.local_trans(p_tile[0]))
        gate = tlx.async_dot_wait(1, gate)
        gate = GATE(gate)
        value = tlx.async_dot_wait(0, value)
        tlx.barrier_arrive(empty[part])
        value = value * gate
        if other is not None:
            tlx.barrier_wait(loaded[GROUP], step & 1)
            value = EPILOGUE(value, tlx.local_load(result))
        else:
            value = EPILOGUE(value, None)
        tlx.local_store(result, value.to(DTYPE))
        tlx.fence_async_shared()
        tlx.async_descriptor_store(out, staging[0], [line, start, 0])
    tlx.async_descriptor_store_wait(0)


@triton.jit
def finish(
    t,
    x,
    p_out,
    g_out,
    out,
    other,
    gamma_in,
    beta_in,
    gamma_out,
    beta_out,
    N,
    pitch,
    lines,
    eps,
    C: tl.constexpr,
    STAGES: tl.constexpr,
    REGISTERS: tl.constexpr,
    GATE: tl.constexpr,
    EPILOGUE: tl.constexpr,
):
    """Write out[lines, N, C] from t[C, lines * pitch] and x[lines * N, C]."""
    DTYPE: tl.constexpr = tlx.dtype_of(x)
    BM: tl.constexpr = 2 * _ROWS
    t_tiles = tlx.local_alloc((C, _ROWS), DTYPE, STAGES * 2)
    x_tiles = tlx.local_alloc((_ROWS, C), DTYPE, STAGES * 2)
    p_tile = tlx.local_alloc((C, C), DTYPE, 1)
    g_tile = tlx.local_alloc((C, C), DTYPE, 1)
    first = tlx.local_alloc((1, _ROWS, C), DTYPE, 1)
    second = tlx.local_alloc((1, _ROWS, C), DTYPE, 1)
    weights = tlx.alloc_barriers(1)
    full = tlx.alloc_barriers(STAGES * 2)
    empty = tlx.alloc_barriers(STAGES * 2)
    loaded = None
    if other is not None:
        loaded = tlx.alloc_barriers(2)
    rounds = rounds_of(lines * tl.cdiv(N, BM))

    with tlx.async_tasks():
        with tlx.async_task("default"):
            complete(
                out, other, gamma_in, beta_in, gamma_out, beta_out, t_tiles, x_tiles, p_tile, g_tile, first,
                weights, full, empty, loaded, rounds, N, eps, 0, 2, STAGES, GATE, EPILOGUE,
            )  # fmt: skip
        with tlx.async_task(num_warps=4, num_regs=REGISTERS):
            complete(
                out, other, gamma_in, beta_in, gamma_out, beta_out, t_tiles, x_tiles, p_tile, g_tile, second,
                weights, full, empty, loaded, rounds, N, eps, 1, 2, STAGES, GATE, EPILOGUE,
            )  # fmt: skip
        with tlx.async_task(num_warps=1, num_regs=24):
            tlx.barrier_expect_bytes(weights[0], 2 * C * C * tlx.size_of(DTYPE))
            tlx.async_descriptor_load(p_out, p_tile[0], [0, 0], weights[0])
            tlx.async_descriptor_load(g_out, g_tile[0], [0, 0], weights[0])
            for step in range(rounds):
                line, start = place(tl.program_id(0) + step * tl.num_programs(0), N, BM)
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                for group in tl.static_range(2):
                    part = slot * 2 + group
                    row = start + group * _ROWS
                    tlx.barrier_wait(empty[part], phase ^ 1)
                    tlx.barrier_expect_bytes(full[part], 2 * _ROWS * C * tlx.size_of(DTYPE))
                    tlx.async_descriptor_load(x, x_tiles[part], [line * N + row, 0], full[part])
                    tlx.async_descriptor_load(t, t_tiles[part], [0, line * pitch + row], full[part])


@dataclass(frozen=True)
class Config:
    """Tiles and schedule of the three kernels.

    Args:
        BM: Pairs that are projected together.
        PROJECT_STAGES, MULTIPLY_STAGES, FINISH_STAGES: Slots of the rings.
        PROJECT_REGISTERS, FINISH_REGISTERS: Registers of a thread of the tasks that multiply.
        TILE_M, TILE_N, TILE_K: Tile of the product over k.
        GROUP_M: Rows of its tiles that are finished together.
        GATE: Function of the sigmoid, :func:`sigmoid_approx` or :func:`sigmoid`.
    """

    BM: int = 128
    PROJECT_STAGES: int = 2
    PROJECT_REGISTERS: int = 184
    TILE_M: int = 128
    TILE_N: int = 128
    TILE_K: int = 64
    GROUP_M: int = 4
    MULTIPLY_STAGES: int = 6
    FINISH_STAGES: int = 2
    FINISH_REGISTERS: int = 240
    GATE: Any = sigmoid_approx

    def constants(self, kernel: str) -> dict[str, Any]:
        """Return the constants of a kernel that the configuration decides."""
        if kernel == "multiply":
            tile = {"BM": self.TILE_M, "BN": self.TILE_N, "BK": self.TILE_K}
            return tile | {"GROUP_M": self.GROUP_M, "STAGES": self.MULTIPLY_STAGES}
        prefix = kernel.upper()
        constants = {name: getattr(self, f"{prefix}_{name}") for name in ("STAGES", "REGISTERS")}
        return constants | {"GATE": self.GATE} | ({"BM": self.BM} if kernel == "project" else {})

    def blocks(self, channels: int) -> dict[str, dict[str, list[int]]]:
        """Return the blocks of the descriptors of each kernel."""
        rows = _ROWS.value
        return {
            "project": {
                "x": [self.BM, channels],
                "p_in": [rows, channels],
                "g_in": [rows, channels],
                "ab": [1, rows, self.BM],
            },
            "multiply": {
                "a": [self.TILE_M, self.TILE_K],
                "b": [self.TILE_N, self.TILE_K],
                "t": [1, self.TILE_M, self.TILE_N // 2],
            },
            "finish": {
                "t": [channels, rows],
                "x": [rows, channels],
                "p_out": [channels, channels],
                "g_out": [channels, channels],
                "out": [1, rows, channels],
            },
        }


CONFIGS = (Config(), Config(GROUP_M=8), Config(MULTIPLY_STAGES=5))
"""What is worth trying on an H200 or H100, the best on an H200 first."""


@dataclass(frozen=True)
class Weights:
    """Parameters of the update, as torch modules have them.

    Args:
        norm_in, norm_in_bias, norm_out, norm_out_bias: Scale and shift of the normalizations, C each.
        p_in, g_in: Projections to a and b and their gates, 2 C x C; the first C rows are those of a.
        p_out, g_out: Projection of the result and its gate, C x C.
    """

    norm_in: Any
    norm_in_bias: Any
    p_in: Any
    g_in: Any
    norm_out: Any
    norm_out_bias: Any
    p_out: Any
    g_out: Any


def views(x, ab, t, out) -> dict[str, dict[str, Any]]:
    """Return the tensors that the descriptors of each kernel describe, of NumPy or torch.

    Args:
        x, out: B x N x N x C.
        ab: 2 C x B * N x P with P >= N.
        t: C x B * N x P.
    """
    batches, n, _, channels = x.shape
    lines, pitch = ab.shape[1:]
    return {
        "project": {
            "outgoing": x.reshape(lines * n, channels),
            "incoming": x.reshape(lines, n * channels),
            # A tile is stored at a line, and ends with it.
            "ab": ab[:, :, :n].swapaxes(0, 1),
        },
        "multiply": {
            "a": ab.reshape(2 * channels * lines, pitch)[:, :n],
            "t": t.reshape(channels * batches, n, pitch)[:, :, :n],
        },
        "finish": {
            "t": t.reshape(channels, lines * pitch),
            "x": x.reshape(lines * n, channels),
            "out": out.reshape(lines, n, channels),
        },
    }


def prepare(
    x,
    weights: Weights,
    out,
    incoming: bool = False,
    mask=None,
    epilogue: Any = plain,
    other=None,
    eps: float = 1e-5,
    config: Config = CONFIGS[0],
) -> Callable[[], None]:
    """Return a function that computes the update of x into ``out`` on a Hopper GPU.

    Args:
        x: B x N x N x C in fp16 or bf16, contiguous, with C of 64 or 128.
        weights: Of the type of x, contiguous.
        out: As x.
        incoming: Whether edges a[k, i] and b[k, j] are multiplied, and not a[i, k] and b[j, k].
        mask: B x N x N of any float type, contiguous; a factor of a and b.
        epilogue: Function of the interface of :func:`plain`.
        other: Tensor of the epilogue, of the shape and type of x; may be x itself.
        eps: Added to variances.
        config: Tiles and schedule.

    Raises:
        ValueError: Sizes do not fit.
    """
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    batches, n, columns, channels = x.shape
    if n != columns or channels not in (64, 128) or out.shape != x.shape:
        raise ValueError(
            f"expected shapes B x N x N x C with C of 64 or 128, got {tuple(x.shape)} and {tuple(out.shape)}"
        )
    for name, rows in (("p_in", 2), ("g_in", 2), ("p_out", 1), ("g_out", 1)):
        if tuple(getattr(weights, name).shape) != (rows * channels, channels):
            raise ValueError(
                f"expected {name} of {rows * channels} x {channels}, got {tuple(getattr(weights, name).shape)}"
            )
    if other is not None and other.shape != x.shape:
        raise ValueError(f"expected another tensor of {tuple(x.shape)}, got {tuple(other.shape)}")
    if mask is not None and mask.shape != x.shape[:3]:
        raise ValueError(f"expected a mask of {tuple(x.shape[:3])}, got {tuple(mask.shape)}")
    lines = batches * n
    # Rows that the copy engine reads start at multiples of 16 bytes.
    pitch = triton.cdiv(n, 8) * 8
    ab = torch.empty((2 * channels, lines, pitch), device=x.device, dtype=x.dtype)
    t = torch.empty((channels, lines, pitch), device=x.device, dtype=x.dtype)
    seen, blocks = views(x, ab, t, out), config.blocks(channels)

    def describe(kernel: str, name: str, tensor: Any) -> Any:
        return TensorDescriptor.from_tensor(tensor, blocks[kernel][name])

    processors = torch.cuda.get_device_properties(x.device).multi_processor_count
    tiles = lines * triton.cdiv(n, config.BM)
    project_arguments = [
        describe("project", "x", seen["project"]["incoming" if incoming else "outgoing"]),
        describe("project", "p_in", weights.p_in),
        describe("project", "g_in", weights.g_in),
        describe("project", "ab", seen["project"]["ab"]),
        *(mask, weights.norm_in, weights.norm_in_bias, n, lines, eps),
    ]
    project_constants = config.constants("project") | {
        "C": channels,
        "INCOMING": incoming,
        "MASKED": mask is not None,
    }
    squares = channels * batches * triton.cdiv(n, config.TILE_M) * triton.cdiv(n, config.TILE_N)
    multiply_arguments = [
        describe("multiply", "a", seen["multiply"]["a"]),
        describe("multiply", "b", seen["multiply"]["a"]),
        describe("multiply", "t", seen["multiply"]["t"]),
        *(n, channels * batches),
    ]
    finish_tiles = lines * triton.cdiv(n, 2 * _ROWS.value)
    finish_arguments = [
        describe("finish", "t", seen["finish"]["t"]),
        describe("finish", "x", seen["finish"]["x"]),
        describe("finish", "p_out", weights.p_out),
        describe("finish", "g_out", weights.g_out),
        describe("finish", "out", seen["finish"]["out"]),
        None if other is None else describe("finish", "out", other.view(lines, n, channels)),
        *(weights.norm_in, weights.norm_in_bias, weights.norm_out, weights.norm_out_bias),
        *(n, pitch, lines, eps),
    ]
    finish_constants = config.constants("finish") | {"C": channels, "EPILOGUE": epilogue}

    def run() -> None:
        project[(min(processors, tiles),)](*project_arguments, **project_constants, num_warps=4)
        multiply[(min(processors, squares),)](*multiply_arguments, **config.constants("multiply"), num_warps=4)
        finish[(min(processors, finish_tiles),)](*finish_arguments, **finish_constants, num_warps=4)

    return run


def triangle_update(x, weights: Weights, incoming: bool = False, mask=None, **options: Any):
    """Return the update of x on a Hopper GPU; the arguments are those of :func:`prepare`."""
    import torch

    out = torch.empty_like(x)
    prepare(x, weights, out, incoming, mask, **options)()
    return out


def compile_for(
    kernel: str,
    target: str = "cuda:90",
    config: Config = CONFIGS[0],
    channels: int = 128,
    dtype: str = "fp16",
    incoming: bool = False,
    masked: bool = True,
    epilogue: Any = plain,
    options: dict[str, Any] | None = None,
):
    """Return one of the kernels compiled for a target, on any machine.

    Args:
        kernel: ``"project"``, ``"multiply"`` or ``"finish"``.
        target: Such as ``cuda:90``.
        config: Tiles and schedule.
        channels: C.
        dtype: Triton's name of the element type.
        incoming: Whether lines are columns of x.
        masked: Whether there is a mask, of the same type.
        epilogue: That of ``finish``; any but :func:`plain` gets another tensor.
        options: Options of the compiler beside the number of warps.
    """
    parts = [f"{name}=tensordesc<{dtype}{block}>" for name, block in config.blocks(channels)[kernel].items()]
    constants = config.constants(kernel)
    if kernel == "multiply":
        parts.append("N=i32, matrices=i32")
    else:
        constants["C"] = channels
    if kernel == "project":
        constants |= {"INCOMING": incoming, "MASKED": masked}
        if masked:
            parts.append(f"mask=*{dtype}:16")
        else:
            constants["mask"] = None
        parts.append(f"gamma=*{dtype}:16, beta=*{dtype}:16, N=i32, lines=i32, eps=fp32")
    if kernel == "finish":
        norms = ("gamma_in", "beta_in", "gamma_out", "beta_out")
        parts.append(", ".join(f"{name}=*{dtype}:16" for name in norms))
        parts.append("N=i32, pitch=i32:8, lines=i32, eps=fp32")
        constants["EPILOGUE"] = epilogue
        if epilogue is plain:
            constants["other"] = None
        else:
            parts.append(f"other=tensordesc<{dtype}{config.blocks(channels)['finish']['out']}>")
    function = {"project": project, "multiply": multiply, "finish": finish}[kernel]
    specialization = Specialization(
        function, parse_signature(", ".join(parts)), constants, {"num_warps": 4, **(options or {})}
    )
    return specialization.compile(target)


def show_code() -> None:
    for name in ("project", "multiply", "finish"):
        kernel = compile_for(name)
        ptx, code = kernel.asm["ptx"], stats(kernel)
        print(name)
        for what, count in (
            ("tile copies", len(re.findall(r"cp\.async\.bulk\.tensor\.2d\.shared", ptx))),
            ("tile stores", len(re.findall(r"cp\.async\.bulk\.tensor\.3d\.global", ptx))),
            ("MMA instructions", code.mma),
            ("spilled registers", code.spills),
            ("bytes of shared memory", code.shared_bytes),
        ):
            print(f"  {what:24}{count:8}")


def in_torch(x, weights: Weights, incoming: bool = False, mask=None, eps: float = 1e-5):
    """Return the update by torch, in the type of the arguments."""
    import torch
    from torch.nn.functional import layer_norm, linear

    channels = x.shape[-1]
    x = layer_norm(x, (channels,), weights.norm_in, weights.norm_in_bias, eps)
    ab = linear(x, weights.p_in) * linear(x, weights.g_in).sigmoid()
    if mask is not None:
        ab = ab * mask[..., None]
    a, b = ab.chunk(2, dim=-1)
    t = torch.einsum("bkid,bkjd->bijd" if incoming else "bikd,bjkd->bijd", a, b)
    t = layer_norm(t, (channels,), weights.norm_out, weights.norm_out_bias, eps)
    return linear(t, weights.p_out) * linear(x, weights.g_out).sigmoid()


def random_weights(channels: int, dtype: Any, generator: Any = None) -> Weights:
    """Return random weights of a size that keeps that of what they multiply, on the GPU."""
    import torch

    def draw(*shape: int) -> Any:
        return torch.randn(shape, generator=generator, device="cuda")

    shapes = {"p_in": 2, "g_in": 2, "p_out": 1, "g_out": 1}
    values = {name: draw(rows * channels, channels) * channels**-0.5 for name, rows in shapes.items()}
    values |= {name: 1 + 0.1 * draw(channels) for name in ("norm_in", "norm_out")}
    values |= {name: 0.1 * draw(channels) for name in ("norm_in_bias", "norm_out_bias")}
    return Weights(**{name: value.to(dtype) for name, value in values.items()})


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
    n, channels = 512, 128
    x = torch.randn((1, n, n, channels), device="cuda", dtype=torch.bfloat16)
    mask = (torch.rand((1, n, n), device="cuda") > 0.1).to(x.dtype)
    weights = random_weights(channels, x.dtype)
    out = torch.empty_like(x)
    run = prepare(x, weights, out, mask=mask)
    run()
    wide = Weights(**{name: value.double() for name, value in vars(weights).items()})
    error = (out.double() - in_torch(x.double(), wide, mask=mask.double())).abs().max().item()
    print(f"largest error: {error:.3g}")
    for name, candidate in (("tlx", run), ("torch", lambda: in_torch(x, weights, mask=mask))):
        time = triton.testing.do_bench(candidate, return_mode="median")
        print(f"{name + ', microseconds':24}{time * 1e3:8.0f}")


if __name__ == "__main__":
    main()
