"""A Hopper GEMM pipelined by hand: rings of buffers, copies in groups, MMA that overlap them; then its machine code.

python gemm_pipelined.py

While one product of tiles is computed, the next is issued behind it, and the slot of the one before is filled again.
On a machine with a Hopper GPU and torch the result is compared with torch.matmul, and both are timed.
"""

from __future__ import annotations

import re

import triton
import triton.language as tl

import tritonext_tlx as tlx
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import gpu_missing

TILE = {"BM": 128, "BN": 256, "BK": 64, "GROUP_M": 8, "STAGES": 4}
OPTIONS = {"num_warps": 8}


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
    """C = A @ B for row-major matrices; N and K are multiples of 16, so that copies of 16 bytes are known to fit."""
    tile = tl.program_id(0)
    # Neighbouring programs share rows of A and columns of B in the cache.
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    band = GROUP_M * columns
    first = tile // band * GROUP_M
    height = min(rows - first, GROUP_M)
    row = (first + tile % band % height) * BM
    column = tile % band // height * BN

    at_m, at_n, at_k = row + tl.arange(0, BM), column + tl.arange(0, BN), tl.arange(0, BK)
    inside_n = at_n < N
    a_at = a + at_m[:, None] * K + at_k[None, :]
    b_at = b + at_k[:, None] * N + at_n[None, :]
    a_tiles = tlx.local_alloc((BM, BK), a.dtype.element_ty, STAGES)
    b_tiles = tlx.local_alloc((BK, BN), b.dtype.element_ty, STAGES)

    for slot in tl.static_range(STAGES - 2):
        left = K - slot * BK
        tlx.async_load(a_at, a_tiles[slot], mask=(at_m[:, None] < M) & (at_k[None, :] < left))
        tlx.async_load(b_at, b_tiles[slot], mask=inside_n[None, :] & (at_k[:, None] < left))
        tlx.async_load_commit_group()
        a_at += BK
        b_at += BK * N

    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK)):
        # The slot that the product before the last one read; the wait below the last product covered it.
        ahead = k + STAGES - 2
        left = K - ahead * BK
        tlx.async_load(a_at, a_tiles[ahead % STAGES], mask=(at_m[:, None] < M) & (at_k[None, :] < left))
        tlx.async_load(b_at, b_tiles[ahead % STAGES], mask=inside_n[None, :] & (at_k[:, None] < left))
        tlx.async_load_commit_group()
        a_at += BK
        b_at += BK * N
        tlx.async_load_wait_group(STAGES - 2)
        acc = tlx.async_dot(a_tiles[k % STAGES], b_tiles[k % STAGES], acc)
        acc = tlx.async_dot_wait(1, acc)
    # Copies from behind the last step bring zeros. Waited for, they leave the memory of the rings to the epilogue.
    tlx.async_load_wait_group(0)
    acc = tlx.async_dot_wait(0, acc)

    inside = (at_m[:, None] < M) & inside_n[None, :]
    tl.store(c + at_m[:, None] * N + at_n[None, :], acc.to(c.dtype.element_ty), mask=inside)


def matmul(a, b, **tile: int):
    """Return ``a @ b`` for matrices of torch on a Hopper GPU; ``tile`` replaces values of TILE."""
    chosen = TILE | tile
    (m, k), n = a.shape, b.shape[1]
    c = a.new_empty((m, n))
    grid = (triton.cdiv(m, chosen["BM"]) * triton.cdiv(n, chosen["BN"]),)
    gemm[grid](a, b, c, m, n, k, **chosen, **OPTIONS)
    return c


def show_code() -> None:
    signature = parse_signature("a=*fp16:16, b=*fp16:16, c=*fp16:16, M=i32:16, N=i32:16, K=i32:16")
    kernel = Specialization(gemm, signature, TILE, OPTIONS).compile("cuda:90")
    loop = re.search(
        r"^\$L__BB0_\d+:.*\n((?:(?!\$L__BB).*\n)*?.*wgmma(?:.*\n)*?.*bra.*)", kernel.asm["ptx"], re.MULTILINE
    )[1]
    for name, pattern in (
        ("copies", r"cp\.async\.c[ag]"),
        ("waits for copies", r"cp\.async\.wait_group\s+(\d+)"),
        ("MMA", r"wgmma\.mma_async"),
        ("waits for MMA", r"wgmma\.wait_group\S*\s+(\d+)"),
        ("barriers", r"bar\.sync"),
    ):
        found = re.findall(pattern, loop)
        counts = f", leaving {', '.join(found)}" if found and found[0].isdecimal() else ""
        print(f"{name + ' in the loop':28}{len(found):6}{counts}")
    print(f"{'bytes of shared memory':28}{kernel.metadata.shared:6}")


def compare_with_torch() -> None:
    import torch

    m, n, k = 4096, 4096, 4096
    a, b = (torch.randn(shape, device="cuda", dtype=torch.float16) for shape in ((m, k), (k, n)))
    torch.testing.assert_close(matmul(a, b), a @ b, atol=1e-1, rtol=1e-2)
    for name, run in (("tlx", lambda: matmul(a, b)), ("torch", lambda: a @ b)):
        time = triton.testing.do_bench(run, return_mode="median")
        print(f"{name + ', TFLOPS at 4096':28}{2 * m * n * k / time / 1e9:6.0f}")


def main() -> None:
    show_code()
    missing = gpu_missing()
    if missing is None:
        import torch

        if torch.cuda.get_device_capability() != (9, 0):
            missing = "the GPU is no Hopper"
    if missing:
        print(f"not run: {missing}")
    else:
        compare_with_torch()


if __name__ == "__main__":
    main()
