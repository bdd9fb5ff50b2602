"""Estimate from NVIDIA machine code how long a pass through a kernel's loops takes.

The assembler schedules: each instruction says for how many cycles its warp waits behind it, and for which of six
scoreboards it waits before it. What is left to assume is how long memory takes. A warp that is replayed with that
tells two compilations of a kernel apart where counts do not, such as a load whose result is needed too early.

Z. Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018, describes the encoding; branch
targets moved in sm_90.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["SCENARIOS", "Loops", "Scenario", "slower"]

_WORD = 16
# Opcodes without the bits that say where operands come from.
_BRANCH, _EXIT, _NO_OPERATION = 0x147, 0x14D, 0x118
# A register is moved, or added to a product with the one that is zero.
_MOVE, _MULTIPLY, _ZERO = 0x002, 0x024, 255
# Predicates.
_ALWAYS, _NEVER = 7, 15
_GLOBAL_LOAD, _COPY = 0x181, 0x1AE
_MATRICES = {0x03B, 0x044}
_SHARED = {0x184, 0x188} | _MATRICES
_STORES = {0x188, 0x044, 0x186, 0x18E, 0x1A6}
_WAITS = {0x11D, 0x192, 0x1C6}
# Assumed cycles until a result is there, the same on every GPU: of shared memory, shuffles, matrices, and units that
# serve a quarter of a warp. What no scoreboard guards has its latency in the stall counts.
_LATENCY = {0x184: 33, 0x03B: 33, 0x189: 25, 0x03C: 33, 0x108: 22, 0x106: 22, 0x105: 22, 0x045: 22, 0x1F0: 128}
_OTHER = 15
# `wgmma` of floating-point types, whose field for N is known.
_PRODUCTS = {0x1F0, 0x1F3}


@dataclass(frozen=True)
class Scenario:
    """What is assumed of memory.

    Args:
        latency: Cycles until a load from global memory is answered.
        passes: Cycles that 32 bits of each lane keep the pipe of shared memory busy; more than 1 where warps meet.
    """

    latency: int
    passes: int


SCENARIOS = tuple(Scenario(latency, passes) for passes in (8, 1) for latency in (300, 600))
"""From what the L2 cache answers to what memory does, with and without conflicts in shared memory."""

# Copies of registers are many from this share of a loop on.
_COPIED = 0.1
# What a pass may take longer: the replay is no more exact.
_MARGIN = 0.015
# Where tensor cores have more to do than a warp, this part of the warp's time adds to theirs. Of eleven products on an
# H200 whose loops became longer, those whose pass gets longer by less than the margin with it have 0.99 to 1.04 of the
# speed they had, and the others 0.976 to 1.00.
_EXPOSED = 0.25


@dataclass(frozen=True)
class _Instruction:
    opcode: int
    stall: int
    sets: int
    frees: int
    waits: tuple[int, ...]
    width: int
    copies: bool
    product: int


class Loops:
    """The loops of a kernel, each without those inside it, or the whole of one that has none.

    Args:
        cubin: The binary.
        capability: Such as 90.
    """

    def __init__(self, cubin: bytes, capability: int) -> None:
        programs = [_words(text) for text in _texts(cubin)]
        self._bodies = [body for words in programs for body in _bodies(words, capability)]
        self.found = bool(self._bodies)
        if not self.found:
            self._bodies = [(1, _decoded(words)) for words in programs]
        self._replayed: dict[Scenario, list[int]] = {}

    @property
    def copied(self) -> bool:
        """Whether a loop spends much on moving registers about, which the assembler may do without."""
        return self.found and any(sum(each.copies for each in body) > _COPIED * len(body) for _, body in self._bodies)

    def cycles(self, scenario: Scenario, warps: float = 1.0) -> float:
        """Return the cycles of a pass for each warp of a scheduler, which issues one instruction in each.

        A loop in a loop counts ten times as much. Tensor cores that work asynchronously hide most of what is shorter.

        Args:
            scenario: What is assumed of memory.
            warps: How many warps share a scheduler, and hide each other's latencies.
        """
        if scenario not in self._replayed:
            # What a pass leaves in flight, the next one finds.
            repeats = 3 if self.found else 1
            self._replayed[scenario] = [_replay(body, scenario, repeats) for _, body in self._bodies]
        total = 0.0
        for (weight, body), cycles in zip(self._bodies, self._replayed[scenario]):
            own = max(cycles / max(warps, 1.0), float(len(body)))
            total += weight * max(own, sum(each.product for each in body) + _EXPOSED * own)
        return total


def slower(loops: Loops, plain: Loops, warps: float, plain_warps: float) -> str:
    """Return by how much a pass through loops takes longer than through those of another kernel; empty if it does not.

    Args:
        loops: Loops of the kernel in question.
        plain: Those of the other.
        warps: Warps that share a scheduler.
        plain_warps: The same of the other.
    """
    if loops.found != plain.found:
        return ""
    times = [
        (loops.cycles(scenario, warps), plain.cycles(scenario, plain_warps), scenario.latency) for scenario in SCENARIOS
    ]
    worse = [
        (takes / other, takes, other, latency) for takes, other, latency in times if 0 < other * (1 + _MARGIN) < takes
    ]
    # Of a kernel without loops many programs run at once, each in another place.
    if not worse or (not loops.found and len(worse) < len(times)):
        return ""
    _, takes, other, latency = max(worse)
    what = "its loops take" if loops.found else "it takes"
    return f"{what} {other:.0f} cycles instead of {takes:.0f} where a load takes {latency}"


def _replay(body: Sequence[_Instruction], scenario: Scenario, repeats: int) -> int:
    """Return the cycles of one warp in the last of some passes."""
    time = pipe = begun = 0
    ready = [0] * 6
    for _ in range(repeats):
        begun = time
        for each in body:
            for board in each.waits:
                if ready[board] > time:
                    time = ready[board]
            opcode = each.opcode
            latency = scenario.latency if opcode == _GLOBAL_LOAD else _LATENCY.get(opcode, _OTHER)
            read = min(latency, _OTHER)
            if each.width:
                busy = scenario.passes * each.width
                pipe = max(pipe, time) + busy
                # The queue before the pipe holds a few accesses.
                time = max(time, pipe - 32 * scenario.passes)
                latency += pipe - time
                if opcode in _STORES:
                    read = latency
            elif opcode in _WAITS:
                time = max(time, pipe)
            if each.sets < 6:
                ready[each.sets] = max(ready[each.sets], time + latency)
            if each.frees < 6:
                ready[each.frees] = max(ready[each.frees], time + read)
            time += max(1, each.stall)
    return time - begun


def _texts(cubin: bytes) -> Iterator[bytes]:
    """Yield the code of each function in an ELF file of 64 bits; nothing else has code that is known here."""
    if not cubin.startswith(b"\x7fELF\x02"):
        return
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + number * size) for number in range(count)]
    strings = sections[names][4]
    for name, _, _, _, offset, length in sections:
        if cubin.startswith(b".text.", strings + name):
            yield cubin[offset : offset + length]


def _words(text: bytes) -> list[int]:
    """Return the instructions up to the end of the program. Behind it lie rarely taken blocks that jump back."""
    words = [low | high << 64 for low, high in struct.iter_unpack("<QQ", text[: len(text) // _WORD * _WORD])]
    ends = [number for number, word in enumerate(words) if word & 0x1FF == _EXIT and word >> 12 & 15 == _ALWAYS]
    return words[: ends[-1] + 1] if ends else words


def _decoded(words: Iterable[int]) -> list[_Instruction]:
    return [_decode(word) for word in words if word & 0x1FF != _NO_OPERATION]


def _bodies(words: Sequence[int], capability: int) -> list[tuple[int, list[_Instruction]]]:
    """Return the instructions of each loop but those of loops inside it, and its weight."""
    tails: dict[int, int] = {}
    for number, word in enumerate(words):
        if word & 0x1FF == _BRANCH:
            head = number + 1 + _distance(word, capability) // _WORD
            if 0 <= head < number:
                tails[head] = max(tails.get(head, 0), number)
    found = []
    for head, tail in tails.items():
        inner = [loop for loop in tails.items() if head <= loop[0] and loop[1] <= tail and loop != (head, tail)]
        outer = sum(other <= head and tail <= end and (other, end) != (head, tail) for other, end in tails.items())
        body = _decoded(
            words[number] for number in range(head, tail + 1) if not any(begin <= number <= end for begin, end in inner)
        )
        found.append((10**outer, body))
    return found


def _distance(word: int, capability: int) -> int:
    distance = word >> 34 & (1 << 48) - 1
    distance -= (distance >> 47) << 48
    if capability >= 90:
        distance = distance << 8 | word >> 16 & 0xFF
    return distance * 4


def _decode(word: int) -> _Instruction:
    opcode, control = word & 0x1FF, word >> 105
    waits = control >> 11 & 63
    width = 0
    # The assembler has placeholders that are never executed.
    if word >> 12 & 15 != _NEVER and (opcode in _SHARED or opcode in _STORES or opcode in (_GLOBAL_LOAD, _COPY)):
        # Accesses to matrices say of how many they are, as a power of two, and others how many bits: 5 and 6 are 64 and
        # 128.
        width = 1 << (word >> 72 & 3) if opcode in _MATRICES else {5: 2, 6: 4}.get(word >> 73 & 7, 1)
    return _Instruction(
        opcode,
        control & 15,
        control >> 5 & 7,
        control >> 8 & 7,
        tuple(board for board in range(6) if waits >> board & 1),
        width,
        opcode == _MOVE or (opcode == _MULTIPLY and word >> 24 & 0xFF == _ZERO),
        # 64 rows, N columns and 32 bytes of K in N / 2 cycles; a warp group has a warp on each scheduler.
        ((word >> 53 & 31) + 1) * 4 if opcode in _PRODUCTS else 0,
    )
