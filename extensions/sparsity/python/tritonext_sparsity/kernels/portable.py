"""A linear layer with a sparse weight as one plain kernel: any GPU with sparse tensor cores, any size, and groups.

``out[t, f] = activation(scale_x[t] * scale_w[f] * sum over k of x[t, k] * w[f, k] + bias[f]) + residual[t, f]``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import triton
import triton.language as tl

from ..language import dot_sparse

if TYPE_CHECKING:
    import torch

__all__ = ["ACTIVATIONS", "Config", "choose", "sparse_linear_portable"]

ACTIVATIONS = ("none", "relu", "relu2", "silu", "gelu")
"""What can be applied to the sums: ``relu2`` is the square of ``relu``, ``gelu`` that with the error function."""


@triton.jit
def activate(value, ACTIVATION: tl.constexpr):
    """Apply an activation to float32."""
    if ACTIVATION == "relu":
        value = tl.maximum(value, 0.0)
    elif ACTIVATION == "relu2":
        value = tl.maximum(value, 0.0)
        value = value * value
    elif ACTIVATION == "silu":
        value = value * tl.sigmoid(value)
    elif ACTIVATION == "gelu":
        value = 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))
    return value


@triton.jit
def _rows_of_group(tile, offsets, groups, BLOCK_M: tl.constexpr, GROUPS: tl.constexpr):
    """The group of a tile of rows, the first row of the tile, and the end of the group.

    Numbers of tiles go over those of group 0, then of group 1, and so on; groups may be empty.
    """
    index = tl.arange(0, GROUPS)
    end = tl.load(offsets + index, mask=index < groups, other=0)
    start = tl.load(offsets + index - 1, mask=(index > 0) & (index < groups), other=0)
    tiles = tl.where(index < groups, tl.cdiv(end - start, BLOCK_M), 0)
    behind = tl.cumsum(tiles, 0)
    group = tl.sum((behind <= tile).to(tl.int32), 0)
    mine = index == group
    first = tl.sum(tl.where(mine, start + (tile - (behind - tiles)) * BLOCK_M, 0), 0)
    return group, first, tl.sum(tl.where(mine, end, 0), 0)


@triton.jit
def linear_kernel(
    x,
    values,
    meta,
    out,
    scale_x,
    scale_w,
    bias,
    residual,
    offsets,
    tokens,
    features,
    K,
    groups,
    stride_x,
    stride_values,
    stride_meta,
    stride_residual,
    ACTIVATION: tl.constexpr,
    BATCHED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SWIZZLE: tl.constexpr,
    GROUPS: tl.constexpr,
):
    """Compute a tile of the layer.

    Args:
        x: [tokens, K], or [groups, tokens, K] of a batch, with rows ``stride_x`` apart.
        values, meta: The weight [features, K] in canonical form, or one for each group, with rows ``stride_values`` and
            ``stride_meta`` apart: arguments, of which the compiler knows what divides them.
        out: [tokens, features], or one for each group.
        scale_x, scale_w: Factors of tokens and of features, float32; or None.
        bias: Of features; or None.
        residual: Of the shape of ``out``, with rows ``stride_residual`` apart; or None.
        offsets: Where the rows of each group end, int32; or None.
    """
    COLUMNS: tl.constexpr = 4 if values.dtype.element_ty == tl.float32 else 8
    tiles_n = tl.cdiv(features, BLOCK_N)
    program = tl.program_id(0)
    tiles_m = tl.num_programs(0) // tiles_n
    # Programs of one time share rows and columns in the cache.
    band = program // (SWIZZLE * tiles_n)
    height = tl.minimum(tiles_m - band * SWIZZLE, SWIZZLE)
    tile_m = band * SWIZZLE + program % (SWIZZLE * tiles_n) % height
    tile_n = program % (SWIZZLE * tiles_n) // height
    group = tl.program_id(1)
    first = tile_m * BLOCK_M
    end = tokens
    if offsets is not None:
        group, first, end = _rows_of_group(tile_m, offsets, groups, BLOCK_M, GROUPS)
        # The last tiles belong to no group.
        group = tl.minimum(group, groups - 1)
    rows = first + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    row_mask = rows < end
    column_mask = columns < features
    batch = group.to(tl.int64) if BATCHED else group.to(tl.int64) * 0
    token = batch * tokens + rows
    feature = group.to(tl.int64) * features + columns
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.int32 if values.dtype.element_ty == tl.int8 else tl.float32)
    k = tl.arange(0, BLOCK_K)
    kept = tl.arange(0, BLOCK_K // 2)
    byte = tl.arange(0, BLOCK_K // COLUMNS)
    x += token.to(tl.int64)[:, None] * stride_x + k[None, :]
    values += feature[:, None] * stride_values + kept[None, :]
    meta += feature[:, None] * stride_meta + byte[None, :]
    for start in range(0, K, BLOCK_K):
        dense = tl.load(x, mask=row_mask[:, None] & (k[None, :] < K - start), other=0.0)
        sparse = tl.load(values, mask=column_mask[:, None] & (kept[None, :] < (K - start) // 2), other=0.0)
        # Behind the end stands a code that instructions accept.
        where = tl.load(meta, mask=column_mask[:, None] & (byte[None, :] < (K - start) // COLUMNS), other=0x44)
        acc = dot_sparse(dense, sparse, where, acc)
        x += BLOCK_K
        values += BLOCK_K // 2
        meta += BLOCK_K // COLUMNS
    result = acc.to(tl.float32)
    if scale_x is not None:
        result *= tl.load(scale_x + token, mask=row_mask, other=0)[:, None]
    if scale_w is not None:
        result *= tl.load(scale_w + feature, mask=column_mask, other=0)[None, :]
    if bias is not None:
        result += tl.load(bias + feature, mask=column_mask, other=0).to(tl.float32)[None, :]
    result = activate(result, ACTIVATION)
    mask = row_mask[:, None] & column_mask[None, :]
    if residual is not None:
        at = token.to(tl.int64)[:, None] * stride_residual + columns[None, :]
        result += tl.load(residual + at, mask=mask, other=0).to(tl.float32)
    at = token.to(tl.int64)[:, None] * features + columns[None, :]
    tl.store(out + at, result.to(out.dtype.element_ty), mask=mask)


@dataclass(frozen=True)
class Config:
    """Tile of the kernel: tokens, features, columns, and warps and stages that compute it."""

    block_m: int
    block_n: int
    block_k: int
    num_warps: int
    num_stages: int


def choose(tokens: int, bits: int, backend: str = "cuda") -> Config:
    """Return a tile for so many tokens of elements of ``bits``; few tokens take flat ones.

    A multiprocessor of AMD has 64 KiB of shared memory, enough for two stages.
    """
    depth = {8: 128, 16: 64, 32: 32}[bits]
    stages = 4 if backend == "cuda" else 2
    if tokens <= 64:
        return Config(max(16, triton.next_power_of_2(tokens)), 64, 2 * depth, 4, stages)
    return Config(128, 128, depth, 4 if tokens <= 512 else 8, stages)


def sparse_linear_portable(
    x: torch.Tensor,
    values: torch.Tensor,
    meta: torch.Tensor,
    out: torch.Tensor,
    *,
    scale_x: torch.Tensor | None = None,
    scale_w: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    offsets: torch.Tensor | None = None,
    activation: str = "none",
    config: Config | None = None,
) -> torch.Tensor:
    """Write ``activation(scale_x * scale_w * (x @ w.T) + bias) + residual`` to ``out``, and return it.

    Nothing is checked here: :func:`tritonext_sparsity.linear.sparse_linear` does.

    Args:
        x: [tokens, K] or, of a batch, [groups, tokens, K]; the columns adjacent, and rows of all groups equally far
            from the next.
        values: What the weight keeps, [features, K/2], or [groups, features, K/2].
        meta: Where it stands, in canonical form.
        out: [tokens, features] or [groups, tokens, features], without gaps.
        scale_x: Factors of tokens, float32.
        scale_w: Factors of features, float32, of each group.
        bias: Of features, of each group.
        residual: Of the shape of ``out``, strided as ``x`` may be.
        offsets: int32 [groups]: where the tokens of each group end, for groups of tokens that lie behind each other.
        activation: One of :data:`ACTIVATIONS`.
        config: Tile; chosen by the number of tokens when None.
    """
    tokens, depth = x.shape[-2:]
    features = values.shape[-2]
    groups = values.shape[0] if values.dim() == 3 else 1
    if config is None:
        import torch

        per_group = tokens if offsets is None else -(-tokens // groups)
        config = choose(per_group, 8 * x.element_size(), "cuda" if torch.version.hip is None else "hip")
    tiles_m = -(-tokens // config.block_m) + (groups if offsets is not None else 0)
    grid = (tiles_m * -(-features // config.block_n), groups if x.dim() == 3 else 1)
    linear_kernel[grid](
        x,
        values,
        meta,
        out,
        scale_x,
        scale_w,
        bias,
        residual,
        offsets,
        tokens,
        features,
        depth,
        groups,
        x.stride(-2),
        values.stride(-2),
        meta.stride(-2),
        0 if residual is None else residual.stride(-2),
        ACTIVATION=activation,
        BATCHED=x.dim() == 3,
        BLOCK_M=config.block_m,
        BLOCK_N=config.block_n,
        BLOCK_K=config.block_k,
        SWIZZLE=8,
        GROUPS=triton.next_power_of_2(groups),
        num_warps=config.num_warps,
        num_stages=config.num_stages,
    )
    return out
