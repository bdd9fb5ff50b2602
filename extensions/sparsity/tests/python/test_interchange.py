"""Formats of other projects: what they made of a matrix, and where their sources put each code."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest

from tritonext_sparsity import formats
from tritonext_sparsity.elements import element
from tritonext_sparsity.formats import CompressedMatrix, FormatError
from tritonext_sparsity.testing import sparse_matrix

# SHA-256 of the bytes of `packed` and of those of `meta` behind them, as PyTorch 2.11.0's
# torch.sparse._semi_structured_conversions.sparse_semi_structured_from_dense_cutlass returned them for the matrix of
# seed 5 of this type and shape.
TORCH_CUTLASS = {
    ("float16", (32, 32)): "89e9d3c4c9fd0c1dadcee98f955161225302b7e43ca015e4bb5311fd8658d1e9",
    ("float16", (96, 160)): "916e936dd6076660bdaaf97ee91995cfa1bbca3664749f2d18b8d211b2b79c5c",
    ("bfloat16", (64, 64)): "b9e3f96713bf0aa6ae2d678fdddc4404a50a36ec4a8b79488810355ef3786c47",
    ("float32", (32, 16)): "35e4fe6e0ed0b2f3dcf0d8bdcde73180e877ff4f88178756cd4105116095cf64",
    ("float32", (64, 80)): "8a59126ed30251ecc8291474666789501691f68789791ab8c2ffa0987fff657c",
    ("int8", (16, 64)): "f7298e3aac0806e482f970a0d9214783163cb6587f9e90f5051e4d88176615db",
    ("int8", (80, 192)): "88720e1c3c95ea97a63983f0151c8b96e4bf36c63b410bd4587f6cd94f176986",
}

# Bytes of `bitmask` and of `compressed`, as sparse24_bitmask_compress of compressed-tensors 0.12.2 returned them for
# the matrix of seed 6 of this type and shape, full or not.
BITMASK = {
    ("float16", (4, 16), True): (
        "9a353336a5665ac3",
        (
            "00c5004200480045004200c80044004500470047004600c800c5004000480046003c00bc003c00c200c6004500c000c200c5"
            "00c700c800bc00c40046004600c0"
        ),
    ),
    ("float16", (4, 16), False): (
        "ca353a3ca5cc5acc",
        (
            "00c8004500800000004800c5003c00c8003c000000c500c600000080003c00c500c80000004600c700000000000000800048"
            "004400c600bc00800000003c003c"
        ),
    ),
    ("bfloat16", (3, 24), True): (
        "9a353336a5665ac3a6",
        (
            "e0c0e040c040a0c0004000c00041c04080bf00c1004180bfc0c0a04000c1004080bfe0c0e04000c1c0c08040803fc04040c0"
            "80c000c100c1c0c080c040c0c0c080c080bfa0c0c040"
        ),
    ),
    ("bfloat16", (3, 24), False): (
        "9a3ccaaccccccacccc",
        (
            "a040a04080bf40c000800000e0c0004180400080000000000080000000c1000000800000008040c080c000000000000000c1"
            "80c00000008000800000004000800000008000000000"
        ),
    ),
    ("float8_e4m3fn", (4, 32), True): (
        "9a353336a5665ac3a69335a6ac56ac66",
        (
            "4a44c048cec4ca44c44ace4ac4b8c444384ace38ccccd0d044cac4484eca504cd0ce504ec438404cc4c8c4444cc84eccccc0"
            "5038ca4ec450ce4e384a44c4404e"
        ),
    ),
    ("float8_e4m3fn", (4, 32), False): (
        "3c335a36acca5ac3ac9c65c6acc6cc66",
        (
            "00cc0000d00048ca400050000044ce4000004cca00000000d04cc8d0cacc00004800cad00000ce38cc38b800ccc400004450"
            "4ccc4cb8ca000000000044cc38cc"
        ),
    ),
    ("int8", (2, 64), True): (
        "9a353336a5665ac3a69335a6ac56ac66",
        (
            "0503fe04f9fdfb03fd05f905fdfffd030105f901fafaf8f803fbfd0407fb0806f8f90807fd010206fdfcfd0306fc07fafafe"
            "0801fb07fd08f907010503fd0207"
        ),
    ),
    ("int8", (2, 64), False): (
        "cc355a3caccc5ac3ac9ca5c6acc6cc66",
        (
            "00fa0000f80004fb020008000300f902000006fb00000000f806fcf8fbfa00000400fbf80000f901fa01ff00fafd00000308"
            "06fa06fffb000000000003fa01fa"
        ),
    ),
}


@pytest.mark.parametrize(("name", "shape"), list(TORCH_CUTLASS))
def test_torch_cutlass_is_what_torch_makes(name, shape):
    dense = sparse_matrix(name, *shape, 5)
    matrix = formats.compress(dense, name)
    packed, meta = formats.to_torch_cutlass(matrix)
    assert hashlib.sha256(packed.tobytes() + meta.tobytes()).hexdigest() == TORCH_CUTLASS[name, shape]
    back = formats.from_torch_cutlass(packed, meta, name)
    np.testing.assert_array_equal(back.meta, matrix.meta)
    np.testing.assert_array_equal(back.values, matrix.values)


@pytest.mark.parametrize(("name", "shape", "full"), list(BITMASK))
def test_bitmask_is_what_compressed_tensors_makes(name, shape, full):
    kind = element(name)
    bitmask, compressed = (np.frombuffer(bytes.fromhex(text), np.uint8) for text in BITMASK[name, shape, full])
    bitmask = bitmask.reshape(shape[0], -1)
    compressed = compressed.view(kind.storage).reshape(shape[0], -1)
    dense = sparse_matrix(name, *shape, 6, full=full)
    matrix = formats.from_bitmask(compressed, bitmask, name)
    np.testing.assert_array_equal(kind.decode(formats.decompress(matrix)), kind.decode(dense))
    for mine, theirs in zip(formats.to_bitmask(matrix), (compressed, bitmask)):
        np.testing.assert_array_equal(mine, theirs)
    if full:
        for mine, theirs in zip(formats.to_bitmask(formats.compress(dense, name)), (compressed, bitmask)):
            np.testing.assert_array_equal(mine, theirs)
    flat = formats.from_bitmask(compressed.reshape(-1), bitmask, name)
    np.testing.assert_array_equal(flat.values, matrix.values)


# SHA-256 of the tensors that torchao 0.18.0 makes of matrices of 192 x 384 on an H200, with PyTorch 2.11.0.
CUTLASS_SM90 = {
    "float8_e4m3fn": "25c03a219ccd337d11fac57db116e0938f39de1c4f9cec7294724479efcf7b58",
    "float8_e5m2": "3dd7857f558a80fd4f56bbb44195b5c2124b13325b0b732d72f6c0fdf87bf292",
}


@pytest.mark.parametrize("name", list(CUTLASS_SM90))
def test_cutlass_of_sm90_is_what_torchao_makes(name):
    values, meta = formats.to_cutlass_sm90(formats.compress(sparse_matrix(name, 192, 384, 5, full=True), name))
    assert hashlib.sha256(values.tobytes() + meta.tobytes()).hexdigest() == CUTLASS_SM90[name]


# SHA-256 of the blobs of torch._cslt_compress, one after the other, of PyTorch 2.11.0 with cuSPARSELt 0.8.0 on an H200,
# for the matrices of `numbered`.
CUSPARSELT_SM90 = {
    ("float16", (192, 320)): "c6c75d16314f3c8c430029b620d2fd6b6540ca542a6f68c739aa61f6d8832c1c",
    ("int8", (128, 256)): "a672d10f63ccccbec98846b45471c6a31af704555390506b47acd1569c267b76",
}


def numbered(name, rows, columns):
    """Matrices whose codes spell the number of each group, a bit in each matrix, behind one of equal codes."""
    groups = np.arange(rows * columns // 4)
    for bit in range(-1, (groups.size - 1).bit_length()):
        one = groups >> bit & 1 if bit >= 0 else np.zeros_like(groups)
        numbers = np.where(one[:, None], [0, 0, 3, 4], [1, 2, 0, 0])
        yield element(name).encode(numbers).reshape(rows, columns)


@pytest.mark.parametrize(("name", "shape"), list(CUSPARSELT_SM90))
def test_cusparselt_of_sm90_is_what_the_library_makes(name, shape):
    blobs = [formats.to_cusparselt(formats.compress(dense, name), "sm90") for dense in numbered(name, *shape)]
    digest = hashlib.sha256(b"".join(blob.tobytes() for blob in blobs)).hexdigest()
    assert digest == CUSPARSELT_SM90[name, shape]
    for dense, blob in zip(numbered(name, *shape), blobs):
        back = formats.from_cusparselt(blob, shape, "sm90", name)
        np.testing.assert_array_equal(formats.decompress(back), dense)


def matrix_of(codes, name):
    kind = element(name)
    meta = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    values = np.arange(codes.size * (kind.group // 2)).astype(kind.storage).reshape(codes.shape[0], -1)
    return CompressedMatrix(values, meta, name)


def nibbles(raw):
    raw = raw.view(np.uint8)
    return np.stack([raw & 15, raw >> 4], axis=-1).reshape(-1)


def test_cusparselt_of_sm80_is_where_torch_writes():
    """``_get_meta_offset`` and ``warp_shuffle_meta`` of PyTorch's ``SparseSemiStructuredTile.cu`` and ``..Pack.h``."""
    rows, columns = 256, 192
    codes = np.random.default_rng(9).choice(np.array(element("float16").legal_codes, np.uint8), (rows, columns // 4))
    expected = np.zeros(rows * columns // 16, np.uint16)
    for row, column in itertools.product(range(rows), range(0, columns, 16)):
        offset = row // 128 * 512 + column // 64 * 512 * (rows // 128)
        offset += row % 128 // 32 * 64 + column % 64 // 32 * 256
        # A line of 32 bits: row and the one 8 below. Lines: left, right, the same of the rows 16 below, the next row.
        offset += row % 8 * 8 + row % 32 // 16 * 4 + column % 32 // 16 * 2 + row % 16 // 8
        expected[offset] = sum(int(codes[row, column // 4 + i]) << 4 * i for i in range(4))
    matrix = matrix_of(codes, "float16")
    blob = formats.to_cusparselt(matrix, "sm80")
    assert blob.shape == (rows * columns * 9 // 16,)
    np.testing.assert_array_equal(blob[: rows * columns // 2], matrix.values.reshape(-1))
    np.testing.assert_array_equal(blob[rows * columns // 2 :], expected)
    back = formats.from_cusparselt(blob, (rows, columns), "sm80", "float16")
    np.testing.assert_array_equal(back.meta, matrix.meta)
    np.testing.assert_array_equal(back.values, matrix.values)


def test_cusparselt_of_sm90_is_where_torchao_writes():
    """``store_metadata_reordered`` of torchao, lane by lane: exchanges of nibbles, then of bytes."""
    rows, columns = 128, 64
    codes = np.random.default_rng(10).choice(np.array(element("float16").legal_codes, np.uint8), (rows, columns // 4))
    matrix = matrix_of(codes, "bfloat16")
    expected = np.zeros(rows * columns // 8, np.uint8)
    for row, column in itertools.product(range(0, rows, 16), range(0, columns, 32)):
        tile = matrix.meta[row : row + 16, column // 8 : column // 8 + 4]
        own = tile.reshape(32, 2).view(np.uint16).reshape(32).astype(int)
        other = own[np.arange(32) ^ 16]
        upper = np.arange(32) >= 16
        first = np.where(upper, own & 0xF0F0 | other >> 4 & 0x0F0F, own & 0x0F0F | other << 4 & 0xF0F0)
        other = first[np.arange(32) ^ 1]
        odd = np.arange(32) % 2 == 1
        word = np.where(odd, first & 0xFF00 | other >> 8 & 0x00FF, first & 0x00FF | other << 8 & 0xFF00)
        base = column // 32 * 256 + row % 8 * 8 + row % 64 // 16 * 64 + row // 64 * 8 * columns
        for lane in range(32):
            at = base + lane % 2 * 4 + lane % 16 // 2 * 8 + lane // 16 * 2
            expected[at], expected[at + 1] = word[lane] & 255, word[lane] >> 8
    blob = formats.to_cusparselt(matrix, "sm90")
    np.testing.assert_array_equal(blob[rows * columns // 2 :].view(np.uint8), expected)
    back = formats.from_cusparselt(blob[None], (rows, columns), "sm90", "bfloat16")
    np.testing.assert_array_equal(back.meta, matrix.meta)
    np.testing.assert_array_equal(back.values, matrix.values)


def ordered_layout(shape, step):
    """CuTe's ``make_ordered_layout``: strides of compact digits, given the rank of each; flat shapes."""
    strides, total = [0] * len(shape), 1
    for digit in sorted(range(len(shape)), key=lambda i: step[i]):
        strides[digit] = total
        total *= shape[digit]
    return strides


def offset_of(index, shape, strides):
    offset = 0
    for size, stride in zip(shape, strides):
        offset += index % size * stride
        index //= size
    return offset


@pytest.mark.parametrize(
    ("name", "tile_k"),
    [
        ("float16", 32),
        ("bfloat16", 64),
        ("float16", 128),
        ("float32", 16),
        ("float32", 128),
        ("int8", 64),
        ("float8_e4m3fn", 128),
    ],
)
def test_cutlass_of_sm90_is_where_its_layout_says(name, tile_k):
    """``TensorEAtom`` and ``fill_layoutE`` of CUTLASS's ``sm90_sparse_config.inl``, evaluated as CuTe does."""
    kind = element(name)
    rows, columns = 128, 256
    codes = np.random.default_rng(11).choice(np.array(kind.legal_codes, np.uint8), (rows, columns // kind.group))
    matrix = matrix_of(codes, name)
    count = tile_k * kind.bits // 512
    if kind.bits == 8:
        row_shape, column_shape, step = (64,), (tile_k,), (1, 0)
    else:
        unit = 256 // kind.bits
        row_shape, column_shape, step = (8, 2, 4), (unit, 2, count), (3, 1, 5, 0, 4, 2)
    strides = ordered_layout(row_shape + column_shape, step)
    row_strides, column_strides = strides[: len(row_shape)], strides[len(row_shape) :]
    _, raw = formats.to_cutlass_sm90(matrix, tile_k)
    got = nibbles(raw)
    for row, group in itertools.product(range(rows), range(columns // kind.group)):
        column = group * kind.group
        logical = offset_of(row % 64, row_shape, row_strides) + offset_of(column % tile_k, column_shape, column_strides)
        logical += row // 64 * 64 * tile_k + column // tile_k * rows * tile_k
        assert got[logical // kind.group] == codes[row, group], (row, column)
    back = formats.from_cutlass_sm90(matrix.values, raw, name, tile_k)
    np.testing.assert_array_equal(back.meta, matrix.meta)


def test_cutlass_of_sm90_is_where_torchao_writes():
    """``mdataBlockPtrOffset`` of torchao's ``MetadataCutlass8bitsSm90``."""
    rows, columns = 192, 256
    codes = np.random.default_rng(12).choice(np.array(element("int8").legal_codes, np.uint8), (rows, columns // 4))
    matrix = matrix_of(codes, "float8_e4m3fn")
    _, raw = formats.to_cutlass_sm90(matrix)
    for row, column in itertools.product(range(rows), range(0, columns, 8)):
        assert raw[row * 16 + column // 128 * rows * 16 + column % 128 // 8] == matrix.meta[row, column // 8]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "int8"])
@pytest.mark.parametrize("seed", range(3))
def test_formats_of_others_lose_nothing(name, seed):
    dense = sparse_matrix(name, 128 * (1 + seed), 384, seed + 20)
    matrix = formats.compress(dense, name)
    through = [
        formats.from_torch_cutlass(*formats.to_torch_cutlass(matrix), name),
        formats.from_cutlass_sm90(*formats.to_cutlass_sm90(matrix), name),
    ]
    if name != "float32":
        through.append(formats.from_bitmask(*formats.to_bitmask(matrix), name))
    if name != "float32":
        through += [
            formats.from_cusparselt(formats.to_cusparselt(matrix, arch), matrix.shape, arch, name)
            for arch in (("sm90",) if name == "int8" else ("sm80", "sm90"))
        ]
    for other in through:
        np.testing.assert_array_equal(other.values, matrix.values)
        np.testing.assert_array_equal(other.meta, matrix.meta)


def zeros(name, rows, columns):
    return formats.compress(np.zeros((rows, columns), element(name).storage), name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: formats.to_torch_cutlass(zeros("float16", 16, 64)), "does not fill the blocks of torch's CUTLASS"),
        (lambda: formats.to_torch_cutlass(zeros("float16", 32, 24)), "does not fill the blocks of torch's CUTLASS"),
        (lambda: formats.to_torch_cutlass(zeros("int8", 16, 32)), "does not fill the blocks of torch's CUTLASS"),
        (lambda: formats.to_torch_cutlass(zeros("float8_e5m2", 32, 64)), "CUTLASS format has no such elements"),
        (
            lambda: formats.from_torch_cutlass(np.zeros((32, 32), np.float16), np.zeros((32, 4), np.int32)),
            "metadata does not belong to the values of torch's CUTLASS",
        ),
        (
            lambda: formats.from_torch_cutlass(np.zeros((32, 32), np.float16), np.zeros((32, 4), np.int16)),
            "a code of metadata is illegal",
        ),
        (
            lambda: formats.from_torch_cutlass(np.zeros((32, 30), np.float16), np.zeros((32, 4), np.int16)),
            "are no compressed matrix",
        ),
        (
            lambda: formats.to_cusparselt(zeros("int8", 128, 64), "sm80"),
            "cuSPARSELt's format of sm80 has no such elements",
        ),
        (lambda: formats.to_cusparselt(zeros("float16", 64, 64), "sm80"), "does not fill the blocks of cuSPARSELt"),
        (lambda: formats.to_cusparselt(zeros("float16", 128, 24), "sm80"), "does not fill the blocks of cuSPARSELt"),
        (lambda: formats.to_cusparselt(zeros("float16", 64, 16), "sm90"), "does not fill the blocks of cuSPARSELt"),
        (lambda: formats.to_cusparselt(zeros("float16", 64, 64), "sm100"), "cuSPARSELt's format is unknown"),
        (
            lambda: formats.from_cusparselt(np.zeros(64 * 64 // 2, np.float16), (64, 64), "sm90"),
            "does not hold the matrix",
        ),
        (lambda: formats.to_cutlass_sm90(zeros("float16", 32, 128)), "does not fill the blocks of CUTLASS"),
        (lambda: formats.to_cutlass_sm90(zeros("float16", 64, 64)), "does not fill the blocks of CUTLASS"),
        (lambda: formats.to_cutlass_sm90(zeros("int8", 64, 64), 32), "has no such tile of int8"),
        (
            lambda: formats.from_cutlass_sm90(np.zeros((64, 64), np.float16), np.zeros(8, np.uint8)),
            "metadata does not belong to the values of CUTLASS",
        ),
        (lambda: formats.to_bitmask(zeros("float32", 4, 8)), "sparse-24-bitmask format has no such elements"),
        (
            lambda: formats.from_bitmask(np.zeros((1, 4), np.float16), np.array([[0x37]], np.uint8)),
            "a bitmask is not 2:4 sparse",
        ),
        (
            lambda: formats.from_bitmask(np.zeros((1, 8), np.float16), np.array([[0x33]], np.uint8)),
            "a bitmask does not belong to its values",
        ),
    ],
)
def test_formats_that_do_not_fit_are_refused(make, message):
    with pytest.raises(FormatError, match=message):
        make()
