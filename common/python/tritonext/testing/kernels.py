"""A corpus of kernels, each with everything needed to compile it for every supported target without a GPU.

Conformance, coexistence and benchmarks draw from it: it covers tensor-core and memory-bound code, the common
epilogues, descriptors, atomics, reductions, scans, gathers, sorting and random numbers. The kernels are written to
be launched too: shapes are arguments, and strides are those of contiguous row-major tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl
from triton.compiler import CompiledKernel

from tritonext.errors import UserError
from tritonext.offline import TARGETS, Specialization, parse_signature

__all__ = ["CORPUS", "Kernel", "compile", "get", "select"]


@dataclass(frozen=True, kw_only=True)
class Kernel(Specialization):
    """A named kernel of the corpus and the targets it compiles for."""

    name: str
    targets: tuple[str, ...] = TARGETS


@triton.jit
def _tile(pid, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Map a program number to a tile so that consecutive programs share operands in the L2 cache."""
    rows = tl.cdiv(M, BM)
    columns = tl.cdiv(N, BN)
    width = GROUP * columns
    first = (pid // width) * GROUP
    height = min(rows - first, GROUP)
    return first + (pid % width) % height, (pid % width) // height


@triton.jit
def gemm(
    a,
    b,
    c,
    aux,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    EPILOGUE: tl.constexpr = "plain",
    EVEN: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C[M, N] = epilogue(A[M, K] @ B[K, N], aux).

    EPILOGUE is plain, bias (aux[N] added), silu (bias, then SiLU), residual (aux[M, N] added) or row_max (aux[M,
    ceil(N / BN)] receives the maximum of each row of the tile). EVEN promises that the tile divides the shape.
    """
    pm, pn = _tile(tl.program_id(0), M, N, BM, BN, GROUP)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    a_at = a + rm[:, None] * K + rk[None, :]
    b_at = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for k in range(0, K, BK):
        if EVEN:
            x = tl.load(a_at)
            y = tl.load(b_at)
        else:
            x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0)
            y = tl.load(b_at, mask=(rk[:, None] < K - k) & (rn[None, :] < N), other=0)
        acc = tl.dot(x, y, acc, out_dtype=acc.dtype)
        a_at += BK
        b_at += BK * N
    at = rm[:, None] * N + rn[None, :]
    if EPILOGUE == "bias" or EPILOGUE == "silu":
        acc += tl.load(aux + rn, mask=rn < N, other=0).to(tl.float32)[None, :]
    if EPILOGUE == "silu":
        acc = acc * tl.sigmoid(acc)
    if EPILOGUE == "residual":
        if EVEN:
            acc += tl.load(aux + at).to(tl.float32)
        else:
            acc += tl.load(aux + at, mask=inside, other=0).to(tl.float32)
    if EPILOGUE == "row_max":
        masked = acc if EVEN else tl.where(inside, acc, float("-inf"))
        tl.store(aux + rm * tl.cdiv(N, BN) + pn, tl.max(masked, 1), mask=rm < M)
    if EVEN:
        tl.store(c + at, acc.to(c.dtype.element_ty))
    else:
        tl.store(c + at, acc.to(c.dtype.element_ty), mask=inside)


@triton.jit
def gemm_split_k(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr, GROUP: tl.constexpr = 8
):
    """C += A @ B, the K dimension shared by SPLIT programs that add their parts atomically."""
    pm, pn = _tile(tl.program_id(0), M, N, BM, BN, GROUP)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.program_id(1) * BK + tl.arange(0, BK)
    a_at = a + rm[:, None] * K + rk[None, :]
    b_at = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK * SPLIT):
        acc = tl.dot(tl.load(a_at), tl.load(b_at), acc)
        a_at += BK * SPLIT
        b_at += BK * SPLIT * N
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc, sem="relaxed")


@triton.jit
def gemm_persistent(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    PROGRAMS: tl.constexpr,
    SUBTILE: tl.constexpr = 1,
    GROUP: tl.constexpr = 8,
):
    """C = A @ B with bulk copies through tensor descriptors; each of PROGRAMS programs walks over many tiles."""
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN // SUBTILE])
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
        pm, pn = _tile(tile, M, N, BM, BN, GROUP)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a_desc.load([pm * BM, k]), b_desc.load([k, pn * BN]), acc)
        if SUBTILE == 1:
            c_desc.store([pm * BM, pn * BN], acc.to(c.dtype.element_ty))
        else:
            left, right = acc.reshape(BM, 2, BN // 2).permute(0, 2, 1).split()
            c_desc.store([pm * BM, pn * BN], left.to(c.dtype.element_ty))
            c_desc.store([pm * BM, pn * BN + BN // 2], right.to(c.dtype.element_ty))


@triton.jit
def gemm_gather(a, b, c, rows, experts, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A mixture-of-experts GEMM: each tile of BM entries of ``rows`` gathers them from A and uses one expert's B."""
    pm = tl.program_id(0)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    slot = pm * BM + tl.arange(0, BM)
    row = tl.load(rows + slot)
    expert = tl.load(experts + pm).to(tl.int64)
    a_at = a + row[:, None] * K + rk[None, :]
    b_at = b + expert * K * N + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_at, mask=row[:, None] >= 0, other=0), tl.load(b_at), acc)
        a_at += BK
        b_at += BK * N
    tl.store(c + slot[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty), mask=row[:, None] >= 0)


