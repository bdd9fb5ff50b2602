"""Linear layouts of metadata and prepacks against the emulator, and whole products made of them."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
import triton
import triton.language as tl

import tritonext_sparsity as sparsity
from tritonext_sparsity import formats
from tritonext_sparsity.elements import element
from tritonext_sparsity.emulator import (
    MatrixDescriptor,
    MmaSp,
    Smfmac,
    WgmmaSp,
    addresses,
    mma_sp,
    smfmac,
    wgmma_sp,
)
from tritonext_sparsity.formats import FormatError
from tritonext_sparsity.testing import sparse_matrix

PTX_TYPES = ["f16", "bf16", "tf32", "s8", "u8", "e4m3", "e5m2"]
ACCUMULATORS = {"s8": "s32", "u8": "s32"}


def linear(rows, columns, bases):
    """Return rows and columns that indices of hardware name, by bases ``(row, column)`` of their bits, lowest first."""
    index = np.arange(1 << len(bases))
    row = np.bitwise_xor.reduce([np.where(index >> i & 1, base[0], 0) for i, base in enumerate(bases)])
    column = np.bitwise_xor.reduce([np.where(index >> i & 1, base[1], 0) for i, base in enumerate(bases)])
    assert row.max() < rows
    assert column.max() < columns
    return row, column


@pytest.mark.parametrize("ptx", PTX_TYPES)
@pytest.mark.parametrize("lanes", [32, 128])
def test_metadata_is_a_linear_layout_of_bytes(ptx, lanes):
    """Of [rows, 8] bytes: registers, lanes, warps. Both selectors together read all of a thread's four bytes."""
    kind = element(ptx)
    acc = ACCUMULATORS.get(ptx, "f32")
    if kind.bits == 8:
        registers, lane = [(0, 1), (0, 2)], [(8, 0), (0, 4), (1, 0), (2, 0), (4, 0)]
    else:
        registers, lane = [(0, 1), (8, 0)], [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]
    warps = [(16, 0), (32, 0)] if lanes == 128 else []
    row, column = (v.reshape(lanes, 4) for v in linear(lanes // 2, 8, registers + lane + warps))
    read = np.zeros((lanes, 4), int)
    for selector in range(1 if kind.bits == 8 else 2):
        if lanes == 128:
            fragment = WgmmaSp(8, ptx, ptx, acc).fragment_meta(selector)
        else:
            fragment = MmaSp(512 // kind.bits, ptx, ptx, acc).fragment_meta(selector)
        used = fragment.rows[:, ::2] >= 0
        read += used
        # A byte of the tile of 8 has two codes; selector 1 reads those of the second half.
        np.testing.assert_array_equal(fragment.rows[:, ::2][used], row[used])
        np.testing.assert_array_equal(fragment.columns[:, ::2][used] + 8 * selector, 2 * column[used])
        np.testing.assert_array_equal(fragment.columns[:, 1::2][used] + 8 * selector, 2 * column[used] + 1)
    assert (read == 1).all()


def words(packed):
    return np.ascontiguousarray(packed).view(np.uint32)


@pytest.mark.parametrize("ptx", PTX_TYPES)
@pytest.mark.parametrize("tiles", [1, 2, 4])
@pytest.mark.parametrize("warps", [1, 4])
def test_prepacks_of_nvidia_hold_what_lanes_hold(ptx, tiles, warps):
    kind = element(ptx)
    acc = ACCUMULATORS.get(ptx, "f32")
    rows, steps = 16 * warps, 1 if kind.bits == 8 else 2
    k = 512 // kind.bits
    blocks = 3
    dense = sparse_matrix(kind.name, 2 * rows, blocks * tiles * steps * k, 11)
    matrix = formats.compress(dense, kind.name)
    orders = formats.wgmma_orders(kind.name, tiles) if warps == 4 else formats.mma_orders(kind.name, tiles)
    assert (orders.meta.rows, orders.meta.columns) == (rows, 8 * tiles)
    assert (orders.values.rows, orders.values.columns * kind.bits // 8) == (rows, 32)
    instruction = WgmmaSp(8, ptx, ptx, acc) if warps == 4 else MmaSp(k, ptx, ptx, acc)
    values = words(orders.values.pack(matrix.values)).reshape(2, blocks * tiles * steps, 32 * warps, 4)
    meta = words(orders.meta.pack(matrix.meta)).reshape(2, blocks, 32 * warps, tiles)
    for row, step in itertools.product(range(2), range(blocks * tiles * steps)):
        part = matrix.values[row * rows : (row + 1) * rows, step * k // 2 : (step + 1) * k // 2]
        np.testing.assert_array_equal(values[row, step], instruction.fragment_a().pack(part))
        fragment = instruction.fragment_meta(step % steps)
        groups = k // kind.group
        part = matrix.codes[row * rows : (row + 1) * rows, step * groups : (step + 1) * groups]
        tile = step // steps
        word = meta[row, tile // tiles, :, tile % tiles]
        np.testing.assert_array_equal(fragment.unpack(word[:, None]), part)
    np.testing.assert_array_equal(
        orders.values.unpack(values.reshape(-1).view(kind.storage), *matrix.values.shape), matrix.values
    )
    np.testing.assert_array_equal(orders.meta.unpack(meta.reshape(-1).view(np.uint8), *matrix.meta.shape), matrix.meta)


SMFMAC = [
    ("f16", "float16", 16, 32, "gfx942"),
    ("bf16", "bfloat16", 32, 16, "gfx942"),
    ("i8", "int8", 16, 64, "gfx942"),
    ("fp8", "float8_e4m3fnuz", 32, 32, "gfx942"),
    ("f16", "float16", 16, 64, "gfx950"),
    ("bf16", "bfloat16", 32, 32, "gfx950"),
    ("bf8", "float8_e5m2", 16, 128, "gfx950"),
    ("fp8", "float8_e4m3fn", 32, 64, "gfx950"),
]


@pytest.mark.parametrize(("a", "name", "m", "k", "arch"), SMFMAC)
def test_prepacks_of_amd_hold_what_lanes_hold(a, name, m, k, arch):
    kind = element(name)
    instruction = Smfmac(m, k, a, a, arch)
    orders = formats.smfmac_orders(name, m, k)
    sets = orders.meta.columns * 8 // k
    matrix = formats.compress(sparse_matrix(name, 2 * m, 2 * sets * k, 12), name)
    values = words(orders.values.pack(matrix.values)).reshape(2, 2 * sets, 64, -1)
    meta = words(orders.meta.pack(matrix.meta)).reshape(2, 2, 64)
    for row, step in itertools.product(range(2), range(2 * sets)):
        part = matrix.values[row * m : (row + 1) * m, step * k // 2 : (step + 1) * k // 2]
        np.testing.assert_array_equal(values[row, step], instruction.fragment_a().pack(part))
        part = matrix.codes[row * m : (row + 1) * m, step * k // 4 : (step + 1) * k // 4]
        fragment = instruction.fragment_index(0, step % sets)
        np.testing.assert_array_equal(fragment.unpack(meta[row, step // sets][:, None]), part)
    np.testing.assert_array_equal(
        orders.values.unpack(values.reshape(-1).view(kind.storage), *matrix.values.shape), matrix.values
    )
    np.testing.assert_array_equal(orders.meta.unpack(meta.reshape(-1).view(np.uint8), *matrix.meta.shape), matrix.meta)


def test_a_block_is_loaded_as_the_docstring_says():
    """The pointers, reshape and permute of FragmentOrder.unpacking, in NumPy."""
    order = formats.wgmma_orders("bfloat16", 2).meta
    meta = np.random.default_rng(0).integers(0, 256, (256, 64)).astype(np.uint8)
    memory = order.pack(meta)
    p, q = 2, 2
    n = meta.shape[1] // order.columns
    shape, axes = order.unpacking(p * order.rows, q * order.columns)
    assert math.prod(shape) == p * q * order.size
    for i, j in itertools.product(range(0, 4, p), range(0, n, q)):
        offsets = (i + np.arange(p))[:, None] * (n * order.size) + j * order.size + np.arange(q * order.size)[None, :]
        block = memory[offsets].reshape(shape).transpose(axes).reshape(p * order.rows, q * order.columns)
        expected = meta[i * order.rows :, j * order.columns :][: p * order.rows, : q * order.columns]
        np.testing.assert_array_equal(block, expected)


@triton.jit
def gemm(
    v,
    m,
    b,
    c,
    ldv,
    ldb,
    K,
    TILES,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    P: tl.constexpr,
    SIZE: tl.constexpr,
    SHAPE: tl.constexpr,
    AXES: tl.constexpr,
):
    """One tile of a product with prepacked metadata, TILES tiles of SIZE bytes along K."""
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    vs = v + rows[:, None] * ldv + tl.arange(0, BK // 2)[None, :]
    bs = b + tl.arange(0, BK)[:, None] * ldb + columns[None, :]
    ms = m + tl.arange(0, P)[:, None] * (TILES * SIZE) + tl.arange(0, SIZE)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        meta = tl.reshape(tl.permute(tl.reshape(tl.load(ms), SHAPE), AXES), (BM, BK // 8))
        acc = sparsity.sparse_dot(tl.load(vs), meta, tl.load(bs), acc)
        vs += BK // 2
        ms += SIZE
        bs += BK * ldb
    tl.store(c + rows[:, None] * BN + columns[None, :], acc)


@pytest.mark.parametrize("tiles", [1, 2, 4])
@pytest.mark.parametrize(("target", "make"), [("cuda:90", formats.wgmma_orders), ("cuda:80", formats.mma_orders)])
def test_prepacked_metadata_stays_in_its_lanes(compiled, target, make, tiles):
    """Each lane reads its words as they are: no conversion of the layout, and no instruction that moves bytes."""
    order = make("float16", tiles).meta
    shape, axes = order.unpacking(64, 8 * tiles)
    text = "v=*fp16:16, m=*u8:16, b=*fp16:16, c=*fp32:16, ldv=i32:16, ldb=i32:16, K=i32:16, TILES=i32"
    constants = {"BM": 64, "BN": 64, "BK": 64 * tiles, "P": 64 // order.rows, "SIZE": order.size}
    kernel = compiled(gemm, text, target, {"num_warps": 4}, **constants, SHAPE=shape, AXES=axes)
    ttgir = kernel.asm["ttgir"]
    assert "ttg.async_copy_global_to_local" in ttgir
    assert not [line for line in ttgir.splitlines() if "ttg.convert_layout" in line and "xi8" in line]
    assert not re.findall(r"\bprmt\.|ld\.shared\.(?:v\d\.)?(?:b|u)8|\bshfl\.", kernel.asm["ptx"])
    assert "wgmma.mma_async.sp" in kernel.asm["ptx"] or "mma.sp::ordered_metadata" in kernel.asm["ptx"]


def test_orders_of_the_docstring():
    """A lane of wgmma.sp of 16-bit types, by hand: rows 5 and 13 of warp 2, second pair of lanes, second byte pair."""
    orders = formats.wgmma_orders("float16")
    meta = np.arange(64 * 8, dtype=np.uint16).reshape(64, 8).astype(np.uint16)
    lane = 32 * 2 + 4 * 5 + 3
    np.testing.assert_array_equal(
        orders.meta.pack(meta)[lane * 4 : lane * 4 + 4], [meta[37, 6], meta[37, 7], meta[45, 6], meta[45, 7]]
    )
    values = np.arange(64 * 32, dtype=np.uint16).reshape(64, 32)
    step = 1
    lane = 32 * 3 + 4 * 2 + 1
    start = step * 64 * 16 + lane * 8
    rows, columns = [50, 50, 58, 58, 50, 50, 58, 58], [18, 19, 18, 19, 26, 27, 26, 27]
    np.testing.assert_array_equal(orders.values.pack(values)[start : start + 8], values[rows, columns])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: formats.wgmma_orders("float16", 3), "a lane loads 4, 8 or 16 bytes"),
        (lambda: formats.smfmac_orders("float16", 16, 128), "smfmac has no such shape"),
        (lambda: formats.smfmac_orders("float32", 16, 16), "smfmac has no such shape"),
        (lambda: formats.smfmac_orders("int8", 64, 16), "smfmac has no such shape"),
        (lambda: formats.wgmma_orders("int8").meta.pack(np.zeros((32, 8), np.uint8)), "do not fill a matrix"),
        (lambda: formats.wgmma_orders("int8", 2).meta.pack(np.zeros((64, 8), np.uint8)), "do not fill a matrix"),
        (lambda: formats.wgmma_orders("int8").meta.pack(np.zeros(512, np.uint8)), "a matrix is to be packed"),
        (lambda: formats.wgmma_orders("int8").meta.unpack(np.zeros(8, np.uint8), 64, 8), "a prepack has another size"),
    ],
)
def test_prepacks_that_do_not_fit_are_refused(make, message):
    with pytest.raises(FormatError, match=message):
        make()


# Whole products: formats, prepacks and instructions together.


def dense_and_b(kind, rows, k, n, seed):
    rng = np.random.default_rng(seed)
    dense = sparse_matrix(kind.name, rows, k, seed)
    if kind.is_float:
        b = kind.encode(rng.integers(-4, 5, (k, n)))
    else:
        b = kind.encode(rng.integers(-100 if kind.signed else 0, 100, (k, n)))
    return dense, b, kind.decode(dense) @ kind.decode(b)


@pytest.mark.parametrize("ptx", PTX_TYPES)
@pytest.mark.parametrize("seed", range(3))
def test_products_of_wgmma_from_prepacks(ptx, seed):
    """Values in registers, codes of four tiles in a lane, B in shared memory with a swizzle."""
    kind = element(ptx)
    acc = element(ACCUMULATORS.get(ptx, "f32"))
    steps = 4 if kind.bits == 8 else 8
    instruction = WgmmaSp(16, ptx, ptx, ACCUMULATORS.get(ptx, "f32"))
    dense, b, expected = dense_and_b(kind, 128, steps * instruction.k, 16, seed)
    matrix = formats.compress(dense, kind.name)
    orders = formats.wgmma_orders(kind.name, 4)
    values = words(orders.values.pack(matrix.values)).reshape(2, steps, 128, 4)
    meta = words(orders.meta.pack(matrix.meta)).reshape(2, 128, 4)
    for row in range(2):
        d = np.zeros((128, 8), np.uint32)
        for step in range(steps):
            descriptor = MatrixDescriptor(0, 16, 1024, 128)
            part = b[step * instruction.k : (step + 1) * instruction.k].T
            where = addresses(descriptor, 16, instruction.k, kind.bits, True)
            shared = np.zeros(2048, np.uint8)
            for byte in range(kind.bits // 8):
                shared[where + byte] = (part >> (8 * byte) & 255).astype(np.uint8)
            tile, selector = (step, 0) if kind.bits == 8 else divmod(step, 2)
            d = wgmma_sp(
                instruction, values[row, step], descriptor.encode(), d, meta[row, :, tile], selector, shared=shared
            )
        got = acc.decode(instruction.fragment_d().unpack(d))
        np.testing.assert_array_equal(got, expected[64 * row : 64 * row + 64])


@pytest.mark.parametrize("ptx", PTX_TYPES)
@pytest.mark.parametrize("seed", range(3))
def test_products_of_mma_from_prepacks(ptx, seed):
    kind = element(ptx)
    acc = element(ACCUMULATORS.get(ptx, "f32"))
    steps = 2 if kind.bits == 8 else 4
    instruction = MmaSp(512 // kind.bits, ptx, ptx, ACCUMULATORS.get(ptx, "f32"))
    dense, b, expected = dense_and_b(kind, 32, steps * instruction.k, 8, seed)
    matrix = formats.compress(dense, kind.name)
    orders = formats.mma_orders(kind.name, 2)
    values = words(orders.values.pack(matrix.values)).reshape(2, steps, 32, 4)
    meta = words(orders.meta.pack(matrix.meta)).reshape(2, 32, 2)
    for row in range(2):
        d = np.zeros((32, 4), np.uint32)
        for step in range(steps):
            tile, selector = (step, 0) if kind.bits == 8 else divmod(step, 2)
            part = instruction.fragment_b().pack(b[step * instruction.k : (step + 1) * instruction.k])
            d = mma_sp(instruction, values[row, step], part, d, meta[row, :, tile], selector)
        got = acc.decode(instruction.fragment_d().unpack(d))
        np.testing.assert_array_equal(got, expected[16 * row : 16 * row + 16])


@pytest.mark.parametrize(("a", "name", "m", "k", "arch"), SMFMAC)
def test_products_of_smfmac_from_prepacks(a, name, m, k, arch):
    kind = element(name)
    instruction = Smfmac(m, k, a, a, arch)
    orders = formats.smfmac_orders(name, m, k)
    sets = orders.meta.columns * 8 // k
    dense, b, expected = dense_and_b(kind, m, sets * k, m, 7)
    matrix = formats.compress(dense, name)
    values = words(orders.values.pack(matrix.values)).reshape(sets, 64, -1)
    meta = words(orders.meta.pack(matrix.meta))
    d = np.zeros((64, m * m // 64), np.uint32)
    for step in range(sets):
        d = smfmac(
            instruction,
            values[step],
            instruction.fragment_b().pack(b[step * k : (step + 1) * k]),
            d,
            meta,
            abid=step,
        )
    np.testing.assert_array_equal(instruction.types[2].decode(instruction.fragment_d().unpack(d)), expected)
