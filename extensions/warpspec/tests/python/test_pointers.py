"""Loads through pointers: which become copies by descriptors, and what they load."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext
from tritonext import inspect_code, remarks
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import simulator

TILE = 64
WHOLE = {"M": 64, "N": 64, "K": 128}
ODD = {"M": 41, "N": 56, "K": 88}
ODD_16 = {"M": 41, "N": 48, "K": 80}
EMPTY = {"M": 64, "N": 64, "K": 0}


@triton.jit
def pointers(
    a, b, c, first, M, N, K, a_row, a_column, b_row, b_column, batch, BLOCK: tl.constexpr, FORM: tl.constexpr
):  # fmt: skip
    """C[M, N] = A @ B for matrices with strides; FORM says how the loads are written."""
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    if FORM == "from argument":
        row += first
    if FORM == "in front":
        row -= 8
    rm, rn, rk = row + tl.arange(0, BLOCK), column + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    if FORM == "batch":
        a += tl.program_id(2).to(tl.int64) * batch
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    a_at = a + rm[:, None] * a_row + rk[None, :] * a_column
    b_at = b + rk[:, None] * b_row + rn[None, :] * b_column
    steps: tl.constexpr = 1 if FORM == "counted" else BLOCK
    for k in tl.range(0, tl.cdiv(K, BLOCK) if FORM == "counted" else K, steps, warp_specialize=True):
        left = K - k * BLOCK if FORM == "counted" else K - k
        if FORM == "counted":
            x = tl.load(a_at, mask=rk[None, :] < left, other=0)
            y = tl.load(b_at, mask=left > rk[:, None], other=0)
        elif FORM == "streamed":
            x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < left), other=0, cache_modifier=".cg")
            y = tl.load(b_at, mask=(rk[:, None] < left) & (rn[None, :] < N), other=0)
        elif FORM == "ones":
            x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < left), other=1)
            y = tl.load(b_at, mask=(rk[:, None] < left) & (rn[None, :] < N), other=0)
        else:
            x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < left), other=0)
            y = tl.load(b_at, mask=(rk[:, None] <= left - 1) & (rn[None, :] < N), other=0)
        acc = tl.dot(x, y, acc)
        a_at += BLOCK * a_column
        b_at += BLOCK * b_row
    rm, rn = row + tl.arange(0, BLOCK)[:, None], column + tl.arange(0, BLOCK)[None, :]
    tl.store(c + rm * N + rn, acc, mask=(rm >= 0) & (rm < M) & (rn < N))


SIZES = "a=*fp16:16, b=*fp16:16, c=*fp32:16, first=i32, M=i32, N=i32, K=i32"
# Threads copy more than an element at once where masks are known to change at multiples.
SIZES_16 = SIZES.replace("N=i32, K=i32", "N=i32:16, K=i32:16")
ROW_MAJOR = ", a_row=i32:16, a_column=i32=1, b_row=i32:16, b_column=i32=1, batch=i32:16"
B_TRANSPOSED = ", a_row=i32:16, a_column=i32=1, b_row=i32=1, b_column=i32:16, batch=i32:16"
BOTH_TRANSPOSED = ", a_row=i32=1, a_column=i64:16, b_row=i32=1, b_column=i32:16, batch=i32:16"
UNALIGNED = ROW_MAJOR.replace("b_row=i32:16", "b_row=i32")


def compiled(form, strides, how):
    sizes = SIZES if how == "describe" else SIZES_16
    if how.endswith("fp32"):
        sizes = sizes.replace("fp16", "fp32")
    signature = parse_signature((sizes + strides).replace("i32=1", "i32:16"))
    ones = {entry.split("=")[0].strip(): 1 for entry in strides.split(",") if entry.endswith("=1")}
    for name in ones:
        del signature[name]
    constants = {"BLOCK": 2 * TILE if how.endswith("wide") else TILE, "FORM": form, **ones}
    with tritonext.use(f"warpspec:pointers={how.split()[0]}"), remarks.collect() as found:
        kernel = Specialization(pointers, signature, constants, {"num_warps": 4}).compile("cuda:90")
    return kernel, [remark for remark in found if remark.pass_name == "warpspec-specialize-loops"], ones


def product(kernel, shape, form, ones):
    """Return what the kernel writes, and float64's product."""
    random = np.random.default_rng()
    m, n, k = shape["M"], shape["N"], shape["K"]
    pitch = 16 * 9
    # What lies beside the matrices is no number.
    a, b = np.full((160, pitch), np.nan, np.float16), np.full((160, pitch), np.nan, np.float16)
    a_view, b_view = a.T if "a_row" in ones else a, b.T if "b_row" in ones else b
    # Rows and columns without a bound are read whole.
    rows, columns = (TILE, TILE) if form == "counted" else (m, n)
    a_view[:rows, :k], b_view[:k, :columns] = random.standard_normal((rows, k)), random.standard_normal((k, columns))
    wanted = a_view[:m, :k].astype(np.float64) @ b_view[:k, :n].astype(np.float64)
    c = np.full((m, n), np.nan, np.float32)
    strides = {name: pitch for name in ("a_row", "a_column", "b_row", "b_column") if name not in ones}
    values = {"a": a, "b": b, "c": c, "first": 0, **shape, **strides, "batch": 16}
    simulator.simulate(kernel, (1, 1, 1), values)
    return c, wanted


