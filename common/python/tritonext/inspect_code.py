"""Count what a compiled kernel is made of: barriers, memory, registers, spills and instructions by class.

NVIDIA machine code is disassembled by the ``cuobjdump`` the Triton wheel ships; for AMD the assembly text Triton keeps
is read. Both give one :class:`CodeStats`, so a change can be judged in the same terms on every target.
"""

from __future__ import annotations

import abc
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from triton.compiler import CompiledKernel

from ._triton import wheel
from .errors import ExtensionError, UserError

__all__ = ["CodeStats", "Instruction", "describe_widths", "disassemble", "regressions", "stats"]


class Instruction(NamedTuple):
    """One machine instruction.

    Args:
        address: Its address, or the line of the assembly text.
        name: Its name with modifiers.
        operands: Its operands as printed.
        jump: The address a branch may go to.
        ends: Whether the program always ends here.
        guarded: Whether it is executed under a condition.
    """

    address: int
    name: str
    operands: str = ""
    jump: int | None = None
    ends: bool = False
    guarded: bool = False


@dataclass(frozen=True)
class CodeStats:
    """Static facts about one compiled kernel.

    Args:
        target: Backend and architecture, such as ``cuda:90``.
        barriers: Instructions at which every warp of the program waits for the others.
        epilogue_barriers: Those of them after the last tensor-core instruction and the loop it is in; 0 without one.
        warp_barriers: Barriers among the lanes of one warp.
        shared_bytes: Shared memory of a program.
        registers: Vector registers of a thread.
        spills: Instructions that access spill memory.
        stack_bytes: Spill memory of a thread.
        instructions: All instructions but padding.
        classes: Instructions by class, the most frequent first.
        histogram: Instructions by full name.
        global_loads: Global loads by width in bits, asynchronous copies to shared memory included.
        global_stores: Global stores by width in bits.
        bulk_copies: Instructions that move a whole tile between global and shared memory.
        shared_accesses: Instructions that read or write shared memory.
        shuffles: Exchanges between lanes of a warp.
        mma: Tensor-core instructions.
    """

    target: str
    barriers: int
    epilogue_barriers: int
    warp_barriers: int
    shared_bytes: int
    registers: int
    spills: int
    stack_bytes: int
    instructions: int
    classes: Mapping[str, int]
    histogram: Mapping[str, int]
    global_loads: Mapping[int, int]
    global_stores: Mapping[int, int]
    bulk_copies: int
    shared_accesses: int
    shuffles: int
    mma: int

    @property
    def mean_store_bits(self) -> float:
        """Average width of a global store in bits, 0 when there is none."""
        count = sum(self.global_stores.values())
        return sum(width * number for width, number in self.global_stores.items()) / count if count else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain data for ``json.dumps``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: {str(key): number for key, number in value.items()} if isinstance(value, Mapping) else value
            for name, value in values.items()
        }


def describe_widths(widths: Mapping[int, int]) -> str:
    """Return accesses by width as text, such as ``8 x 128 bit``."""
    return ", ".join(f"{count} x {width} bit" for width, count in sorted(widths.items(), reverse=True)) or "none"


def regressions(before: CodeStats, after: CodeStats) -> list[str]:
    """Say in which counts ``after`` is worse than ``before``: barriers, shared memory, spills or store width.

    Registers and instruction counts are no regression by themselves: more of either is often faster.
    """
    worse = [
        f"{label} grew from {old} to {new}"
        for label, old, new in (
            ("barriers", before.barriers, after.barriers),
            ("barriers after the last tensor-core instruction", before.epilogue_barriers, after.epilogue_barriers),
            ("shared memory bytes", before.shared_bytes, after.shared_bytes),
            ("spill instructions", before.spills, after.spills),
            ("spill bytes", before.stack_bytes, after.stack_bytes),
        )
        if new > old
    ]
    if after.mean_store_bits < before.mean_store_bits:
        worse.append(f"mean store width fell from {before.mean_store_bits:g} to {after.mean_store_bits:g} bits")
    return worse


