"""A Hopper product of a 2:4 sparse matrix in tasks of TLX: one copies tiles, two multiply them; then its machine code.

python sparse_tasks.py

It needs the extensions sparsity and tlx. Values, metadata and the dense matrix are three operands of a ring: the
copying task fills a slot of each, and a full barrier completes with their bytes. Each multiplying task computes one
half of the rows of a tile. On a machine with a Hopper GPU and torch the result is compared with a dense product.
"""

from __future__ import annotations

import re

import triton
import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout

import tritonext_sparsity as sparsity
import tritonext_tlx as tlx
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import gpu_missing

# Rows of 16 bytes are shorter than a swizzle.
META_LAYOUT = tl.constexpr(NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=8, rank=2))
TILE = {"BM": 256, "BN": 128, "BK": 128, "STAGES": 2, "GROUPS": 2}


@triton.jit
def gemm(
    values,
    meta,
    b,
    c,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    STAGES: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """C = expand24(values, meta) @ B, from descriptors; blocks are those of :func:`blocks_of`.

    M and K are multiples of BM and BK: what a copy reads beyond a matrix is zero, which is no code of metadata.
    """
    ROWS: tl.constexpr = BM // GROUPS
    value_tiles = tlx.local_alloc((ROWS, BK // 2), tl.bfloat16, STAGES * GROUPS)
    meta_tiles = tlx.local_alloc((ROWS, BK // 8), tl.uint8, STAGES * GROUPS, layout=META_LAYOUT)
    b_tiles = tlx.local_alloc((BK, BN), tl.bfloat16, STAGES)
    c_tiles = tlx.local_alloc((ROWS, BN), tl.bfloat16, GROUPS)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES, arrive_count=GROUPS)
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    steps = K // BK

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for step in range(steps):
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], BM * BK + BM * BK // 8 + BK * BN * 2)
                tlx.async_descriptor_load(b, b_tiles[slot], [step * BK, column], full[slot])
                for group in tl.static_range(GROUPS):
                    part, at = slot * GROUPS + group, row + group * ROWS
                    tlx.async_descriptor_load(values, value_tiles[part], [at, step * (BK // 2)], full[slot])
                    tlx.async_descriptor_load(meta, meta_tiles[part], [at, step * (BK // 8)], full[slot])

        with tlx.async_task(num_warps=4, num_regs=232, replicate=GROUPS):
            group: tl.constexpr = tlx.async_task_replica_id()
            acc = tl.zeros((ROWS, BN), tl.float32)
            for step in range(steps):
                slot, phase = tlx.get_bufidx_phase(step, STAGES)
                part = slot * GROUPS + group
                tlx.barrier_wait(full[slot], phase)
                acc = sparsity.async_sparse_dot(value_tiles[part], meta_tiles[part], b_tiles[slot], acc)
                # Within the round: the next one loads its metadata into the registers that this product reads.
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            tlx.local_store(c_tiles[group], acc.to(tl.bfloat16))
            tlx.fence_async_shared()
            tlx.async_descriptor_store(c, c_tiles[group], [row + group * ROWS, column])
            tlx.async_descriptor_store_wait(0)


def blocks_of(BM: int, BN: int, BK: int, STAGES: int, GROUPS: int) -> dict[str, tuple[str, list[int]]]:
    """Return type and block of each descriptor."""
    rows = BM // GROUPS
    return {
        "values": ("bf16", [rows, BK // 2]),
        "meta": ("u8", [rows, BK // 8]),
        "b": ("bf16", [BK, BN]),
        "c": ("bf16", [rows, BN]),
    }


def compile_for(target: str = "cuda:90", **overrides: int):
    """Return the kernel compiled for a target, on any machine."""
    tile = {**TILE, **overrides}
    text = ", ".join(f"{name}=tensordesc<{kind}{block}>" for name, (kind, block) in blocks_of(**tile).items())
    signature = parse_signature(text + ", K=i32:16")
    return Specialization(gemm, signature, tile, {"num_warps": 4, "num_stages": 1}).compile(target)


def multiply(values, meta, b, **overrides: int):
    """Return the product of a sparse matrix, in the canonical format, and a dense one; tensors of torch on the GPU."""
    import torch
    from triton.tools.tensor_descriptor import TensorDescriptor

    tile = {**TILE, **overrides}
    (m, _), (k, n) = values.shape, b.shape
    c = torch.empty((m, n), device=b.device, dtype=b.dtype)
    tensors = {"values": values, "meta": meta, "b": b, "c": c}
    described = [TensorDescriptor.from_tensor(tensors[name], block) for name, (_, block) in blocks_of(**tile).items()]
    grid = (triton.cdiv(m, tile["BM"]), triton.cdiv(n, tile["BN"]))
    gemm[grid](*described, k, **tile, num_warps=4, num_stages=1)
    return c


def main() -> None:
    if (reason := gpu_missing()) is not None:
        print(f"numbers not compared: {reason}")
    else:
        print(f"largest error: {largest_error():.3g}")
    opcodes = re.findall(r"\b(HGMMA\S*|UTMALDG\S*)", compile_for().asm["sass"])
    for opcode in sorted(set(opcodes)):
        print(f"{opcode}: {opcodes.count(opcode)}")


def largest_error() -> float:
    """Return the largest difference from the product in 64-bit floats."""
    import torch

    from tritonext_sparsity.compress import compress, decompress

    dense = torch.randn(1024, 2048, device="cuda", dtype=torch.bfloat16)
    values, meta = compress(dense, prune=True)
    b = torch.randn(2048, 512, device="cuda", dtype=torch.bfloat16)
    return (multiply(values, meta, b).double() - decompress(values, meta).double() @ b.double()).abs().max().item()


if __name__ == "__main__":
    main()
