"""The emulator of sparse instructions: maps against the formulas of the ISA documents, products against dense ones."""

from __future__ import annotations

import numpy as np
import pytest

from tritonext_sparsity.elements import element
from tritonext_sparsity.emulator import (
    InstructionError,
    MatrixDescriptor,
    MmaSp,
    Smfmac,
    WgmmaSp,
    addresses,
    mma_sp,
    smfmac,
    swizzle,
    wgmma_sp,
)
from tritonext_sparsity.testing import random_codes, shared_image, small_numbers

EIGHT_BITS = [(a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")]
FP8 = [(a, b, acc) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for acc in ("f32", "f16")]
SIXTEEN_BITS = [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32")]
TF32 = [("tf32", "tf32", "f32")]

MMA = [
    MmaSp(k, *types)
    for ks, kinds in (((16, 32), SIXTEEN_BITS), ((8, 16), TF32), ((32, 64), EIGHT_BITS), ((64,), FP8))
    for k in ks
    for types in kinds
]
WGMMA = [
    WgmmaSp(n, *types)
    for types in SIXTEEN_BITS + TF32 + EIGHT_BITS + FP8
    for n in ((8, 24, 96, 256) if types[2] == "s32" else (8, 40, 136, 256))
]
SMFMAC = [
    Smfmac(m, k * factor, a, b, arch)
    for arch in ("gfx942", "gfx950")
    for factor in ((1,) if arch == "gfx942" else (1, 2))
    for kinds, shapes in (
        ([("f16", "f16"), ("bf16", "bf16")], ((16, 32), (32, 16))),
        ([("i8", "i8"), ("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8")], ((16, 64), (32, 32))),
    )
    for m, k in shapes
    for a, b in kinds
]


def expanded(values, picked, kind):
    """Return the dense matrix, by the plainest loop."""
    rows, groups = picked.shape
    dense = np.zeros((rows, groups * kind.group))
    numbers_ = kind.decode(values)
    for row in range(rows):
        for group in range(groups):
            code = int(picked[row, group])
            if kind.group == 2:
                dense[row, 2 * group + (0 if code == 4 else 1)] = numbers_[row, group]
            else:
                dense[row, 4 * group + code % 4] = numbers_[row, 2 * group]
                dense[row, 4 * group + code // 4] = numbers_[row, 2 * group + 1]
    return dense


def dense_product(values, picked, b, c, kinds):
    a_kind, b_kind, c_kind = kinds
    return c_kind.encode(expanded(values, picked, a_kind) @ b_kind.decode(b) + c_kind.decode(c))


def with_garbage(rng, fragment, matrix):
    """Registers of a matrix, with anything in the bits that are not read."""
    registers = fragment.pack(matrix)
    unread = fragment.pack(np.full(fragment.shape, (1 << fragment.bits) - 1, np.uint32))
    return registers | (rng.integers(0, 1 << 32, registers.shape).astype(np.uint32) & ~unread)


def name(instruction):
    return "-".join(str(v) for v in vars(instruction).values())


@pytest.mark.parametrize("instruction", MMA, ids=name)
def test_mma_is_the_dense_product(instruction):
    rng = np.random.default_rng(instruction.k)
    kinds = tuple(map(element, (instruction.a, instruction.b, instruction.acc)))
    suppliers = instruction.k // kinds[0].group // 4
    for selector in range(4 // suppliers):
        meta = instruction.fragment_meta(selector)
        values = small_numbers(rng, kinds[0], (16, instruction.k // 2))
        picked = random_codes(rng, kinds[0], meta.shape)
        b = small_numbers(rng, kinds[1], (instruction.k, 8))
        c = small_numbers(rng, kinds[2], (16, 8))
        d = mma_sp(
            instruction,
            instruction.fragment_a().pack(values),
            instruction.fragment_b().pack(b),
            instruction.fragment_d().pack(c),
            with_garbage(rng, meta, picked),
            selector,
        )
        np.testing.assert_array_equal(instruction.fragment_d().unpack(d), dense_product(values, picked, b, c, kinds))


@pytest.mark.parametrize("instruction", SMFMAC, ids=name)
def test_smfmac_is_the_dense_product(instruction):
    rng = np.random.default_rng(instruction.k)
    kinds = instruction.types
    sets = 8 * 64 * 4 // (instruction.m * instruction.k)
    for abid, cbsz in [(abid, 0) for abid in range(sets)] + [(sets - 1, 1)]:
        index = instruction.fragment_index(cbsz, abid)
        values = small_numbers(rng, kinds[0], (instruction.m, instruction.k // 2))
        picked = random_codes(rng, kinds[0], index.shape)
        b = small_numbers(rng, kinds[1], (instruction.k, instruction.m))
        c = small_numbers(rng, kinds[2], (instruction.m, instruction.m))
        d = smfmac(
            instruction,
            instruction.fragment_a().pack(values),
            instruction.fragment_b().pack(b),
            instruction.fragment_d().pack(c),
            with_garbage(rng, index, picked),
            cbsz=cbsz,
            abid=abid,
        )
        np.testing.assert_array_equal(instruction.fragment_d().unpack(d), dense_product(values, picked, b, c, kinds))


@pytest.mark.parametrize("instruction", WGMMA, ids=name)
def test_wgmma_is_the_dense_product(instruction):
    """From registers and from shared memory, all swizzles, majors, selectors and scales."""
    rng = np.random.default_rng(instruction.n)
    kinds = tuple(map(element, (instruction.a, instruction.b, instruction.acc)))
    variants = [("registers", 0, 64, True), ("shared", 32, 128, True), ("shared", 64, 64, True), ("shared", 0, 0, True)]
    if kinds[0].bits == 16:
        variants += [("registers", 0, 32, False), ("shared", 128, 128, False), ("shared", 0, 0, False)]
    for number, (source, a_width, b_width, k_major) in enumerate(variants):
        selector = number % (1 if kinds[0].bits == 8 else 2)
        meta = instruction.fragment_meta(selector)
        values = small_numbers(rng, kinds[0], (64, instruction.k // 2))
        picked = random_codes(rng, kinds[0], meta.shape)
        b = small_numbers(rng, kinds[1], (instruction.k, instruction.n))
        c = small_numbers(rng, kinds[2], (64, instruction.n))
        shared, b_word = shared_image(b.T, kinds[1], k_major, b_width, 1024, rng)
        a = instruction.fragment_a().pack(values)
        if source == "shared":
            start = -(-shared.size // 1024) * 1024
            more, a = shared_image(values, kinds[0], k_major, a_width, start, rng)
            more[: shared.size] = shared
            shared = more
        scale_d = number % 2 == 0
        scales = (-1, 1) if kinds[0].is_float and number == 1 else (1, 1)
        d = wgmma_sp(
            instruction,
            a,
            b_word,
            instruction.fragment_d().pack(c),
            with_garbage(rng, meta, picked),
            selector,
            shared=shared,
            scale_d=scale_d,
            scale_a=scales[0],
            trans_a=source == "shared" and not k_major,
            trans_b=not k_major,
        )
        signed = kinds[0].encode(scales[0] * kinds[0].decode(values))
        before = c if scale_d else np.zeros_like(c)
        np.testing.assert_array_equal(
            instruction.fragment_d().unpack(d), dense_product(signed, picked, b, before, kinds), err_msg=str(number)
        )


# The formulas of the documents, for single lanes and elements, apart from how fragments are computed.


@pytest.mark.parametrize("k", [16, 32])
def test_operands_of_16_bits_are_where_ptx_says(k):
    """PTX ISA 9.1, 9.7.14.5.8 and 9.7.14.6.2: of A each register has two kept values of four consecutive columns."""
    instruction = MmaSp(k, "f16", "f16", "f32")
    a, b, d = instruction.fragment_a(), instruction.fragment_b(), instruction.fragment_d()
    for lane in range(32):
        g, q = lane // 4, lane % 4
        for i in range(k // 4 * 1):
            row = g if i % 4 < 2 else g + 8
            assert (a.rows[lane, i], a.columns[lane, i]) == (row, 8 * (i // 4) + 2 * q + i % 2)
        for i in range(k // 4):
            assert (b.rows[lane, i], b.columns[lane, i]) == (8 * (i // 2) + 2 * q + i % 2, g)
        for i in range(4):
            assert (d.rows[lane, i], d.columns[lane, i]) == (g + 8 * (i // 2), 2 * q + i % 2)


@pytest.mark.parametrize("k", [32, 64])
def test_operands_of_8_bits_are_where_ptx_says(k):
    """PTX ISA 9.1, 9.7.14.6.2.5: the first four values are of row ``groupID``, the next of the row 8 below."""
    instruction = MmaSp(k, "s8", "u8", "s32")
    a, b = instruction.fragment_a(), instruction.fragment_b()
    for lane in range(32):
        g, q = lane // 4, lane % 4
        for i in range(k // 4):
            row = g if i % 8 < 4 else g + 8
            assert (a.rows[lane, i], a.columns[lane, i]) == (row, 16 * (i // 8) + 4 * q + i % 4)
            assert (b.rows[lane, i], b.columns[lane, i]) == (16 * (i // 4) + 4 * q + i % 4, g)


@pytest.mark.parametrize("k", [8, 16])
def test_operands_of_tf32_are_where_ptx_says(k):
    """PTX ISA 9.1, 9.7.14.6.2.3: a0 and a2 are of row ``groupID``, a1 and a3 of the row 8 below."""
    instruction = MmaSp(k, "tf32", "tf32", "f32")
    a, b = instruction.fragment_a(), instruction.fragment_b()
    for lane in range(32):
        g, q = lane // 4, lane % 4
        for i in range(k // 4):
            assert (a.rows[lane, i], a.columns[lane, i]) == (g + 8 * (i % 2), q + 4 * (i // 2))
            assert (b.rows[lane, i], b.columns[lane, i]) == (q + 4 * i, g)


def test_metadata_is_where_ptx_says():
    """PTX ISA 9.1, 9.7.14.6.2: for one code of each form the supplying lane and bits, as in its figures."""
    cases = [
        # a, K, selector, row, group, lane, lowest bit
        ("f16", 16, 2, 3, 1, 4 * 3 + 2, 4),
        ("f16", 16, 0, 11, 1, 4 * 3, 20),
        ("f16", 32, 0, 5, 6, 4 * 5 + 1, 8),
        ("bf16", 32, 1, 13, 2, 4 * 5 + 2, 24),
        ("tf32", 8, 3, 9, 3, 4 * 1 + 3, 28),
        ("tf32", 16, 1, 0, 4, 3, 0),
        ("s8", 32, 1, 8, 5, 3, 20),
        ("u8", 32, 0, 7, 7, 28, 28),
        ("s8", 64, 0, 2, 9, 4 * 2 + 2, 4),
        ("e4m3", 64, 0, 10, 15, 4 * 2 + 3, 28),
    ]
    for a, k, selector, row, group, lane, bit in cases:
        acc = "s32" if a in ("s8", "u8") else "f32"
        fragment = MmaSp(k, a, a, acc).fragment_meta(selector)
        assert np.argwhere((fragment.rows == row) & (fragment.columns == group)).tolist() == [[lane, bit // 4]], a


@pytest.mark.parametrize(
    ("a", "shape", "stride"),
    [
        ("f16", ((2, 2, 8, 4), (16, 2)), ((1024, 0, 1, 16), (64, 8))),
        ("tf32", ((2, 2, 8, 4), (8, 2)), ((512, 0, 1, 16), (64, 8))),
        ("e4m3", ((2, 2, 8, 4), (32,)), ((8, 2048, 1, 16), (64,))),
    ],
)
def test_metadata_of_wgmma_is_that_of_cutlass(a, shape, stride):
    """CUTLASS draws it as a CuTe layout: (thread, logical element) to ``row + 64 * column``, for both lane pairs."""
    kind = element(a)
    for selector in range(1 if kind.bits == 8 else 2):
        fragment = WgmmaSp(64, a, a, "f32").fragment_meta(selector)
        for thread in range(128):
            if kind.bits != 8 and thread // 2 % 2 != selector:
                assert (fragment.rows[thread] == -1).all()
                continue
            digits = (thread % 2, thread // 2 % 2, thread // 4 % 8, thread // 32)
            base = sum(d * s for d, s in zip(digits, stride[0]))
            for nibble in range(8):
                value = nibble * kind.group
                rest, offset = value, base
                for size, step in zip(shape[1], stride[1]):
                    offset += rest % size * step
                    rest //= size
                assert (fragment.rows[thread, nibble], fragment.columns[thread, nibble]) == (
                    offset % 64,
                    offset // 64 // kind.group,
                )


@pytest.mark.parametrize(("m", "k", "a"), [(16, 64, "f16"), (32, 32, "f16"), (16, 128, "fp8"), (32, 64, "fp8")])
def test_doubled_smfmac_pairs_lanes_as_probes_found(m, k, a):
    """One-hot probes on gfx950: value slot s of lane block g meets B slots of which lane block.

    For 16x16: block ``2 * (g % 2) + s / half``, slot ``run * (g / 2) + 4 * (s % half / 2) + position`` with ``half``
    half of the values of a lane, and ``run`` twice that.
    """
    instruction = Smfmac(m, k, a, a, "gfx950")
    fa, fb = instruction.fragment_a(), instruction.fragment_b()
    own = fa.rows.shape[1]
    half = own // 2
    blocks = 64 // m
    for g in range(blocks):
        for s in range(own):
            for position in range(4):
                column = 4 * (fa.columns[g * m, s] // 2) + position
                lane, slot = np.argwhere((fb.rows == column) & (fb.columns == 0))[0]
                if m == 16:
                    expected = (2 * (g % 2) + s // half, 2 * half * (g // 2) + 4 * (s % half // 2) + position)
                else:
                    expected = (s // half, 2 * half * g + 4 * (s % half // 2) + position)
                assert (lane // m, slot) == expected


def test_index_register_is_where_the_calculator_says():
    """AMD's matrix instruction calculator: K[2][31] of 16x16x32 f16 is in bits 7:4 of lane 50, with ABID 3 in 31:28."""
    instruction = Smfmac(16, 32, "f16", "f16")
    for abid, nibble in ((0, 1), (3, 7)):
        fragment = instruction.fragment_index(0, abid)
        assert np.argwhere((fragment.rows == 2) & (fragment.columns == 31 // 4)).tolist() == [[50, nibble]]


def product_of_first_two(instruction, values, b, c=None, selector=0, **options):
    """Return the bits of values times B of which every group keeps its first two elements, or tf32 its first."""
    d = mma_sp(
        instruction,
        instruction.fragment_a().pack(values),
        instruction.fragment_b().pack(b),
        np.zeros((32, 4), np.uint32) if c is None else instruction.fragment_d().pack(c),
        np.full(32, 0x44444444, np.uint32),
        selector,
        **options,
    )
    return instruction.fragment_d().unpack(d)


def test_elements_without_a_partner_are_not_read():
    """A dense product would make NaN of zeros by infinities."""
    instruction = MmaSp(32, "f16", "f16", "f32")
    b = np.full((32, 8), element("f16").encode(np.array(np.nan)), np.uint16)
    b[::4] = b[1::4] = element("f16").encode(np.array(1.0))
    values = element("f16").encode(np.ones((16, 16)))
    np.testing.assert_array_equal(product_of_first_two(instruction, values, b).view(np.float32), 16.0)


def test_tf32_drops_low_bits():
    instruction = MmaSp(8, "tf32", "tf32", "f32")
    values = np.full((16, 4), 0x3F800000 | 0x1FFF, np.uint32)
    b = np.full((8, 8), 0x3F800000, np.uint32)
    np.testing.assert_array_equal(product_of_first_two(instruction, values, b, selector=1).view(np.float32), 4.0)


@pytest.mark.parametrize("satfinite", [False, True])
def test_integers_wrap_or_saturate(satfinite):
    instruction = MmaSp(32, "u8", "u8", "s32")
    c = np.full((16, 8), 0x7FFFFFFF, np.uint32)
    ones, b = np.ones((16, 16), np.uint8), np.ones((32, 8), np.uint8)
    d = product_of_first_two(instruction, ones, b, c, selector=1, satfinite=satfinite)
    np.testing.assert_array_equal(d, 0x7FFFFFFF if satfinite else 0x8000000F)


def test_swizzles_change_16_byte_chunks_by_the_row():
    row = np.arange(8)[:, None] * 128
    chunk = np.arange(8) * 16
    np.testing.assert_array_equal(swizzle(row + chunk, 128) - row, (np.arange(8)[:, None] ^ np.arange(8)) * 16)
    np.testing.assert_array_equal(swizzle(row + chunk, 0), row + chunk)
    for width in (32, 64, 128):
        everywhere = np.arange(4096)
        assert sorted(swizzle(everywhere, width).tolist()) == everywhere.tolist()


def test_a_descriptor_may_start_inside_an_atom():
    """Steps along K move the start by 32 bytes of values; the swizzle goes by addresses."""
    whole = addresses(MatrixDescriptor(2048, 16, 1024, 128), 64, 64, 16, True)
    for step in range(4):
        part = addresses(MatrixDescriptor(2048 + 32 * step, 16, 1024, 128), 64, 16, 16, True)
        np.testing.assert_array_equal(part, whole[:, 16 * step : 16 * step + 16])


def test_descriptors_survive_encoding():
    descriptor = MatrixDescriptor(0x3F0, 0x20000, 0x400, 64, 3)
    assert MatrixDescriptor.decode(descriptor.encode()) == descriptor
    assert MatrixDescriptor(0, 0, 0, 128).encode() == 1 << 62


ONES = np.full(32, 0x44444444, np.uint32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MmaSp(64, "f16", "f16", "f32"), "mma.sp of f16 has no such K"),
        (lambda: MmaSp(32, "e4m3", "e4m3", "f32"), "mma.sp of e4m3 has no such K"),
        (lambda: MmaSp(32, "f16", "bf16", "f32"), "mma.sp does not multiply these types"),
        (lambda: MmaSp(32, "bf16", "bf16", "f16"), "mma.sp does not multiply these types"),
        (lambda: WgmmaSp(72, "s8", "s8", "s32"), "wgmma.mma_async.sp of s8 has no such N"),
        (lambda: WgmmaSp(12, "f16", "f16", "f32"), "wgmma.mma_async.sp of f16 has no such N"),
        (lambda: WgmmaSp(264, "f16", "f16", "f32"), "wgmma.mma_async.sp of f16 has no such N"),
        (lambda: WgmmaSp(64, "s8", "e4m3", "s32"), "wgmma.mma_async.sp does not multiply these types"),
        (lambda: Smfmac(16, 64, "f16", "f16", "gfx942"), "smfmac of f16 has no such shape on gfx942"),
        (lambda: Smfmac(64, 16, "f16", "f16"), "smfmac of f16 has no such shape"),
        (lambda: Smfmac(16, 32, "f16", "bf16"), "smfmac does not multiply these types"),
        (lambda: Smfmac(16, 32, "f16", "f16", "gfx90a"), "smfmac is unknown on this target"),
        (lambda: MmaSp(32, "f16", "f16", "f32").fragment_meta(2), "sparsity selector .* out of range"),
        (lambda: MmaSp(64, "s8", "s8", "s32").fragment_meta(1), "sparsity selector .* out of range"),
        (lambda: WgmmaSp(8, "e4m3", "e4m3", "f32").fragment_meta(1), "sparsity selector .* out of range"),
        (lambda: Smfmac(16, 32, "f16", "f16").fragment_index(0, 4), "has no such set"),
        (lambda: Smfmac(16, 64, "i8", "i8").fragment_index(0, 2), "has no such set"),
        (lambda: MatrixDescriptor(8, 0, 0, 0).encode(), "start of a matrix descriptor cannot be encoded"),
        (lambda: MatrixDescriptor(0, 1 << 18, 0, 0).encode(), "leading of a matrix descriptor cannot be encoded"),
        (lambda: MatrixDescriptor(0, 0, 0, 16).encode(), "there is no such swizzle"),
        (lambda: addresses(MatrixDescriptor(0, 0, 512, 64, 1), 8, 8, 16, True), "has a base offset"),
        (lambda: addresses(MatrixDescriptor(0, 0, 256, 32), 8, 32, 16, True), "beyond the atom of its swizzle"),
        (
            lambda: MmaSp(16, "f16", "f16", "f32").fragment_a().pack(np.zeros((16, 16))),
            "a fragment holds another matrix",
        ),
        (
            lambda: MmaSp(16, "f16", "f16", "f32").fragment_a().pack(np.zeros((16, 8), np.float16)),
            "a fragment holds bits",
        ),
        (
            lambda: MmaSp(16, "f16", "f16", "f32").fragment_a().pack(np.full((16, 8), 1 << 16)),
            "an element of a fragment has more bits",
        ),
    ],
)
def test_what_does_not_exist_is_refused(make, message):
    with pytest.raises(InstructionError, match=message):
        make()


@pytest.mark.parametrize("code", [0x0, 0x5, 0xA, 0xF, 0x1, 0x6, 0xB])
def test_illegal_codes_are_refused_where_they_are_read(code):
    instruction = MmaSp(32, "f16", "f16", "f32")
    zeros = np.zeros((32, 4), np.uint32)
    meta = ONES.copy()
    meta[4 * 5 + 1] = 0x44444044 | code << 8
    with pytest.raises(InstructionError, match="a code of metadata is illegal") as caught:
        mma_sp(instruction, zeros, zeros, zeros, meta, 0)
    assert caught.value.where == "row 5, group 6"
    mma_sp(instruction, zeros, zeros, zeros, meta, 1)


def test_codes_of_tf32_are_two():
    instruction = MmaSp(16, "tf32", "tf32", "f32")
    zeros = np.zeros((32, 4), np.uint32)
    with pytest.raises(InstructionError, match="illegal for float32"):
        mma_sp(instruction, zeros, zeros, zeros, np.full(32, 0x99999999, np.uint32), 0)


def test_signed_integers_are_packed_as_their_bits():
    fragment = MmaSp(64, "s8", "s8", "s32").fragment_a()
    matrix = np.random.default_rng(0).integers(-128, 128, fragment.shape).astype(np.int8)
    np.testing.assert_array_equal(fragment.unpack(fragment.pack(matrix)).view(np.int8), matrix)


def test_wrong_operands_are_refused():
    instruction = WgmmaSp(8, "f16", "f16", "f32")
    a, d = np.zeros((128, 4), np.uint32), np.zeros((128, 4), np.uint32)
    meta = np.full(128, 0x44444444, np.uint32)
    shared = np.zeros(4096, np.uint8)
    b = MatrixDescriptor(0, 128, 128 * 4, 0).encode()
    wgmma_sp(instruction, a, b, d, meta, 0, shared=shared)
    with pytest.raises(InstructionError, match="registers of an operand do not fit"):
        wgmma_sp(instruction, a, b, d, meta[:3], 0, shared=shared)
    with pytest.raises(InstructionError, match="registers of an operand do not fit"):
        wgmma_sp(instruction, a[:, :2], b, d, meta, 0, shared=shared)
    with pytest.raises(InstructionError, match="reaches beyond shared memory"):
        wgmma_sp(instruction, a, b, d, meta, 0, shared=shared[:256])
    with pytest.raises(InstructionError, match="cannot be transposed"):
        wgmma_sp(instruction, a, b, d, meta, 0, shared=shared, trans_a=True)
    with pytest.raises(InstructionError, match="cannot be transposed"):
        wgmma_sp(WgmmaSp(8, "tf32", "tf32", "f32"), a, b, d, meta, 0, shared=shared, trans_b=True)
    with pytest.raises(InstructionError, match="is out of range"):
        wgmma_sp(instruction, a, b, d, meta, 0, shared=shared, scale_a=2)
    with pytest.raises(InstructionError, match="is out of range"):
        wgmma_sp(WgmmaSp(8, "s8", "s8", "s32"), a, b, d, meta, 0, shared=shared, scale_b=-1)
