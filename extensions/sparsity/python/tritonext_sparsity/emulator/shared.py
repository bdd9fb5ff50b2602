"""Matrices in shared memory as ``wgmma`` finds them: descriptors, canonical layouts and swizzles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .fragments import InstructionError

__all__ = ["MatrixDescriptor", "addresses", "swizzle"]

_MODES = {0: 0, 128: 1, 64: 2, 32: 3}
_WIDTHS = {mode: width for width, mode in _MODES.items()}


@dataclass(frozen=True)
class MatrixDescriptor:
    """The 64-bit operand that names a matrix in shared memory.

    Attributes:
        start: Byte address of the first element.
        leading: Leading dimension byte offset; no swizzled K-major matrix has one.
        stride: Stride dimension byte offset.
        swizzle: Bytes of the swizzle atom: 0 (none), 32, 64 or 128.
        base_offset: Where the pattern of the swizzle begins, in rows of 128 bytes.

    Source: PTX ISA 9.1, 9.7.15.5.1.2.2, "Matrix Descriptor Format".
    """

    start: int
    leading: int
    stride: int
    swizzle: int
    base_offset: int = 0

    def encode(self) -> int:
        """Return the 64 bits.

        Raises:
            InstructionError: An address or offset is no multiple of 16 or does not fit, or there is no such swizzle.
        """
        for name, value in (("start", self.start), ("leading", self.leading), ("stride", self.stride)):
            if value % 16 or not 0 <= value < 1 << 18:
                raise InstructionError(
                    f"{name} of a matrix descriptor cannot be encoded",
                    expected="a multiple of 16 below 2^18",
                    found=value,
                )
        if self.swizzle not in _MODES:
            raise InstructionError("there is no such swizzle", expected="0, 32, 64 or 128 bytes", found=self.swizzle)
        return (
            self.start >> 4
            | self.leading >> 4 << 16
            | self.stride >> 4 << 32
            | self.base_offset << 49
            | _MODES[self.swizzle] << 62
        )

    @classmethod
    def decode(cls, word: int) -> MatrixDescriptor:
        """Return the descriptor of 64 bits."""

        def field(low: int) -> int:
            return (word >> low & 0x3FFF) << 4

        return cls(field(0), field(16), field(32), _WIDTHS[word >> 62 & 3], word >> 49 & 7)


def swizzle(address: np.ndarray, width: int) -> np.ndarray:
    """Return where bytes of a swizzled matrix lie: bits 4.. of the address, exclusive-or those three above.

    Args:
        address: Byte addresses without swizzle.
        width: Bytes of the atom: 0, 32, 64 or 128, which change 0, 1, 2 or 3 bits.

    Source: ``Swizzle<0..3, 4, 3>`` in PTX ISA 9.1, 9.7.15.5.1.2.1.3, "Canonical Layouts".
    """
    mask = max(width // 16 - 1, 0)
    return address ^ (address >> 3 & mask << 4)


def addresses(descriptor: MatrixDescriptor, mn: int, k: int, bits: int, k_major: bool) -> np.ndarray:
    """Return the byte address of each element of a matrix, int64 [mn, k].

    Args:
        descriptor: Where it is.
        mn: Rows of A, or columns of B.
        k: Its extent along K in stored elements, so half the logical one for A of a sparse product.
        bits: Width of an element.
        k_major: Whether elements that follow each other along K do so in memory.

    Raises:
        InstructionError: The descriptor has a base offset, which no compiler of this project emits, or a K-major matrix
            reaches beyond the atom of its swizzle, for which PTX defines no address.

    Source: PTX ISA 9.1, 9.7.15.5.1.2.1.3, "Canonical Layouts".
    """
    if descriptor.base_offset:
        raise InstructionError(
            "a matrix descriptor has a base offset",
            expected="atoms of swizzles at multiples of their size, and base offset 0",
            found=descriptor.base_offset,
        )
    size = bits // 8
    width = descriptor.swizzle
    rows, columns = np.arange(mn)[:, None], np.arange(k)
    if k_major:
        offset = columns * size
        if width:
            first = descriptor.start % width
            if first + k * size > width:
                raise InstructionError(
                    "a K-major matrix reaches beyond the atom of its swizzle",
                    expected=f"at most {width - first} bytes along K from where it starts",
                    found=f"{k * size} bytes",
                    hint="use a wider swizzle, or none",
                )
            plain = rows // 8 * descriptor.stride + rows % 8 * width + offset
        else:
            plain = rows // 8 * descriptor.stride + rows % 8 * 16 + offset // 16 * descriptor.leading + offset % 16
    else:
        atom = (width or 16) // size
        along, across = (descriptor.leading, descriptor.stride) if width else (descriptor.stride, descriptor.leading)
        plain = rows % atom * size + rows // atom * along + columns % 8 * (width or 16) + columns // 8 * across
    return swizzle(descriptor.start + plain, width)
