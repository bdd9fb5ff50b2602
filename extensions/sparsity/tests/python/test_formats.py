"""The canonical format of sparse matrices: round trips, codes, pruning, and what is refused."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from tritonext.errors import UserError
from tritonext_sparsity import formats
from tritonext_sparsity.elements import ELEMENTS, element
from tritonext_sparsity.formats import FormatError
from tritonext_sparsity.testing import sparse_matrix


@pytest.mark.parametrize("name", list(ELEMENTS))
@pytest.mark.parametrize("seed", range(4))
def test_compression_loses_nothing_but_signs_of_zeros(name, seed):
    kind = element(name)
    rows, groups = 1 + 13 * seed, 2 * (1 + seed)
    dense = sparse_matrix(name, rows, groups * kind.group, seed, full=seed == 3)
    before = dense.copy()
    matrix = formats.compress(dense, name)
    formats.validate(matrix)
    assert matrix.shape == dense.shape
    assert matrix.values.dtype == dense.dtype
    assert matrix.meta.shape == (rows, groups // 2)
    np.testing.assert_array_equal(dense, before)
    back = formats.decompress(matrix)
    nonzero = kind.is_nonzero(dense).reshape(dense.shape)
    np.testing.assert_array_equal(back[nonzero], dense[nonzero])
    assert not kind.is_nonzero(back)[~nonzero].any()


def test_codes_of_every_pattern():
    """The codes that torch's converter gives, named in its comments."""
    expected = {
        (): 0xE, (0,): 0x8, (1,): 0x9, (2,): 0xE, (3,): 0xE,
        (0, 1): 0x4, (0, 2): 0x8, (1, 2): 0x9, (0, 3): 0xC, (1, 3): 0xD, (2, 3): 0xE,
    }  # fmt: skip
    for pattern, code in expected.items():
        dense = np.zeros((1, 8), np.float16)
        dense[0, [4 + i for i in pattern]] = [i + 1 for i in pattern]
        matrix = formats.compress(dense)
        assert matrix.meta.item() == 0xE | code << 4, pattern
        assert [v for v in matrix.values[0, 2:] if v] == [i + 1 for i in pattern]
    for dense, code in (([0, 0], 0xE), ([5, 0], 0x4), ([0, 5], 0xE)):
        matrix = formats.compress(np.array([[0, 0, *dense]], np.float32))
        assert matrix.meta.item() == 0xE | code << 4
        assert matrix.values[0, 1] == max(dense)


def test_infinities_and_nan_are_kept_and_negative_zeros_are_zeros():
    nan = np.uint16(0x7E55)
    dense = np.array([[0x8000, nan, 0x8000, 0x7C00, 0xFC00, 0, 0x8000, 0x8000]], np.uint16)
    matrix = formats.compress(dense, "float16")
    np.testing.assert_array_equal(matrix.values, [[nan, 0x7C00, 0xFC00, 0x8000]])
    assert matrix.meta.item() == 0xD | 0x8 << 4
    assert formats.compress(np.array([[1, 0, 0x80, 0] * 2], np.uint8), "float8_e4m3fnuz").values[0, 1] == 0x80


def test_types_of_numpy_need_no_name():
    dense = np.zeros((2, 8), np.float16)
    dense[1, 5] = 3
    matrix = formats.compress(dense)
    assert matrix.dtype == "float16"
    assert formats.decompress(matrix).dtype == np.float16
    np.testing.assert_array_equal(formats.decompress(matrix), dense)