def stats(kernel: CompiledKernel) -> CodeStats:
    """Count the machine code of ``kernel``.

    Raises:
        UserError: The kernel holds no machine code this module can read.
    """
    target = kernel.metadata.target
    code = disassemble(kernel)
    architecture = _NVIDIA if target.backend == "cuda" else _AMD
    classes, loads, stores = Counter(), Counter(), Counter()
    for instruction in code:
        class_ = architecture.classify(instruction.name)
        classes[class_] += 1
        if class_ in ("global load", "global store"):
            (loads if class_ == "global load" else stores)[architecture.width(instruction.name)] += 1
    registers, stack = architecture.resources(kernel)
    return CodeStats(
        target=f"{target.backend}:{target.arch}",
        barriers=sum(map(architecture.is_barrier, code)),
        epilogue_barriers=sum(map(architecture.is_barrier, _epilogue(code, architecture))),
        warp_barriers=architecture.warp_barriers(kernel),
        shared_bytes=kernel.metadata.shared,
        registers=registers,
        spills=classes["spill"],
        stack_bytes=stack,
        instructions=len(code),
        classes=dict(classes.most_common()),
        histogram=dict(Counter(instruction.name for instruction in code).most_common()),
        global_loads=dict(sorted(loads.items())),
        global_stores=dict(sorted(stores.items())),
        bulk_copies=classes["bulk copy"],
        shared_accesses=classes["shared"],
        shuffles=classes["shuffle"],
        mma=classes["mma"],
    )


def disassemble(kernel: CompiledKernel) -> list[Instruction]:
    """Return the instructions of ``kernel`` in program order, padding left out.

    Raises:
        UserError: The kernel holds no machine code this module can read.
    """
    if "cubin" in kernel.asm:
        return [instruction for instruction in _sass(kernel.asm["cubin"]) if instruction.name != "NOP"]
    if "amdgcn" in kernel.asm:
        return [instruction for instruction in _gcn(kernel.asm["amdgcn"]) if instruction.name != "s_nop"]
    raise UserError("the kernel has no machine code", expected="cubin or amdgcn", found=", ".join(kernel.asm))


def _epilogue(code: list[Instruction], architecture: _Architecture) -> list[Instruction]:
    """Instructions after the last tensor-core instruction, its wait, and every loop around them."""
    cut = max((i for i, instruction in enumerate(code) if architecture.ends_mainloop(instruction.name)), default=None)
    if cut is None:
        return []
    # Behind the end of the program lie rarely taken blocks that jump back into it; they close no loop.
    end = next((i for i in range(cut, len(code)) if code[i].ends), len(code))
    while True:
        start = code[cut].address
        closing = [i for i in range(cut + 1, end) if (jump := code[i].jump) is not None and jump <= start]
        if not closing:
            return code[cut + 1 :]
        cut = closing[-1]


class _Architecture(abc.ABC):
    """What to make of the instructions of one vendor."""

    classes: tuple[tuple[str, str], ...]
    barrier: str
    mainloop: str

    def __init__(self) -> None:
        self._classes = [(name, re.compile(pattern)) for name, pattern in self.classes]

    def classify(self, name: str) -> str:
        """Class of an instruction by the first matching pattern."""
        return next((class_ for class_, pattern in self._classes if pattern.match(name)), "other")

    def is_barrier(self, instruction: Instruction) -> bool:
        """Whether all warps of the program meet here."""
        return re.match(self.barrier, instruction.name) is not None

    def ends_mainloop(self, name: str) -> bool:
        """Whether the instruction belongs to the tensor-core part of the kernel."""
        return re.match(self.mainloop, name) is not None

    @abc.abstractmethod
    def width(self, name: str) -> int:
        """Bits a memory instruction moves for each lane."""

    @abc.abstractmethod
    def resources(self, kernel: CompiledKernel) -> tuple[int, int]:
        """Registers and stack bytes of a thread."""

    @abc.abstractmethod
    def warp_barriers(self, kernel: CompiledKernel) -> int:
        """Barriers among the lanes of one warp."""


