"""Sparse products on a GPU against float64, over types, shapes and tiles."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext_sparsity as sparsity
from tritonext_sparsity import formats
from tritonext_sparsity.elements import element

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


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
    FORM: tl.constexpr,
    COLUMNS: tl.constexpr,
    ACC: tl.constexpr,
):
    """C = sparse @ B, or its transposition; B is [N, K] in memory where COLUMNS says that K is contiguous."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    right: tl.constexpr = FORM == "dot_sparse" or FORM == "expand24 on the right"
    acc = tl.zeros((BN, BM) if right else (BM, BN), ACC)
    for k in range(0, K, BK):
        kept, bytes = k // 2 + tl.arange(0, BK // 2), k // GROUP + tl.arange(0, BK // GROUP)
        inside = (rows < M)[:, None] & (kept < K // 2)[None, :]
        values = tl.load(v + rows[:, None] * (K // 2) + kept[None, :], mask=inside, other=0.0)
        inside = (rows < M)[:, None] & (bytes < K // GROUP)[None, :]
        # Any legal code will do where values are zeros.
        meta = tl.load(m + rows[:, None] * (K // GROUP) + bytes[None, :], mask=inside, other=0x44)
        depth = k + tl.arange(0, BK)
        if COLUMNS:
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


TYPES = {
    # As formats name it, of torch, of the accumulator, and that of torch.
    "f16": ("float16", torch.float16, tl.float32, torch.float32),
    "bf16": ("bfloat16", torch.bfloat16, tl.float32, torch.float32),
    "tf32": ("float32", torch.float32, tl.float32, torch.float32),
    "s8": ("int8", torch.int8, tl.int32, torch.int32),
    "e4m3": ("float8_e4m3fn", torch.float8_e4m3fn, tl.float32, torch.float32),
    "e5m2": ("float8_e5m2", torch.float8_e5m2, tl.float32, torch.float32),
    "f16 in f16": ("float16", torch.float16, tl.float16, torch.float16),
}
FORMS = ("sparse_dot", "dot_sparse", "expand24", "expand24 on the right", "expanded")


def cases() -> list[tuple[Any, ...]]:
    """Return type, form, sizes, tile, number of warps and stages of 40 cases, each type and form several times."""
    rng = random.Random(5)
    found = []
    for number, (kind, form) in enumerate(itertools.islice(itertools.cycle(itertools.product(TYPES, FORMS)), 40)):
        least = 512 // element(TYPES[kind][0]).bits
        fp8 = kind in ("e4m3", "e5m2")
        # Tiles of 64 rows and more go to warp groups, others to warps, which do not have 8-bit floats here.
        rows = rng.choice([64, 128] if fp8 or number % 2 else [16, 32])
        tile = rows, rng.choice([16, 32, 64, 128]), rng.choice([least, 2 * least, 4 * least])
        sizes = rng.randint(1, 200), rng.randint(1, 200), rng.choice([8, 40, 256, 512])
        warps = rng.choice([4, 8] if rows >= 64 else [1, 2, 4])
        found.append((kind, form, sizes, tile, warps, rng.choice([1, 2, 3]), rng.random() < 0.5))
    return found


@pytest.mark.parametrize(("kind", "form", "sizes", "tile", "warps", "stages", "columns"), cases())
def test_product(kind, form, sizes, tile, warps, stages, columns):
    name, dtype, acc, out = TYPES[kind]
    rows, width, depth = sizes
    numbers = np.random.default_rng(sum(sizes))
    weights = numbers.integers(-4, 5, (rows, depth)).astype(np.float32)
    other = numbers.integers(-4, 5, (depth, width)).astype(np.float32)
    matrix = formats.compress(element(name).encode(weights), name, pruned=True)
    sparse = element(name).decode(formats.decompress(matrix)).astype(np.float64)

    bits = np.ascontiguousarray(matrix.values).view(np.uint8)
    values = torch.from_numpy(bits).cuda().view(dtype)
    meta = torch.from_numpy(matrix.meta).cuda()
    b = torch.from_numpy(other).cuda().to(dtype)
    memory = b.T.contiguous() if columns else b
    c = torch.full((rows, width), 77, device="cuda", dtype=out)
    grid = triton.cdiv(rows, tile[0]), triton.cdiv(width, tile[1])
    group = 4 if kind == "tf32" else 8
    options = {"num_warps": warps, "num_stages": stages}
    gemm[grid](values, meta, memory, c, rows, width, depth, *tile, group, form, columns, acc, **options)
    # Small integers: every product and sum is exact, in f16 too.
    expected = sparse @ other.astype(np.float64) * (2 if form == "expanded" else 1)
    np.testing.assert_array_equal(c.cpu().numpy().astype(np.float64), expected)


@pytest.mark.parametrize("rows", [32, 64])
@pytest.mark.parametrize("form", ["sparse_dot", "dot_sparse"])
@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("uint8", "int8"), ("int8", "uint8")])
def test_integers_of_either_sign(kinds, form, rows):
    """Whole ranges, by warps where a tile has 32 rows and by warp groups where it has 64."""
    height, width, depth = 100, 72, 320
    numbers = np.random.default_rng(rows)
    left, right = (
        numbers.integers(0, 256, shape).astype(np.uint8).view(kind)
        for shape, kind in zip([(height, depth), (depth, width)], kinds, strict=True)
    )
    matrix = formats.compress(left, pruned=True)
    values, meta, b = (torch.from_numpy(array).cuda() for array in (matrix.values, matrix.meta, right))
    c = torch.full((height, width), 77, device="cuda", dtype=torch.int32)
    grid = triton.cdiv(height, rows), triton.cdiv(width, 32)
    gemm[grid](
        values, meta, b, c, height, width, depth, rows, 32, 64, 8, form, False, tl.int32, num_warps=4, num_stages=3
    )
    expected = formats.decompress(matrix).astype(np.int64) @ right.astype(np.int64)
    np.testing.assert_array_equal(c.cpu().numpy(), expected)
