"""Products of many matrices in one launch: groups of several sizes, and mixtures of experts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import triton
import triton.language as tl

from .case import Arguments, Case, Shape, Tensor, normal, output, within
from .gemm import stored

__all__ = ["CASES", "experts", "grouped"]


@triton.jit
def grouped(
    a,
    b,
    c,
    starts,
    groups,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    OUTER: tl.constexpr = True,
    INNER: tl.constexpr = False,
    WS: tl.constexpr = True,
):
    """C[rows of group, N] = A[rows of group, K] @ B[group, N, K]^T by programs that walk over the tiles of all groups.

    Group i has the rows from starts[i] to starts[i + 1]. Descriptors are made for each group, so that no tile writes
    into the next. OUTER annotates the loop over groups, INNER the one over K.
    """
    # Number of the first tile of the group, among those of all groups.
    before = 0
    for group in tl.range(0, groups, warp_specialize=WS and OUTER):
        begin = tl.load(starts + group)
        rows = tl.load(starts + group + 1) - begin
        count = tl.cdiv(rows, BM) * tl.cdiv(N, BN)
        if rows > 0:
            a_tiles = tl.make_tensor_descriptor(a + begin.to(tl.int64) * K, [rows, K], [K, 1], [BM, BK])
            b_tiles = tl.make_tensor_descriptor(b + tl.cast(group, tl.int64) * N * K, [N, K], [K, 1], [BN, BK])
            c_tiles = tl.make_tensor_descriptor(c + begin.to(tl.int64) * N, [rows, N], [N, 1], [BM, BN])
            programs = tl.num_programs(0)
            first = (tl.program_id(0) + programs - before % programs) % programs
            for tile in range(first, count, programs):
                row, column = tile % tl.cdiv(rows, BM) * BM, tile // tl.cdiv(rows, BM) * BN
                acc = tl.zeros((BM, BN), tl.float32)
                for k in tl.range(0, K, BK, warp_specialize=WS and INNER):
                    acc = tl.dot(a_tiles.load([row, k]), b_tiles.load([column, k]).T, acc)
                c_tiles.store([row, column], acc.to(c.dtype.element_ty))
        before += count


@triton.jit
def experts(
    a,
    b,
    c,
    tiles,
    total,
    N,
    K,
    count,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    WS: tl.constexpr = True,
):
    """C = A[total, K] @ B[expert, N, K]^T where each row of A has been sorted to its expert.

    tiles is [tiles, 3]: the expert of a tile, its first row, and the end of its expert's rows; count is the number of
    experts.
    """
    entry = tiles + tl.program_id(0) * 3
    expert, row, end = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2)
    column = tl.program_id(1) * BN
    a_tiles = tl.make_tensor_descriptor(a, [total, K], [K, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [count, N, K], [N * K, K, 1], [1, BN, BK])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WS):
        right = b_tiles.load([expert, column, k]).reshape(BN, BK)
        acc = tl.dot(a_tiles.load([row, k]), right.T, acc)
    # Rows behind the end belong to the next expert.
    stored(c, acc, row, column, end, N, BM, BN, "pointer")


def _case(name: str, row: str, fn: Any, **constants: Any) -> Case:
    constants = {"BM": 128, "BN": 128, "BK": 64} | constants

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        sizes, n, k = shape["sizes"], shape["N"], shape["K"]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        total = int(starts[-1])
        a, b, c = normal(random, "bf16", total, k), normal(random, "bf16", len(sizes), n, k), output("bf16", total, n)
        if fn is grouped:
            groups = {"starts": Tensor("i32", starts), "groups": len(sizes)}
            return {"a": a, "b": b, "c": c, **groups, "N": n, "K": k}
        table = [
            (expert, first, end)
            for expert, (begin, end) in enumerate(itertools.pairwise(starts))
            for first in range(begin, end, constants["BM"])
        ]
        extents = {"total": total, "N": n, "K": k, "count": len(sizes)}
        return {"a": a, "b": b, "c": c, "tiles": Tensor("i32", np.array(table)), **extents}

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        a, b = arguments["a"].values, arguments["b"].values
        if fn is grouped:
            starts = arguments["starts"].values
            owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        else:
            owner = np.zeros(len(a), np.int64)
            for expert, first, end in arguments["tiles"].values:
                owner[first:end] = expert
        return {"c": np.concatenate([a[owner == i] @ b[i].T for i in range(len(b))])}

    def grid(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
        if fn is grouped:
            return (processors,)
        return (len(arguments["tiles"].values), triton.cdiv(arguments["N"], constants["BN"]))

    return Case(
        name=name,
        fn=fn,
        row=row,
        make=make,
        reference=reference,
        tolerance=lambda arguments: {"c": within("bf16", 2.0**-16 * arguments["K"] ** 0.5)},
        grid=grid,
        shapes=(
            {"sizes": (256, 128), "N": 256, "K": 256},
            {"sizes": (64, 0, 200, 1), "N": 264, "K": 136},
            {"sizes": (300, 40), "N": 128, "K": 64},
        ),
        constants=constants,
        options={"num_warps": 4, "num_stages": 3},
    )


CASES = (
    _case("grouped_outer", "grouped, loop of groups", grouped),
    _case("grouped_inner", "grouped, inner loop", grouped, OUTER=False, INNER=True),
    _case("experts", "mixture of experts", experts),
    _case("experts_64_rows", "mixture of experts", experts, BM=64),
)
