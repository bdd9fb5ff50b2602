"""``v_smfmac`` of CDNA3 and CDNA4, lane by lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..elements import Element, element
from .fragments import Fragment, InstructionError, smfmac_a, smfmac_b, smfmac_d, smfmac_index
from .product import accumulate, check_codes

__all__ = ["Smfmac", "smfmac"]

_SHAPES = {16: {16: 32, 32: 16}, 8: {16: 64, 32: 32}}
_EIGHT_BITS = {"gfx942": {"fp8": "e4m3fnuz", "bf8": "e5m2fnuz"}, "gfx950": {"fp8": "e4m3", "bf8": "e5m2"}}


@dataclass(frozen=True)
class Smfmac:
    """``v_smfmac_<f32 or i32>_<m>x<m>x<k>_<types>`` of a wave of 64.

    Attributes:
        m: Rows and columns of the accumulator: 16 or 32.
        k: Logical K: 32 and 16 (f16, bf16) or 64 and 32 (i8, fp8, bf8) for m of 16 and 32; on gfx950 twice that too.
        a: Type of the values, as AMD spells it: f16, bf16, i8, fp8 or bf8.
        b: Type of B: that of ``a``, where fp8 and bf8 mix.
        arch: ``gfx942``, whose 8-bit floats are of the ``fnuz`` kind, or ``gfx950``, where they are OCP's.

    Raises:
        InstructionError: There is no such instruction.

    Source: CDNA3 ISA 7.5 and CDNA4 ISA 7.5, "Sparse matrices"; LLVM, ``IntrinsicsAMDGPU.td``.
    """

    m: int
    k: int
    a: str
    b: str
    arch: str = "gfx942"

    def __post_init__(self) -> None:
        if self.arch not in _EIGHT_BITS:
            raise InstructionError("smfmac is unknown on this target", expected="gfx942 or gfx950", found=self.arch)
        known = {"f16", "bf16", "i8", *_EIGHT_BITS[self.arch]}
        if self.a not in known or (self.a != self.b and not {self.a, self.b} <= {"fp8", "bf8"}):
            raise InstructionError(
                "smfmac does not multiply these types",
                expected="f16, bf16 or i8 by itself, or fp8 and bf8",
                found=f"{self.a} by {self.b}",
            )
        base = _SHAPES[self.types[0].bits].get(self.m)
        legal = () if base is None else (base,) if self.arch == "gfx942" else (base, 2 * base)
        if self.k not in legal:
            raise InstructionError(
                f"smfmac of {self.a} has no such shape on {self.arch}",
                expected=" or ".join(
                    f"{m}x{m}x{k * factor}"
                    for m, k in _SHAPES[self.types[0].bits].items()
                    for factor in ((1,) if self.arch == "gfx942" else (1, 2))
                ),
                found=f"{self.m}x{self.m}x{self.k}",
            )

    @property
    def types(self) -> tuple[Element, Element, Element]:
        """Types of values, B and accumulator."""
        names = {"i8": "s8"} | _EIGHT_BITS[self.arch]
        return (
            element(names.get(self.a, self.a)),
            element(names.get(self.b, self.b)),
            element("s32" if self.a == "i8" else "f32"),
        )

    def fragment_a(self) -> Fragment:
        """The kept values, [m, k / 2]."""
        return smfmac_a(self.types[0], self.m, self.k)

    def fragment_b(self) -> Fragment:
        """B, [k, m]."""
        return smfmac_b(self.types[1], self.m, self.k)

    def fragment_d(self) -> Fragment:
        """The accumulator, [m, m]."""
        return smfmac_d(self.m)

    def fragment_index(self, cbsz: int = 0, abid: int = 0) -> Fragment:
        """The codes, [m, k / 4], in the part of the index register that ``cbsz`` and ``abid`` name.

        With ``cbsz`` 0, ``abid`` numbers the part; any other ``cbsz`` means the first. Of a register, the forms of 16
        bits take 8 bits and those of 8 bits 16, and forms of the doubled K twice that.

        Raises:
            InstructionError: There is no such part.

        Source: AMD's matrix instruction calculator, "CBSZ and ABID in SMFMAC instructions"; MLIR,
        ``amdgpu.sparse_mfma``. The parts of the doubled forms follow from the width of their indices.
        """
        return smfmac_index(self.types[0], self.m, self.k, 0 if cbsz else abid)


def smfmac(
    instruction: Smfmac,
    a: np.ndarray,
    b: np.ndarray,
    d: np.ndarray,
    index: np.ndarray,
    *,
    cbsz: int = 0,
    abid: int = 0,
) -> np.ndarray:
    """Run ``v_smfmac`` and return the registers of D, uint32 [64, registers].

    Args:
        instruction: Which one.
        a: Registers of the values, uint32 [64, registers of a lane].
        b: Registers of B.
        d: Registers of the accumulator before.
        index: The index register, uint32 [64] or [64, 1].
        cbsz: The modifier of that name.
        abid: The modifier of that name.

    Raises:
        InstructionError: An operand has another shape, the index register has no such part, or a code that is read is
            illegal. Hardware takes the two positions of a group in any order; this project writes them in order, and
            so do these checks.
    """
    types = instruction.types
    codes = check_codes(instruction.fragment_index(cbsz, abid).unpack(index), types[0])
    fragment = instruction.fragment_d()
    result = accumulate(
        instruction.fragment_a().unpack(a), codes, instruction.fragment_b().unpack(b), fragment.unpack(d), types
    )
    return fragment.pack(result)
