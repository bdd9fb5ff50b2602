"""A pipelined GEMM of plain Triton, to be profiled::

tritonext profile -k matmul -o gemm.html -o gemm.pftrace examples/gemm.py
tritonext profile -k matmul --mode header examples/gemm.py --stages 4
"""

from __future__ import annotations

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    left = a + row[:, None] * K + inner[None, :]
    right = b + inner[:, None] * N + column[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BLOCK_K
        right += BLOCK_K * N
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--stages", type=int, default=3)
    parser.add_argument("--launches", type=int, default=5)
    options = parser.parse_args()
    size = options.size
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.full_like(a, float("nan"))
    grid = (size // 128, size // 128)
    for _ in range(options.launches):
        matmul[grid](a, b, c, size, size, size, 128, 128, 64, num_warps=8, num_stages=options.stages)
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=0.5)


if __name__ == "__main__":
    main()