@pytest.mark.parametrize("name", list(ELEMENTS))
def test_pruning_keeps_the_largest(name):
    kind = element(name)
    rng = np.random.default_rng(3)
    dense = kind.encode(rng.integers(0 if not kind.signed else -100, 100, (8, 64)))
    before = dense.copy()
    pruned = formats.prune(dense, name)
    np.testing.assert_array_equal(dense, before)
    numbers, left = kind.decode(dense), kind.decode(pruned)
    for row, group in itertools.product(range(8), range(64 // kind.group)):
        part = slice(group * kind.group, (group + 1) * kind.group)
        order = sorted(range(kind.group), key=lambda i: (-abs(numbers[row, part][i]), i))
        for rank, i in enumerate(order):
            assert left[row, part][i] == (numbers[row, part][i] if rank < kind.group // 2 else 0)
    np.testing.assert_array_equal(formats.decompress(formats.compress(dense, name, pruned=True)), pruned)


def test_pruning_by_scores_and_of_ties():
    dense = np.array([[1, 2, 3, 4, 5, 5, 5, 5]], np.float16)
    np.testing.assert_array_equal(formats.prune(dense), [[0, 0, 3, 4, 5, 5, 0, 0]])
    scores = np.array([[9, 0, 0, 8, -1, -2, -1, -2]])
    np.testing.assert_array_equal(formats.prune(dense, scores=scores), [[1, 0, 0, 4, 5, 0, 5, 0]])
    special = np.array([[np.inf, 1, np.nan, 2, 0, 0, 0, 1]], np.float16)
    np.testing.assert_array_equal(formats.prune(special), [[np.inf, 0, np.nan, 0, 0, 0, 0, 1]])


@pytest.mark.parametrize("shape", [(0, 16), (4, 0)])
def test_matrices_without_elements(shape):
    dense = np.zeros(shape, np.float16)
    assert formats.decompress(formats.compress(dense, pruned=True)).shape == shape


def damaged(**changes):
    return dataclasses.replace(formats.compress(np.zeros((4, 16), np.float16)), **changes)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: formats.compress(np.ones((4, 8), np.float16)), FormatError, "a matrix is not sparse"),
        (lambda: formats.compress(np.zeros((4, 12), np.float16)), FormatError, "do not fill bytes of metadata"),
        (lambda: formats.compress(np.zeros((4, 6), np.float32)), FormatError, "do not fill bytes of metadata"),
        (lambda: formats.compress(np.zeros(8, np.float16)), FormatError, "rows and columns"),
        (lambda: formats.compress(np.zeros((4, 8))), UserError, "element type of an array is unclear"),
        (lambda: formats.prune(np.zeros((4, 8), np.int8), scores=np.zeros((4, 4))), FormatError, "scores do not order"),
        (
            lambda: formats.prune(np.zeros((1, 8), np.int8), scores=np.full((1, 8), np.nan)),
            FormatError,
            "scores do not order",
        ),
        (lambda: formats.validate(damaged(version=2)), FormatError, "of another version"),
        (lambda: formats.validate(damaged(meta=np.zeros((4, 1), np.uint8))), FormatError, "metadata does not belong"),
        (lambda: formats.validate(damaged(meta=np.zeros((4, 2), np.int8))), FormatError, "metadata does not belong"),
        (lambda: formats.validate(damaged(values=np.zeros(8, np.float16))), FormatError, "values of a sparse matrix"),
        (lambda: formats.validate(damaged(dtype="int8")), UserError, "an array cannot hold elements of type int8"),
        (lambda: formats.compress([[0] * 8]), UserError, "argument is not an array.*list"),
        (lambda: formats.compress(np.zeros((4, 8), ">f2")), UserError, "another order.*>f2"),
        (lambda: formats.compress(np.zeros((4, 8), np.float16), "bfloat16"), UserError, "elements of another type"),
        (lambda: formats.compress(np.zeros((4, 8), bool), "float8_e5m2"), UserError, "elements of another type"),
        (lambda: formats.validate(np.zeros((4, 8), np.float16)), FormatError, "not a sparse matrix.*ndarray"),
        (lambda: formats.validate(damaged(meta=[[0x44] * 2] * 4)), UserError, "not an array.*meta.*list"),
        (lambda: formats.from_torch_cutlass(np.zeros((4, 8), np.float16), None), UserError, "not an array.*meta"),
        (lambda: formats.from_cutlass_sm90(np.zeros((4, 8), np.int8), None), UserError, "not an array.*meta"),
        (lambda: formats.from_bitmask(np.zeros((4, 8), np.int8), None), UserError, "not an array.*bitmask"),
        (lambda: formats.wgmma_orders("int8").meta.pack(None), UserError, "not an array.*NoneType"),
        (lambda: formats.decompress(damaged(meta=np.full((4, 2), 0x4F, np.uint8))), FormatError, "code .* is illegal"),
    ],
)
def test_what_is_no_sparse_matrix_is_refused(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make()


def test_errors_name_the_place():
    dense = np.zeros((4, 16), np.float16)
    dense[2, 8:11] = 1
    with pytest.raises(FormatError) as caught:
        formats.compress(dense)
    assert caught.value.found == "3 at row 2, columns 8..11"
    meta = np.full((4, 2), 0x44, np.uint8)
    meta[3, 1] = 0x54
    with pytest.raises(FormatError) as caught:
        formats.validate(damaged(meta=meta))
    assert (caught.value.where, caught.value.found) == ("row 3, columns 12..15", "0x5")
