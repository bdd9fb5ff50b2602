"""Pruning of dense matrices to 2:4 structure: by magnitude, by given scores, and so that the transpose is 2:4 too.

The result is a new dense matrix. To prune by magnitude and compress at once, use
:func:`tritonext_sparsity.compress.compress`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import triton
import triton.language as tl

from .compress import Plan, _tile, check_matrix, check_tensor, kind_of_element, on_device
from .errors import OperandError
from .groups import code_of, codes_of_largest, element_bits, kept_in_place, load_groups, two_largest

if TYPE_CHECKING:
    import torch

__all__ = ["prune"]

_PAIRS = tuple(itertools.combinations(range(4), 2))
# Rows of the upper half that share column c, and of the lower half that share column d: the pairs of c and of d with
# each of the other two columns.
_CROSSINGS = tl.constexpr(
    tuple(
        tuple(
            _PAIRS.index(tuple(sorted((shared, other))))
            for shared in (c, d)
            for other in range(4)
            if other not in (c, d)
        )
        for c, d in itertools.permutations(range(4), 2)
    )
)
# Sums of 16 such weights are finite.
_LARGEST_WEIGHT = tl.constexpr(2.0**120)
_NAN_WEIGHT = tl.constexpr(2.0**122)
# Groups in a tile of blocks.
_BLOCKS = 256


@triton.jit
def _score(scores, at, mask):
    """An int32 that orders like a score, NaN above all."""
    # The sum turns minus zero into zero.
    value = tl.load(scores + at, mask=mask, other=0).to(tl.float32) + 0.0
    bits = value.to(tl.int32, bitcast=True)
    return tl.where(value != value, 0x7FFFFFFF, bits ^ ((bits >> 31) & 0x7FFFFFFF))


@triton.jit
def _codes_by_score(scores, rows, groups, stride_row, stride_column, mask, BITS: tl.constexpr):
    GROUP: tl.constexpr = 2 if BITS == 32 else 4
    at = rows * stride_row + groups * GROUP * stride_column
    s0 = _score(scores, at, mask)
    s1 = _score(scores, at + stride_column, mask)
    if BITS == 32:
        code = tl.where(s0 >= s1, 0x4, 0xE)
    else:
        s2 = _score(scores, at + 2 * stride_column, mask)
        s3 = _score(scores, at + 3 * stride_column, mask)
        n0, n1, n2, n3 = two_largest(s0, s1, s2, s3)
        code = code_of(n0, n1, n2, n3)
    return code


@triton.jit
def prune_kernel(
    x,
    scores,
    out,
    rows,
    groups,
    blocks,
    stride_row,
    stride_column,
    score_stride_row,
    score_stride_column,
    BITS: tl.constexpr,
    KIND: tl.constexpr,
    PACKED: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write ``x`` with zeros for all but the largest of each group, by magnitude, or by ``scores`` if given."""
    row, group, inside, _, _, _ = _tile(rows, groups, blocks, ROWS, BLOCK)
    word = load_groups(x, row, group, stride_row, stride_column, inside, BITS, PACKED)
    if scores is None:
        code = codes_of_largest(word, BITS, KIND)
    else:
        code = _codes_by_score(scores, row, group, score_stride_row, score_stride_column, inside, BITS)
    WORD: tl.constexpr = tl.int32 if BITS == 8 else tl.int64
    tl.store(out.to(tl.pointer_type(WORD)) + row * groups + group, kept_in_place(word, code, BITS), mask=inside)


@triton.jit
def _better(score, mask, other_score, other_mask):
    """The larger of two scores with its mask; the first of equal ones."""
    take = other_score > score
    return tl.where(take, other_score, score), tl.where(take, other_mask, mask)


@triton.jit
def _apart(p, q, FIRST: tl.constexpr):
    """The best two rows of a block that share no column, of those whose pairs have the scores ``p`` and ``q``.

    Pairs are those of columns 01, 02, 03, 12, 13 and 23, so that the other columns of pair i are pair 5 - i.
    """
    PAIRS: tl.constexpr = (3, 5, 9, 6, 10, 12)
    score = p[0] + q[5]
    mask = tl.full(score.shape, (PAIRS[0] | PAIRS[5] << 4) << FIRST, tl.int32)
    for i in tl.static_range(1, 6):
        score, mask = _better(score, mask, p[i] + q[5 - i], (PAIRS[i] | PAIRS[5 - i] << 4) << FIRST)
    return score, mask


