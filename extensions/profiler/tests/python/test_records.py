"""What records cost in machine code, where they stand, and what the table of a kernel says."""

from __future__ import annotations

import pathlib
import re

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext.errors import OptionError, UserError
from tritonext.inspect_code import disassemble, stats
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import kernels
from tritonext_profiler import integrity


def profiled(name: str, target: str = "cuda:90", mode: str = "auto"):
    with tritonext.use(f"profiler:mode={mode}"):
        return kernels.compile(name, target)


def innermost(code) -> list[tuple[int, int]]:
    """Return instructions and records of each loop without a loop inside, in order."""
    loops = [(other.jump, other.address) for other in code if other.jump is not None and other.jump < other.address]
    loops = [
        loop
        for loop in loops
        if not any(loop != other and loop[0] <= other[0] and other[1] <= loop[1] for other in loops)
    ]
    bodies = [[other for other in code if begin <= other.address <= end] for begin, end in sorted(loops)]
    # Others wait for a barrier.
    return [(len(body), sum(other.name == "CS2R.32" for other in body)) for body in bodies if len(body) > 16]


def by_category(table) -> dict[str, list[dict]]:
    result: dict[str, list[dict]] = {}
    for region in table["regions"]:
        result.setdefault(region["category"], []).append(region)
    return result


@pytest.mark.parametrize("name", ["gemm_fp16", "gemm_fp8", "attention_forward"])
def test_records_cost_four_instructions_and_stand_in_place(name):
    off, on = kernels.compile(name, "cuda:90"), profiled(name)
    [(before, none)] = innermost(disassemble(off))
    [(after, records)] = [loop for loop in innermost(disassemble(on)) if loop[1]]
    [(other, _)] = [loop for loop in innermost(disassemble(on)) if not loop[1]]
    assert none == 0
    assert records >= 4
    assert after - before <= 4 * records
    # Blocks that do not record run the plain loop.
    assert abs(other - before) <= 2
    assert integrity.check(on) == []
    plain, ours = stats(off), stats(on)
    assert (ours.spills, ours.stack_bytes, ours.shared_bytes) == (0, 0, plain.shared_bytes)
    threads = 32 * on.metadata.num_warps
    assert 65536 // (ours.registers * threads) == 65536 // (plain.registers * threads)


def test_as_many_blocks_run_as_without_records():
    # Records alone would take half as many registers again.
    before, after = stats(kernels.compile("layer_norm", "cuda:90")), stats(profiled("layer_norm"))
    threads = 32 * 8
    assert 65536 // (after.registers * threads) == 65536 // (before.registers * threads) == 6


@pytest.mark.parametrize("target", ["cuda:80", "cuda:100", "hip:gfx942", "hip:gfx950"])
def test_every_target_has_records(target):
    kernel = profiled("gemm_fp16", target)
    table = kernel.metadata.tritonext_profiler
    found = by_category(table)
    assert {
        "entry",
        "mma_issue",
        "shared_load" if target != "cuda:100" else "copy_wait",
        "global_store",
    } <= found.keys()
    # Products along K may be several ops.
    assert sum(region["flops"] for region in found["mma_issue"] if region["loop"] == 0) == 2 * 128 * 128 * 64
    assert [loop["pace"] > 0 for loop in table["loops"]] == [True] * len(table["loops"])
    places = len(table["regions"]) - 1
    if target.startswith("cuda"):
        assert set(integrity.markers(disassemble(kernel)).values()) == set(range(1, places + 1))
        assert table["timer_hz"] == 1_000_000_000
    else:
        assert len(re.findall("s_memtime", kernel.asm["amdgcn"])) >= places
        assert len(re.findall("s_memrealtime", kernel.asm["amdgcn"])) == 2
        assert table["timer_hz"] == 100_000_000
    size = kernel.metadata.profile_scratch_size
    assert size == table["segments"] * table["segment_bytes"]
    assert table["segments"] == kernel.metadata.num_warps


def test_a_table_names_lines_loops_and_work():
    table = profiled("gemm_fp16").metadata.tritonext_profiler
    [loop] = table["loops"]
    lines = ["", *pathlib.Path(table["regions"][1]["file"]).read_text().splitlines()]
    found = by_category(table)
    inside = next(region for region in found["mma_issue"] if region["loop"] == 0)
    assert "tl.dot" in lines[inside["line"]]
    assert lines[loop["line"]].lstrip().startswith("for ")
    assert sum(region["bytes"] for region in found["copy_issue"] if region["loop"] == 0) == 2 * 128 * 64 * 2
    assert "tl.store" in lines[found["global_store"][0]["line"]]
    assert found["epilogue"]
    assert table["regions"][loop["pace"]]["loop"] == 0


def test_modes_make_other_kernels_and_say_so():
    header, each = (profiled("layer_norm", mode=mode) for mode in ("header", "all"))
    tables = [kernel.metadata.tritonext_profiler for kernel in (header, profiled("layer_norm"), each)]
    assert [table["mode"] for table in tables] == ["header", "auto", "all"]
    assert len({table["kernel_id"] for table in tables}) == 3
    regions = [len(table["regions"]) for table in tables]
    assert regions[0] == 1 < regions[1] < regions[2]
    assert (tables[0]["segments"], tables[0]["segment_bytes"]) == (1, 128)
    assert not integrity.markers(disassemble(header))
    with pytest.raises(UserError, match="the kernel has no records"):
        integrity.check(header)
    # Without loops all fit.
    assert 3 * tables[1]["batch_limit"] >= regions[1] - 1


@triton.jit
def chased(x, out, n, LOOPS: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    total = tl.zeros((SIZE,), tl.float32)
    for _ in range(LOOPS):
        for _ in range(4):
            total += tl.load(x + at)
            at = at + SIZE
    step = n
    while step > 0:
        if step % 2 == 0:
            total = tl.sqrt(total)
        step = tl.load(out.to(tl.pointer_type(tl.int32)) + step)
    tl.store(out + tl.arange(0, SIZE), total)


def test_loops_of_known_length_are_counted_and_others_bounded():
    signature = parse_signature("x=*fp32:16, out=*fp32:16, n=i32")
    kernel = Specialization(chased, signature, {"LOOPS": 3, "SIZE": 128}, {"num_warps": 1})
    with tritonext.use("profiler:records=100"):
        table = kernel.compile("cuda:90").metadata.tritonext_profiler
    counts = [loop["trip_count"] for loop in table["loops"]]
    assert sorted(counts) == [-1, 3, 4]
    inner = table["loops"][counts.index(4)]
    assert table["loops"][inner["parent"]]["trip_count"] == 3
    assert all(loop["pace"] > 0 for loop in table["loops"])
    # Of the last loop nobody knows the length.
    assert table["records"] == 100
    assert 100 // 3 <= table["capacity"] < 128


@pytest.mark.parametrize("option", ["mode=some", "records=0", "records=many", f"records={1 << 21}"])
def test_options_that_cannot_be_are_refused(option):
    with pytest.raises(OptionError, match=re.escape(repr(option.partition("=")[2]))):
        tritonext.use(f"profiler:{option}")
