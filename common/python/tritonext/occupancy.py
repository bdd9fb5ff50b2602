"""How many programs of a kernel fit on a multiprocessor at once, from what its binary takes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

__all__ = ["REGISTER_UNIT", "Usage", "resident_programs", "useful_programs", "warps_of_scheduler"]

REGISTER_UNIT = 8
"""Registers of a thread come in multiples of this."""


@dataclass(frozen=True)
class Usage:
    """What one program of a kernel takes of a multiprocessor.

    Args:
        registers: Registers of a thread.
        spill_bytes: Bytes that a thread stores to and loads from spill memory, counted once for each instruction.
        shared_bytes: Shared memory.
        threads: Threads.
    """

    registers: int
    spill_bytes: int
    shared_bytes: int
    threads: int

    def to_json(self) -> dict[str, int]:
        """Return the fields as plain data for ``json.dumps``."""
        return asdict(self)


@dataclass(frozen=True)
class _Multiprocessor:
    """What there is, and in which portions it is handed out.

    Args:
        warp: Threads of a warp.
        warps: Warps.
        programs: Programs.
        registers: Registers of 32 bits.
        register_unit: Registers of a thread come in multiples of this.
        shared: Bytes of shared memory.
        shared_unit: They come in multiples of this.
        shared_reserved: Bytes that each program takes in addition.
        parts: Schedulers, each of which has its share of warps and registers.
    """

    warp: int
    warps: int
    programs: int
    registers: int
    register_unit: int
    shared: int
    shared_unit: int
    shared_reserved: int
    parts: int = 4


def _nvidia(warps: int, programs: int, shared_kib: int) -> _Multiprocessor:
    return _Multiprocessor(32, warps, programs, 65536, REGISTER_UNIT, shared_kib * 1024, 128, 1024)


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_NVIDIA = {
    75: _Multiprocessor(32, 32, 16, 65536, REGISTER_UNIT, 64 * 1024, 256, 0),
    80: _nvidia(64, 32, 164),
    86: _nvidia(48, 16, 100),
    87: _nvidia(48, 16, 164),
    89: _nvidia(48, 24, 100),
    90: _nvidia(64, 32, 228),
    100: _nvidia(64, 32, 228),
    103: _nvidia(64, 32, 228),
    120: _nvidia(48, 24, 100),
}
# AMD Instinct MI300 and CDNA 4 ISA references: 512 vector registers of each lane of a SIMD unit, eight waves on it.
_AMD = {
    "gfx942": _Multiprocessor(64, 32, 32, 4 * 512 * 64, REGISTER_UNIT, 64 * 1024, 512, 0),
    "gfx950": _Multiprocessor(64, 32, 32, 4 * 512 * 64, REGISTER_UNIT, 160 * 1024, 1280, 0),
}


def useful_programs(usage: Usage, target: str) -> int | None:
    """Return :func:`resident_programs`, but no more than fill half of the multiprocessor's warps.

    Latencies are hidden by then, and another program would not be worth a register: kernels reach their best rate at a
    fraction of the warps (V. Volkov, "Better Performance at Lower Occupancy", GTC 2010).
    """
    programs, machine = resident_programs(usage, target), _machine(target)
    if programs is None or machine is None:
        return None
    return min(programs, math.ceil(machine.warps // 2 * machine.warp / usage.threads))


def warps_of_scheduler(usage: Usage, target: str, full: bool) -> float:
    """Return how many warps share a scheduler, of one program or of as many as fit."""
    machine = _machine(target)
    if machine is None:
        return 1.0
    programs = max(1, resident_programs(usage, target) or 1) if full else 1
    return max(1.0, programs * math.ceil(usage.threads / machine.warp) / machine.parts)


def resident_programs(usage: Usage, target: str) -> int | None:
    """Return how many programs a multiprocessor holds at once; 0 when one does not fit.

    Args:
        usage: What one takes.
        target: Such as ``cuda:90`` or ``hip:gfx942``.

    Returns:
        The number, or None for a target whose multiprocessors are not in the table.
    """
    machine = _machine(target)
    if machine is None:
        return None
    warps = math.ceil(usage.threads / machine.warp)
    registers = max(1, math.ceil(usage.registers / machine.register_unit)) * machine.register_unit
    # Warps of one program may be on any scheduler, but each holds whole warps only.
    resident = min(machine.warps // machine.parts, machine.registers // machine.parts // (registers * machine.warp))
    shared = math.ceil((usage.shared_bytes + machine.shared_reserved) / machine.shared_unit) * machine.shared_unit
    limits = [machine.programs, resident * machine.parts // warps]
    if shared:
        limits.append(machine.shared // shared)
    return min(limits)


def _machine(target: str) -> _Multiprocessor | None:
    backend, _, name = target.partition(":")
    return _NVIDIA.get(int(name)) if backend == "cuda" else _AMD.get(name)
