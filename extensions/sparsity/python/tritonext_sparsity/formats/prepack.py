"""Prepacks: values and metadata in the order in which lanes hold them, so that a load is one wide access of each lane.

A :class:`FragmentOrder` cuts an array [M, C] into tiles. The tiles of a row block follow each other along C, row blocks
follow each other along M, and inside a tile the digits of row and column are put into the order of the fragment. A
kernel therefore loads a flat block, reshapes it, permutes it and reshapes it to [rows, columns]; with the layout that
the sparse op wants, none of that moves data, and each lane loads its bytes by one instruction.

In the tables, digits stand from the slowest to the fastest in memory; ``r5..r3`` are bits of the row in a tile, ``c2``
is a bit of the column, ``t`` numbers tiles of 8 bytes of metadata along K.

**wgmma.sp and mma.sp, metadata** (columns are bytes; wgmma.sp has row blocks of 64, mma.sp of 16, without ``r5 r4``):

==================  =====================================  =====================================================
type                order                                  a lane
==================  =====================================  =====================================================
16 bits, tf32       r5 r4 | r2 r1 r0 c2 c1 | t | r3 c0     32 bits: step 0 in lanes 0, 1 of a quad, step 1 in 2, 3
8 bits              r5 r4 | r2 r1 r0 c2 r3 | t | c1 c0     32 bits for one step
==================  =====================================  =====================================================

So with ``tiles`` 1 a warp group loads 512 bytes for each 64 rows and 8 bytes of metadata (K of 64, or 32 of tf32), 4 in
each lane. With ``tiles`` 2 or 4 a lane has 8 or 16 consecutive bytes for twice or four times the K, in order of K.

**wgmma.sp and mma.sp, values in registers** (columns are elements; ``e`` numbers those of a register, ``q`` is the lane
of a quad, ``h`` the half of the 32 bytes of a row): ``r5 r4 | r2 r1 r0 q | h r3 e``. A tile is 64 (or 16) rows of 32
bytes, one step of the instruction, and a lane has 16 consecutive bytes of it: its four registers.

**smfmac** (row blocks of m; ``g`` numbers blocks of m lanes): metadata ``g | row | s | byte``, where ``s`` numbers the
sets of the index register, which ABID selects: 4 bytes of each lane for as many steps of K. Values ``g | row |
element``: 8 bytes of each lane for a step, 16 for the forms of doubled K.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from ..elements import Element, check_array, element
from .canonical import FormatError

__all__ = ["FragmentOrder", "Orders", "mma_orders", "smfmac_orders", "wgmma_orders"]


@dataclass(frozen=True)
class FragmentOrder:
    """An order of the elements of an array [M, C] in memory.

    Attributes:
        row_digits: Sizes of the digits of a row in a tile, the highest first. Their product is the rows of a tile.
        column_digits: The same for columns.
        order: Numbers of digits, those of the row first, from the slowest to the fastest in memory.
    """

    row_digits: tuple[int, ...]
    column_digits: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return prod(self.row_digits)

    @property
    def columns(self) -> int:
        """Columns of a tile."""
        return prod(self.column_digits)

    @property
    def size(self) -> int:
        """Elements of a tile, which are contiguous in memory."""
        return self.rows * self.columns

    def packing(self, rows: int, columns: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return how to pack an array [rows, columns]: reshape to the first, permute axes by the second, flatten.

        Raises:
            FormatError: Tiles do not fill the array.
        """
        self._check(rows, columns)
        own = len(self.row_digits)
        shape = (rows // self.rows, *self.row_digits, columns // self.columns, *self.column_digits)
        return shape, (0, own + 1, *(digit + (1 if digit < own else 2) for digit in self.order))

    def unpacking(self, rows: int, columns: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return how to undo it: reshape to the first, permute axes by the second, reshape to [rows, columns].

        It works for a whole array, and for a block of one in a kernel: tile (i, j) of an array of n tiles along C
        begins at element ``(i * n + j) * size``, and a block of p by q tiles is loaded as [p, q * size] from there::

            offsets = (i + tl.arange(0, p))[:, None] * (n * size) + j * size + tl.arange(0, q * size)[None, :]
            block = tl.reshape(tl.permute(tl.reshape(tl.load(ptr + offsets), shape), axes), [rows, columns])

        Raises:
            FormatError: Tiles do not fill the array.
        """
        self._check(rows, columns)
        own = len(self.row_digits)
        digits = self.row_digits + self.column_digits
        shape = (rows // self.rows, columns // self.columns, *(digits[digit] for digit in self.order))
        where = [self.order.index(digit) + 2 for digit in range(len(digits))]
        return shape, (0, *where[:own], 1, *where[own:])

    def pack(self, array: np.ndarray) -> np.ndarray:
        """Return the elements of ``array``, [M, C], in this order, [M * C].

        Raises:
            FormatError: It is no matrix, or tiles do not fill it.
            UserError: It is no array.
        """
        check_array("array", array)
        if array.ndim != 2:
            raise FormatError("a matrix is to be packed", expected="2 dimensions", found=f"shape {array.shape}")
        shape, axes = self.packing(*array.shape)
        return np.ascontiguousarray(array.reshape(shape).transpose(axes)).reshape(-1)

    def unpack(self, packed: np.ndarray, rows: int, columns: int) -> np.ndarray:
        """Return the array [rows, columns] that :meth:`pack` made ``packed`` of.

        Raises:
            FormatError: ``packed`` has another size, or tiles do not fill the array.
            UserError: ``packed`` is no array.
        """
        check_array("packed", packed)
        shape, axes = self.unpacking(rows, columns)
        if packed.size != rows * columns:
            raise FormatError("a prepack has another size", expected=rows * columns, found=packed.size)
        return np.ascontiguousarray(packed.reshape(shape).transpose(axes)).reshape(rows, columns)

    def _check(self, rows: int, columns: int) -> None:
        if rows % self.rows or columns % self.columns:
            raise FormatError(
                "tiles of a prepack do not fill a matrix",
                expected=f"multiples of {self.rows} and {self.columns}",
                found=f"{rows} by {columns}",
                hint="append zeros, or legal codes",
            )


class Orders(NamedTuple):
    """Orders of the two arrays of a sparse matrix: of values in registers, and of metadata."""

    values: FragmentOrder
    meta: FragmentOrder


def _nvidia(kind: Element, warps: tuple[int, ...], tiles: int) -> Orders:
    if tiles not in (1, 2, 4):
        raise FormatError("a lane loads 4, 8 or 16 bytes of metadata", expected="tiles of 1, 2 or 4", found=tiles)
    rows = (*warps, 2, 8)
    w = len(warps)
    per_register = 32 // kind.bits
    lead = tuple(range(w))
    values = FragmentOrder(rows, (2, 4, per_register), (*lead, w + 1, w + 3, w + 2, w, w + 4))
    if kind.bits == 8:
        meta = FragmentOrder(rows, (tiles, 2, 4), (*lead, w + 1, w + 3, w, w + 2, w + 4))
    else:
        meta = FragmentOrder(rows, (tiles, 2, 2, 2), (*lead, w + 1, w + 3, w + 4, w + 2, w, w + 5))
    return Orders(values, meta)


def wgmma_orders(dtype: str, tiles: int = 1) -> Orders:
    """Return the orders for ``wgmma.mma_async.sp``, of row blocks of 64.

    Args:
        dtype: The element type.
        tiles: Tiles of 8 bytes of metadata along K whose codes a lane has together: 1, 2 or 4.

    Raises:
        FormatError: There is no such number of tiles.
        UserError: The element type is unknown.
    """
    return _nvidia(element(dtype), (4,), tiles)


def mma_orders(dtype: str, tiles: int = 1) -> Orders:
    """Return the orders for ``mma.sp`` of the larger K (32 for 16-bit types), of row blocks of 16.

    Args:
        dtype: The element type.
        tiles: Tiles of 8 bytes of metadata along K whose codes a lane has together: 1, 2 or 4.

    Raises:
        FormatError: There is no such number of tiles.
        UserError: The element type is unknown.
    """
    return _nvidia(element(dtype), (), tiles)


def smfmac_orders(dtype: str, m: int, k: int) -> Orders:
    """Return the orders for ``smfmac`` of shape m x m x k, of row blocks of m.

    Args:
        dtype: The element type.
        m: 16 or 32.
        k: Logical K of an instruction.

    Raises:
        FormatError: There is no such shape.
        UserError: The element type is unknown.
    """
    kind = element(dtype)
    base = {16: 512, 32: 256}.get(m, 0) // kind.bits
    if kind.bits == 32 or not base or k not in (base, 2 * base):
        raise FormatError("smfmac has no such shape", expected="see emulator.Smfmac", found=f"{m}x{m}x{k} of {dtype}")
    blocks = 64 // m
    own = m * k // 128
    own_bytes = own // 4
    return Orders(
        FragmentOrder((m,), (blocks, own), (1, 0, 2)),
        FragmentOrder((m,), (4 // own_bytes, blocks, own_bytes), (2, 0, 1, 3)),
    )
