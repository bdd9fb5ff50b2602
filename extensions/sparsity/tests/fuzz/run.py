"""Random sparse products against float64, and random mistakes in them that have to be errors with a line.

python run.py --count 300            # on a GPU: compiles, runs and compares
python run.py --count 300 --compile  # without one: compiles for cuda:90

A case has a type, a form of the product, odd sizes with tails, a tile, and how operands are loaded. Each depends on the
seed and its number alone, so ``--seed S --first N --count 1`` repeats one.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import triton
import triton.language as tl

import tritonext_sparsity as sparsity
from tritonext_sparsity import formats
from tritonext_sparsity.elements import element

__all__ = ["Case", "draw", "forms_of", "main", "run"]

# By name: the element type, that of Triton, and accumulators by the name of Triton.
TYPES = {
    "f16": ("float16", "fp16", "fp32"),
    "f16 in f16": ("float16", "fp16", "fp16"),
    "bf16": ("bfloat16", "bf16", "fp32"),
    "tf32": ("float32", "fp32", "fp32"),
    "s8": ("int8", "i8", "i32"),
    "u8": ("uint8", "u8", "i32"),
    "e4m3": ("float8_e4m3fn", "fp8e4nv", "fp32"),
    "e5m2": ("float8_e5m2", "fp8e5", "fp32"),
}
FORMS = ("sparse_dot", "dot_sparse", "expand24", "expand24 on the right", "expanded")
LOADS = ("rows", "columns", "descriptors")
MISTAKES = ("", "half of K", "half of the metadata", "another type of b", "8-bit floats by warps")
_TRITON = {"fp32": tl.float32, "fp16": tl.float16, "i32": tl.int32}
_TORCH = {"fp32": "float32", "fp16": "float16", "i32": "int32"}
# What is written behind the result shows in these.
_GUARD = 256


@triton.jit
def gemm(
    v,
    m,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    BYTES: tl.constexpr,
    FORM: tl.constexpr,
    LOAD: tl.constexpr,
    ACC: tl.constexpr,
):
    """C = sparse @ B; B is [N, K] in memory but where LOAD is rows."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    right: tl.constexpr = FORM == "dot_sparse" or FORM == "expand24 on the right"
    acc = tl.zeros((BN, BM) if right else (BM, BN), ACC)
    if LOAD == "descriptors":
        left = tl.make_tensor_descriptor(v, [M, K // 2], [K // 2, 1], [BM, BK // 2])
        other = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    for k in range(0, K, BK):
        kept, bytes, depth = k // 2 + tl.arange(0, BK // 2), k // GROUP + tl.arange(0, BYTES), k + tl.arange(0, BK)
        inside = (rows < M)[:, None] & (bytes < K // GROUP)[None, :]
        # Any legal code will do where values are zeros.
        meta = tl.load(m + rows[:, None] * (K // GROUP) + bytes[None, :], mask=inside, other=0x44)
        if LOAD == "descriptors":
            values = left.load([tl.program_id(0) * BM, k // 2])
            dense = other.load([tl.program_id(1) * BN, k]).T
        else:
            inside = (rows < M)[:, None] & (kept < K // 2)[None, :]
            values = tl.load(v + rows[:, None] * (K // 2) + kept[None, :], mask=inside, other=0.0)
            if LOAD == "columns":
                inside = (columns < N)[:, None] & (depth < K)[None, :]
                dense = tl.load(b + columns[:, None] * K + depth[None, :], mask=inside, other=0.0).T
            else:
                inside = (depth < K)[:, None] & (columns < N)[None, :]
                dense = tl.load(b + depth[:, None] * N + columns[None, :], mask=inside, other=0.0)
        if FORM == "sparse_dot":
            acc = sparsity.sparse_dot(values, meta, dense, acc)
        elif FORM == "dot_sparse":
            acc = sparsity.dot_sparse(dense.T, values, meta, acc)
        elif FORM == "expand24":
            acc = tl.dot(sparsity.expand24(values, meta), dense, acc, out_dtype=ACC)
        elif FORM == "expand24 on the right":
            acc = tl.dot(dense.T, sparsity.expand24(values, meta).T, acc, out_dtype=ACC)
        else:
            # Something else reads the matrix, so it is expanded in registers.
            matrix = (sparsity.expand24(values, meta).to(tl.float32) * 2).to(v.dtype.element_ty)
            acc = tl.dot(matrix, dense, acc, out_dtype=ACC)
    if right:
        acc = acc.T
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


@dataclass(frozen=True)
class Case:
    """A random product; ``mistake`` is empty where it is legal."""

    seed: int
    number: int
    kind: str
    form: str
    sizes: tuple[int, int, int]
    tile: tuple[int, int, int]
    warps: int
    stages: int
    load: str
    mistake: str

    def constants(self) -> dict[str, object]:
        """Return the constants of the kernel."""
        group = element(TYPES[self.kind][0]).columns_per_byte
        tile = dict(zip(("BM", "BN", "BK"), self.tile, strict=True))
        width = self.tile[2] // group // (2 if self.mistake == "half of the metadata" else 1)
        acc = _TRITON[TYPES[self.kind][2]]
        return tile | {"GROUP": group, "BYTES": width, "FORM": self.form, "LOAD": self.load, "ACC": acc}


def forms_of(kind: str) -> tuple[str, ...]:
    """Return the forms of products that a type has: stock ``tl.dot`` takes no unsigned integers."""
    return FORMS[:2] if kind == "u8" else FORMS


def draw(seed: int, number: int) -> Case:
    """Return a case; types, forms and loads come in turn, the rest by chance, and one in eight has a mistake."""
    rng = random.Random(f"{seed} {number}")
    kind = list(TYPES)[number % len(TYPES)]
    forms = forms_of(kind)
    form = forms[number // len(TYPES) % len(forms)]
    kind_of = element(TYPES[kind][0])
    least = 512 // kind_of.bits
    fp8 = kind in ("e4m3", "e5m2")
    fused = form in ("sparse_dot", "dot_sparse")
    mistake = ""
    if fused and rng.random() < 0.3:
        mistake = rng.choice([name for name in MISTAKES[1:] if fp8 or name != "8-bit floats by warps"])
    rows = rng.choice([16, 32, 64, 128])
    if fp8 and fused:
        # These have no product by warps on cuda:90.
        rows = rng.choice([16, 32] if mistake == "8-bit floats by warps" else [64, 128])
    depth = least * rng.choice([1, 2, 4])
    if mistake == "half of K":
        depth = least // 2
    tile = rows, rng.choice([8, 16, 32, 64, 128] if fused else [16, 32, 64, 128]), depth
    sizes = rng.randint(1, 300), rng.randint(1, 300), kind_of.columns_per_byte * rng.randint(1, 90)
    loads = LOADS if sizes[2] // 2 * kind_of.bits // 8 % 16 == 0 and not mistake else LOADS[:2]
    warps = rng.choice([4, 8] if rows >= 64 else [1, 2, 4])
    return Case(seed, number, kind, form, sizes, tile, warps, rng.choice([1, 2, 3]), rng.choice(loads), mistake)


def _types(case: Case) -> tuple[str, str, str]:
    _, name, acc = TYPES[case.kind]
    other = {"fp16": "bf16", "bf16": "fp16"}.get(name, "fp16") if case.mistake == "another type of b" else name
    return name, other, acc


def _compile(case: Case) -> None:
    from tritonext.offline import Specialization, parse_signature

    values, other, acc = _types(case)
    signature = f"v=*{values}:16, m=*u8:16, b=*{other}:16, c=*{acc}:16, M=i32, N=i32, K=i32"
    options = {"num_warps": case.warps, "num_stages": case.stages}
    Specialization(gemm, parse_signature(signature), case.constants(), options).compile("cuda:90")


def _launch(case: Case) -> str:
    """Run a case, and return what is wrong."""
    import torch

    name = TYPES[case.kind][0]
    rows, width, depth = case.sizes
    numbers = np.random.default_rng((case.seed, case.number))
    least = -4 if element(name).signed else 0
    weights = numbers.integers(least, 5, (rows, depth)).astype(np.float32)
    other = numbers.integers(least, 5, (depth, width)).astype(np.float32)
    matrix = formats.compress(element(name).encode(weights), name, pruned=True)
    sparse = element(name).decode(formats.decompress(matrix)).astype(np.float64)
    values = torch.from_numpy(np.ascontiguousarray(matrix.values).view(np.uint8)).cuda().view(getattr(torch, name))
    wrong = torch.bfloat16 if name == "float16" else torch.float16
    b = torch.from_numpy(other if case.load == "rows" else np.ascontiguousarray(other.T)).cuda()
    b = b.to(wrong if case.mistake == "another type of b" else getattr(torch, name))
    meta = torch.from_numpy(matrix.meta).cuda()
    found = torch.full((rows * width + _GUARD,), 77, device="cuda", dtype=getattr(torch, _TORCH[TYPES[case.kind][2]]))
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    grid = triton.cdiv(rows, case.tile[0]), triton.cdiv(width, case.tile[1])
    gemm[grid](values, meta, b, found, *case.sizes, **case.constants(), num_warps=case.warps, num_stages=case.stages)
    got = found.cpu().numpy().astype(np.float64)
    # Small integers: every product and sum is exact, in f16 too.
    expected = sparse @ other.astype(np.float64) * (2 if case.form == "expanded" else 1)
    differ = int((got[:-_GUARD].reshape(rows, width) != expected).sum())
    if differ:
        return f"{differ} of {expected.size} elements are wrong"
    return "" if (got[-_GUARD:] == 77).all() else "written behind the result"


def run(case: Case, compile_only: bool = False) -> tuple[str, str]:
    """Return what became of a case: ``ok``, ``refused`` as it had to be, or ``bad``; and what was said."""
    from triton.compiler.errors import CompilationError

    from tritonext.errors import UserError

    try:
        said = _compile(case) if compile_only else _launch(case)
    except (UserError, CompilationError) as error:
        return ("refused" if case.mistake else "bad"), str(error)
    except Exception as error:
        return "bad", f"{type(error).__name__}: {error}"
    if case.mistake:
        return "bad", "a mistake was not refused"
    return ("bad", said) if said else ("ok", "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="a new one when left out; it is printed")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--workers", type=int, default=min(12, os.cpu_count() or 1))
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    cases = [draw(seed, number) for number in range(options.first, options.first + options.count)]
    start = time.monotonic()
    with ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(run, cases, [options.compile] * len(cases)))
    for case, (state, said) in zip(cases, results, strict=True):
        if state == "bad":
            print(f"{case}\n    {said.strip()[:600]}")
    states = collections.Counter(state for state, _ in results)
    kinds = collections.Counter(case.kind for case in cases)
    loads = collections.Counter(case.load for case in cases)
    print(
        f"seed {seed}, {len(cases)} cases: " + ", ".join(f"{states[name]} {name}" for name in ("ok", "refused", "bad"))
    )
    print(f"by type {dict(kinds)}, by load {dict(loads)}, {time.monotonic() - start:.0f} s")
    return int(states["bad"] > 0)


if __name__ == "__main__":
    sys.exit(main())
