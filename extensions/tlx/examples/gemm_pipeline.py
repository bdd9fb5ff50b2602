"""The GEMM of gemm_tasks.py with a pipeline object: no slot, parity, barrier or number of bytes is written by hand.

python gemm_pipeline.py

It prints what its machine code does. On a machine with a Hopper GPU and torch the result is compared with torch.matmul.
"""

from __future__ import annotations

import re

import triton
import triton.language as tl

import tritonext_tlx as tlx
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import gpu_missing

TILE = {"BM": 128, "BN": 256, "BK": 64, "STAGES": 3, "GROUPS": 2, "GROUP_M": 8}


@triton.jit
def tile_of(tile, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP_M: tl.constexpr):
    """Return where a tile starts; neighbours share rows of A and columns of B in the cache."""
    rows = tl.cdiv(m, BM)
    band = GROUP_M * tl.cdiv(n, BN)
    first = tile // band * GROUP_M
    height = min(rows - first, GROUP_M)
    return (first + tile % band % height) * BM, tile % band // height * BN


@triton.jit
def gemm(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    STAGES: tl.constexpr,
    GROUPS: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """C = A @ B, from descriptors of blocks BM x BK, BK x BN and BM / GROUPS x BN."""
    ROWS: tl.constexpr = BM // GROUPS
    a_tiles = tlx.local_alloc((BM, BK), tl.float16, STAGES)
    b_tiles = tlx.local_alloc((BK, BN), tl.float16, STAGES)
    c_tiles = tlx.local_alloc((ROWS, BN), tl.float16, GROUPS)
    ring = tlx.alloc_pipeline((a_tiles, b_tiles), consumers=GROUPS)
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    steps = tl.cdiv(K, BK)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            step = 0
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                row, column = tile_of(tile, M, N, BM, BN, GROUP_M)
                for k in range(steps):
                    stage = ring.acquire(step)
                    tlx.async_descriptor_load(a, stage[0], [row, k * BK], stage.full)
                    tlx.async_descriptor_load(b, stage[1], [k * BK, column], stage.full)
                    step += 1

        with tlx.async_task(num_warps=4, num_regs=232, replicate=GROUPS):
            group: tl.constexpr = tlx.async_task_replica_id()
            step = 0
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                row, column = tile_of(tile, M, N, BM, BN, GROUP_M)
                acc = tl.zeros((ROWS, BN), tl.float32)
                for k in range(steps):
                    stage = ring.wait(step)
                    rows = tlx.local_slice(stage[0], [group * ROWS, 0], [ROWS, BK])
                    acc = tlx.async_dot(rows, stage[1], acc)
                    # The product before this one has ended, so its slot may be filled.
                    acc = tlx.async_dot_wait(1, acc)
                    if k > 0:
                        ring.release(step - 1)
                    step += 1
                acc = tlx.async_dot_wait(0, acc)
                if steps > 0:
                    ring.release(step - 1)
                # The store of the tile before may still read the buffer.
                tlx.async_descriptor_store_wait(0)
                tlx.local_store(c_tiles[group], acc.to(tl.float16))
                tlx.fence_async_shared()
                tlx.async_descriptor_store(c, c_tiles[group], [row + group * ROWS, column])
            tlx.async_descriptor_store_wait(0)


def compile_for(target: str = "cuda:90", **overrides: int):
    """Return the kernel compiled for a target, on any machine."""
    tile = {**TILE, **overrides}
    rows = tile["BM"] // tile["GROUPS"]
    blocks = {"a": (tile["BM"], tile["BK"]), "b": (tile["BK"], tile["BN"]), "c": (rows, tile["BN"])}
    text = ", ".join(f"{name}=tensordesc<fp16{list(block)}>" for name, block in blocks.items())
    signature = parse_signature(f"{text}, M=i32, N=i32, K=i32")
    return Specialization(gemm, signature, tile, {"num_warps": 4}).compile(target)


def matmul(x, y, **overrides: int):
    """Return ``x @ y`` of two fp16 matrices on a Hopper GPU; rows of all three are multiples of 16 bytes."""
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    tile = {**TILE, **overrides}
    (m, k), n = x.shape, y.shape[1]
    out = torch.full((m, n), float("nan"), device=x.device, dtype=torch.float16)
    rows = tile["BM"] // tile["GROUPS"]
    a = TensorDescriptor.from_tensor(x, [tile["BM"], tile["BK"]])
    b = TensorDescriptor.from_tensor(y, [tile["BK"], tile["BN"]])
    c = TensorDescriptor.from_tensor(out, [rows, tile["BN"]])
    processors = torch.cuda.get_device_properties(x.device).multi_processor_count
    grid = (min(processors, triton.cdiv(m, tile["BM"]) * triton.cdiv(n, tile["BN"])),)
    gemm[grid](a, b, c, m, n, k, **tile, num_warps=4)
    return out


def main() -> None:
    ptx = compile_for().asm["ptx"]
    for what, pattern in (
        ("tile copies", r"cp\.async\.bulk\.tensor\.2d\.shared"),
        ("tile stores", r"cp\.async\.bulk\.tensor\.2d\.global"),
        ("waits for barriers", r"mbarrier\.try_wait"),
        ("MMA instructions", r"wgmma\.mma_async"),
        ("register budgets", r"setmaxnreg"),
    ):
        print(f"{what:20}{len(re.findall(pattern, ptx)):4}")
    if (reason := gpu_missing()) is not None:
        print(f"numbers not compared: {reason}")
        return
    import torch

    x, y = (torch.randn(shape, device="cuda", dtype=torch.float16) for shape in ((2048, 1024), (1024, 4096)))
    reference = x.double() @ y.double()
    print(f"largest error, 2048x4096x1024: {(matmul(x, y).double() - reference).abs().max().item():.3g}")


if __name__ == "__main__":
    main()