class _Nvidia(_Architecture):
    # The order decides: UTMALDG is a bulk copy before it is an instruction of the uniform datapath.
    classes = (
        ("mma", r"(H|I|Q|D|B|O)G?MMA|UTC\w*MMA"),
        ("bulk copy", r"UTMA|UBLK"),
        ("global load", r"LDG(STS)?(\.|$)|LD\.E"),
        ("global store", r"STG|ST\.E"),
        ("atomic", r"ATOM(G|\.|$)|RED(G|\.|$)"),
        ("spill", r"LDL|STL"),
        ("shared", r"LDS|STS|ATOMS"),
        ("tensor memory", r"LDTM|STTM|UTC"),
        ("shuffle", r"SHFL"),
        (
            "synchronization",
            r"BAR\.|WARPSYNC|WARPGROUP|\w*DEPBAR|SYNCS|MEMBAR|FENCE|CCTL|ERRBAR|UCGABAR|ACQBULK|USETMAXREG|LDGDEPBAR",
        ),
        ("permute", r"PRMT|UPRMT|MOVM"),
        ("convert", r"F2|I2|FRND"),
        ("special", r"MUFU"),
        ("float", r"[FHD]H?(ADD|MUL|FMA|SET|SEL|MNMX|CHK|SWZ)|VHMNMX"),
        ("control", r"BRA|BRX|EXIT|BSSY|BSYNC|BREAK|CALL|RET|JMP|NANOSLEEP|BPT|YIELD|KILL|WARPEXIT|ELECT"),
        ("move", r"U?MOV|CS2R|S2U?R|R2UR|UR2UP|R2P|P2R|U?LDCU?|U?SEL|ULDC"),
        (
            "integer",
            r"U?(I(MAD|ADD|ABS|SETP|MNMX|DP|MUL)|LOP|SHF|SHL|SHR|LEA|VI|SGXT|PLOP|FLO|BREV|POPC|BMSK|VOTE|C?REDUX)",
        ),
    )
    # Programs of several CTAs meet at the barrier of their cluster.
    barrier = r"BAR\.(SYNC|RED)|UCGABAR_WAIT"
    mainloop = r"(H|I|Q|D|B|O)G?MMA|UTC\w*MMA|WARPGROUP\.DEPBAR"

    def width(self, name: str) -> int:
        for part in name.split(".")[1:]:
            if part in ("64", "128", "256"):
                return int(part)
            if part in ("U8", "S8", "U16", "S16"):
                return int(part[1:])
        return 32

    def resources(self, kernel: CompiledKernel) -> tuple[int, int]:
        text = _cuobjdump(kernel.asm["cubin"], "--dump-resource-usage")
        usage = re.findall(r"REG:(\d+) STACK:(\d+)", text)
        if not usage:
            raise ExtensionError("cuobjdump reports no resource usage", found=text.strip())
        return max(int(registers) for registers, _ in usage), max(int(stack) for _, stack in usage)

    def warp_barriers(self, kernel: CompiledKernel) -> int:
        # The assembler turns a barrier of a converged warp into nothing, so the machine code no longer shows it.
        return len(re.findall(r"\bbar\.warp\.sync\b", kernel.asm["ptx"]))


