"""What the instructions of all vendors have in common: codes, and the sum of products."""

from __future__ import annotations

import numpy as np

from ..elements import Element
from .fragments import InstructionError

__all__ = ["accumulate", "check_codes"]


def check_codes(codes: np.ndarray, kind: Element) -> np.ndarray:
    """Return ``codes``, [M, groups], if all are legal.

    Raises:
        InstructionError: One is not.
    """
    illegal = np.argwhere(~np.isin(codes, kind.legal_codes))
    if illegal.size:
        row, group = (int(i) for i in illegal[0])
        raise InstructionError(
            f"a code of metadata is illegal for {kind.name}",
            expected=" ".join(f"0x{code:x}" for code in kind.legal_codes),
            found=f"0x{int(codes[row, group]):x}",
            where=f"row {row}, group {group}",
        )
    return codes


def accumulate(
    values: np.ndarray,
    codes: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    types: tuple[Element, Element, Element],
    *,
    scale: int = 1,
    saturate: bool = False,
) -> np.ndarray:
    """Return the bits of ``scale * expand(values, codes) @ b + c``.

    Elements of ``b`` that no code names are not read, so their infinities and NaN do not show. Floats are summed in
    float64 and rounded once, to nearest even: hardware rounds oftener and truncates, so comparisons with it need a
    tolerance unless the numbers are small integers. Integers are exact, and wrap to 32 bits or saturate.

    Args:
        values: Bits of the kept values, [M, K / 2].
        codes: Legal codes, [M, groups].
        b: Bits of B, [K, N].
        c: Bits of the accumulator, [M, N].
        types: Types of values, B and accumulator.
        scale: 1 or -1.
        saturate: Whether integers saturate.
    """
    a_type, b_type, acc_type = types
    group, kept = a_type.group, a_type.group // 2
    if kept == 1:
        positions = (codes >> 2 >= 2).astype(np.int64)[:, :, None]
    else:
        positions = np.stack([codes & 3, codes >> 2], axis=2).astype(np.int64)
    k = (positions + group * np.arange(codes.shape[1])[:, None]).reshape(values.shape)
    products = a_type.multiplied.decode(values)
    right = b_type.multiplied.decode(b)
    with np.errstate(invalid="ignore", over="ignore"):
        total = acc_type.decode(c) + scale * np.einsum("mk,mkn->mn", products, right[k])
    if not acc_type.is_float and saturate:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return acc_type.encode(total)
