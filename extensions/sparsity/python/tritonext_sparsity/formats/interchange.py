"""Import and export of the formats of libraries and checkpoints, bit by bit.

All of them keep the values as the canonical format does and differ in the metadata. The orders below list digits from
the slowest to the fastest in memory: ``r4`` is bit 4 of the row, ``r2-0`` are three bits of it, ``c0`` is the lowest
bit of the column of the words that are moved, and capitals are what remains above.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..elements import Element, check_array, element_of
from .canonical import CompressedMatrix, FormatError, validate

__all__ = [
    "from_bitmask",
    "from_cusparselt",
    "from_cutlass_sm90",
    "from_torch_cutlass",
    "to_bitmask",
    "to_cusparselt",
    "to_cutlass_sm90",
    "to_torch_cutlass",
]


class _Order:
    """A permutation of the words of an array by digits of row and column; what remains above is a digit too."""

    def __init__(self, rows: tuple[int, ...], columns: tuple[int, ...], order: tuple[int, ...]) -> None:
        self.rows, self.columns, self.order = rows, columns, order

    def _shape(self, shape: tuple[int, int], what: str) -> tuple[int, ...]:
        row_unit, column_unit = int(np.prod(self.rows)), int(np.prod(self.columns))
        if shape[0] % row_unit or shape[1] % column_unit:
            raise FormatError(
                f"a matrix does not fill the blocks of {what}",
                expected=f"rows of metadata a multiple of {row_unit}, its columns a multiple of {column_unit}",
                found=shape,
            )
        return (shape[0] // row_unit, *self.rows, shape[1] // column_unit, *self.columns)

    def apply(self, words: np.ndarray, what: str) -> np.ndarray:
        return np.ascontiguousarray(words.reshape(self._shape(words.shape, what)).transpose(self.order)).reshape(-1)

    def undo(self, words: np.ndarray, shape: tuple[int, int], what: str) -> np.ndarray:
        digits = self._shape(shape, what)
        permuted = words.reshape([digits[axis] for axis in self.order])
        return np.ascontiguousarray(permuted.transpose(np.argsort(self.order))).reshape(shape)


# Rows B r4 r3 r2-0, columns C c0, in memory C B r2-0 r4 c0 r3.
_TORCH_CUTLASS_16 = _Order((2, 2, 8), (2,), (4, 0, 3, 1, 5, 2))
# Rows B r3 r2-0, columns C c0, in memory C B r2-0 c0 r3.
_TORCH_CUTLASS_32 = _Order((2, 8), (2,), (3, 0, 2, 4, 1))
# Rows B r6-5 r4 r3 r2-0, columns C c1 c0, in memory C B c1 r6-5 r2-0 r4 c0 r3.
_CUSPARSELT_SM80 = _Order((4, 2, 2, 8), (2, 2), (5, 0, 6, 1, 4, 2, 7, 3))
# Rows B r5-4 r3 r2-0, columns C c2 c1-0, in memory B C r5-4 r2-0 c1-0 c2 r3.
_CUSPARSELT_SM90 = _Order((4, 2, 8), (2, 4), (0, 4, 1, 3, 6, 5, 2))
# Rows B r5-4 r3 r2-0, columns C c3 c2-1 c0, in memory B C r5-4 r2-0 c2-1 c3 r3 c0.
_CUSPARSELT_SM90_8 = _Order((4, 2, 8), (2, 4, 2), (0, 4, 1, 3, 6, 5, 2, 7))


def _nibbles(meta: np.ndarray) -> np.ndarray:
    return np.stack([meta & 0xF, meta >> 4], axis=-1).reshape(meta.shape[0], -1)


def _bytes(nibbles: np.ndarray) -> np.ndarray:
    return (nibbles[..., ::2] | nibbles[..., 1::2] << 4).astype(np.uint8)


def _need(kind: Element, names: tuple[str, ...], what: str) -> None:
    if kind.name not in names:
        raise FormatError(f"{what} has no such elements", expected=", ".join(names), found=kind.name)


def _checked(values: np.ndarray, meta: np.ndarray, kind: Element) -> CompressedMatrix:
    matrix = CompressedMatrix(np.ascontiguousarray(values), meta, kind.name)
    validate(matrix)
    return matrix


def _logical(values: np.ndarray, kind: Element, what: str) -> tuple[int, int]:
    """Return the shape of the metadata of ``values`` in canonical format."""
    if values.ndim != 2 or values.shape[1] * 2 % kind.columns_per_byte:
        raise FormatError(
            f"values of {what} are no compressed matrix",
            expected=f"2 dimensions, the second a multiple of {kind.columns_per_byte // 2}",
            found=f"shape {values.shape}",
        )
    return values.shape[0], values.shape[1] * 2 // kind.columns_per_byte


_TORCH_TYPES = ("float16", "bfloat16", "float32", "int8")


def _torch_cutlass(kind: Element) -> tuple[_Order, np.dtype]:
    _need(kind, _TORCH_TYPES, "torch's CUTLASS format")
    return (_TORCH_CUTLASS_32, np.dtype("int32")) if kind.bits == 8 else (_TORCH_CUTLASS_16, np.dtype("int16"))


def to_torch_cutlass(matrix: CompressedMatrix) -> tuple[np.ndarray, np.ndarray]:
    """Return ``packed`` and ``meta`` of ``torch.sparse.SparseSemiStructuredTensorCUTLASS``.

    Words are of 16 bits, 4 codes, or of 32 for int8; the first of two orders is theirs: ``C B r2-0 r4 c0 r3``, and
    ``C B r2-0 c0 r3`` for int8.

    Returns:
        The values [M, K / 2], and int16 [M, K / 16] (float32: [M, K / 8]; int8: int32 [M, K / 32]).

    Raises:
        FormatError: The matrix is invalid, of another element type than float16, bfloat16, float32 and int8, or M is no
            multiple of 32 (int8: 16), or K none of 32 (float32: 16; int8: 64).

    Source: PyTorch, ``torch/sparse/_semi_structured_conversions.py``, after CUTLASS, ``host_reorder.h``.
    """
    validate(matrix)
    order, word = _torch_cutlass(matrix.element)
    words = np.ascontiguousarray(matrix.meta)
    if words.shape[1] % (2 * word.itemsize):
        raise FormatError(
            "a matrix does not fill the blocks of torch's CUTLASS format",
            expected=f"K a multiple of {2 * word.itemsize * matrix.element.columns_per_byte}",
            found=matrix.shape[1],
        )
    words = words.view(word)
    return np.ascontiguousarray(matrix.values), order.apply(words, "torch's CUTLASS format").reshape(words.shape)


def from_torch_cutlass(packed: np.ndarray, meta: np.ndarray, dtype: str | None = None) -> CompressedMatrix:
    """Return the canonical matrix of ``packed`` and ``meta`` of ``torch.sparse.SparseSemiStructuredTensorCUTLASS``.

    Args:
        packed: The values, [M, K / 2].
        meta: The metadata, in as many words as :func:`to_torch_cutlass` returns, of any shape.
        dtype: The element type, where NumPy has none.

    Raises:
        FormatError: The arrays do not belong together, or a code is illegal.
        UserError: ``dtype`` is needed, unknown, or of another width.
    """
    kind = element_of(packed, dtype)
    check_array("meta", meta)
    order, word = _torch_cutlass(kind)
    rows, columns = _logical(packed, kind, "torch's CUTLASS format")
    if meta.dtype != word or meta.nbytes != rows * columns:
        raise FormatError(
            "metadata does not belong to the values of torch's CUTLASS format",
            expected=f"{word} of {rows * columns} bytes",
            found=f"{meta.dtype} of {meta.nbytes} bytes",
        )
    words = order.undo(
        np.ascontiguousarray(meta).reshape(-1), (rows, columns // word.itemsize), "torch's CUTLASS format"
    )
    return _checked(packed, words.view(np.uint8), kind)


_CUSPARSELT = "cuSPARSELt's format"


def _cusparselt(kind: Element, arch: str) -> tuple[_Order, int]:
    """Return the order and the bits of the words that it moves."""
    if arch not in ("sm80", "sm90"):
        raise FormatError("cuSPARSELt's format is unknown", expected="sm80 or sm90", found=arch)
    names = ("float16", "bfloat16", "int8") if arch == "sm90" else ("float16", "bfloat16")
    _need(kind, names, f"{_CUSPARSELT} of {arch}")
    if arch == "sm80":
        return _CUSPARSELT_SM80, 16
    return (_CUSPARSELT_SM90_8 if kind.bits == 8 else _CUSPARSELT_SM90), 4


def to_cusparselt(matrix: CompressedMatrix, arch: Literal["sm80", "sm90"]) -> np.ndarray:
    """Return the blob of ``torch._cslt_compress``, of a 16-bit type, or int8 on ``sm90``.

    The values come first, then the metadata. NVIDIA documents neither its order nor that it stays; it depends on the
    GPU and on the release of cuSPARSELt. What stands here is what was found:

    - ``sm80``: words of 16 bits in the order ``C B c1 r6-5 r2-0 r4 c0 r3``. M is a multiple of 128, K of 64.
    - ``sm90``: single codes in the order ``B C r5-4 r2-0 c1-0 c2 r3``. M is a multiple of 64, K of 32. Of int8 in the
      order ``B C r5-4 r2-0 c2-1 c3 r3 c0``, K a multiple of 64.

    Returns:
        The blob, flat, of the type of the values; torch returns it with M rows.

    Raises:
        FormatError: The matrix is invalid, of another element type, or does not fill the blocks.

    Source: PyTorch, ``SparseSemiStructuredTile.cu`` (``MetadataCuSparseLt``); torchao, ``sparse24_sm90_sparsify.cu``;
    for int8, blobs of cuSPARSELt 0.8.0 on an H200 of matrices whose codes number their groups.
    """
    validate(matrix)
    order, bits = _cusparselt(matrix.element, arch)
    if bits == 4:
        meta = _bytes(order.apply(_nibbles(matrix.meta), _CUSPARSELT))
    else:
        if matrix.meta.shape[1] % 2:
            raise FormatError(
                f"a matrix does not fill the blocks of {_CUSPARSELT}",
                expected="K a multiple of 64",
                found=matrix.shape[1],
            )
        meta = order.apply(np.ascontiguousarray(matrix.meta).view(np.uint16), _CUSPARSELT).view(np.uint8)
    return np.concatenate([np.ascontiguousarray(matrix.values).reshape(-1), meta.view(matrix.values.dtype)])


def from_cusparselt(
    blob: np.ndarray, shape: tuple[int, int], arch: Literal["sm80", "sm90"], dtype: str | None = None
) -> CompressedMatrix:
    """Return the canonical matrix of a blob of ``torch._cslt_compress``.

    Args:
        blob: The blob; :func:`to_cusparselt` says what is in it. It may be longer than that, and have any shape.
        shape: Rows and columns of the logical matrix.
        arch: For which GPUs it was made.
        dtype: The element type, where NumPy has none.

    Raises:
        FormatError: The blob is too small, does not fill the blocks, or a code is illegal.
        UserError: ``dtype`` is needed, unknown, or of another width.
    """
    kind = element_of(blob, dtype)
    order, bits = _cusparselt(kind, arch)
    rows, columns = shape
    size, kept = rows * columns // 8, rows * columns // 2
    if columns % 32 or blob.size * kind.bits // 8 < kept * kind.bits // 8 + size:
        raise FormatError(
            f"a blob of {_CUSPARSELT} does not hold the matrix",
            expected=f"{kept + size * 8 // kind.bits} elements, and columns a multiple of 32",
            found=f"{blob.size} elements, {columns} columns",
        )
    flat = np.ascontiguousarray(blob).reshape(-1)
    meta = flat[kept:].view(np.uint8)[:size]
    if bits == 4:
        meta = _bytes(order.undo(_nibbles(meta[None]), (rows, columns // 4), _CUSPARSELT))
    else:
        meta = order.undo(meta.view(np.uint16), (rows, columns // 16), _CUSPARSELT).view(np.uint8)
    return _checked(flat[:kept].reshape(rows, columns // 2), meta, kind)


def _cutlass_sm90(kind: Element, tile_k: int) -> _Order:
    block = 512 // kind.bits
    if tile_k not in (block, 2 * block, 4 * block, 8 * block) or tile_k > 128:
        raise FormatError(
            f"CUTLASS's format for sm_90 has no such tile of {kind.name}",
            expected=", ".join(str(block << i) for i in range(4) if block << i <= 128),
            found=tile_k,
        )
    bytes_per_tile = tile_k // kind.columns_per_byte
    if kind.bits == 8:
        return _Order((64,), (bytes_per_tile,), (2, 0, 1, 3))
    # Rows B r5-4 r3 r2-0, columns C n c1 c0, in memory C B r5-4 c1 r2-0 n r3 c0.
    return _Order((4, 2, 8), (bytes_per_tile // 4, 2, 2), (4, 0, 1, 6, 3, 5, 2, 7))


def to_cutlass_sm90(matrix: CompressedMatrix, tile_k: int = 128) -> tuple[np.ndarray, np.ndarray]:
    """Return tensors A and E of CUTLASS's sparse kernels for Hopper (example 62; torchao and vLLM use that of fp8).

    In bytes, E is ordered ``C B row bytes`` in tiles of 64 by ``tile_k`` for 8-bit types, and
    ``C B r5-4 c1 r2-0 n r3 c0`` for others, where ``n`` numbers steps of one instruction inside of ``tile_k``.

    Args:
        matrix: The matrix.
        tile_k: Logical K of a tile of E: that of the kernel's tile, at most 128.

    Returns:
        The values [M, K / 2], and the metadata as bytes in memory, [M * K / 8] (float32: [M * K / 4]).

    Raises:
        FormatError: The matrix is invalid, M is no multiple of 64 or K none of ``tile_k``, or there is no such tile.

    Source: CUTLASS, ``sm90_sparse_config.inl`` (``TensorEAtom``, ``fill_layoutE``).
    """
    validate(matrix)
    order = _cutlass_sm90(matrix.element, tile_k)
    return np.ascontiguousarray(matrix.values), order.apply(matrix.meta, "CUTLASS's format for sm_90")


def from_cutlass_sm90(
    values: np.ndarray, meta: np.ndarray, dtype: str | None = None, tile_k: int = 128
) -> CompressedMatrix:
    """Return the canonical matrix of tensors A and E of CUTLASS's sparse kernels for Hopper.

    Args:
        values: The values, [M, K / 2].
        meta: The metadata as bytes, of any shape.
        dtype: The element type, where NumPy has none.
        tile_k: Logical K of a tile of E.

    Raises:
        FormatError: The arrays do not belong together, there is no such tile, or a code is illegal.
        UserError: ``dtype`` is needed, unknown, or of another width.
    """
    kind = element_of(values, dtype)
    check_array("meta", meta)
    order = _cutlass_sm90(kind, tile_k)
    shape = _logical(values, kind, "CUTLASS's format for sm_90")
    raw = np.ascontiguousarray(meta).reshape(-1).view(np.uint8)
    if raw.size != shape[0] * shape[1]:
        raise FormatError(
            "metadata does not belong to the values of CUTLASS's format for sm_90",
            expected=f"{shape[0] * shape[1]} bytes",
            found=f"{raw.size} bytes",
        )
    return _checked(values, order.undo(raw, shape, "CUTLASS's format for sm_90"), kind)


def to_bitmask(matrix: CompressedMatrix) -> tuple[np.ndarray, np.ndarray]:
    """Return ``compressed`` and ``bitmask`` of a checkpoint in ``sparse-24-bitmask`` format.

    Bit ``i % 8`` of byte ``i / 8`` of a row says whether column ``i`` is kept. Of groups with fewer than two non-zeros
    the library that wrote a checkpoint may have kept other zeros; reading takes any.

    Returns:
        The values [M, K / 2], and uint8 [M, K / 8].

    Raises:
        FormatError: The matrix is invalid, or of float32, of which this format keeps two of four and this project one
            of two.

    Source: compressed-tensors, ``sparse_24_bitmask.py``.
    """
    validate(matrix)
    _need_two_of_four(matrix.element)
    codes = matrix.codes.astype(np.uint8)
    masks = (1 << (codes & 3) | 1 << (codes >> 2)).astype(np.uint8)
    return np.ascontiguousarray(matrix.values), _bytes(masks)


def from_bitmask(compressed: np.ndarray, bitmask: np.ndarray, dtype: str | None = None) -> CompressedMatrix:
    """Return the canonical matrix of ``compressed`` and ``bitmask`` of a checkpoint in ``sparse-24-bitmask`` format.

    The positions are those of the checkpoint; ``compress(decompress(matrix))`` makes those of groups with fewer than
    two non-zeros canonical.

    Args:
        compressed: The kept elements, [M, K / 2] or flat.
        bitmask: Which columns they are of, uint8 [M, K / 8].
        dtype: The element type, where NumPy has none.

    Raises:
        FormatError: The arrays do not belong together, or a group keeps another number than two.
        UserError: ``dtype`` is needed, unknown, or of another width.
    """
    kind = element_of(compressed, dtype)
    check_array("bitmask", bitmask)
    _need_two_of_four(kind)
    if bitmask.dtype != np.uint8 or bitmask.ndim != 2 or compressed.size != bitmask.size * 4:
        raise FormatError(
            "a bitmask does not belong to its values",
            expected=f"uint8 of 2 dimensions, {compressed.size // 4} bytes",
            found=f"{bitmask.dtype} {bitmask.shape}",
        )
    masks = _nibbles(bitmask)
    kept = np.unpackbits(masks[:, :, None], axis=2, bitorder="little", count=4)
    wrong = np.argwhere(kept.sum(axis=2) != 2)
    if wrong.size:
        row, group = (int(i) for i in wrong[0])
        raise FormatError(
            "a bitmask is not 2:4 sparse",
            expected="two columns of each four",
            found=f"{int(kept[row, group].sum())} at row {row}, columns {group * 4}..{group * 4 + 3}",
        )
    first = np.argmax(kept, axis=2)
    second = 3 - np.argmax(kept[:, :, ::-1], axis=2)
    return _checked(compressed.reshape(bitmask.shape[0], -1), _bytes((first | second << 2).astype(np.uint8)), kind)


def _need_two_of_four(kind: Element) -> None:
    _need(
        kind,
        ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "int8", "uint8"),
        "the sparse-24-bitmask format",
    )