@triton.jit
def attention_forward(q, k, v, out, lse, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """softmax(Q K^T * scale) V for one block of queries of one head, and the logarithm of its denominators."""
    head = tl.program_id(1).to(tl.int64)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    base = head * length * D
    x = tl.load(q + base + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    log2e: tl.constexpr = 1.4426950408889634
    for start in range(0, length, BN):
        at = base + (start + rn[:, None]) * D + rd[None, :]
        scores = tl.dot(x, tl.trans(tl.load(k + at))) * (scale * log2e)
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype.element_ty), tl.load(v + at), acc * shrink[:, None])
        top = higher
    tl.store(out + base + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(out.dtype.element_ty))
    tl.store(lse + head * length + rm, (top + tl.log2(total)) / log2e)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    """Softmax of each row, a row per program."""
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row + at, mask=at < columns, other=float("-inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, 0))
    tl.store(y + row + at, (value / tl.sum(value, 0)).to(y.dtype.element_ty), mask=at < columns)


@triton.jit
def layer_norm(x, y, weight, bias, mean, rstd, columns, eps, BLOCK: tl.constexpr):
    """Layer normalization of each row, keeping what the backward pass needs."""
    row = tl.program_id(0)
    start = row.to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + start + at, mask=inside, other=0).to(tl.float32)
    center = tl.sum(value, 0) / columns
    away = tl.where(inside, value - center, 0)
    scale = tl.rsqrt(tl.sum(away * away, 0) / columns + eps)
    tl.store(mean + row, center)
    tl.store(rstd + row, scale)
    w = tl.load(weight + at, mask=inside, other=0).to(tl.float32)
    b = tl.load(bias + at, mask=inside, other=0).to(tl.float32)
    tl.store(y + start + at, (away * scale * w + b).to(y.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm(x, y, weight, rows, columns, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Root-mean-square normalization, ROWS rows per program."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    at = row[:, None] * columns + column[None, :]
    value = tl.load(x + at, mask=inside, other=0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 1) / columns + eps)
    w = tl.load(weight + column, mask=column < columns, other=0).to(tl.float32)
    tl.store(y + at, (value * scale[:, None] * w[None, :]).to(y.dtype.element_ty), mask=inside)


@triton.jit
def column_sum(x, y, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """Sum over the rows of a matrix: the reduction runs across warps inside the loop."""
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN,), tl.float32)
    for start in range(0, rows, BM):
        rm = start + tl.arange(0, BM)
        inside = (rm[:, None] < rows) & (rn[None, :] < columns)
        acc += tl.sum(tl.load(x + rm[:, None] * columns + rn[None, :], mask=inside, other=0).to(tl.float32), 0)
    tl.store(y + rn, acc, mask=rn < columns)


@triton.jit
def cumulative_sum(x, y, columns, BM: tl.constexpr, BN: tl.constexpr, AXIS: tl.constexpr):
    """Inclusive prefix sums of a tile along AXIS."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    at = rm[:, None] * columns + tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), AXIS))


@triton.jit
def gather_rows(x, index, y, BM: tl.constexpr, BN: tl.constexpr, SOURCE: tl.constexpr):
    """Gather inside a tile: y[i, j] = x[index[i, j], j]."""
    rn = tl.arange(0, BN)
    at = tl.arange(0, BM)[:, None] * BN + rn[None, :]
    source = tl.load(x + tl.arange(0, SOURCE)[:, None] * BN + rn[None, :])
    tl.store(y + at, tl.gather(source, tl.load(index + at), 0))


@triton.jit
def histogram(x, counts, size, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """Count values in [0, BINS), adding each program's part atomically."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    part = tl.histogram(tl.load(x + at, mask=inside, other=0), BINS, mask=inside)
    tl.atomic_add(counts + tl.arange(0, BINS), part, sem="relaxed")


@triton.jit
def transpose(x, y, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    """y = x^T, a tile per program."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rm[:, None] < rows) & (rn[None, :] < columns)
    tile = tl.load(x + rm[:, None] * columns + rn[None, :], mask=inside)
    tl.store(y + rn[:, None] * rows + rm[None, :], tl.trans(tile), mask=tl.trans(inside))


@triton.jit
def top_k(x, y, columns, BLOCK: tl.constexpr, K: tl.constexpr):
    """The K largest values of each row, descending."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf"))
    tl.store(y + row * K + tl.arange(0, K), tl.topk(value, K))