class _Amd(_Architecture):
    classes = (
        ("mma", r"v_(s?mfma|smfmac|wmma|swmmac)"),
        ("bulk copy", r"tensor_(load|store)"),
        ("global load", r"(global|buffer|flat)_load|cluster_load"),
        ("global store", r"(global|buffer|flat)_store"),
        ("atomic", r"(global|buffer|flat)_atomic"),
        ("spill", r"scratch_"),
        ("shuffle", r"ds_(b?permute|swizzle)|v_permlane|v_\w+_dpp|v_readlane|v_writelane"),
        ("shared", r"ds_"),
        ("synchronization", r"s_barrier|s_wait|s_waitcnt"),
        ("permute", r"v_perm_|v_alignbyte|v_alignbit|v_pack|v_bfi"),
        ("convert", r"v_cvt"),
        ("special", r"v_(exp|log|rcp|rsq|sqrt|sin|cos)"),
        ("control", r"s_(c?branch|endpgm|setpc|swappc|getpc|call|sleep|trap)"),
        ("move", r"v_(mov|accvgpr|cndmask|readfirstlane)|s_(mov|cmov|cselect|load|buffer_load)"),
        ("float", r"v_\w*_(f16|f32|f64|bf16)"),
        ("scalar", r"s_"),
        ("integer", r"v_"),
    )
    barrier = r"s_barrier(?!_signal)"
    mainloop = r"v_(s?mfma|smfmac|wmma|swmmac)"

    def width(self, name: str) -> int:
        if match := re.search(r"dwordx?(\d?)", name):
            return 32 * int(match[1] or 1)
        match = re.search(r"_[biu](\d+)(?:_|$)", name)
        if match:
            return int(match[1])
        return 8 if "byte" in name else 16

    def resources(self, kernel: CompiledKernel) -> tuple[int, int]:
        text = kernel.asm["amdgcn"]
        values = []
        for key in (".vgpr_count", ".private_segment_fixed_size"):
            match = re.search(rf"{re.escape(key)}:\s+(\d+)", text)
            if match is None:
                raise ExtensionError("the assembly has no kernel metadata", expected=key)
            values.append(int(match[1]))
        return values[0], values[1]

    def warp_barriers(self, kernel: CompiledKernel) -> int:
        return len(re.findall(r"; wave barrier", kernel.asm["amdgcn"]))


def _cuobjdump(cubin: bytes, option: str) -> str:
    own = wheel.installed().root / "backends" / "nvidia" / "bin" / "cuobjdump"
    tool = own if own.is_file() else shutil.which("cuobjdump")
    if tool is None:
        raise ExtensionError(
            "no disassembler for NVIDIA machine code",
            expected=f"{own}, or a cuobjdump on the search path",
            hint="reinstall triton, or install the CUDA toolkit",
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        result = subprocess.run([tool, option, file.name], capture_output=True, text=True, check=False)
    if result.returncode:
        raise ExtensionError("cuobjdump failed", where=option, found=result.stderr.strip())
    return result.stdout


_SASS = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(@!?\w+\s+)?([A-Z][\w.]*)\s*([^;]*);", re.MULTILINE)
_SASS_JUMP = re.compile(r"0x([0-9a-f]+)\s*$")


def _sass(cubin: bytes) -> Iterable[Instruction]:
    for match in _SASS.finditer(_cuobjdump(cubin, "-sass")):
        address, predicate, name, operands = int(match[1], 16), match[2], match[3], match[4].strip()
        target = _SASS_JUMP.search(operands) if name.startswith("BRA") else None
        ends = name == "EXIT" and predicate is None and not operands
        # A branch may have its condition as an operand too: `BRA.U UP0, 0x100`.
        guarded = predicate is not None or (target is not None and "," in operands)
        yield Instruction(address, name, operands, int(target[1], 16) if target else None, ends, guarded)


_GCN = re.compile(r"^\s+((?:s|v|ds|global|buffer|flat|scratch|tensor|cluster)_\w+)[ \t]*([^;\n]*)")
_GCN_LABEL = re.compile(r"^(\.LBB\w+):")


def _gcn(text: str) -> Iterable[Instruction]:
    lines = text.partition(".amdgpu_metadata")[0].splitlines()
    labels = {match[1]: number for number, line in enumerate(lines) if (match := _GCN_LABEL.match(line))}
    for number, line in enumerate(lines):
        if match := _GCN.match(line):
            operands = match[2].strip()
            jump = labels.get(operands) if "branch" in match[1] else None
            yield Instruction(number, match[1], operands, jump, match[1] == "s_endpgm", "cbranch" in match[1])


_NVIDIA = _Nvidia()
_AMD = _Amd()
