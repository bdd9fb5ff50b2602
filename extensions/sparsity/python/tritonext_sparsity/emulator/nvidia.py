"""``mma.sp`` and ``wgmma.mma_async.sp``, lane by lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..elements import Element, element
from .fragments import (
    Fragment,
    InstructionError,
    mma_a,
    mma_b,
    mma_d,
    mma_meta,
    wgmma_a,
    wgmma_d,
    wgmma_meta,
)
from .product import accumulate, check_codes
from .shared import MatrixDescriptor, addresses

__all__ = ["MmaSp", "WgmmaSp", "mma_sp", "wgmma_sp"]

_SAME = {("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32")}
_BYTES = {"s8", "u8"}
_FP8 = {"e4m3", "e5m2"}


def _operand_types(name: str, a: str, b: str, acc: str) -> tuple[Element, Element, Element]:
    """Return the types of an instruction, or refuse their combination."""
    accumulators = {"f16": ("f32", "f16"), "bf16": ("f32",), "tf32": ("f32",)} | {
        **dict.fromkeys(_BYTES, ("s32",)),
        **dict.fromkeys(_FP8, ("f32", "f16")),
    }
    together = (a, b) in _SAME or {a, b} <= _BYTES or {a, b} <= _FP8
    if not together or acc not in accumulators[a]:
        raise InstructionError(
            f"{name} does not multiply these types",
            expected="f16, bf16 or tf32 by itself, s8 and u8, or e4m3 and e5m2, into f32, f16 (not bf16, tf32) or s32",
            found=f"{a} by {b} into {acc}",
        )
    return element(a), element(b), element(acc)


@dataclass(frozen=True)
class MmaSp:
    """``mma.sp::ordered_metadata.sync.aligned.m16n8k<k>.row.col``.

    Attributes:
        k: Logical K: 16 or 32 for 16-bit types, 8 or 16 for tf32, 32 or 64 for s8 and u8, 64 for e4m3 and e5m2.
        a: Type of the values, as PTX spells it.
        b: Type of B.
        acc: Type of C and D.

    Raises:
        InstructionError: There is no such instruction.

    Source: PTX ISA 9.1, 9.7.14.6.
    """

    k: int
    a: str
    b: str
    acc: str

    def __post_init__(self) -> None:
        types = _operand_types("mma.sp", self.a, self.b, self.acc)
        wide = 512 // types[0].bits
        legal = (wide,) if self.a in _FP8 else (wide // 2, wide)
        if self.k not in legal:
            raise InstructionError(f"mma.sp of {self.a} has no such K", expected=legal, found=self.k)

    def fragment_a(self) -> Fragment:
        """The kept values, [16, k / 2]."""
        return mma_a(element(self.a), self.k // 2)

    def fragment_b(self) -> Fragment:
        """B, [k, 8]."""
        return mma_b(element(self.b), self.k)

    def fragment_d(self) -> Fragment:
        """C and D, [16, 8]."""
        return mma_d(element(self.acc))

    def fragment_meta(self, selector: int) -> Fragment:
        """The codes, [16, k / 4], or [16, k / 2] for tf32."""
        return mma_meta(element(self.a), self.k, selector)


def mma_sp(
    instruction: MmaSp,
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    meta: np.ndarray,
    selector: int,
    *,
    satfinite: bool = False,
) -> np.ndarray:
    """Run ``mma.sp`` and return the registers of D, uint32 [32, registers].

    Args:
        instruction: Which one.
        a: Registers of the values, uint32 [32, registers of a lane].
        b: Registers of B.
        c: Registers of C.
        meta: The metadata operand, uint32 [32] or [32, 1]. Lanes that the selector leaves out may hold anything.
        selector: The sparsity selector.
        satfinite: Whether sums of integers saturate; they wrap otherwise.

    Raises:
        InstructionError: An operand has another shape, a selector is out of range, or a code that is read is illegal.
    """
    fragment = instruction.fragment_meta(selector)
    codes = check_codes(fragment.unpack(meta), element(instruction.a))
    d = instruction.fragment_d()
    result = accumulate(
        instruction.fragment_a().unpack(a),
        codes,
        instruction.fragment_b().unpack(b),
        d.unpack(c),
        (element(instruction.a), element(instruction.b), element(instruction.acc)),
        saturate=satfinite,
    )
    return d.pack(result)


@dataclass(frozen=True)
class WgmmaSp:
    """``wgmma.mma_async.sp.sync.aligned.m64n<n>k<k>``, K being 32 for 16-bit types, 16 for tf32 and 64 for 8-bit types.

    Attributes:
        n: Columns of B: a multiple of 8 up to 256, of integers above 32 a multiple of 16, and 24.
        a: Type of the values, as PTX spells it.
        b: Type of B.
        acc: Type of D.

    Raises:
        InstructionError: There is no such instruction.

    Source: PTX ISA 9.1, 9.7.15.6.3.
    """

    n: int
    a: str
    b: str
    acc: str

    def __post_init__(self) -> None:
        _operand_types("wgmma.mma_async.sp", self.a, self.b, self.acc)
        legal = self.n % 8 == 0 and 8 <= self.n <= 256
        if self.acc == "s32":
            legal = legal and (self.n % 16 == 0 or self.n in (8, 24))
        if not legal:
            raise InstructionError(
                f"wgmma.mma_async.sp of {self.a} has no such N",
                expected="8, 16, 24, 32, 48, 64, 80, .. 256" if self.acc == "s32" else "8, 16, 24, .. 256",
                found=self.n,
            )

    @property
    def k(self) -> int:
        """Logical K."""
        return 512 // element(self.a).bits

    def fragment_a(self) -> Fragment:
        """The kept values in registers, [64, k / 2]."""
        return wgmma_a(element(self.a))

    def fragment_d(self) -> Fragment:
        """D, [64, n]."""
        return wgmma_d(element(self.acc), self.n)

    def fragment_meta(self, selector: int) -> Fragment:
        """The codes, [64, k / 4], or [64, k / 2] for tf32."""
        return wgmma_meta(element(self.a), selector)


def wgmma_sp(
    instruction: WgmmaSp,
    a: np.ndarray | int,
    b: int,
    d: np.ndarray,
    meta: np.ndarray,
    selector: int,
    *,
    shared: np.ndarray,
    scale_d: bool = True,
    scale_a: int = 1,
    scale_b: int = 1,
    trans_a: bool = False,
    trans_b: bool = False,
    satfinite: bool = False,
) -> np.ndarray:
    """Run ``wgmma.mma_async.sp``, as if it were over at once, and return the registers of D, uint32 [128, registers].

    Args:
        instruction: Which one.
        a: The values: a matrix descriptor, or their registers, uint32 [128, 4].
        b: Matrix descriptor of B.
        d: Registers of D before.
        meta: The metadata operand, uint32 [128] or [128, 1].
        selector: The sparsity selector.
        shared: The block's shared memory from address 0, uint8.
        scale_d: Whether D is added.
        scale_a: 1, or -1 to negate the values; of floats only.
        scale_b: 1, or -1 to negate B; of floats only.
        trans_a: Whether the values are M-major in shared memory; of 16-bit types only.
        trans_b: Whether B is N-major in shared memory; of 16-bit types only.
        satfinite: Whether sums of integers saturate; they wrap otherwise.

    Raises:
        InstructionError: An operand or immediate is none that the instruction accepts, a matrix reaches beyond
            ``shared``, or a code that is read is illegal.
    """
    a_type, b_type, acc_type = element(instruction.a), element(instruction.b), element(instruction.acc)
    if scale_a not in (1, -1) or scale_b not in (1, -1) or (not a_type.is_float and (scale_a, scale_b) != (1, 1)):
        raise InstructionError(
            "a scale of wgmma.mma_async.sp is out of range",
            expected="1 or -1, and 1 of integers",
            found=(scale_a, scale_b),
        )
    if (trans_a and not isinstance(a, int)) or ((trans_a or trans_b) and a_type.bits != 16):
        raise InstructionError(
            "an operand of wgmma.mma_async.sp cannot be transposed",
            expected="16-bit types in shared memory",
            found=f"{instruction.a} in {'shared memory' if isinstance(a, int) else 'registers'}",
        )
    codes = check_codes(instruction.fragment_meta(selector).unpack(meta), a_type)
    if isinstance(a, int):
        values = _load(shared, a, 64, instruction.k // 2, a_type, not trans_a)
    else:
        values = instruction.fragment_a().unpack(a)
    fragment = instruction.fragment_d()
    before = fragment.unpack(d)
    result = accumulate(
        values,
        codes,
        _load(shared, b, instruction.n, instruction.k, b_type, not trans_b).T,
        before if scale_d else np.zeros_like(before),
        (a_type, b_type, acc_type),
        scale=scale_a * scale_b,
        saturate=satfinite,
    )
    return fragment.pack(result)


def _load(shared: np.ndarray, word: int, mn: int, k: int, kind: Element, k_major: bool) -> np.ndarray:
    """Return the bits of a matrix [mn, k] in shared memory."""
    where = addresses(MatrixDescriptor.decode(word), mn, k, kind.bits, k_major)
    last = int(where.max()) + kind.bits // 8
    if last > shared.size:
        raise InstructionError(
            "a matrix descriptor reaches beyond shared memory", expected=f"at most {shared.size} bytes", found=last
        )
    parts = [shared[where + i].astype(np.uint32) << np.uint32(8 * i) for i in range(kind.bits // 8)]
    return np.bitwise_or.reduce(parts).astype(kind.storage)