@triton.jit
def _crossed(p, q, A: tl.constexpr, B: tl.constexpr, FIRST: tl.constexpr):
    """The better order of two rows that have the pairs ``A`` and ``B``."""
    PAIRS: tl.constexpr = (3, 5, 9, 6, 10, 12)
    score = p[A] + q[B]
    mask = tl.full(score.shape, (PAIRS[A] | PAIRS[B] << 4) << FIRST, tl.int32)
    return _better(score, mask, p[B] + q[A], (PAIRS[B] | PAIRS[A] << 4) << FIRST)


@triton.jit
def _pair_scores(a, b, c, d):
    return a + b, a + c, a + d, b + c, b + d, c + d


@triton.jit
def _best_block(p, q, r, s):
    """The mask of a block of 4 x 4, two in each row and column, with the largest sum; a nibble for each row.

    There are 90: rows of two and two disjoint pairs (36), of pairs that are equal in twos (6), and those whose upper
    rows share one column (48), which the lower ones then leave out while they share the column that the upper do.

    Args:
        p, q, r, s: Scores of the six pairs of columns of each row.
    """
    PAIRS: tl.constexpr = (3, 5, 9, 6, 10, 12)
    upper, upper_mask = _apart(p, q, 0)
    lower, lower_mask = _apart(r, s, 8)
    score = upper + lower
    mask = upper_mask | lower_mask
    for i in tl.static_range(6):
        both = (p[i] + q[i]) + (r[5 - i] + s[5 - i])
        score, mask = _better(score, mask, both, PAIRS[i] * 0x0011 | PAIRS[5 - i] * 0x1100)
    for i in tl.static_range(12):
        upper, upper_mask = _crossed(p, q, _CROSSINGS[i][0], _CROSSINGS[i][1], 0)
        lower, lower_mask = _crossed(r, s, _CROSSINGS[i][2], _CROSSINGS[i][3], 8)
        score, mask = _better(score, mask, upper + lower, upper_mask | lower_mask)
    return score, mask


@triton.jit
def _weights(word, x, BITS: tl.constexpr):
    """The magnitudes of the elements of groups as float32 whose sums stay finite, NaN the largest."""
    INTEGER: tl.constexpr = tl.int8 if BITS == 8 else tl.int16
    TYPE: tl.constexpr = x.dtype.element_ty
    results = ()
    for position in tl.static_range(4):
        value = element_bits(word, position, BITS).to(INTEGER)
        value = tl.abs(value.to(TYPE, bitcast=True).to(tl.float32))
        value = tl.where(value != value, _NAN_WEIGHT, tl.minimum(value, _LARGEST_WEIGHT))
        results = results + (value,)  # noqa: RUF005, Triton unpacks no tuples
    return results


@triton.jit
def _score_weights(scores, at, stride_column, mask):
    """Scores of groups as float32 whose sums stay finite, NaN the largest."""
    results = ()
    for position in tl.static_range(4):
        value = tl.load(scores + at + position * stride_column, mask=mask, other=0).to(tl.float32)
        value = tl.maximum(tl.minimum(value, _LARGEST_WEIGHT), -_LARGEST_WEIGHT)
        results = results + (tl.where(value != value, _NAN_WEIGHT, value),)  # noqa: RUF005
    return results


@triton.constexpr_function
def _field(bits: int, position: int) -> int:
    """The bits of an element in a word of four, as a signed number."""
    field = ((1 << bits) - 1) << (bits * position)
    return field - (1 << 4 * bits) if position == 3 else field


