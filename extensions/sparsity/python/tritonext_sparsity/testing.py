"""Sparse matrices for tests."""

from __future__ import annotations

import numpy as np

from .elements import element

__all__ = ["sparse_matrix"]


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
    zeros = np.where(
        rng.rand(*order.shape) < (0 if full or not kind.is_float or kind.special == "fnuz" else 0.3), -0.0, 0.0
    )
    return kind.encode(np.where(order < count, numbers, zeros)).reshape(rows, columns)
