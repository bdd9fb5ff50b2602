"""One GEMM for NVIDIA and AMD: the same source becomes wgmma, tcgen05.mma, mma.sync or MFMA; then its machine code.

python gemm_portable.py [target …]

Copies of later tiles go on while one is multiplied. What a target cannot overlap is done at once, with the same result:
gfx942 copies through registers, and products of registers are asynchronous on Hopper alone.
"""

from __future__ import annotations

import re
import sys

import triton
import triton.language as tl

import tritonext_tlx as tlx
from tritonext.offline import Specialization, parse_signature

TILE = {"BM": 128, "BN": 128, "BK": 64, "GROUP_M": 8, "STAGES": 4}
OPTIONS = {"num_warps": 8}
SIGNATURE = "a=*fp16:16, b=*fp16:16, c=*fp16:16, M=i32:16, N=i32:16, K=i32:16"

# What differs from TILE. The local memory of gfx942 has 64 KiB.
TILES = {
    "cuda:90": {},
    "cuda:100": {},
    "cuda:80": {},
    "hip:gfx950": {},
    "hip:gfx942": {"BK": 32, "STAGES": 3},
}
INSTRUCTIONS = {
    "cuda:90": r"cp\.async\.cg|wgmma\.mma_async",
    "cuda:100": r"cp\.async\.cg|tcgen05\.mma",
    "cuda:80": r"cp\.async\.cg|mma\.sync\.aligned\.\w+",
    "hip:gfx950": r"(?:buffer|global)_load_\w+(?=.* lds)|global_load_lds_\w+|v_mfma_\w+",
    "hip:gfx942": r"(?:buffer|global)_load_\w+|ds_write\w+|v_mfma_\w+",
}
"""The copies and products of each target, as patterns of its machine code."""


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
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
):
    """C = A @ B.T for row-major matrices, K a multiple of BK and of at least BK * (STAGES - 2); M and N of 16."""
    tile = tl.program_id(0)
    # Neighbouring programs share rows of A and of B in the cache.
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    band = GROUP_M * columns
    first = tile // band * GROUP_M
    height = min(rows - first, GROUP_M)
    row = (first + tile % band % height) * BM
    column = tile % band // height * BN

    at_m, at_n, at_k = row + tl.arange(0, BM), column + tl.arange(0, BN), tl.arange(0, BK)
    # Tiles that reach over the edge load other rows again, which nobody stores: with a mask, AMD waits for all copies.
    a_at = a + (at_m % M)[:, None] * K + at_k[None, :]
    b_at = b + (at_n % N)[:, None] * K + at_k[None, :]
    a_tiles = tlx.local_alloc((BM, BK), a.dtype.element_ty, STAGES)
    b_tiles = tlx.local_alloc((BN, BK), b.dtype.element_ty, STAGES)

    for slot in tl.static_range(STAGES - 2):
        tlx.async_load(a_at + slot * BK, a_tiles[slot])
        tlx.async_load(b_at + slot * BK, b_tiles[slot])
        tlx.async_load_commit_group()

    acc = tl.zeros((BM, BN), tl.float32)
    steps = K // BK
    for k in tl.range(0, steps):
        # The slot that the product before the last one read; the wait below the last product covered it. The last steps
        # load tiles again that nobody multiplies, so that each step has one group to wait for.
        ahead = k + STAGES - 2
        tlx.async_load(a_at + ahead % steps * BK, a_tiles[ahead % STAGES])
        tlx.async_load(b_at + ahead % steps * BK, b_tiles[ahead % STAGES])
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(STAGES - 2)
        acc = tlx.async_dot(a_tiles[k % STAGES], tlx.local_trans(b_tiles[k % STAGES]), acc)
        acc = tlx.async_dot_wait(1, acc)
    acc = tlx.async_dot_wait(0, acc)
    tlx.async_load_wait_group(0)

    inside = (at_m[:, None] < M) & (at_n[None, :] < N)
    tl.store(c + at_m[:, None] * N + at_n[None, :], acc.to(c.dtype.element_ty), mask=inside)


def compile_for(target: str):
    """Return the GEMM compiled for a target, for matrices of 16-bit floats."""
    kernel = Specialization(gemm, parse_signature(SIGNATURE), TILE | TILES[target], OPTIONS)
    return kernel.compile(target)


def instructions(target: str, kernel) -> dict[str, int]:
    """Return how often each copy and product of a target is in its code."""
    code = kernel.asm["amdgcn" if target.startswith("hip") else "ptx"]
    found = re.findall(INSTRUCTIONS[target], code)
    return {name: found.count(name) for name in sorted(set(found))}


def matmul(a, b, target: str):
    """Return ``a @ b.T`` for matrices of torch on a GPU of the target."""
    chosen = TILE | TILES[target]
    (m, k), n = a.shape, b.shape[0]
    c = a.new_empty((m, n))
    gemm[(triton.cdiv(m, chosen["BM"]) * triton.cdiv(n, chosen["BN"]),)](a, b, c, m, n, k, **chosen, **OPTIONS)
    return c


def main() -> None:
    for target in sys.argv[1:] or TILES:
        kernel = compile_for(target)
        counts = ", ".join(f"{name} x {count}" for name, count in instructions(target, kernel).items())
        print(f"{target:11} {kernel.metadata.shared:7} bytes of shared memory: {counts}")


if __name__ == "__main__":
    main()
