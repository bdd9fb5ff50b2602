"""A grouped GEMM for Hopper: rows sorted by group, such as tokens by expert, each group with a matrix of its own.

python hopper_gemm_grouped.py

One launch computes all groups, on the tasks of ``hopper_gemm``: a program walks over the tiles of all groups, and two
consumers compute whole tiles in turns. Groups may have any number of rows, also none. Tiles are read past the end of a
group, and stored by a descriptor that ends there, which a consumer makes when it comes to a group.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl
from hopper_gemm import TURNS, Config, accumulate, plain, store_tile, tile_of

import tritonext_tlx as tlx
from tritonext.inspect_code import stats
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import gpu_missing

__all__ = ["compile_for", "grouped_gemm", "grouped_matmul", "prepare"]


@triton.jit
def group_of(offsets, group, N, BM: tl.constexpr, BN: tl.constexpr):
    """Return the first row of a group, its rows and its tiles."""
    start = tl.load(offsets + group)
    rows = tl.load(offsets + group + 1) - start
    return start, rows, tl.cdiv(rows, BM) * tl.cdiv(N, BN)


@triton.jit
def produce(
    a,
    b,
    offsets,
    a_tiles,
    b_tiles,
    full,
    empty,
    N,
    K,
    G,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Copy the tiles of A and B into the ring."""
    BYTES: tl.constexpr = (BM + BN) * BK * tlx.size_of(tlx.dtype_of(a))
    step = 0
    tile = tl.program_id(0)
    done = 0
    for group in range(G):
        start, rows, tiles = group_of(offsets, group, N, BM, BN)
        while tile < done + tiles:
            row, column = tile_of(tile - done, rows, N, BM, BN, GROUP_M)
            for k in range(0, K, BK):
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], BYTES)
                tlx.async_descriptor_load(a, a_tiles[slot], [start + row, k], full[slot])
                tlx.async_descriptor_load(b, b_tiles[slot], [group * K + k, column], full[slot])
                step += 1
            tile += tl.num_programs(0)
        done += tiles


