"""The canonical format of a 2:4 sparse matrix, and the reference that makes, checks and undoes it.

Version 1. Of a logical matrix [M, K]:

- ``values`` [M, K / 2], row-major: the two kept elements of each group of four columns, in order.
- ``meta`` uint8 [M, K / 8], row-major: one code of four bits for each group, ``first | second << 2`` by their positions
  in the group, ``first < second``; the group of the lower columns in the lower half of the byte.

Of 32-bit floats, which tensor cores multiply as tf32, a group is two columns of which one is kept: ``values`` is
[M, K / 2] too, the code is 0x4 for the first and 0xE for the second, and ``meta`` is [M, K / 4].

Which positions a group with fewer than two non-zeros gets is part of the format, so that equal matrices have equal
bytes: the first is the lowest non-zero one of 0 and 1, else 2; the second is 1 if 0 and 1 are both non-zero, 3 if
neither is or if 3 is non-zero, else 2. PyTorch and CUTLASS choose the same.

Negative zeros are zeros here, infinities and NaN are not. An array of any type passes through as the bits it has, so a
kept element, NaN payloads and signs of zero included, comes back as it was. An element that is not kept comes back as
zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tritonext.errors import UserError

from ..elements import Element, check_array, element, element_of

__all__ = ["FORMAT_VERSION", "CompressedMatrix", "FormatError", "compress", "decompress", "prune", "validate"]

FORMAT_VERSION = 1
"""Version of the canonical format."""


class FormatError(UserError):
    """A matrix is not 2:4 sparse, or arrays that should describe one do not."""


@dataclass(frozen=True, eq=False)
class CompressedMatrix:
    """A sparse matrix in canonical format.

    Attributes:
        values: The kept elements, [M, K / 2].
        meta: The codes, uint8 [M, K / 8], or [M, K / 4] of 32-bit floats.
        dtype: Name of the element type, as torch spells it.
        version: Version of the format.
    """

    values: np.ndarray
    meta: np.ndarray
    dtype: str
    version: int = FORMAT_VERSION

    @property
    def element(self) -> Element:
        return element(self.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the logical matrix."""
        return self.values.shape[0], 2 * self.values.shape[1]

    @property
    def codes(self) -> np.ndarray:
        """The codes one by one, uint8 [M, groups]."""
        rows, columns = self.meta.shape
        return np.stack([self.meta & 0xF, self.meta >> 4], axis=2).reshape(rows, 2 * columns)


def _check_dense(dense: np.ndarray, kind: Element) -> None:
    if dense.ndim != 2:
        raise FormatError("a sparse matrix has rows and columns", expected="2 dimensions", found=f"shape {dense.shape}")
    if dense.shape[1] % kind.columns_per_byte:
        raise FormatError(
            "columns of a matrix do not fill bytes of metadata",
            expected=f"a multiple of {kind.columns_per_byte} for {kind.name}",
            found=f"{dense.shape[1]} columns",
            hint="append columns of zeros",
        )


def _columns(kind: Element, group: int) -> str:
    return f"columns {group * kind.group}..{(group + 1) * kind.group - 1}"


