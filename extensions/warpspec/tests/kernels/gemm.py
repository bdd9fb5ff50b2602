"""Matrix products: every way to load, to store, to walk over tiles and to end that users write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import triton
import triton.language as tl

from tritonext.testing.cases import rounded

from .case import (
    NO_PRODUCT,
    POINTERS,
    Arguments,
    Case,
    Descriptor,
    Shape,
    Tensor,
    Tolerance,
    normal,
    output,
    within,
)

__all__ = ["CASES", "gemm", "gemm_clamped", "gemm_persistent", "gemm_scaled", "gemm_walking", "swiglu"]


@triton.jit
def tile_of(number, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Return row and column of a tile; consecutive tiles share operands in the L2 cache."""
    rows = tl.cdiv(M, BM)
    width = GROUP * tl.cdiv(N, BN)
    first = number // width * GROUP
    height = min(rows - first, GROUP)
    return (first + number % width % height) * BM, number % width // height * BN


@triton.jit
def opened(x, rows, columns, R: tl.constexpr, C: tl.constexpr, HOW: tl.constexpr):
    """Return what loads R x C tiles of a row-major matrix: a descriptor made here, one made by the host, a pointer."""
    return tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [R, C]) if HOW == "device" else x


@triton.jit
def loaded(x, row, column, rows, columns, R: tl.constexpr, C: tl.constexpr, HOW: tl.constexpr):
    """Load a tile; what lies outside of the matrix is zero."""
    if HOW == "pointer":
        r, c = row + tl.arange(0, R)[:, None], column + tl.arange(0, C)[None, :]
        tile = tl.load(x + r * columns + c, mask=(r < rows) & (c < columns), other=0)
    else:
        tile = x.load([row, column])
    return tile


@triton.jit
def gathered(x, which, column, columns, C: tl.constexpr):
    """Load a tile whose rows have the numbers ``which``; a negative one is a row of zeros."""
    c = column + tl.arange(0, C)[None, :]
    return tl.load(x + which[:, None] * columns + c, mask=(which[:, None] >= 0) & (c < columns), other=0)


