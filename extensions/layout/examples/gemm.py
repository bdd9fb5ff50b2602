"""Compile a GEMM with and without the extension and compare; on a machine with a GPU, compare numbers and time too.

python gemm.py [--target cuda:90] [--warps 8] [--out fp32]
"""

from __future__ import annotations

import argparse

import triton
import triton.language as tl

import tritonext
from tritonext.inspect_code import stats
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import gpu_missing


@triton.jit
def gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A @ B for row-major matrices whose sizes the tile divides: plain Triton, nothing of tritonext in it."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_at = a + rm[:, None] * K + rk[None, :]
    b_at = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_at), tl.load(b_at), acc)
        a_at += BK
        b_at += BK * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


def specialize(out: str = "fp16", columns: int = 128, warps: int = 4) -> Specialization:
    """Return what the kernel is compiled for: the type of C, the columns of the tile, the warps."""
    signature = parse_signature(f"a=*fp16:16, b=*fp16:16, c=*{out}:16, M=i32:16, N=i32:16, K=i32:16")
    return Specialization(gemm, signature, {"BM": 128, "BN": columns, "BK": 64}, {"num_warps": warps, "num_stages": 3})


# Lets `tritonext explain gemm.py::gemm` know the arguments.
tritonext_explain = {"gemm": specialize()}


def compare_code(kernel: Specialization, target: str) -> None:
    stock = stats(kernel.compile(target))
    with tritonext.use("layout"):
        ours = stats(kernel.compile(target))
    print(f"{'':36}{'stock':>8}{'layout':>8}")
    for name in ("barriers", "epilogue_barriers", "shared_bytes", "registers", "spills", "instructions"):
        print(f"{name.replace('_', ' '):36}{getattr(stock, name):8}{getattr(ours, name):8}")


def compare_runs(kernel: Specialization, out: str) -> None:
    import torch

    m, n, k = 8192, 8192, 512
    a, b = (torch.randn(shape, device="cuda", dtype=torch.float16) for shape in ((m, k), (k, n)))
    results = {}

    def run(name: str) -> float:
        c = torch.full((m, n), float("nan"), device="cuda", dtype=getattr(torch, f"float{out.removeprefix('fp')}"))
        grid = (m // kernel.constexprs["BM"], n // kernel.constexprs["BN"])
        results[name] = c
        return triton.testing.do_bench(
            lambda: gemm[grid](a, b, c, m, n, k, **kernel.constexprs, **kernel.options), return_mode="median"
        )

    stock = run("stock")
    with tritonext.use("layout"):
        ours = run("layout")
    print(f"{'milliseconds, 8192x8192x512':36}{stock:8.3f}{ours:8.3f}")
    print(f"results bit-equal: {torch.equal(results['stock'], results['layout'])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--warps", type=int, default=4)
    parser.add_argument("--out", choices=("fp16", "fp32"), default="fp16")
    arguments = parser.parse_args()
    kernel = specialize(arguments.out, warps=arguments.warps)
    compare_code(kernel, arguments.target)
    if (reason := gpu_missing()) is None:
        compare_runs(kernel, arguments.out)
    else:
        print(f"numbers and time not compared: {reason}")


if __name__ == "__main__":
    main()
