"""Scaled products of two blocks of a cluster: instructions for sm_100, simulated numbers, and what is refused."""

import re

import pytest
import triton
import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")
np = pytest.importorskip("numpy", reason="the simulator needs numpy")

from tritonext.errors import KernelError  # noqa: E402
from tritonext_tlx.cluster import launched_as  # noqa: E402
from tritonext_tlx.simulator import (  # noqa: E402
    MissingFence,
    Race,
    ReadBeforeCompletion,
    Typed,
    UninitializedRead,
    simulate,
)

PADDED = tl.constexpr(NVMMASharedLayout(128, 8, 2, fp4_padded=True))
TYPES = {"e4m3": "fp8e4nv", "e5m2": "fp8e5", "e2m1": "u8"}


@triton.jit
def gemm(
    a,
    b,
    a_scale,
    b_scale,
    c,
    steps,
    AF: tl.constexpr,
    BF: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    PAIR: tl.constexpr,
    COPY: tl.constexpr,
    FAULT: tl.constexpr,
):
    """C = A @ B of operands with scales, with 128 rows for each block; scales are copied by hand or not.

    Operands and scales lie step by step, each of K elements.
    """
    HALF: tl.constexpr = N // 2 if PAIR else N
    KA: tl.constexpr = K // 2 if AF == "e2m1" else K
    KB: tl.constexpr = K // 2 if BF == "e2m1" else K
    rank = tlx.cluster_cta_rank()
    row = tl.program_id(0) * 128
    rows = tl.num_programs(0) * 128
    a_tile = tlx.local_alloc((128, KA), tlx.dtype_of(a), 1, layout=PADDED if AF == "e2m1" and BF != AF else None)[0]
    b_tile = tlx.local_alloc((HALF, KB), tlx.dtype_of(b), 1, layout=PADDED if BF == "e2m1" and BF != AF else None)[0]
    acc = tlx.local_alloc((128, N), tl.float32, 1, tlx.storage_kind.tmem)[0]
    if COPY != "":
        a_there = tlx.local_alloc((128, K // 32), tl.uint8, 1, tlx.storage_kind.tmem)[0]
        b_there = tlx.local_alloc((N, K // 32), tl.uint8, 1, tlx.storage_kind.tmem)[0]
    if COPY != "registers":
        a_tiles = tlx.local_alloc((1, K // 128, 32, 16), tl.uint8)[0]
        b_tiles = tlx.local_alloc((N // 128, K // 128, 32, 16), tl.uint8)[0]
    ready = tlx.alloc_barriers(1, 2)
    done = tlx.alloc_barriers(1)
    for i in range(steps):
        a_at = (i * rows + row + tl.arange(0, 128))[:, None] * KA + tl.arange(0, KA)[None, :]
        b_at = (i * N + (rank % 2) * HALF + tl.arange(0, HALF))[:, None] * KB + tl.arange(0, KB)[None, :]
        tlx.local_store(a_tile, tl.load(a + a_at))
        tlx.local_store(b_tile, tl.load(b + b_at))
        if COPY == "registers":
            at = tl.arange(0, K // 32)[None, :]
            tlx.local_store(a_there, tl.load(a_scale + (i * rows + row + tl.arange(0, 128))[:, None] * (K // 32) + at))
            tlx.local_store(b_there, tl.load(b_scale + (i * N + tl.arange(0, N))[:, None] * (K // 32) + at))
        else:
            TILES: tl.constexpr = K // 128 * 512
            at = tl.arange(0, K // 128)[None, :, None, None] * 512
            at += tl.arange(0, 32)[None, None, :, None] * 16 + tl.arange(0, 16)[None, None, None, :]
            tlx.local_store(a_tiles, tl.load(a_scale + (i * rows + row) // 128 * TILES + at))
            at += tl.arange(0, N // 128)[:, None, None, None] * TILES
            tlx.local_store(b_tiles, tl.load(b_scale + i * N // 128 * TILES + at))
        if FAULT != "fence":
            tlx.fence_async_shared()
        if PAIR and FAULT != "ready":
            tlx.barrier_arrive(ready[0], 1, remote_cta_rank=rank & ~1)
            tlx.barrier_wait(ready[0], i & 1, pred=rank % 2 == 0)
        right = tlx.local_trans(b_tile)
        if COPY == "explicit":
            tlx.tmem_copy(a_tiles, a_there, two_ctas=PAIR and FAULT != "copy")
            tlx.tmem_copy(b_tiles, b_there, two_ctas=PAIR)
            tlx.async_dot_scaled(
                a_tile, right, acc, a_there, AF, b_there, BF, use_acc=i > 0, two_ctas=PAIR, force_async=True
            )
            tlx.tcgen05_commit(done[0], two_ctas=PAIR)
        elif COPY == "registers":
            tlx.async_dot_scaled(
                a_tile, right, acc, a_there, AF, b_there, BF, use_acc=i > 0, mBarriers=[done[0]], two_ctas=PAIR
            )
        else:
            tlx.async_dot_scaled(
                a_tile, right, acc, a_tiles, AF, b_tiles, BF, use_acc=i > 0, mBarriers=[done[0]], two_ctas=PAIR
            )
        if FAULT != "done":
            tlx.barrier_wait(done[0], i & 1)
    at = (row + tl.arange(0, 128))[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c + at, tlx.local_load(acc))


RIGHT = {"AF": "e4m3", "BF": "e4m3", "N": 256, "K": 128, "PAIR": True, "COPY": "", "FAULT": ""}


@pytest.fixture
def paired(compiled):
    def compile_kernel(**changes):
        values = RIGHT | changes
        a, b = (TYPES[values[name]] for name in ("AF", "BF"))
        signature = f"a=*{a}:16, b=*{b}:16, a_scale=*u8:16, b_scale=*u8:16, c=*fp32:16, steps=i32"
        with launched_as(2):
            return compiled(gemm, signature, "cuda:100", **values)

    return compile_kernel


def products(kernel):
    """Return what is constant in the operands of all products: A, B, instruction, and scales of A and of B."""
    ptx = kernel.asm["ptx"]
    made = dict(re.findall(r"^\s*(?:mov|add|or)\.[bsu](?:32|64)\s+(%rd?\d+), (.*);", ptx, re.MULTILINE))

    def value(operand):
        if re.fullmatch(r"-?\d+", operand):
            return int(operand)
        text = made.get(operand, "")
        if low_high := re.fullmatch(r"\{(.*), (.*)\}", text):
            return value(low_high[1]) + (value(low_high[2]) << 32)
        return sum(value(item) for item in text.split(", ") if item)

    found = re.findall(
        r"tcgen05\.mma\.cta_group::\d\.kind::\S+ \[[^]]*\], (\S+), (\S+), (\S+), \[([^]]*)\], \[([^]]*)\], ", ptx
    )
    return [tuple(sum(map(value, item.strip().split(" + "))) for item in operands) for operands in found]


@pytest.mark.parametrize(
    ("changes", "name", "count"),
    [
        ({}, "mxf8f6f4.block_scale.block32", 4),
        ({"AF": "e5m2", "K": 256}, "mxf8f6f4.block_scale.block32", 8),
        ({"AF": "e2m1", "BF": "e2m1"}, "mxf4.block_scale.block32", 2),
        ({"AF": "e2m1", "BF": "e2m1", "K": 256}, "mxf4.block_scale.block32", 4),
        ({"AF": "e2m1"}, "mxf8f6f4.block_scale.block32", 4),
        ({"BF": "e2m1", "K": 256}, "mxf8f6f4.block_scale.block32", 8),
    ],
)
def test_operands_are_described_as_for_one_block(paired, changes, name, count):
    """Each block has operands and scales as stock Triton describes them for a product of one block."""
    pair, half = paired(**changes), paired(**changes | {"PAIR": False, "N": 128})
    whole = products(paired(**changes | {"PAIR": False}))
    assert re.findall(r"tcgen05\.mma\.cta_group::2\.kind::(\S+)", pair.asm["ptx"]) == [name] * count
    pair, half = products(pair), products(half)
    assert len(pair) == len(half) == len(whole) == count
    mask = (1 << 16) - 1
    for index in range(2):
        assert {item[index] & ~mask for item in pair} == {item[index] & ~mask for item in half}
    # Relative to the first step, because addresses are what the compiler makes of them. B has half of its columns, but
    # scales of all of them.
    for index, other in ((0, half), (1, half), (3, whole), (4, whole)):
        steps = [[item[index] - found[0][index] for item in found] for found in (pair, other)]
        assert steps[0] == steps[1]
    # PTX ISA, instruction descriptor with block scaling: N / 8 from bit 17 on, M / 128 from bit 27 on; all else, also
    # which scales of a word, is that of one block.
    assert [(item[2] >> 17 & 63, item[2] >> 27 & 3) for item in (pair[0], whole[0])] == [(32, 2), (32, 1)]
    assert [item[2] & ~(3 << 27) for item in pair] == [item[2] & ~(3 << 27) for item in whole]


@pytest.mark.parametrize(("format_", "machine"), [("e4m3", "UTCQMMA.2CTA"), ("e2m1", "UTCOMMA.2CTA")])
@pytest.mark.parametrize("copy", ["", "explicit", "registers"])
def test_instructions_of_two_blocks(paired, format_, machine, copy):
    kernel = paired(AF=format_, BF=format_, COPY=copy)
    ptx, sass = kernel.asm["ptx"], kernel.asm["sass"]
    assert sass.count(machine) == (4 if format_ == "e4m3" else 2)
    # One copy for each tile of scales: one of A and two of B, by the block of even rank for both.
    copies = 0 if copy == "registers" else 3
    assert len(re.findall(r"tcgen05\.cp\.cta_group::2\.warpx4\.32x128b", ptx)) == copies
    assert len(re.findall(r"UTCCP\S*\.2CTA\.4x32dp128bit", sass)) == copies
    assert set(re.findall(r"tcgen05\.\w+\.cta_group::(\d)", ptx)) == {"2"}
    if copies:
        assert ptx.rindex("tcgen05.cp") < ptx.index("tcgen05.mma") < ptx.index("tcgen05.commit")


def test_narrow_products_have_scales_for_each_column(paired):
    """Scales of 32 rows take two columns for each word, as in stock Triton for one block."""
    pair = products(paired(N=32, K=256, COPY="registers"))
    one = products(paired(N=32, K=256, COPY="registers", PAIR=False))
    assert [item[4] - pair[0][4] for item in pair] == [item[4] - one[0][4] for item in one]
    assert pair[4][4] - pair[0][4] == 2
    assert pair[0][2] >> 17 & 63 == 4


def in_tiles(scales):
    """Return scales in tiles of 128 x 4: row 32 c + b at [b, c] of each."""
    rows, columns = scales.shape
    return np.ascontiguousarray(scales.reshape(rows // 128, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4))


def numbers(format_, shape, random):
    """Return random operands of a format, as bytes with their type and as numbers."""
    if format_ == "e2m1":
        table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
        codes = random.integers(0, 16, shape).astype(np.uint8)
        return codes[:, ::2] | codes[:, 1::2] << 4, table[codes]
    # Bits of finite numbers.
    bits = random.integers(0, 0x7A if format_ == "e5m2" else 0x7E, shape).astype(np.uint8)
    typed = Typed(bits, {"e4m3": tl.float8e4nv, "e5m2": tl.float8e5}[format_])
    return typed, typed.numbers().astype(np.float64)


def simulated(seed=0, clusters=2, steps=2, **changes):
    """Run the kernel in the simulator, and return its result and the right one."""
    values = RIGHT | changes
    random = np.random.default_rng()
    rows, n, k = clusters * 256, values["N"], values["K"]
    a, left = numbers(values["AF"], (steps * rows, k), random)
    b, right = numbers(values["BF"], (steps * n, k), random)
    scales = [random.integers(120, 134, (steps * size, k // 32)).astype(np.uint8) for size in (rows, n)]
    left, right = (x * np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, 1) for x, s in zip((left, right), scales))
    given = scales if values["COPY"] == "registers" else [in_tiles(item) for item in scales]
    c = np.full((rows, n), np.nan, np.float32)
    simulate(gemm, (2 * clusters,), a, b, *given, c, steps, ctas_per_cga=(2, 1, 1), seed=seed, **values)
    return c, np.einsum("srk,snk->rn", left.reshape(steps, rows, k), right.reshape(steps, n, k))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"COPY": "explicit", "AF": "e5m2", "K": 256},
        {"COPY": "registers", "N": 64},
        {"AF": "e2m1", "BF": "e2m1"},
        {"BF": "e2m1", "COPY": "explicit"},
    ],
)
def test_simulated_numbers(changes):
    found, right = simulated(**changes)
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5 * np.abs(right).max())


@pytest.mark.parametrize("copy", ["", "explicit", "registers"])
@pytest.mark.parametrize("seed", range(3))
def test_the_other_block_is_waited_for(copy, seed):
    with pytest.raises((ReadBeforeCompletion, UninitializedRead, Race)):
        simulated(seed, FAULT="ready", COPY=copy)


@pytest.mark.parametrize("seed", range(3))
def test_a_product_that_is_not_waited_for(seed):
    with pytest.raises((Race, ReadBeforeCompletion, UninitializedRead)):
        simulated(seed, FAULT="done")


@pytest.mark.parametrize("copy", ["", "explicit"])
def test_stored_scales_are_fenced(copy):
    with pytest.raises(MissingFence):
        simulated(FAULT="fence", COPY=copy)


def test_a_copy_of_one_block_beside_a_product_of_two(paired, capfd):
    with pytest.raises(KernelError) as caught:
        paired(COPY="explicit", FAULT="copy")
    assert "expected tensor core work of two blocks, as elsewhere in the kernel, got that of one" in str(caught.value)
    assert "tlx.tmem_copy(a_tiles, a_there" in str(caught.value)
    assert capfd.readouterr().err == ""


@triton.jit
def wrong(CASE: tl.constexpr):
    rows: tl.constexpr = 64 if CASE == "rows" else 128
    a_tile = tlx.local_alloc((rows, 128), tl.float8e4nv, 1)[0]
    b_tile = tlx.local_alloc((128 if CASE == "whole" else 64, 128), tl.float8e4nv, 1)[0]
    acc = tlx.local_alloc((rows, 128), tl.float32, 1, tlx.storage_kind.tmem)[0]
    a_scales = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)[0]
    b_scales = tlx.local_alloc((64 if CASE == "scales" else 128, 4), tl.uint8, 1, tlx.storage_kind.tmem)[0]
    done = tlx.alloc_barriers(1)
    right = tlx.local_trans(b_tile)
    if CASE == "copy":
        tlx.tmem_copy(tlx.local_alloc((1, 1, 32, 16), tl.uint8)[0], a_scales, two_ctas=True)
    elif CASE == "waits itself":
        tlx.async_dot_scaled(a_tile, right, acc, a_scales, "e4m3", b_scales, "e4m3", two_ctas=True)
    else:
        bars = [done[0]]
        tlx.async_dot_scaled(a_tile, right, acc, a_scales, "e4m3", b_scales, "e4m3", mBarriers=bars, two_ctas=True)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("rows", "the tensor cores have no such M\n  where: tlx.async_dot_scaled, argument A\n  expected: 128"),
        ("whole", "each block of a pair has half of the columns of B\n  where: tlx.async_dot_scaled, argument B"),
        (
            "scales",
            "the scales have another shape\n  where: tlx.async_dot_scaled, argument B_scale\n  expected: (128, 4)",
        ),
        ("waits itself", "the other block cannot be told when a product that this one waits for is over"),
    ],
)
def test_refused(refused, case, text):
    with launched_as(2):
        assert text in refused(wrong, "", "cuda:100", CASE=case)


@pytest.mark.parametrize(("case", "name"), [("product", "async_dot_scaled"), ("copy", "tmem_copy")])
def test_a_kernel_without_clusters_has_no_pairs(refused, case, name):
    text = refused(wrong, "", "cuda:100", CASE=case)
    assert f"the kernel has no clusters\n  where: tlx.{name}" in text
