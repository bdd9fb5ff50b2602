"""What a pass through a loop takes, from the words of its machine code."""

from __future__ import annotations

import re
import struct

import pytest

from tritonext import inspect_code
from tritonext.loops import SCENARIOS, Loops, Scenario, slower
from tritonext.testing import kernels

ADD, COPY, BRANCH, EXIT, LOAD, STORE, MATRIX, WAIT = 0x221, 0x202, 0x947, 0x94D, 0x981, 0x988, 0x844, 0xB1D
PRODUCT = 0x9F0
END = (EXIT, {})


def word(
    opcode: int, stall: int = 1, sets: int = 7, waits: int = 0, back: int = 0, bits: int = 0, columns: int = 8
) -> int:
    """An instruction, always executed; ``back`` says by how many instructions a branch of sm_80 jumps back."""
    distance = -(back + 1) * 16 // 4 & (1 << 48) - 1 if back else 0
    fields = distance << 34 | (columns // 8 - 1) << 53 | bits << 73
    return opcode | 7 << 12 | fields | (stall | sets << 5 | 7 << 8 | waits << 11) << 105


def program(*instructions: tuple[int, dict]) -> bytes:
    """An ELF file with these instructions."""
    text = b"".join(
        struct.pack("<QQ", each & (1 << 64) - 1, each >> 64) for each in (word(o, **k) for o, k in instructions)
    )
    names = b"\0.text.kernel\0"
    header = bytearray(b"\x7fELF\x02".ljust(64, b"\0"))
    struct.pack_into("<Q", header, 0x28, 64)
    struct.pack_into("<HHH", header, 0x3A, 64, 2, 1)
    start = 64 + 2 * 64
    sections = struct.pack("<IIQQQQ24x", 1, 1, 0, 0, start, len(text))
    sections += struct.pack("<IIQQQQ24x", 0, 3, 0, 0, start + len(text), len(names))
    return bytes(header) + sections + text + names


def loop(*body: tuple[int, dict]) -> Loops:
    return Loops(program(*body, (BRANCH, {"back": len(body)}), END), 80)


LOADED = (LOAD, {"sets": 0, "bits": 4})
USED = (ADD, {"waits": 1, "stall": 4})
WORK = [(ADD, {"stall": 4})] * 20


def test_a_use_waits_for_its_load():
    at_once, late = loop(LOADED, USED, *WORK), loop(LOADED, *WORK, USED)
    # The load keeps the pipe for a cycle.
    assert at_once.cycles(Scenario(300, 1)) == 301 + 4 + 80 + 1
    assert late.cycles(Scenario(300, 1)) == 301 + 4 + 1
    assert at_once.cycles(Scenario(300, 1), warps=2) == (301 + 4 + 80 + 1) / 2
    # A scheduler issues one instruction in a cycle, however many warps there are.
    assert at_once.cycles(Scenario(300, 1), warps=64) == 23
    assert slower(at_once, late, 1, 1) == "its loops take 306 cycles instead of 386 where a load takes 300"
    assert slower(late, at_once, 1, 1) == ""
    assert slower(at_once, late, 64, 64) == ""


def test_copies_of_registers_are_noticed_where_they_are_many():
    assert loop(*WORK, *[(COPY, {})] * 3).copied
    assert not loop(*WORK, (COPY, {})).copied


def test_stores_to_shared_memory_hold_up_the_barrier():
    kernel = loop(*[(STORE, {"bits": 6})] * 4, (WAIT, {}))
    assert kernel.cycles(Scenario(300, 1)) == 18
    assert kernel.cycles(Scenario(300, 8)) > 4 * 4 * 8
    # Four matrices are as many bits, and the field of one is as that of less than 32 bits.
    four, one = (loop(*[(MATRIX, {"bits": bits})] * 4, (WAIT, {})).cycles(Scenario(300, 8)) for bits in (1, 0))
    assert four == kernel.cycles(Scenario(300, 8)) > one


def test_tensor_cores_hide_most_of_what_is_shorter():
    product = (PRODUCT, {"columns": 256})
    busy, longer = loop(*[product] * 4, *WORK), loop(*[product] * 4, *WORK, *WORK)
    assert [each.cycles(SCENARIOS[0]) for each in (busy, longer)] == [4 * 128 + 85 / 4, 4 * 128 + 165 / 4]
    assert slower(longer, busy, 1, 1) == "its loops take 533 cycles instead of 553 where a load takes 600"
    assert slower(loop(*[product] * 4, *WORK, *WORK[:4]), busy, 1, 1) == ""
    # What is longer hides them.
    idle = loop((PRODUCT, {"columns": 64}), *WORK)
    assert idle.cycles(SCENARIOS[0]) == 82


def test_inner_loops_count_ten_times():
    inner = [*WORK, (BRANCH, {"back": 20})]
    nested = Loops(program(USED, *inner, *WORK, (BRANCH, {"back": 42}), END), 80)
    assert nested.cycles(SCENARIOS[0]) == 10 * 81 + 4 + 81


def test_a_kernel_without_loops_is_slower_where_it_is_in_every_case():
    once = Loops(program(LOADED, *WORK, USED, END), 80)
    more = Loops(program(LOADED, *WORK, USED, *WORK, END), 80)
    assert not once.found
    assert slower(more, once, 1, 1).startswith("it takes ")
    waiting = Loops(program(LOADED, USED, *WORK[:1], (ADD, {"stall": 15}), END), 80)
    assert {waiting.cycles(each) > once.cycles(each) for each in SCENARIOS} == {True}
    assert slower(once, waiting, 1, 1) == slower(once, loop(*WORK), 1, 1) == ""
    # Whatever a stage gives that is no binary.
    assert slower(once, Loops(b"", 80), 1, 1) == slower(Loops(b"{}", 80), once, 1, 1) == ""


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_loops_are_those_of_the_disassembler(target):
    kernel = kernels.compile("gemm_fp16", target, num_stages=2)
    code = inspect_code.disassemble(kernel)
    numbers = {each.address: number for number, each in enumerate(code)}
    jumps = [(numbers[each.jump], number) for number, each in enumerate(code) if each.jump in numbers]
    [(head, tail)] = [(head, tail) for head, tail in jumps if head < tail and code[tail].guarded]
    found = Loops(kernel.asm["cubin"], int(target.partition(":")[2]))
    assert found.found
    # So many warps that the scheduler does nothing but issue.
    issued = tail - head + 1
    products = [re.match(r"HGMMA\.64x(\d+)x16", each.name) for each in code[head:tail]]
    busy = sum(int(product[1]) / 2 for product in products if product)
    assert (busy > 0) == (target == "cuda:90")
    assert found.cycles(SCENARIOS[0], warps=1e6) == max(issued, busy + issued / 4)