@pytest.mark.parametrize(
    ("form", "strides", "how", "described"),
    [
        ("bounded", ROW_MAJOR, "describe", 2),
        ("bounded", BOTH_TRANSPOSED, "describe", 2),
        ("counted", B_TRANSPOSED, "describe", 2),
        ("batch", ROW_MAJOR, "describe", 2),
        ("from argument", ROW_MAJOR, "describe 16", 1),
        ("in front", ROW_MAJOR, "describe 16", 1),
        ("counted", B_TRANSPOSED, "copy", 0),
        ("counted", ROW_MAJOR, "copy", 0),
    ],
)
def test_loads_are_described_where_they_are_blocks_of_a_matrix(form, strides, how, described):
    kernel, found, ones = compiled(form, strides, how)
    assert [remark.kind for remark in found] == ["applied"]
    ttgir = kernel.asm["ttgir"]
    assert ttgir.count("ttng.tensormap_create") == ttgir.count("ttng.async_tma_copy_global_to_local") == described
    assert ttgir.count("ttg.async_copy_global_to_local") == 2 - described
    assert inspect_code.stats(kernel).spills == 0
    if form == "in front":
        return
    for shape in (WHOLE, ODD if how == "describe" else ODD_16, EMPTY):
        got, wanted = product(kernel, shape, form, ones)
        np.testing.assert_allclose(got, wanted, atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize(
    ("form", "strides", "how", "reason"),
    [
        ("bounded", ROW_MAJOR, "auto", "which the stock schedule does as fast in a kernel without a loop over tiles"),
        ("bounded", UNALIGNED, "copy", "a thread would copy 2 bytes at once, and asynchronous copies have 4 and more"),
        ("counted", ROW_MAJOR, "copy wide", "a thread of the producer would have 32 pointers, and spills more than 24"),
        ("bounded", ROW_MAJOR, "copy fp32", "a tile is wanted in another order than it is loaded"),
        ("streamed", ROW_MAJOR, "describe", "an operand is loaded with a cache policy, or is volatile"),
        ("ones", ROW_MAJOR, "describe", "what is loaded in place of masked elements is not zero"),
    ],
)
def test_loads_that_a_producer_cannot_start_are_left_alone(form, strides, how, reason):
    kernel, found, _ = compiled(form, strides, how)
    assert "ttg.warp_specialize" not in kernel.asm["ttgir"]
    assert "tensormap" not in kernel.asm["ttgir"]
    assert [remark.kind for remark in found] == ["missed"]
    assert reason in found[0].message
    assert found[0].file == __file__


@triton.jit
def upside_down(
    a, b, c, last, row, tiles, K, ASSUMED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """C = A @ B in tiles of rows. Those of A are `row` elements apart, from `last` on."""
    if ASSUMED:
        tl.assume((row > 0) & (K >= 0))
    rm, rk = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=True):
        acc = tl.zeros((BLOCK, BLOCK), tl.float32)
        for k in range(0, K, BLOCK):
            x = tl.load(a + last + (tile * BLOCK + rm)[:, None] * row + (k + rk)[None, :])
            y = tl.load(b + (k + rk)[:, None] * BLOCK + rm[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + (tile * BLOCK + rm)[:, None] * BLOCK + rm[None, :], acc)


@pytest.mark.parametrize(("assumed", "described"), [(False, 1), (True, 2)])
def test_strides_are_not_negative_by_what_the_kernel_says(assumed, described):
    signature = parse_signature("a=*fp16:16, b=*fp16:16, c=*fp32:16, last=i32:16, row=i32:16, tiles=i32, K=i32:16")
    with tritonext.use("warpspec"), remarks.collect() as found:
        constants = {"ASSUMED": assumed, "BLOCK": TILE}
        kernel = Specialization(upside_down, signature, constants, {"num_warps": 4}).compile("cuda:90")
    found = [remark for remark in found if remark.pass_name == "warpspec-specialize-loops"]
    assert [remark.kind for remark in found] == ["applied"]
    assert ("tl.assume(stride >= 0) says that it is not" in found[0].message) == (not assumed)
    ttgir = kernel.asm["ttgir"]
    assert ttgir.count("ttng.tensormap_create") == ttgir.count("ttng.async_tma_copy_global_to_local") == described
    tiles, depth = 3, 2 * TILE
    random = np.random.default_rng()
    a = random.standard_normal((tiles * TILE, depth)).astype(np.float16)
    b = random.standard_normal((depth, TILE)).astype(np.float16)
    for row in [depth] if assumed else [depth, -depth]:
        c = np.full((tiles * TILE, TILE), np.nan, np.float32)
        last = a.size - depth if row < 0 else 0
        values = {"a": a, "b": b, "c": c, "last": last, "row": row, "tiles": tiles, "K": depth}
        simulator.simulate(kernel, (1, 1, 1), values)
        wanted = a[:: 1 if row > 0 else -1].astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(c, wanted, atol=2e-3, rtol=1e-3)