def prune(dense: np.ndarray, dtype: str | None = None, scores: np.ndarray | None = None) -> np.ndarray:
    """Return a copy of ``dense`` with only the best elements of each group, two of four, or one of two 32-bit floats.

    Args:
        dense: The matrix, [M, K].
        dtype: Its element type, where NumPy has none.
        scores: What to go by, [M, K], higher being better; magnitudes where not given, NaN above all. Of equal scores
            those in lower columns are kept.

    Raises:
        FormatError: ``dense`` is no matrix, K does not fill bytes of metadata, or ``scores`` has another shape or NaN.
        UserError: ``dtype`` is needed, unknown, or of another width.
    """
    kind = element_of(dense, dtype)
    _check_dense(dense, kind)
    if scores is None:
        scores = kind.magnitude(dense)
    elif scores.shape != dense.shape or np.isnan(scores).any():
        raise FormatError(
            "scores do not order a matrix", expected=f"numbers of shape {dense.shape}", found=scores.shape
        )
    grouped = scores.reshape(dense.shape[0], dense.shape[1] // kind.group, kind.group)
    best = np.argsort(-grouped.astype(np.float64), axis=2, kind="stable")[:, :, : kind.group // 2]
    kept = np.zeros(grouped.shape, bool)
    np.put_along_axis(kept, best, True, axis=2)
    pruned = np.array(dense, order="C")
    pruned.view(kind.storage)[~kept.reshape(dense.shape)] = 0
    return pruned


def compress(dense: np.ndarray, dtype: str | None = None, *, pruned: bool = False) -> CompressedMatrix:
    """Return a matrix in canonical format.

    Args:
        dense: The matrix, [M, K]. Its type is kept.
        dtype: Its element type, where NumPy has none: the array then holds bits, or is of a type of ml_dtypes.
        pruned: Whether to drop what is too much, by magnitude; it is an error otherwise.

    Raises:
        FormatError: ``dense`` is no matrix, K does not fill bytes of metadata, or a group has too many non-zeros.
        UserError: ``dtype`` is needed, unknown, or of another width.
    """
    kind = element_of(dense, dtype)
    _check_dense(dense, kind)
    if pruned:
        dense = prune(dense, dtype)
    nonzero = kind.is_nonzero(dense).reshape(dense.shape[0], dense.shape[1] // kind.group, kind.group)
    count = nonzero.sum(axis=2)
    if (count > kind.group // 2).any():
        row, group = (int(i) for i in np.argwhere(count > kind.group // 2)[0])
        raise FormatError(
            "a matrix is not sparse",
            expected=f"at most {kind.group // 2} non-zeros in each {kind.group} columns",
            found=f"{int(count[row, group])} at row {row}, {_columns(kind, group)}",
            hint="prune it first",
        )
    grouped = dense.reshape(nonzero.shape)
    if kind.group == 2:
        first = np.where(nonzero[:, :, 0], 0, 1)
        codes = np.where(first == 0, 0x4, 0xE)
        positions = first[:, :, None]
    else:
        n0, n1, n3 = nonzero[:, :, 0], nonzero[:, :, 1], nonzero[:, :, 3]
        first = np.where(n0, 0, np.where(n1, 1, 2))
        second = np.where(n0 & n1, 1, np.where(n3 | ~(n0 | n1), 3, 2))
        codes = first | second << 2
        positions = np.stack([first, second], axis=2)
    values = np.take_along_axis(grouped, positions, axis=2).reshape(dense.shape[0], dense.shape[1] // 2)
    return CompressedMatrix(values, (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8), kind.name)


def validate(matrix: CompressedMatrix) -> None:
    """Check that arrays describe a sparse matrix in canonical format.

    Raises:
        FormatError: They do not: another version, shapes that do not belong together, or an illegal code.
        UserError: The element type is unknown, or of another width than that of the values.
    """
    if not isinstance(matrix, CompressedMatrix):
        raise FormatError(
            "an argument is not a sparse matrix",
            expected="a CompressedMatrix, which compress returns",
            found=type(matrix).__name__,
        )
    if matrix.version != FORMAT_VERSION:
        raise FormatError("a sparse matrix is of another version", expected=FORMAT_VERSION, found=matrix.version)
    kind = element_of(matrix.values, matrix.dtype)
    if matrix.values.ndim != 2:
        raise FormatError("values of a sparse matrix", expected="2 dimensions", found=f"shape {matrix.values.shape}")
    check_array("meta", matrix.meta)
    rows, columns = matrix.shape
    _check_dense(np.empty((0, columns)), kind)
    if matrix.meta.dtype != np.uint8 or matrix.meta.shape != (rows, columns // kind.columns_per_byte):
        raise FormatError(
            "metadata does not belong to the values of a sparse matrix",
            expected=f"uint8 {(rows, columns // kind.columns_per_byte)}",
            found=f"{matrix.meta.dtype} {matrix.meta.shape}",
        )
    illegal = np.argwhere(~np.isin(matrix.codes, kind.legal_codes))
    if illegal.size:
        row, group = (int(i) for i in illegal[0])
        raise FormatError(
            "a code of metadata is illegal",
            expected=" ".join(f"0x{code:x}" for code in kind.legal_codes),
            found=f"0x{int(matrix.codes[row, group]):x}",
            where=f"row {row}, {_columns(kind, group)}",
        )


def decompress(matrix: CompressedMatrix) -> np.ndarray:
    """Return the logical matrix, [M, K], of the type of the values.

    Raises:
        FormatError: The matrix is not in canonical format.
        UserError: Its element type is unknown, or of another width than that of the values.
    """
    validate(matrix)
    group = matrix.element.group
    rows, columns = matrix.shape
    codes = matrix.codes.astype(np.int64)
    positions = (codes >> 3)[:, :, None] if group == 2 else np.stack([codes & 3, codes >> 2], axis=2)
    dense = np.zeros((rows, columns // group, group), matrix.values.dtype)
    np.put_along_axis(dense, positions, matrix.values.reshape(rows, columns // group, group // 2), axis=2)
    return dense.reshape(rows, columns)
