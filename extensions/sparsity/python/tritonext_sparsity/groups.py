"""Device functions on groups of elements, each a word: what compression, pruning and their inverses are made of.

A group is four elements of 8 or 16 bits, or two of 32 bits, with the first element in the lowest bits. A code says
which of them are kept: ``first | second << 2`` by positions, of 32-bit elements 0x4 for the first and 0xE for the
second. The code 0x0, which no instruction accepts, marks a group with too many non-zero elements.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tritonext.errors import UserError

__all__ = [
    "code_of",
    "codes_of_largest",
    "codes_of_nonzero",
    "compress24",
    "element_bits",
    "expanded",
    "kept_in_place",
    "kept_values",
    "kind_of",
    "load_groups",
    "magnitude",
    "paired",
    "two_largest",
]


def _code(kept: tuple[int, ...]) -> int:
    """Return the code of the kept positions of four; fewer than two are filled up as the format wants it."""
    if len(kept) > 2:
        return 0
    first = kept[0] if kept and kept[0] < 2 else 2
    second = kept[1] if len(kept) == 2 else (3 if first == 2 else 2)
    return first | second << 2


def _table(order: tuple[int, int, int, int]) -> int:
    """Return the codes of all 16 masks as one 64-bit integer, code ``m`` at bit ``4 * m``.

    Args:
        order: The position whose bit of the mask is bit 0, bit 1, ….
    """
    codes = [_code(tuple(sorted(order[bit] for bit in range(4) if mask >> bit & 1))) for mask in range(16)]
    word = sum(code << (4 * mask) for mask, code in enumerate(codes))
    return word - (1 << 64) if word >> 63 else word


# One shift of a table replaces the comparisons and selections that a code takes otherwise, twice as many instructions.
_TABLE = tl.constexpr(_table((0, 1, 2, 3)))
_TABLE_OF_HALVES = tl.constexpr(_table((0, 2, 1, 3)))
_TABLE_OF_TAGS = tl.constexpr(_table((3, 2, 1, 0)))


@triton.jit
def _looked_up(TABLE: tl.constexpr, shift):
    return (tl.full(shift.shape, TABLE, tl.int64) >> shift.to(tl.int64)).to(tl.int32)


@triton.constexpr_function
def kind_of(dtype: tl.dtype) -> str:
    """How the bits of an element of that type order by magnitude, as :func:`magnitude` takes it."""
    if dtype.is_floating():
        return "fnuz" if dtype in (tl.float8e4b8, tl.float8e5b16) else "float"
    return "signed" if dtype.is_int_signed() else "unsigned"


@triton.jit
def load_groups(
    x,
    rows,
    groups,
    stride_row,
    stride_column,
    mask,
    BITS: tl.constexpr,
    PACKED: tl.constexpr,
):
    """Load groups as words: int64, and int32 of 8-bit elements. Masked ones are zero.

    Args:
        x: Pointer to a matrix.
        rows: Rows, int64, of a shape that broadcasts with ``groups``.
        groups: Groups in a row, int64.
        stride_row, stride_column: Strides in elements; with ``PACKED`` that of rows is in groups, and 1 is the other.
        mask: Which of them there are.
        BITS: Width of an element.
        PACKED: Whether elements of a group are adjacent and aligned to the word.
    """
    WORD: tl.constexpr = tl.int32 if BITS == 8 else tl.int64
    if PACKED:
        word = tl.load(x.to(tl.pointer_type(WORD)) + rows * stride_row + groups, mask=mask, other=0)
    else:
        GROUP: tl.constexpr = 2 if BITS == 32 else 4
        ELEMENT: tl.constexpr = tl.int8 if BITS == 8 else (tl.int16 if BITS == 16 else tl.int32)
        first = x.to(tl.pointer_type(ELEMENT)) + rows * stride_row + groups * GROUP * stride_column
        word = tl.load(first, mask=mask, other=0).to(WORD) & ((1 << BITS) - 1)
        for position in tl.static_range(1, GROUP):
            element = tl.load(first + position * stride_column, mask=mask, other=0).to(WORD) & ((1 << BITS) - 1)
            word |= element << (position * BITS)
    return word


@triton.jit
def magnitude(bits, BITS: tl.constexpr, KIND: tl.constexpr):
    """An int32 that orders elements by magnitude, NaN above all, and is 0 for zeros alone.

    Args:
        bits: int32 with an element in its lowest bits and zeros above.
        BITS: Width of an element.
        KIND: ``"float"``, ``"fnuz"`` where NaN stands in for minus zero, ``"signed"`` or ``"unsigned"``.
    """
    SIGN: tl.constexpr = 1 << (BITS - 1)
    if KIND == "float":
        key = bits & (SIGN - 1)
    elif KIND == "fnuz":
        key = tl.where(bits == SIGN, SIGN, bits & (SIGN - 1))
    elif KIND == "signed":
        key = tl.where(bits >= SIGN, 2 * SIGN - bits, bits)
    else:
        key = bits
    return key


@triton.jit
def element_bits(word, POSITION: tl.constexpr, BITS: tl.constexpr):
    """The bits of an element of groups, as an int32."""
    bits = (word >> (BITS * POSITION)).to(tl.int32)
    if BITS < 32:
        bits &= (1 << BITS) - 1
    return bits


@triton.jit
def codes_of_nonzero(word, BITS: tl.constexpr, KIND: tl.constexpr):
    """The codes that keep the non-zero elements of groups, in the lowest four bits of an int32 with anything above.

    Zeros of either sign are zeros. With too many others the code is 0.
    """
    if BITS == 32:
        low = word.to(tl.int32) & 0x7FFFFFFF
        high = (word >> 32).to(tl.int32) & 0x7FFFFFFF
        code = tl.where(low == 0, 0xE, tl.where(high == 0, 0x4, 0))
    elif BITS == 8:
        # The top bit of each byte says whether another one of it is set: no sum reaches the next byte.
        some = (word & 0x7F7F7F7F) + 0x7F7F7F7F
        if KIND != "float":
            some |= word
        # The product gathers bits 7, 15, 23 and 31 in the uppermost four.
        gathered = (some & -0x7F7F7F80) * 0x00204081
        code = _looked_up(_TABLE, (gathered.to(tl.uint32) >> 26) & 0x3C)
    else:
        tl.static_assert(KIND == "float", "16-bit elements are floats")
        low = (word.to(tl.int32) & 0x7FFF7FFF) + 0x7FFF7FFF
        high = ((word >> 32).to(tl.int32) & 0x7FFF7FFF) + 0x7FFF7FFF
        # Bits 14, 30, 15 and 31 are those of the elements 0, 1, 2 and 3.
        both = ((low >> 1) & 0x40004000) | (high & -0x7FFF8000)
        gathered = both * 0x4001
        code = _looked_up(_TABLE_OF_HALVES, (gathered.to(tl.uint32) >> 26) & 0x3C)
    return code


@triton.jit
def codes_of_largest(word, BITS: tl.constexpr, KIND: tl.constexpr):
    """The codes that keep the largest magnitudes of groups, the first of equal ones; the upper bits are anything."""
    if BITS == 32:
        low = word.to(tl.int32) & 0x7FFFFFFF
        high = (word >> 32).to(tl.int32) & 0x7FFFFFFF
        code = tl.where((low < high) | (low == 0), 0xE, 0x4)
    else:
        k0 = _tagged(word, 0, BITS, KIND)
        k1 = _tagged(word, 1, BITS, KIND)
        k2 = _tagged(word, 2, BITS, KIND)
        k3 = _tagged(word, 3, BITS, KIND)
        a = tl.maximum(k0, k1)
        b = tl.maximum(k2, k3)
        second = tl.maximum(tl.minimum(a, b), tl.maximum(tl.minimum(k0, k1), tl.minimum(k2, k3)))
        first = tl.maximum(a, b)
        # A zero has its tag alone. It is not kept, but what fills up a group.
        tags = (tl.where(first < 64, 0, first) | tl.where(second < 64, 0, second)) & 0x3C
        code = _looked_up(_TABLE_OF_TAGS, tags)
    return code


@triton.jit
def _tagged(word, POSITION: tl.constexpr, BITS: tl.constexpr, KIND: tl.constexpr):
    """A magnitude above bit 15, and one of the bits 5 to 2 for the position, so that a winner tells which it was."""
    if KIND == "float":
        if BITS == 8:
            key = (word << (24 - 8 * POSITION)) & 0x7F000000
        else:
            half = (word >> (32 * (POSITION // 2))).to(tl.int32)
            key = (half if POSITION % 2 else half << 16) & 0x7FFF0000
    else:
        key = magnitude(element_bits(word, POSITION, BITS), BITS, KIND) << 16
    return key | (32 >> POSITION)


@triton.jit
def two_largest(k0, k1, k2, k3):
    """Whether each of four keys is among the two largest; of equal ones the first are."""
    a = k0 >= k1
    b = k0 >= k2
    c = k0 >= k3
    d = k1 >= k2
    e = k1 >= k3
    f = k2 >= k3
    # An element stays that wins two of its three comparisons.
    n0 = (a & b) | ((a | b) & c)
    n1 = (~a & (d | e)) | (d & e)
    n2 = (~b & (~d | f)) | (~d & f)
    n3 = (~c & ~(e & f)) | ~(e | f)
    return n0, n1, n2, n3


@triton.jit
def code_of(n0, n1, n2, n3):
    """The code of groups in which these elements are kept, at most two; fewer are filled up as the format wants it."""
    return tl.where(n0, 0, tl.where(n1, 1, 2)) | tl.where(n3 | ~(n0 | n1), 12, tl.where(n2 | ~(n0 & n1), 8, 4))


@triton.jit
def kept_values(word, code, BITS: tl.constexpr):
    """The kept elements of groups as a word of half the width, the first in the lowest bits."""
    if BITS == 32:
        value = tl.where((code & 8) == 0, word.to(tl.int32), (word >> 32).to(tl.int32))
    elif BITS == 16:
        # A position times the width is a shift of the word.
        first = (word >> ((code << 4) & 0x30).to(tl.int64)).to(tl.int32)
        second = (word >> ((code << 2) & 0x30).to(tl.int64)).to(tl.int32)
        value = (first & 0xFFFF) | (second << 16)
    else:
        first = word >> ((code << 3) & 0x18)
        second = word >> ((code << 1) & 0x18)
        value = ((first & 0xFF) | (second << 8)).to(tl.int16)
    return value


@triton.jit
def expanded(value, code, BITS: tl.constexpr):
    """The words of groups from their kept elements and codes."""
    if BITS == 32:
        wide = value.to(tl.int64)
        word = tl.where((code & 8) == 0, wide & 0xFFFFFFFF, wide << 32)
    elif BITS == 16:
        first = (value & 0xFFFF).to(tl.int64) << ((code << 4) & 0x30).to(tl.int64)
        second = ((value >> 16) & 0xFFFF).to(tl.int64) << ((code << 2) & 0x30).to(tl.int64)
        word = first | second
    else:
        pair = value.to(tl.int32)
        word = ((pair & 0xFF) << ((code << 3) & 0x18)) | (((pair >> 8) & 0xFF) << ((code << 1) & 0x18))
    return word


@triton.jit
def kept_in_place(word, code, BITS: tl.constexpr):
    """The words of groups with zeros for what is not kept."""
    if BITS == 32:
        kept = tl.where((code & 8) == 0, word & 0xFFFFFFFF, word & -0x100000000)
    elif BITS == 16:
        field = tl.full(word.shape, 0xFFFF, tl.int64)
        first = field << ((code << 4) & 0x30).to(tl.int64)
        kept = word & (first | (field << ((code << 2) & 0x30).to(tl.int64)))
    else:
        field = tl.full(word.shape, 0xFF, tl.int32)
        kept = word & ((field << ((code << 3) & 0x18)) | (field << ((code << 1) & 0x18)))
    return kept


@triton.jit
def paired(codes):
    """The bytes of metadata of pairs of groups, along the last dimension, as int32."""
    PAIRS: tl.constexpr = codes.shape[:-1] + (codes.shape[-1] // 2, 2)  # noqa: RUF005, Triton unpacks no tuples
    low, high = tl.split(tl.reshape(codes, PAIRS))
    return (low & 0xF) | ((high & 0xF) << 4)


@triton.constexpr_function
def _check_tile(tile):
    """Refuse what :func:`compress24` does not compress.

    Raises:
        UserError: ``tile`` is none of its matrices.
    """
    if not isinstance(tile, tl.tensor) or not tile.type.is_block() or len(tile.shape) != 2:
        raise UserError(
            "an argument is not a matrix",
            where="compress24, argument tile",
            expected="a tensor of two dimensions",
            found=tile.type if isinstance(tile, tl.tensor) else tile,
        )
    dtype = tile.dtype
    if dtype.is_ptr() or (dtype != tl.float32 and dtype.primitive_bitwidth not in (8, 16)):
        raise UserError(
            "a tile has another type",
            where="compress24, argument tile",
            expected="float32, or 8 or 16 bits",
            found=dtype,
        )
    columns = 4 if dtype == tl.float32 else 8
    if int(tile.shape[1]) % columns:
        raise UserError(
            "a tile has no whole bytes of metadata",
            where="compress24, argument tile",
            expected=f"K a multiple of {columns}",
            found=int(tile.shape[1]),
        )


@triton.jit
def compress24(tile):
    """Compress a tile in registers, keeping the two largest magnitudes of each group of four: for activations.

    Args:
        tile: Tensor [M, K] of 8 or 16 bits, or of float32, where the larger of two elements is kept; K is a multiple
            of 8, of float32 of 4.

    Returns:
        ``values`` [M, K/2] of the type of ``tile``, and ``meta``, uint8 [M, K/8]; of float32 uint8 [M, K/4].
    """
    _check_tile(tile)
    M: tl.constexpr = tile.shape[0]
    K: tl.constexpr = tile.shape[1]
    TYPE: tl.constexpr = tile.dtype
    BITS: tl.constexpr = TYPE.primitive_bitwidth
    KIND: tl.constexpr = kind_of(TYPE)
    if BITS == 32:
        low, high = tl.split(tl.reshape(tile, (M, K // 2, 2)))
        k0 = low.to(tl.int32, bitcast=True) & 0x7FFFFFFF
        k1 = high.to(tl.int32, bitcast=True) & 0x7FFFFFFF
        second = (k0 < k1) | (k0 == 0)
        values = tl.where(second, high, low)
        code = tl.where(second, 0xE, 0x4)
    else:
        INTEGER: tl.constexpr = tl.int8 if BITS == 8 else tl.int16
        MASK: tl.constexpr = (1 << BITS) - 1
        # Elements 0 and 2, and 1 and 3.
        even, odd = tl.split(tl.reshape(tile.to(INTEGER, bitcast=True), (M, K // 4, 2, 2)))
        b0, b2 = tl.split(even)
        b1, b3 = tl.split(odd)
        k0 = magnitude(b0.to(tl.int32) & MASK, BITS, KIND)
        k1 = magnitude(b1.to(tl.int32) & MASK, BITS, KIND)
        k2 = magnitude(b2.to(tl.int32) & MASK, BITS, KIND)
        k3 = magnitude(b3.to(tl.int32) & MASK, BITS, KIND)
        n0, n1, n2, n3 = two_largest(k0, k1, k2, k3)
        code = code_of(n0 & (k0 != 0), n1 & (k1 != 0), n2 & (k2 != 0), n3 & (k3 != 0))
        first = code & 3
        last = code >> 2
        v0 = tl.where(first == 0, b0, tl.where(first == 1, b1, b2))
        v1 = tl.where(last == 1, b1, tl.where(last == 2, b2, b3))
        values = tl.reshape(tl.join(v0, v1), (M, K // 2)).to(TYPE, bitcast=True)
    return values, paired(code).to(tl.uint8)