@triton.jit
def sort_rows(x, y, columns, BM: tl.constexpr, BLOCK: tl.constexpr):
    """Sort BM rows of BLOCK values, ascending."""
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    at = row[:, None] * columns + tl.arange(0, BLOCK)[None, :]
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def dropout(x, y, size, probability, seed, BLOCK: tl.constexpr):
    """Zero elements at random and scale the others by 1 / (1 - probability)."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < size)
    keep = tl.rand(seed, at) > probability
    tl.store(y + at, tl.where(keep, value / (1 - probability), 0).to(y.dtype.element_ty), mask=at < size)


def _kernel(name: str, fn, signature: str, constexprs: dict[str, Any], targets=TARGETS, **options: Any) -> Kernel:
    return Kernel(fn, parse_signature(signature), constexprs, options, name=name, targets=targets)


_GEMM_TILE = {"BM": 128, "BN": 128, "BK": 64}
_DESCRIPTOR_TARGETS = ("cuda:90", "cuda:100")
# The e4m3 type without infinities is native from capability 89 and on gfx950; gfx942 has another variant.
_FP8_TARGETS = ("cuda:90", "cuda:100", "hip:gfx950")


def _gemm(name: str, operand: str, out: str, epilogue: str = "plain", aux: str = "*fp16:16", **more: Any) -> Kernel:
    signature = f"a=*{operand}:16, b=*{operand}:16, c=*{out}:16, aux={aux}, M=i32:16, N=i32:16, K=i32:16"
    targets = more.pop("targets", TARGETS)
    constexprs = {**_GEMM_TILE, "EPILOGUE": epilogue, **more.pop("constexprs", {})}
    return _kernel(name, gemm, signature, constexprs, targets, num_warps=8, num_stages=3, **more)


CORPUS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        _gemm("gemm_fp16", "fp16", "fp16"),
        _gemm("gemm_fp32_out", "fp16", "fp32"),
        _gemm("gemm_bias", "fp16", "fp16", "bias"),
        _gemm("gemm_silu", "bf16", "bf16", "silu", "*bf16:16"),
        _gemm("gemm_residual", "fp16", "fp16", "residual"),
        _gemm("gemm_row_max", "fp16", "fp16", "row_max", "*fp32:16"),
        _gemm("gemm_masked", "fp16", "fp16", constexprs={"EVEN": False}),
        _gemm("gemm_int8", "i8", "i32"),
        _gemm("gemm_fp8", "fp8e4nv", "fp16", targets=_FP8_TARGETS),
        _kernel(
            "gemm_split_k",
            gemm_split_k,
            "a=*fp16:16, b=*fp16:16, c=*fp32:16, M=i32:16, N=i32:16, K=i32:16",
            {**_GEMM_TILE, "SPLIT": 4},
            num_warps=8,
            num_stages=3,
        ),
        _kernel(
            "gemm_persistent",
            gemm_persistent,
            "a=*fp16:16, b=*fp16:16, c=*fp16:16, M=i32:16, N=i32:16, K=i32:16",
            {**_GEMM_TILE, "PROGRAMS": 132},
            _DESCRIPTOR_TARGETS,
            num_warps=8,
            num_stages=3,
        ),
        _kernel(
            "gemm_gather",
            gemm_gather,
            "a=*bf16:16, b=*bf16:16, c=*bf16:16, rows=*i32:16, experts=*i32:16, N=i32:16, K=i32:16",
            {"BM": 64, "BN": 128, "BK": 64},
            num_warps=4,
            num_stages=3,
        ),
        _kernel(
            "attention_forward",
            attention_forward,
            "q=*fp16:16, k=*fp16:16, v=*fp16:16, out=*fp16:16, lse=*fp32:16, length=i32:16, scale=fp32",
            {"BM": 128, "BN": 64, "D": 64},
            num_warps=4,
            num_stages=2,
        ),
        _kernel("softmax", softmax, "x=*fp16:16, y=*fp16:16, columns=i32:16", {"BLOCK": 2048}, num_warps=4),
        _kernel(
            "layer_norm",
            layer_norm,
            "x=*fp16:16, y=*fp16:16, weight=*fp16:16, bias=*fp16:16, mean=*fp32:16, rstd=*fp32:16, "
            "columns=i32:16, eps=fp32",
            {"BLOCK": 2048},
            num_warps=4,
        ),
        _kernel(
            "rms_norm",
            rms_norm,
            "x=*bf16:16, y=*bf16:16, weight=*bf16:16, rows=i32:16, columns=i32:16, eps=fp32",
            {"ROWS": 4, "BLOCK": 1024},
            num_warps=4,
        ),
        _kernel(
            "column_sum",
            column_sum,
            "x=*fp16:16, y=*fp32:16, rows=i32:16, columns=i32:16",
            {"BM": 32, "BN": 64},
            num_warps=4,
        ),
        _kernel(
            "cumulative_sum",
            cumulative_sum,
            "x=*fp32:16, y=*fp32:16, columns=i32:16",
            {"BM": 64, "BN": 128, "AXIS": 0},
            num_warps=4,
        ),
        _kernel(
            "gather_rows",
            gather_rows,
            "x=*fp32:16, index=*i32:16, y=*fp32:16",
            {"BM": 64, "BN": 64, "SOURCE": 64},
            num_warps=4,
        ),
        _kernel(
            "histogram",
            histogram,
            "x=*i32:16, counts=*i32:16, size=i32:16",
            {"BLOCK": 1024, "BINS": 256},
            num_warps=4,
        ),
        _kernel(
            "transpose",
            transpose,
            "x=*fp16:16, y=*fp16:16, rows=i32:16, columns=i32:16",
            {"BM": 64, "BN": 64},
            num_warps=4,
        ),
        _kernel("top_k", top_k, "x=*fp32:16, y=*fp32:16, columns=i32:16", {"BLOCK": 128, "K": 8}, num_warps=4),
        _kernel("sort_rows", sort_rows, "x=*fp32:16, y=*fp32:16, columns=i32:16", {"BM": 4, "BLOCK": 128}, num_warps=4),
        _kernel(
            "dropout",
            dropout,
            "x=*fp16:16, y=*fp16:16, size=i32:16, probability=fp32, seed=i32",
            {"BLOCK": 1024},
            num_warps=4,
        ),
    )
}
"""Every kernel of the corpus by name."""

tritonext_explain = CORPUS


def get(name: str) -> Kernel:
    """Return the kernel called ``name``.

    Raises:
        UserError: The corpus has no such kernel.
    """
    if name not in CORPUS:
        raise UserError("the corpus has no such kernel", expected=", ".join(CORPUS), found=repr(name))
    return CORPUS[name]


def select(target: str) -> list[Kernel]:
    """Return the kernels that compile for ``target``."""
    return [kernel for kernel in CORPUS.values() if target in kernel.targets]


def compile(kernel: Kernel | str, target: str, **overrides: Any) -> CompiledKernel:
    """Compile a kernel of the corpus for ``target``, with constants and compile options replaced by ``overrides``.

    Raises:
        UserError: The corpus has no such kernel, or it is not meant for ``target``.
    """
    chosen = get(kernel) if isinstance(kernel, str) else kernel
    if target not in chosen.targets:
        raise UserError(
            "the kernel is not meant for this target",
            where=f"kernel {chosen.name}",
            expected=", ".join(chosen.targets),
            found=target,
        )
    return chosen.compile(target, **overrides)