@triton.jit
def finished(acc, x, y, row, column, M, N, BM: tl.constexpr, BN: tl.constexpr, EPILOGUE: tl.constexpr):
    """Return what is stored of a tile.

    EPILOGUE is empty, bias_gelu (adds x[N]), residual (adds x[M, N]), row_max (the largest element of each row of the
    tile goes to y[M, tiles of a row]), quantize (rows are scaled to at most 448, by what goes to y) or softmax (of rows
    that lie in one tile).
    """
    rm, rn = row + tl.arange(0, BM), column + tl.arange(0, BN)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    if EPILOGUE == "bias_gelu":
        acc += tl.load(x + rn, mask=rn < N, other=0).to(tl.float32)[None, :]
        acc *= tl.sigmoid(1.5957691216 * (acc + 0.044715 * acc * acc * acc))
    if EPILOGUE == "residual":
        acc += tl.load(x + rm[:, None] * N + rn[None, :], mask=inside, other=0).to(tl.float32)
    if EPILOGUE == "row_max":
        most = tl.max(tl.where(rn[None, :] < N, acc, float("-inf")), 1)
        tl.store(y + rm * tl.cdiv(N, BN) + column // BN, most, mask=rm < M)
    if EPILOGUE == "quantize":
        most = tl.max(tl.where(rn[None, :] < N, tl.abs(acc), 0), 1)
        scale = tl.where(most > 0, most / 448, 1)
        tl.store(y + rm * tl.cdiv(N, BN) + column // BN, scale, mask=rm < M)
        acc = acc / scale[:, None]
    if EPILOGUE == "softmax":
        acc = tl.where(rn[None, :] < N, acc, float("-inf"))
        acc = tl.exp(acc - tl.max(acc, 1)[:, None])
        acc = acc / tl.sum(acc, 1)[:, None]
    return acc


@triton.jit
def stored(c, tile, row, column, M, N, BM: tl.constexpr, BN: tl.constexpr, HOW: tl.constexpr):
    """Store the part of a tile that lies in the matrix."""
    if HOW == "pointer" or HOW == "atomic":
        rm, rn = row + tl.arange(0, BM)[:, None], column + tl.arange(0, BN)[None, :]
        at = c + rm * N + rn
        if HOW == "atomic":
            tl.atomic_add(at, tile, mask=(rm < M) & (rn < N), sem="relaxed")
        else:
            tl.store(at, tile.to(c.dtype.element_ty), mask=(rm < M) & (rn < N))
    else:
        c.store([row, column], tile.to(c.dtype))


@triton.jit
def gemm(
    a,
    b,
    c,
    x,
    y,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    A: tl.constexpr = "device",
    B: tl.constexpr = "device",
    C: tl.constexpr = "device",
    TRANSPOSED: tl.constexpr = False,
    PROLOGUE: tl.constexpr = "",
    EPILOGUE: tl.constexpr = "",
    PRECISION: tl.constexpr = "tf32",
    LIMIT: tl.constexpr = None,
    UNROLL: tl.constexpr = 1,
    WS: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C[M, N] = epilogue(prologue(A[M, K]) @ B[K, N]), a tile per program.

    A, B and C say how each is accessed: through a descriptor that is made here ("device") or by the host, through
    pointers, or for A through pointers to the rows that x numbers ("gather"), for C with atomic additions of several
    programs that share K ("atomic"). TRANSPOSED: B is given as [N, K]. An operand of 8-bit integers is widened.
    LIMIT: so many products of 8-bit floats are summed by the tensor cores at most.
    """
    row, column = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    a_tiles = opened(a, M, K, BM, BK, A)
    b_tiles = opened(b, N, K, BN, BK, B) if TRANSPOSED else opened(b, K, N, BK, BN, B)
    c_tiles = opened(c, M, N, BM, BN, C)
    if A == "gather":
        rm = row + tl.arange(0, BM)
        which = tl.load(x + rm, mask=rm < M, other=-1)
    acc = tl.zeros((BM, BN), tl.float32)
    first, step = tl.program_id(1) * BK, tl.num_programs(1) * BK
    for k in tl.range(first, K, step, warp_specialize=WS, loop_unroll_factor=UNROLL):
        left = gathered(a, which, k, K, BK) if A == "gather" else loaded(a_tiles, row, k, M, K, BM, BK, A)
        if TRANSPOSED:
            right = loaded(b_tiles, column, k, N, K, BN, BK, B).T
        else:
            right = loaded(b_tiles, k, column, K, N, BK, BN, B)
        if left.dtype == tl.int8:
            left = left.to(right.dtype)
        if right.dtype == tl.int8:
            right = right.to(left.dtype)
        if PROLOGUE == "relu":
            left = tl.maximum(left, 0)
        acc = tl.dot(left, right, acc, input_precision=PRECISION, max_num_imprecise_acc=LIMIT)
    tile = finished(acc, x, y, row, column, M, N, BM, BN, EPILOGUE)
    stored(c_tiles, tile, row, column, M, N, BM, BN, C)


@triton.jit
def gemm_walking(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    WS: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C = A @ B as tutorials write it: pointers that each step moves on, rows that wrap around at the edge."""
    row, column = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    rm, rn, rk = row + tl.arange(0, BM), column + tl.arange(0, BN), tl.arange(0, BK)
    a_at = a + (rm % M)[:, None] * K + rk[None, :]
    b_at = b + rk[:, None] * N + (rn % N)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WS):
        left = tl.load(a_at, mask=rk[None, :] < K - k, other=0)
        right = tl.load(b_at, mask=rk[:, None] < K - k, other=0)
        acc = tl.dot(left, right, acc)
        a_at += BK
        b_at += BK * N
    stored(c, acc, row, column, M, N, BM, BN, "pointer")


@triton.jit
def gemm_clamped(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FLATTEN: tl.constexpr = False,
    WS: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C = A @ B by programs that each compute many tiles, as tutorials write it: rows behind the edge are row 0."""
    for tile in tl.range(
        tl.program_id(0), tl.cdiv(M, BM) * tl.cdiv(N, BN), tl.num_programs(0), flatten=FLATTEN, warp_specialize=WS
    ):
        row, column = tile_of(tile, M, N, BM, BN, GROUP)
        rm, rn = row + tl.arange(0, BM), column + tl.arange(0, BN)
        rm = tl.max_contiguous(tl.multiple_of(tl.where(rm < M, rm, 0), BM), BM)
        rn = tl.max_contiguous(tl.multiple_of(tl.where(rn < N, rn, 0), BN), BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(K, BK)):
            rk = step * BK + tl.arange(0, BK)
            left = tl.load(a + rm[:, None] * K + rk[None, :], mask=rk[None, :] < K, other=0)
            right = tl.load(b + rk[:, None] * N + rn[None, :], mask=rk[:, None] < K, other=0)
            acc = tl.dot(left, right, acc)
        stored(c, acc, row, column, M, N, BM, BN, "pointer")


@triton.jit
def gemm_persistent(
    a,
    b,
    c,
    x,
    y,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    A: tl.constexpr = "device",
    B: tl.constexpr = "device",
    C: tl.constexpr = "device",
    TRANSPOSED: tl.constexpr = False,
    EPILOGUE: tl.constexpr = "",
    FLATTEN: tl.constexpr = False,
    OUTER: tl.constexpr = True,
    INNER: tl.constexpr = False,
    SUBTILE: tl.constexpr = 1,
    WS: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C = epilogue(A @ B) by programs that each compute many tiles; OUTER and INNER say which loop is annotated.

    SUBTILE stores a tile in that many parts, so that less shared memory is needed.
    """
    a_tiles = opened(a, M, K, BM, BK, A)
    b_tiles = opened(b, N, K, BN, BK, B) if TRANSPOSED else opened(b, K, N, BK, BN, B)
    c_tiles = opened(c, M, N, BM, BN // SUBTILE, C)
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLATTEN, warp_specialize=WS and OUTER):
        row, column = tile_of(tile, M, N, BM, BN, GROUP)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK, warp_specialize=WS and INNER):
            left = loaded(a_tiles, row, k, M, K, BM, BK, A)
            if TRANSPOSED:
                right = loaded(b_tiles, column, k, N, K, BN, BK, B).T
            else:
                right = loaded(b_tiles, k, column, K, N, BK, BN, B)
            acc = tl.dot(left, right, acc)
        acc = finished(acc, x, y, row, column, M, N, BM, BN, EPILOGUE)
        if SUBTILE == 1:
            c_tiles.store([row, column], acc.to(c_tiles.dtype))
        else:
            one, two = acc.reshape(BM, 2, BN // 2).permute(0, 2, 1).split()
            c_tiles.store([row, column], one.to(c_tiles.dtype))
            c_tiles.store([row, column + BN // 2], two.to(c_tiles.dtype))


@triton.jit
def swiglu(
    a,
    gate,
    up,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    WS: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C[M, N] = silu(A @ gate[N, K]^T) * (A @ up[N, K]^T): two products that share an operand."""
    row, column = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    a_tiles = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    gate_tiles = tl.make_tensor_descriptor(gate, [N, K], [K, 1], [BN, BK])
    up_tiles = tl.make_tensor_descriptor(up, [N, K], [K, 1], [BN, BK])
    c_tiles = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    left = tl.zeros((BM, BN), tl.float32)
    right = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WS):
        part = a_tiles.load([row, k])
        left = tl.dot(part, gate_tiles.load([column, k]).T, left)
        right = tl.dot(part, up_tiles.load([column, k]).T, right)
    c_tiles.store([row, column], (left * tl.sigmoid(left) * right).to(c.dtype.element_ty))


@triton.jit
def gemm_scaled(
    a,
    b,
    c,
    a_scales,
    b_scales,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    WS: tl.constexpr = True,
    GROUP: tl.constexpr = 8,
):
    """C[M, N] = A[M, K] @ B[N, K]^T of 8-bit floats with a scale for each row and BK elements of A, BN x BK of B."""
    row, column = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    a_tiles = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    c_tiles = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    rm = row + tl.arange(0, BM)
    steps = tl.cdiv(K, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for step in tl.range(0, steps, warp_specialize=WS):
        part = tl.dot(a_tiles.load([row, step * BK]), b_tiles.load([column, step * BK]).T)
        by_row = tl.load(a_scales + rm * steps + step, mask=rm < M, other=0)
        acc += part * by_row[:, None] * tl.load(b_scales + column // BN * steps + step)
    c_tiles.store([row, column], acc.to(c.dtype.element_ty))


def _tiles(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
    rows = triton.cdiv(arguments["M"], constants["BM"])
    return (rows * triton.cdiv(arguments["N"], constants["BN"]), constants.get("programs_k", 1))


def _programs(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
    return (min(processors, _tiles(arguments, constants, processors)[0]),)


def _values(argument: Any) -> np.ndarray:
    return (argument.tensor if isinstance(argument, Descriptor) else argument).values


def sigmoid(values: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-values))."""
    return np.exp(-np.logaddexp(0, -values))


def _softmax(values: np.ndarray) -> np.ndarray:
    weights = np.exp(values - values.max(1, keepdims=True, initial=-np.inf))
    return weights / weights.sum(1, keepdims=True)


def _by_tile(values: np.ndarray, width: int) -> np.ndarray:
    """Return the columns of each tile as [rows, tiles, width], with NaN outside of the matrix."""
    rows, columns = values.shape
    padded = np.full((rows, triton.cdiv(columns, width) * width), np.nan)
    padded[:, :columns] = values
    return padded.reshape(rows, -1, width)


def _product(arguments: Arguments, constants: Mapping[str, Any]) -> np.ndarray:
    a, b = _values(arguments["a"]), _values(arguments["b"])
    if constants.get("A") == "gather":
        which = arguments["x"].values
        a = np.where(which[:, None] >= 0, a[which], 0)
    if constants.get("PROLOGUE") == "relu":
        a = np.maximum(a, 0)
    return a.astype(np.float64) @ (b.T if constants.get("TRANSPOSED") else b)


def _noise(arguments: Arguments, constants: Mapping[str, Any]) -> float:
    """Return how far the tensor cores' sum may be from the exact one.

    Random products have a sum near the square root of their number, and the largest error of a million sums is about
    five times the usual one. Sums of 16-bit operands keep more than 17 bits, of 8-bit floats 12; float32 operands lose
    all but 10 bits of fraction first. Without tensor cores each sum is rounded to float32.
    """
    operand = arguments["a"].tensor if isinstance(arguments["a"], Descriptor) else arguments["a"]
    step = {"fp8e4nv": 2.0**-8, "fp8e5": 2.0**-8, "fp32": 2.0**-7}.get(operand.dtype, 2.0**-16)
    if constants.get("PRECISION") == "ieee":
        step = 2.0**-17
    scale = 8 if "i8" in (operand.dtype, getattr(arguments["b"], "dtype", "")) else 1
    return step * scale * max(arguments["K"], 1) ** 0.5


def _gemm(name: str, row: str, operand: str = "fp16", second: str | None = None, **more: Any) -> Case:
    """Return a case of ``gemm`` or ``gemm_persistent``; ``more`` are constants in capitals, else fields of it."""
    constants = {"BM": 128, "BN": 128, "BK": 64} | {key: more.pop(key) for key in list(more) if key.isupper()}
    fn = more.pop("fn", gemm)
    out = more.pop("out", operand)
    split = more.pop("split", 1)
    epilogue, block = constants.get("EPILOGUE", ""), (constants["BM"], constants["BN"], constants["BK"])
    bm, bn, bk = block
    is_persistent = fn in (gemm_persistent, gemm_clamped)

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        m, n, k = shape["M"], shape["N"], shape["K"]
        a = normal(random, operand, m, k)
        b = normal(random, second or operand, *((n, k) if constants.get("TRANSPOSED") else (k, n)))
        c = output(out, m, n)
        if constants.get("C") == "atomic":
            c = Tensor(out, np.zeros((m, n)))
        parts = [m, triton.cdiv(n, bn)]
        y = output("fp32", *parts) if epilogue in ("row_max", "quantize") else c
        x = {"bias_gelu": lambda: normal(random, operand, n), "residual": lambda: normal(random, operand, m, n)}
        auxiliary = x[epilogue]() if epilogue in x else c
        if constants.get("A") == "gather":
            auxiliary = Tensor("i32", random.integers(-1, m, m))
        arguments = {"a": a, "b": b, "c": c, "x": auxiliary, "y": y, "M": m, "N": n, "K": k}
        if constants.get("A") == "host":
            b_block = (bn, bk) if constants.get("TRANSPOSED") else (bk, bn)
            arguments |= {"a": Descriptor(a, (bm, bk)), "b": Descriptor(b, b_block)}
        if constants.get("C") == "host":
            arguments |= {"c": Descriptor(c, (bm, bn))}
        return arguments

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        product = _product(arguments, constants)
        if epilogue == "bias_gelu":
            product = product + arguments["x"].values
            return {"c": product * sigmoid(1.5957691216 * (product + 0.044715 * product**3))}
        if epilogue == "residual":
            return {"c": product + arguments["x"].values}
        if epilogue == "row_max":
            return {"c": product, "y": np.nanmax(_by_tile(product, bn), 2)}
        if epilogue == "quantize":
            most = np.nanmax(np.abs(_by_tile(product, bn)), 2)
            scale = np.where(most > 0, most / 448, 1)
            return {"c": product / np.repeat(scale, bn, 1)[:, : product.shape[1]], "y": scale}
        return {"c": _softmax(product) if epilogue == "softmax" else product}

    def tolerance(arguments: Arguments) -> Mapping[str, Tolerance]:
        noise = _noise(arguments, constants)
        if epilogue == "softmax":
            # The derivative of a weight by a score is the weight at most.
            return {"c": Tolerance(within(out, 0).relative + 2 * noise, 1e-6)}
        if epilogue == "quantize":
            # The least of the type, and the noise at the scale of rows that are about the square root of K wide.
            return {"c": within(out, 2.0**-9 + 448 * noise / max(arguments["K"], 1) ** 0.5), "y": within("fp32", noise)}
        return {"c": within(out, noise)} | ({"y": within("fp32", noise)} if epilogue == "row_max" else {})

    def grid(arguments: Arguments, constants: Mapping[str, Any], processors: int) -> tuple[int, ...]:
        count = _tiles(arguments, constants, processors)[0]
        return (min(processors, count),) if is_persistent else (count, split)

    if fn in (gemm_walking, gemm_clamped):
        full = make

        def make(random: np.random.Generator, shape: Shape) -> Arguments:
            return {key: value for key, value in full(random, shape).items() if key not in "xy"}

    default = {"M": 512, "N": 512, "K": 512}
    # Odd sizes are multiples of 16 bytes where descriptors need that.
    odd = {"M": 3 * bm // 2 + 5, "N": 3 * bn // 2 + 16, "K": 5 * bk // 2 + 16}
    shapes = [default, odd, {"M": 40, "N": 48, "K": 2 * bk}, {"M": bm, "N": bn, "K": bk}]
    if is_persistent:
        # More tiles than the processors of any GPU, of which some have less work than others.
        shapes.append({"M": 13 * bm - 3, "N": 13 * bn, "K": 3 * bk})
    if constants.get("A") != "host":
        shapes.append({"M": 40, "N": 48, "K": 0})
    if epilogue == "softmax":
        shapes = [shape | {"N": min(shape["N"], bn)} for shape in shapes]
    shapes = more.pop("shapes", tuple(shapes))
    options = {"num_warps": 4, "num_stages": 3} | more.pop("options", {})
    return Case(
        name=name,
        fn=fn,
        row=row,
        make=make,
        reference=reference,
        tolerance=tolerance,
        grid=grid,
        shapes=shapes,
        constants=constants,
        options=options,
        **more,
    )


def _persistent(name: str, row: str, operand: str = "fp16", **more: Any) -> Case:
    return _gemm(name, row, operand, fn=gemm_persistent, **more)


def _swiglu() -> Case:
    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        m, n, k = shape["M"], shape["N"], shape["K"]
        gate, up = (Tensor("bf16", rounded(random.standard_normal((n, k)) / max(k, 1) ** 0.5, "bf16")) for _ in "gu")
        return {"a": normal(random, "bf16", m, k), "gate": gate, "up": up, "c": output("bf16", m, n)} | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        gate, up = (arguments["a"].values @ arguments[name].values.T for name in ("gate", "up"))
        return {"c": gate * sigmoid(gate) * up}

    return Case(
        name="swiglu",
        fn=swiglu,
        row="dual product",
        make=make,
        reference=reference,
        # Each factor is of magnitude 1 and off by its noise.
        tolerance=lambda arguments: {"c": within("bf16", 2.0**-12)},
        grid=_tiles,
        shapes=tuple(
            {"M": m, "N": n, "K": k} for m, n, k in ((512, 512, 512), (200, 152, 136), (128, 64, 64), (40, 48, 0))
        ),
        constants={"BM": 128, "BN": 64, "BK": 64},
        options={"num_warps": 4, "num_stages": 3},
    )


def _scaled(name: str, warps: int, **more: Any) -> Case:
    constants = {"BM": 128, "BN": 128, "BK": 128}

    def make(random: np.random.Generator, shape: Shape) -> Arguments:
        m, n, k = shape["M"], shape["N"], shape["K"]
        steps, columns = triton.cdiv(k, 128), triton.cdiv(n, 128)
        scales = (
            Tensor("fp32", rounded(random.uniform(0.5, 2, size), "fp32")) for size in ((m, steps), (columns, steps))
        )
        operands = {"a": normal(random, "fp8e4nv", m, k), "b": normal(random, "fp8e4nv", n, k)}
        return operands | dict(zip(("c", "a_scales", "b_scales"), (output("bf16", m, n), *scales))) | dict(shape)

    def reference(arguments: Arguments) -> Mapping[str, np.ndarray]:
        k = arguments["K"]
        a = arguments["a"].values * np.repeat(arguments["a_scales"].values, 128, 1)[:, :k]
        by_column = np.repeat(arguments["b_scales"].values, 128, 0)[: arguments["N"]]
        return {"c": a @ (arguments["b"].values * np.repeat(by_column, 128, 1)[:, :k]).T}

    return Case(
        name=name,
        fn=gemm_scaled,
        row="block-scaled fp8",
        make=make,
        reference=reference,
        tolerance=lambda arguments: {"c": within("bf16", _noise(arguments, constants))},
        grid=_tiles,
        shapes=tuple(
            {"M": m, "N": n, "K": k} for m, n, k in ((512, 512, 512), (200, 272, 400), (128, 128, 128), (40, 48, 0))
        ),
        constants=constants,
        options={"num_warps": warps, "num_stages": 3},
        **more,
    )


_WIDE = {"BM": 128, "BN": 256, "BK": 64}
_POINTERS_WIDE = {**_WIDE, "options": {"num_warps": 8}, "expected": POINTERS}
_SHORT = "the product is too short for what computes its operand to go on beside it"
_REGISTERS = "products take more registers than a thread has"
_SMALL = tuple({"M": m, "N": n, "K": k} for m, n, k in ((128, 128, 128), (29, 40, 56), (5, 8, 0)))
_FP8 = {"TRANSPOSED": True, "BK": 128, "out": "bf16"}

CASES = (
    _gemm("gemm_fp16", "descriptors"),
    _gemm("gemm_bf16_wide", "descriptors", "bf16", **_WIDE),
    _gemm("gemm_bf16_tall", "descriptors", "bf16", BM=256),
    _gemm("gemm_tf32", "descriptors", "fp32", TRANSPOSED=True, BK=32),
    _gemm("gemm_fp8", "descriptors", "fp8e4nv", **_FP8),
    _gemm("gemm_fp8_limited", "descriptors", "fp8e4nv", LIMIT=64, BM=64, **_FP8),
    _gemm("gemm_transposed", "descriptors", "bf16", TRANSPOSED=True),
    _gemm("gemm_8_warps", "num_warps=8", **_WIDE, options={"num_warps": 8}),
    _gemm("gemm_64_rows", "BM=64", BM=64),
    _gemm("gemm_pointers", "pointer loads", A="pointer", B="pointer", C="pointer", expected=POINTERS),
    _gemm("gemm_walking_pointers", "pointer loads", fn=gemm_walking, expected=POINTERS),
    _gemm("gemm_walking_pointers_wide", "pointer loads", "bf16", fn=gemm_walking, **_POINTERS_WIDE),
    _gemm("gemm_gather", "A by pointers, B by descriptor", A="gather", expected=POINTERS),
    _gemm("gemm_host", "descriptors of the host", A="host", B="host", C="host"),
    _gemm("gemm_host_64_rows", "descriptors of the host", A="host", B="host", C="host", BM=64),
    _gemm("gemm_host_wide", "descriptors of the host", "bf16", A="host", B="host", C="host", **_WIDE),
    _gemm("gemm_unrolled", "unrolled loop", UNROLL=2, expected="the kernel has a second loop of products"),
    _gemm("gemm_pointer_store", "epilogues", C="pointer", out="fp32"),
    _gemm("gemm_bias_gelu", "epilogues", "bf16", EPILOGUE="bias_gelu"),
    _gemm("gemm_residual", "epilogues", EPILOGUE="residual"),
    _gemm("gemm_row_max", "epilogues", EPILOGUE="row_max"),
    _gemm("gemm_quantize", "epilogues", out="fp8e4nv", EPILOGUE="quantize"),
    _gemm("gemm_softmax", "epilogues", EPILOGUE="softmax"),
    _gemm("gemm_split_k", "split K with atomics", C="atomic", out="fp32", split=2),
    _gemm("gemm_w8a16", "8-bit and 16-bit operands", "bf16", "i8", expected=_SHORT),
    _gemm("gemm_w8a16_wide", "8-bit and 16-bit operands", "bf16", "i8", **_WIDE, options={"num_warps": 8}),
    _gemm("gemm_a8w16", "8-bit and 16-bit operands", "i8", "bf16", out="bf16"),
    _gemm("gemm_relu_prologue", "relu of an operand", PROLOGUE="relu"),
    _gemm("gemm_ieee", "fp32 without tensor cores", "fp32", BM=64, BN=64, BK=32, PRECISION="ieee", expected=NO_PRODUCT),
    _gemm("gemm_tiny", "16x16x16 tile", BM=16, BN=16, BK=16, shapes=_SMALL, expected=NO_PRODUCT),
    _swiglu(),
    _scaled("gemm_fp8_scaled", 4, expected=_REGISTERS),
    _scaled("gemm_fp8_scaled_8_warps", 8),
    _persistent("persistent_flat", "persistent, flattened", FLATTEN=True),
    _persistent("persistent_flat_fp8", "persistent, flattened", "fp8e4nv", FLATTEN=True, **_FP8),
    _persistent("persistent_outer", "persistent, outer loop", SUBTILE=2, BN=256, options={"num_warps": 8}),
    _persistent("persistent_inner", "persistent, inner loop", OUTER=False, INNER=True),
    _persistent("persistent_both", "persistent, both loops", INNER=True),
    _persistent("persistent_bias_gelu", "persistent, outer loop", "bf16", EPILOGUE="bias_gelu"),
    _persistent("persistent_mixed", "persistent, A by pointers", A="pointer"),
    _gemm("persistent_clamped", "persistent, pointers", "bf16", fn=gemm_clamped, **_WIDE, options={"num_warps": 8}),
)
