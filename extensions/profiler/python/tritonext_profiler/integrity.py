"""Whether the records of a kernel still stand in front of their operations in the machine code.

The assembler may move instructions across a clock read. A record is a 32-bit read of the cycle counter, and records
keep their order, so the code between one and the next has to hold the instruction that the region is named for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tritonext import inspect_code
from tritonext.inspect_code import Instruction

from .model import Kernel

__all__ = ["check", "moved"]

_MARK = re.compile(r"CS2R\.32")

# Instructions of NVIDIA GPUs that a region of a category has at least one of, by the beginning of their names. Others,
# such as reductions, are made of whatever instructions suit.
_EXPECTED = {
    "copy_issue": ("LDGSTS", "LDGDEPBAR", "UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP"),
    "copy_wait": ("DEPBAR", "LDGDEPBAR", "UTMACMDFLUSH"),
    "mma_issue": ("HGMMA", "IGMMA", "QGMMA", "BGMMA", "HMMA", "IMMA", "QMMA", "DMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA"),
    "mma_wait": ("WARPGROUP.DEPBAR", "SYNCS"),
    "global_load": ("LDG", "LD."),
    "global_store": ("STG", "ST.", "RED"),
    "shared_load": ("LDS",),
    "shared_store": ("STS",),
    "mbarrier_wait": ("SYNCS",),
}


def moved(code: Sequence[Instruction], kernel: Kernel) -> tuple[int, ...] | None:
    """Return the regions in whose code their operation is not.

    Args:
        code: Instructions in the order of the program.
        kernel: The kernel.

    Returns:
        Numbers of regions; None where records cannot be told apart, as when code was duplicated.
    """
    marks = [
        place
        for place, instruction in enumerate(code)
        if _MARK.fullmatch(instruction.name) and "CLOCKLO" in instruction.operands
    ]
    regions = kernel.regions[1:]
    if len(marks) != len(regions):
        return None
    result = []
    for region, begin, end in zip(regions, marks, [*marks[1:], len(code)]):
        wanted = _EXPECTED.get(region.category)
        if wanted and not any(instruction.name.startswith(wanted) for instruction in code[begin + 1 : end]):
            result.append(region.id)
    return tuple(result)


def check(compiled: Any, kernel: Kernel) -> tuple[int, ...] | None:
    """Disassemble a compiled kernel and return what :func:`moved` says; None for other GPUs than NVIDIA's.

    Raises:
        TritonextError: There is no disassembler, or it fails.
    """
    if not kernel.target.startswith("cuda") or kernel.mode == "header":
        return None
    return moved(inspect_code.disassemble(compiled), kernel)