@triton.jit
def prune_blocks_kernel(
    x,
    scores,
    out,
    groups,
    blocks,
    stride_row,
    stride_column,
    score_stride_row,
    score_stride_column,
    BITS: tl.constexpr,
    PACKED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write ``x`` with zeros outside of the best mask of each block of 4 x 4; programs go over rows of blocks."""
    row = (tl.program_id(0) // blocks).to(tl.int64) * 4
    group = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = group < groups
    words = ()
    scored = ()
    for i in tl.static_range(4):
        word = load_groups(x, row + i, group, stride_row, stride_column, inside, BITS, PACKED)
        words = words + (word,)  # noqa: RUF005
        if scores is None:
            a, b, c, d = _weights(word, x, BITS)
        else:
            at = (row + i) * score_stride_row + group * 4 * score_stride_column
            a, b, c, d = _score_weights(scores, at, score_stride_column, inside)
        scored = scored + (_pair_scores(a, b, c, d),)  # noqa: RUF005
    _, mask = _best_block(scored[0], scored[1], scored[2], scored[3])
    WORD: tl.constexpr = tl.int32 if BITS == 8 else tl.int64
    out = out.to(tl.pointer_type(WORD))
    for i in tl.static_range(4):
        kept = tl.zeros(mask.shape, WORD)
        for position in tl.static_range(4):
            bit = (mask >> (4 * i + position)) & 1
            kept |= tl.where(bit != 0, _field(BITS, position), 0).to(WORD)
        tl.store(out + (row + i) * groups + group, words[i] & kept, mask=inside)


def prune(
    x: torch.Tensor, *, scores: torch.Tensor | None = None, transposable: bool = False, name: str = "x"
) -> torch.Tensor:
    """Return a copy of a matrix in which all but two of each group of four elements of a row are zero.

    Of float32 it is one of two elements. Kept are the largest magnitudes or scores, the first of equal ones and NaN
    above all. Nothing waits for the GPU.

    Args:
        x: Matrix [M, K] on a GPU, of any strides, as :func:`tritonext_sparsity.compress.compress` takes it.
        scores: Scores [M, K] to rank by instead of magnitudes: float32, bfloat16 or float16.
        transposable: Keep two elements in each row and each column of every block of 4 x 4, so that the transpose is
            2:4 too: those with the largest sum of all 90 masks, of magnitudes or scores up to 2**120. M is a multiple
            of 4.
        name: What errors call ``x``.

    Raises:
        OperandError: A tensor has another shape or type, or is on another device.
    """
    import torch

    element = check_matrix(name, x)
    if scores is not None:
        check_tensor("scores", scores, 2, (torch.float32, torch.bfloat16, torch.float16))
        if scores.shape != x.shape or scores.device != x.device:
            raise OperandError(
                f"scores do not fit to {name}",
                expected=f"shape {tuple(x.shape)} on {x.device}",
                found=f"shape {tuple(scores.shape)} on {scores.device}",
            )
    if transposable and (element.bits == 32 or x.shape[0] % 4):
        raise OperandError(
            f"{name} has no transposable masks",
            expected="elements of 8 or 16 bits, and a multiple of 4 rows",
            found=f"shape {tuple(x.shape)} of type {x.dtype}",
        )
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if not x.numel():
        return out
    score_strides = scores.stride() if scores is not None else (0, 0)
    if transposable:
        groups = x.shape[1] // 4
        word = element.bits // 2
        packed = x.stride(1) == 1 and x.stride(0) % 4 == 0 and x.data_ptr() % word == 0
        stride = x.stride(0) // 4 if packed else x.stride(0)
        blocks = -(-groups // _BLOCKS)
        with on_device(x):
            prune_blocks_kernel[(x.shape[0] // 4 * blocks,)](
                x,
                scores,
                out,
                groups,
                blocks,
                stride,
                x.stride(1),
                *score_strides,
                BITS=element.bits,
                PACKED=packed,
                BLOCK=_BLOCKS,
                num_warps=4,
            )
        return out
    plan = Plan.of(tuple(x.shape), x.stride(), x.data_ptr(), element)
    if scores is not None and plan.tile[0] == 0:
        # Scores have rows of their own, so that the matrix is none long row.
        plan = Plan.by_rows(tuple(x.shape), x.stride(), element, True)
    with on_device(x):
        prune_kernel[plan.grid](
            x,
            scores,
            out,
            *plan.arguments,
            *score_strides,
            BITS=element.bits,
            KIND=kind_of_element(element),
            **plan.constants,
        )
    return out
