"""Operands of sparse products for tests."""

from __future__ import annotations

import numpy as np

from .elements import Element, element
from .emulator import MatrixDescriptor, addresses

__all__ = ["random_codes", "shared_image", "small_numbers", "sparse_matrix"]


def sparse_matrix(name: str, rows: int, columns: int, seed: int, full: bool = False) -> np.ndarray:
    """Return the bits of a 2:4 sparse matrix, the same ones for all time.

    Args:
        name: Element type.
        rows: Rows.
        columns: Columns.
        seed: What the matrix depends on.
        full: Whether all groups have as many non-zeros as they may; some have fewer otherwise, down to none, and zeros
            of floats have any sign.
    """
    kind = element(name)
    # Of this generator NumPy promises that the numbers never change.
    rng = np.random.RandomState(seed)
    groups = columns // kind.group
    order = np.argsort(rng.rand(rows, groups, kind.group), axis=2)
    count = kind.group // 2 if full else rng.randint(0, kind.group // 2 + 1, (rows, groups, 1))
    numbers = rng.randint(1, 9, order.shape) * np.where(kind.signed, rng.choice([-1, 1], order.shape), 1)
    signed_zeros = not full and kind.is_float and kind.special != "fnuz"
    zeros = np.where(rng.rand(*order.shape) < (0.3 if signed_zeros else 0), -0.0, 0.0)
    return kind.encode(np.where(order < count, numbers, zeros)).reshape(rows, columns)


def small_numbers(rng: np.random.Generator, kind: Element, shape: tuple[int, ...]) -> np.ndarray:
    """Return the bits of numbers whose products and sums are exact in every accumulator, or any integers."""
    if not kind.is_float:
        low = -(1 << kind.bits - 1) if kind.signed else 0
        return kind.encode(rng.integers(low, low + (1 << kind.bits), shape))
    return kind.encode(rng.integers(-4, 5, shape) * 0.5)


def random_codes(rng: np.random.Generator, kind: Element, shape: tuple[int, ...]) -> np.ndarray:
    """Return legal codes of metadata, uint8."""
    return rng.choice(np.array(kind.legal_codes, np.uint8), shape)


def shared_image(
    matrix: np.ndarray, kind: Element, k_major: bool, swizzle: int, start: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Put a matrix into shared memory in a canonical layout of ``wgmma``, with gaps where strides allow them.

    Args:
        matrix: Bits of the matrix, [rows of A or columns of B, K].
        kind: Their type.
        k_major: Whether elements that follow each other along K do so in memory.
        swizzle: Bytes of the swizzle atom, or 0.
        start: Byte address of the matrix, a multiple of 1024.
        rng: What fills the rest.

    Returns:
        Shared memory from address 0, uint8, of a multiple of 16 bytes; and the matrix descriptor.
    """
    mn, k = matrix.shape
    size = kind.bits // 8
    if k_major and swizzle:
        leading, stride = 16, 8 * swizzle
    elif k_major:
        leading = 8 * 16 + 128
        stride = leading * (k * size // 16) + 256
    elif swizzle:
        leading = 8 * swizzle
        stride = leading * -(-mn * size // swizzle)
    else:
        stride = 128
        leading = stride * -(-mn * size // 16) + 64
    descriptor = MatrixDescriptor(start, leading, stride, swizzle)
    where = addresses(descriptor, mn, k, kind.bits, k_major)
    shared = rng.integers(0, 256, (int(where.max()) // 16 + 4) * 16).astype(np.uint8)
    for byte in range(size):
        shared[where + byte] = (matrix.astype(np.uint64) >> np.uint64(8 * byte)).astype(np.uint8)
    return shared, descriptor.encode()
