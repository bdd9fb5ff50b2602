"""Whether the records of a kernel still stand around the instructions that they are about.

The assembler may move an instruction across a read of the clock. On NVIDIA a record is a read of the clock into a
register, and the clocks of up to three records are stored behind the number of the first one's region, so the machine
code shows which region each read begins, and what is executed until the next one.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tritonext.errors import UserError
from tritonext.inspect_code import disassemble

__all__ = ["Moved", "check", "markers"]

# What a region has at least one of, and no region of another category should have.
_INSTRUCTIONS = {
    "copy_issue": r"LDGSTS|LDGDEPBAR|UTMALDG|UTMASTG|UTMAREDG|UTMACMDFLUSH|ARRIVES\.LDGSTSBAR|SYNCS\.ARRIVE\.TRANS64",
    "copy_wait": r"DEPBAR\.LE",
    "mma_issue": r"HGMMA|IGMMA|QGMMA|HMMA|IMMA|QMMA|UTC\w*(MMA|BAR)",
    "mma_wait": r"WARPGROUP\.DEPBAR",
    "mbarrier_wait": r"SYNCS\.PHASECHK",
    "barrier": r"BAR\.(SYNC|RED|ARV)|UCGABAR|WARPSYNC",
    "global_load": r"LDG\.|LDG$|UTMALDG|LDGSTS",
    "global_store": r"STG\.|STG$|UTMASTG",
    "shared_load": r"LDS|LDTM",
    "shared_store": r"STS|STTM|STSM",
}
_ALONE = ("mma_issue", "mma_wait", "mbarrier_wait")


@dataclasses.dataclass(frozen=True)
class Moved:
    """A region whose record does not stand where it was put.

    Attributes:
        region: Number of the region, or of the one in which an instruction is that belongs to another.
        address: Of the read of the clock, or of that instruction.
        message: What is wrong.
    """

    region: int
    address: int
    message: str


def markers(code: Sequence[Any]) -> dict[int, int]:
    """Return which regions reads of the clock begin, by their place in the code.

    Args:
        code: Instructions, as :func:`tritonext.inspect_code.disassemble` gives them.
    """
    found = {}
    for place, instruction in enumerate(code):
        if instruction.name != "CS2R.32" or "SR_CLOCKLO" not in instruction.operands:
            continue
        register = int(re.match(r"R(\d+)", instruction.operands)[1])
        region = _stored(code, place, register)
        if region is not None:
            found[place] = region
    return found


def _stored(code: Sequence[Any], place: int, register: int) -> int | None:
    """Return the region of a clock, by the unit in which it is stored, or None when that is no record."""
    clocks = {register}
    for number, other in enumerate(code[place + 1 :], place + 1):
        # The unit may be put together by moves.
        copy = re.fullmatch(r"R(\d+), (?:RZ, RZ, )?R(\d+)(?:\.reuse)?", other.operands)
        if copy and "MOV" in other.name and int(copy[2]) in clocks:
            clocks.add(int(copy[1]))
        width = re.match(r"STG\.E\.(64|128)", other.name)
        data = re.search(r", R(\d+)$", other.operands)
        if width is None or data is None:
            continue
        unit = int(data[1])
        lanes = [lane for lane in range(1, int(width[1]) // 32) if unit + lane in clocks]
        if lanes:
            first = _constant(code, number, unit)
            # Where a unit has two, the last place repeats the second.
            return None if first is None else first + lanes[0] - 1
    return None


def _constant(code: Sequence[Any], place: int, register: int) -> int | None:
    """Return what a register holds, or None when it was not a move of a constant that wrote it last."""
    for other in reversed(code[:place]):
        match = re.fullmatch(rf"R{register}, (?:RZ, RZ, )?(0x[0-9a-f]+|RZ)", other.operands)
        if match and "MOV" in other.name:
            return 0 if match[1] == "RZ" else int(match[1], 16)
        if re.match(rf"R{register}\b", other.operands):
            return None
    return None


def _spans(code: Sequence[Any], begins: dict[int, int]) -> Iterator[tuple[int, int, list[Any]]]:
    """Yield region, place of its record, and the instructions behind it up to the next record.

    The version of the kernel without records is left out: no record leads to it. What lies behind the last instruction
    of the kernel are parts of loops that wait, which the assembler put there.
    """
    places = sorted(begins)
    last = max((place for place, other in enumerate(code) if other.name == "EXIT"), default=len(code))
    reached = _reached(code, places)
    for place, end in zip(places, [*places[1:], last]):
        yield begins[place], place, [code[inside] for inside in range(place + 1, end) if inside in reached]


def _reached(code: Sequence[Any], places: Sequence[int]) -> set[int]:
    """Return which instructions may be executed behind any of some places."""
    place_of = {other.address: place for place, other in enumerate(code)}
    reached: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        while place < len(code) and place not in reached:
            reached.add(place)
            other = code[place]
            if other.jump in place_of:
                waiting.append(place_of[other.jump])
            if re.match(r"(EXIT|BRA|BRX|RET)\b", other.name) and not other.guarded:
                break
            place += 1
    return reached


def check(kernel: Any) -> list[Moved]:
    """Return the regions of a compiled kernel whose records do not stand around their instructions.

    Args:
        kernel: Compiled for an NVIDIA GPU with records.

    Raises:
        UserError: It has no records, or is for another GPU.
    """
    table = getattr(kernel.metadata, "tritonext_profiler", None)
    if table is None or table["mode"] == "header" or not table["target"].startswith("cuda"):
        raise UserError(
            "the kernel has no records whose places could be checked",
            expected="a kernel compiled for cuda in mode auto or all",
            found="none" if table is None else f"mode {table['mode']}, target {table['target']}",
        )
    regions, code = table["regions"], disassemble(kernel)
    begins = markers(code)
    moved = [
        Moved(number, 0, f"the record of region {number}, {region['category']}, is not in the machine code")
        for number, region in enumerate(regions)
        if number and number not in begins.values()
    ]
    for number, place, inside in _spans(code, begins):
        category = regions[number]["category"]
        own = _INSTRUCTIONS.get(category)
        if own is not None and not any(re.match(own, other.name) for other in inside):
            moved.append(
                Moved(number, code[place].address, f"region {number}, {category}, has none of its instructions")
            )
        for other in inside:
            for name in _ALONE:
                if name != category and re.match(_INSTRUCTIONS[name], other.name):
                    moved.append(
                        Moved(number, other.address, f"{other.name} of {name} is in region {number}, {category}")
                    )
    return moved