@triton.jit
def consume(
    c,
    offsets,
    a_tiles,
    b_tiles,
    staging,
    full,
    empty,
    turn,
    N,
    K,
    G,
    GROUP: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
    SUBTILE: tl.constexpr,
    STAGING: tl.constexpr,
    EPILOGUE: tl.constexpr,
):
    """Multiply and store each second tile of the program."""
    steps = tl.cdiv(K, BK)
    step = GROUP * steps
    number = 0
    tile = tl.program_id(0) + GROUP * tl.num_programs(0)
    done = 0
    for group in range(G):
        start, rows, tiles = group_of(offsets, group, N, BM, BN)
        if tile < done + tiles:
            # Stores by the descriptor of the group before have read it when they have read their buffers.
            tlx.async_descriptor_store_wait(0)
            inside = tl.make_tensor_descriptor(c + start.to(tl.int64) * N, [rows, N], [N, 1], [BM, BN // SUBTILE])
            while tile < done + tiles:
                tlx.barrier_wait(turn[GROUP], (number & 1) ^ (1 if GROUP == 0 else 0))
                acc, step = accumulate(a_tiles, b_tiles, full, empty, step, steps, BM, BN, STAGES, 1, 0, False)
                tlx.barrier_arrive(turn[1 - GROUP])
                row, column = tile_of(tile - done, rows, N, BM, BN, GROUP_M)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[(step - 1) % STAGES])
                step += steps
                number += 1
                store_tile(
                    inside, staging, acc, row, column, rows, N, None, None, None, 0, SUBTILE, STAGING, 1, EPILOGUE
                )
                tile += 2 * tl.num_programs(0)
        done += tiles
    tlx.async_descriptor_store_wait(0)


@triton.jit
def grouped_gemm(
    a,
    b,
    c,
    offsets,
    N,
    K,
    G,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
    SUBTILE: tl.constexpr,
    STAGING: tl.constexpr,
    EPILOGUE: tl.constexpr,
):
    """C[rows of group] = EPILOGUE(A[rows of group] @ B[group]), from descriptors of A and of the rows of all B."""
    a_tiles = tlx.local_alloc((BM, BK), tlx.dtype_of(a), STAGES)
    b_tiles = tlx.local_alloc((BK, BN), tlx.dtype_of(b), STAGES)
    first = tlx.local_alloc((BM, BN // SUBTILE), c.dtype.element_ty, STAGING)
    second = tlx.local_alloc((BM, BN // SUBTILE), c.dtype.element_ty, STAGING)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    turn = tlx.alloc_barriers(2)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            consume(
                c, offsets, a_tiles, b_tiles, first, full, empty, turn, N, K, G,
                0, BM, BN, BK, GROUP_M, STAGES, SUBTILE, STAGING, EPILOGUE,
            )  # fmt: skip
        with tlx.async_task(num_warps=4, num_regs=232):
            consume(
                c, offsets, a_tiles, b_tiles, second, full, empty, turn, N, K, G,
                1, BM, BN, BK, GROUP_M, STAGES, SUBTILE, STAGING, EPILOGUE,
            )  # fmt: skip
        with tlx.async_task(num_warps=1, num_regs=40):
            produce(a, b, offsets, a_tiles, b_tiles, full, empty, N, K, G, BM, BN, BK, GROUP_M, STAGES)


def constants_of(config: Config, epilogue: Any) -> dict[str, Any]:
    """Return the constants of the kernel, for a configuration whose consumers take turns."""
    names = ("BM", "BN", "BK", "GROUP_M", "STAGES", "SUBTILE", "STAGING")
    return {name: getattr(config, name) for name in names} | {"EPILOGUE": epilogue}


def compile_for(target: str = "cuda:90", config: Config = TURNS, epilogue: Any = plain, dtype: str = "bf16"):
    """Return the kernel compiled for a target, on any machine; ``dtype`` is Triton's name of the element type."""
    blocks = config.blocks(False)
    text = f"a=tensordesc<{dtype}{blocks['a']}>, b=tensordesc<{dtype}{blocks['b']}>, c=*{dtype}:16, offsets=*i32:16"
    signature = parse_signature(f"{text}, N=i32:16, K=i32:16, G=i32")
    return Specialization(grouped_gemm, signature, constants_of(config, epilogue), {"num_warps": 4}).compile(target)


def prepare(a, b, offsets, out, epilogue: Any = plain, config: Config = TURNS) -> Callable[[], Any]:
    """Return a function that computes ``out[i:j] = epilogue(a[i:j] @ b[g])`` for each group g on a Hopper GPU.

    Args:
        a: T x K, rows contiguous.
        b: G x K x N, contiguous.
        offsets: G + 1 numbers of 32 bits on the GPU: where groups start, and T.
        out: T x N, contiguous; a row of each matrix is a multiple of 16 bytes.
        epilogue: Function of the interface of :func:`hopper_gemm.plain`, without tensors; rows count from the first of
            the group.
        config: Tile and schedule, with consumers that take turns.

    Raises:
        ValueError: Sizes do not fit, or K is no multiple of that of the tile.
    """
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    (t, k), (g, other, n) = a.shape, b.shape
    if other != k or tuple(out.shape) != (t, n) or tuple(offsets.shape) != (g + 1,):
        raise ValueError(
            f"expected shapes T x K, G x K x N, G + 1 and T x N, got {tuple(a.shape)}, {tuple(b.shape)}, "
            f"{tuple(offsets.shape)} and {tuple(out.shape)}"
        )
    if k % config.BK:
        raise ValueError(
            f"expected a K that is a multiple of {config.BK}, got {k}: a tile would reach into the next group"
        )
    blocks = config.blocks(False)
    described = [
        TensorDescriptor.from_tensor(a, blocks["a"]),
        TensorDescriptor.from_tensor(b.view(g * k, n), blocks["b"]),
    ]
    programs = torch.cuda.get_device_properties(a.device).multi_processor_count
    constants = constants_of(config, epilogue)
    return lambda: grouped_gemm[(programs,)](*described, out, offsets, n, k, g, **constants, num_warps=4)


def grouped_matmul(a, b, offsets, epilogue: Any = plain, config: Config = TURNS):
    """Return the product of each group; the arguments are those of :func:`prepare`."""
    import torch

    # Descriptors made in a kernel live in memory that the caller provides.
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=a.device))
    out = torch.empty((a.shape[0], b.shape[2]), device=a.device, dtype=a.dtype)
    prepare(a, b, offsets, out, epilogue, config)()
    return out


def main() -> None:
    code = stats(compile_for())
    print(f"spilled registers {code.spills}, bytes of shared memory {code.shared_bytes}, MMA instructions {code.mma}")
    missing = gpu_missing()
    if missing is None:
        import torch

        if torch.cuda.get_device_capability() != (9, 0):
            missing = "the GPU is no Hopper"
    if missing:
        print(f"numbers not compared: {missing}")
        return
    sizes = [700, 0, 1500, 33, 1863]
    offsets = torch.tensor([0, *sizes], device="cuda").cumsum(0).int()
    a, b = (torch.randn(size, device="cuda", dtype=torch.bfloat16) for size in ((sum(sizes), 1024), (5, 1024, 2048)))
    out = grouped_matmul(a, b, offsets)
    ends = offsets.tolist()
    products = [a[i:j].double() @ b[g].double() for g, (i, j) in enumerate(itertools.pairwise(ends))]
    print(f"largest error: {(out.double() - torch.cat(products)).abs().max().item():.3g}")


if __name__ == "__main__":
    main()
