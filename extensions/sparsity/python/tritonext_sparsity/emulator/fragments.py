"""Which lane and register of an instruction holds which element: the maps behind the emulator, as arrays.

A :class:`Fragment` says it for one operand: element ``i`` of lane ``l`` is ``matrix[rows[l, i], columns[l, i]]``,
elements fill 32-bit registers from the lowest bit up, and -1 marks what the instruction does not read. The functions
of this module are the maps of the ISA documents and know nothing of Triton's layouts, so tests can hold what a
compiler emits, and the layouts and prepacks of this package, against them.

Sources: PTX ISA 9.1, 9.7.14.5 and 9.7.14.6.2 (``mma.sync``, ``mma.sp.sync``), 9.7.15.5.1.1 and 9.7.15.6.2 (``wgmma``,
``wgmma.sp``), the latter drawn as ``ELayout_64x64``, ``64x32`` and ``64x16`` in CUTLASS,
``cute/atom/mma_traits_sm90_gmma_sparse.hpp``; CDNA3 ISA 7.5 and AMD's matrix instruction calculator (``smfmac``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tritonext.errors import UserError

from ..elements import Element

__all__ = [
    "Fragment",
    "InstructionError",
    "mma_a",
    "mma_b",
    "mma_d",
    "mma_meta",
    "smfmac_a",
    "smfmac_b",
    "smfmac_d",
    "smfmac_index",
    "wgmma_a",
    "wgmma_d",
    "wgmma_meta",
]


class InstructionError(UserError):
    """An instruction does not exist in that form, or its operands are none that it accepts."""


@dataclass(frozen=True, eq=False)
class Fragment:
    """How lanes hold a matrix.

    Attributes:
        rows: Row of each element, int64 [lanes, elements of a lane]; -1 where the lane's bits are not read.
        columns: Column of each element, of the same shape.
        bits: Width of an element; 4 for codes of metadata.
        shape: Rows and columns of the matrix.
    """

    rows: np.ndarray
    columns: np.ndarray
    bits: int
    shape: tuple[int, int]

    @property
    def lanes(self) -> int:
        return self.rows.shape[0]

    @property
    def registers(self) -> int:
        """32-bit registers of each lane."""
        return self.rows.shape[1] * self.bits // 32

    def pack(self, matrix: np.ndarray) -> np.ndarray:
        """Return registers, uint32 [lanes, registers], that hold ``matrix``, an array of bits; zeros where none is
        read.

        Raises:
            InstructionError: The matrix is of another shape, or holds other than integers of as many bits.
        """
        matrix = np.asarray(matrix)
        if matrix.shape != self.shape:
            raise InstructionError("a fragment holds another matrix", expected=self.shape, found=matrix.shape)
        if matrix.dtype.kind not in "iu":
            raise InstructionError("a fragment holds bits", expected="integers", found=matrix.dtype)
        bits = matrix.astype(f"uint{8 * matrix.dtype.itemsize}")
        if int(bits.max()) >> self.bits:
            raise InstructionError(
                "an element of a fragment has more bits", expected=self.bits, found=hex(int(bits.max()))
            )
        values = np.where(self.rows < 0, 0, bits[self.rows, self.columns].astype(np.uint32))
        per_register = 32 // self.bits
        shifts = np.arange(per_register, dtype=np.uint32) * np.uint32(self.bits)
        return np.bitwise_or.reduce(values.reshape(self.lanes, -1, per_register).astype(np.uint32) << shifts, axis=2)

    def unpack(self, registers: np.ndarray) -> np.ndarray:
        """Return the bits of the matrix that ``registers``, uint32 [lanes, registers], or [lanes] of one, hold.

        Raises:
            InstructionError: There are more or fewer lanes or registers.
        """
        registers = np.asarray(registers)
        if registers.ndim == 1:
            registers = registers[:, None]
        if registers.shape != (self.lanes, self.registers) or registers.dtype != np.uint32:
            raise InstructionError(
                "registers of an operand do not fit its fragment",
                expected=f"uint32 {(self.lanes, self.registers)}",
                found=f"{registers.dtype} {registers.shape}",
            )
        shifts = np.arange(32 // self.bits, dtype=np.uint32) * np.uint32(self.bits)
        values = (registers[:, :, None] >> shifts & np.uint32((1 << self.bits) - 1)).reshape(self.rows.shape)
        matrix = np.zeros(self.shape, np.uint32 if self.bits == 32 else f"uint{max(self.bits, 8)}")
        read = self.rows >= 0
        matrix[self.rows[read], self.columns[read]] = values[read]
        return matrix


def _split(lanes: int, elements: int, *bits: tuple[str, int]) -> dict[str, np.ndarray]:
    """Return named bits of lane and element numbers, lowest first: ``("lane", 2)`` takes the next two of the lane."""
    sources = {
        "lane": np.arange(lanes)[:, None] + np.zeros((1, elements), np.int64),
        "element": np.zeros((lanes, 1), np.int64) + np.arange(elements),
    }
    fields = {}
    for name, width in bits:
        source = name.partition(".")[0]
        fields[name.partition(".")[2]] = sources[source] % (1 << width)
        sources[source] = sources[source] >> width
    fields["warp"], fields["rest"] = sources["lane"], sources["element"]
    return fields


def _log2(number: int) -> int:
    return number.bit_length() - 1


def mma_a(element: Element, compressed: int, lanes: int = 32) -> Fragment:
    """Return the fragment of A, the kept values: the dense one of a matrix of ``compressed`` columns.

    Args:
        element: Type of the values.
        compressed: Columns of kept values, half the logical K: two or four registers of a lane.
        lanes: 32 of a warp, 16 rows; 128 of a warp group, 64 rows.
    """
    per_register = 32 // element.bits
    e = _split(
        lanes,
        compressed // 2,
        ("lane.q", 2),
        ("lane.g", 3),
        ("element.e", _log2(per_register)),
        ("element.half", 1),
    )
    rows = 16 * e["warp"] + 8 * e["half"] + e["g"]
    columns = 4 * per_register * e["rest"] + per_register * e["q"] + e["e"]
    return Fragment(rows, columns, element.bits, (lanes // 2, compressed))


def wgmma_a(element: Element) -> Fragment:
    """Return the fragment of A in registers of ``wgmma.mma_async.sp``: 64 rows, 32 bytes of kept values in each."""
    return mma_a(element, 256 // element.bits, 128)


def mma_b(element: Element, k: int) -> Fragment:
    """Return the fragment of B, [k, 8], of ``mma.sp``: that of consecutive dense instructions."""
    per_register = 32 // element.bits
    e = _split(32, k // 4, ("lane.q", 2), ("lane.g", 3), ("element.e", _log2(per_register)))
    return Fragment(4 * per_register * e["rest"] + per_register * e["q"] + e["e"], e["g"], element.bits, (k, 8))


def mma_d(element: Element, n: int = 8, lanes: int = 32) -> Fragment:
    """Return the fragment of the accumulator, [16, n], or [64, n] of a warp group."""
    e = _split(lanes, n // 2, ("lane.q", 2), ("lane.g", 3), ("element.e", 1), ("element.half", 1))
    rows = 16 * e["warp"] + 8 * e["half"] + e["g"]
    return Fragment(rows, 8 * e["rest"] + 2 * e["q"] + e["e"], element.bits, (lanes // 2, n))


def wgmma_d(element: Element, n: int) -> Fragment:
    """Return the fragment of the accumulator of ``wgmma.mma_async.sp``, [64, n]."""
    return mma_d(element, n, 128)


def mma_meta(element: Element, k: int, selector: int, lanes: int = 32) -> Fragment:
    """Return the fragment of the metadata: codes of 4 bits, a column for each group of the logical columns.

    Which lanes of a quad supply it:

    =========================  ========  ================================================================
    type, logical K            lanes     what their 32 bits hold, lowest first
    =========================  ========  ================================================================
    16 bits, 16; tf32, 8       selector  4 groups of row ``lane / 4``, 4 of the row 8 below
    16 bits, 32; tf32, 16      a pair    the same; the second lane of the pair has the second half of K
    8 bits, 32                 a pair    8 groups of row ``lane / 4``, in the second lane 8 below
    8 bits, 64                 all       the same; lanes 2 and 3 have the second half of K
    =========================  ========  ================================================================

    Args:
        element: Type of the values.
        k: Logical columns of the instruction.
        selector: The sparsity selector: which lane or pair, 0 where all supply it.
        lanes: 32, or 128 of a warp group.

    Raises:
        InstructionError: There is no such selector.
    """
    groups = k // element.group
    suppliers = groups // 4
    if not 0 <= selector < 4 // suppliers:
        raise InstructionError(
            f"the sparsity selector of a product of {element.name} with K of {k} is out of range",
            expected=f"0..{4 // suppliers - 1}" if suppliers < 4 else "0",
            found=selector,
        )
    e = _split(lanes, 8, ("lane.q", 2), ("lane.g", 3), ("element.n", 3))
    supplier = e["q"] - selector * suppliers
    if element.bits == 8:
        rows = e["g"] + 8 * (e["q"] % 2)
        columns = 8 * (supplier // 2) + e["n"]
    else:
        rows = e["g"] + 8 * (e["n"] // 4)
        columns = 4 * supplier + e["n"] % 4
    read = (supplier >= 0) & (supplier < suppliers)
    rows = np.where(read, 16 * e["warp"] + rows, -1)
    return Fragment(rows, np.where(read, columns, -1), 4, (lanes // 2, groups))


def wgmma_meta(element: Element, selector: int) -> Fragment:
    """Return the fragment of the metadata of ``wgmma.mma_async.sp``, where each warp supplies its own 16 rows.

    Raises:
        InstructionError: There is no such selector.
    """
    return mma_meta(element, 512 // element.bits, selector, 128)


def smfmac_a(element: Element, m: int, k: int) -> Fragment:
    """Return the fragment of A, the kept values, of ``smfmac``: consecutive ones of row ``lane % m`` in each lane."""
    own = m * k // 128
    lane, i = np.arange(64)[:, None], np.arange(own)
    rows, columns = np.broadcast_arrays(lane % m, lane // m * own + i)
    return Fragment(rows, columns, element.bits, (m, k // 2))


def smfmac_b(element: Element, n: int, k: int) -> Fragment:
    """Return the fragment of B, [k, n], of ``smfmac``.

    A lane holds runs of 16 bytes of column ``lane % n``. Forms of eight registers hold two runs, which lie half of K
    apart: lane block g has elements g of the first and of the second half, while A of the same lanes is consecutive.

    Sources of the second rule: one-hot probes and random comparisons on gfx950, two of them public and in agreement
    (fpsan, ``test_smfmac.hip``; notes on the sparse trick with 16x16x64 and 16x16x128).
    """
    blocks = 64 // n
    own = k // blocks
    run = min(own, 128 // element.bits)
    lane, i = np.arange(64)[:, None], np.arange(own)
    rows = i // run * run * blocks + lane // n * run + i % run
    rows, columns = np.broadcast_arrays(rows, lane % n)
    return Fragment(rows, columns, element.bits, (k, n))


def smfmac_d(m: int) -> Fragment:
    """Return the fragment of the accumulator, [m, m] of 32 bits, of ``smfmac``: that of the dense ``mfma``."""
    lane, i = np.arange(64)[:, None], np.arange(m * m // 64)
    blocks = 64 // m
    rows, columns = np.broadcast_arrays(i // 4 * 4 * blocks + lane // m * 4 + i % 4, lane % m)
    return Fragment(rows, columns, 32, (m, m))


def smfmac_index(element: Element, m: int, k: int, index_set: int = 0) -> Fragment:
    """Return the fragment of the index register: codes of 4 bits, for the values that the same lane holds, in order.

    Args:
        element: Type of the values.
        m: Rows.
        k: Logical columns.
        index_set: Which part of the register is read, where the codes of one instruction do not fill it.

    Raises:
        InstructionError: The register has no such part.
    """
    own = m * k // 64 // 4
    if not 0 <= index_set < 8 // own:
        raise InstructionError(
            f"the index register of {m}x{m}x{k} of {element.name} has no such set",
            expected=f"0..{8 // own - 1}" if own < 8 else "0",
            found=index_set,
        )
    lane, n = np.arange(64)[:, None], np.arange(8) - index_set * own
    read = (n >= 0) & (n < own) & (lane >= 0)
    rows = np.where(read, lane % m, -1)
    return Fragment(rows, np.where(read, lane // m * own + n, -1), 4, (m, k // 4))
