"""A sample of the corpus and of the random kernels, on every target; `gate.py` and `fuzz/run.py` take all of them."""

from __future__ import annotations

import random
import re

import gate
import pytest
import times
from corpus import KERNELS
from fuzz import run as fuzz

from tritonext.offline import TARGETS
from tritonext.testing import run_python

EACH = 2
RANDOM = 2
INTERPRETED = 12

MODULE = """
  %0 = scf.for %i = %a to %b step %c -> (i32) : i32 {
    %1 = scf.if %d -> (i32) {
      %2 = ttg.convert_layout %x : t -> u loc(#loc1)
    } else {
      %3 = ttg.convert_layout %x : t -> u loc(#loc1)
    } loc(#loc2)
  } loc(#loc3)
  scf.while (%e = %f) : (i1) -> i1 {
    scf.condition(%e)
  } do {
    %4 = ttg.convert_layout %y : t -> u loc(#loc1)
  } loc(#loc4)
  %5 = ttg.convert_layout %z : t -> u loc(#loc1)
"""


def counts(**changes) -> gate.Measured:
    """Return some counts, with a few changed."""
    names = [name for name in gate.Measured.__dataclass_fields__ if name not in ("conversion_share", "ttgir")]
    return gate.Measured(**dict.fromkeys(names, 8) | {"conversion_share": 0.0, "ttgir": ""} | changes)


@pytest.mark.parametrize("target", TARGETS)
def test_no_kernel_of_a_sample_is_worse(target, tmp_path):
    able = [name for name, case in KERNELS.items() if target in case.targets]
    found = gate.compare(random.Random(target).sample(able, EACH), [target], tmp_path)
    assert [one.name for one in found if not isinstance(one.stock, gate.Measured)] == []
    assert [(one.name, reason) for one in found for reason in gate.worse(one)] == []
    for one in found:
        assert one.ours.loop_conversions <= one.stock.loop_conversions, one.name
        assert one.ours.conversion_barriers <= one.stock.conversion_barriers, one.name


@pytest.mark.parametrize("seed", range(RANDOM))
def test_random_kernels_compute_the_same_on_the_simulator(seed):
    outcome = fuzz.check(seed, simulated=True)
    assert (outcome.problem, outcome.skipped) == ("", "")


def test_references_agree_with_the_interpreter():
    """A reference that is wrong in the same way as a kernel would hide what a pass does."""
    names = random.Random(0).sample(list(KERNELS), INTERPRETED)
    tests = __file__.rpartition("/python/")[0]
    done = run_python("-m", "corpus", *names, path=(tests,), environment={"TRITON_INTERPRET": "1"})
    assert done.returncode == 0, done
    errors = dict(re.findall(r"^(\w+) 0 ([\d.infa]+)$", done.stdout, re.MULTILINE))
    assert set(errors) == set(names)
    assert {name: error for name, error in errors.items() if not float(error) <= 1} == {}


def test_conversions_of_loops_are_told_from_others():
    assert [loop for _, loop in gate.conversions(MODULE)] == [True, True, True, False]


def test_barriers_belong_to_the_conversion_whose_location_they_have():
    llir = """
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !4
  tail call void @llvm.amdgcn.s.barrier(), !dbg !5
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !6
!4 = !DILocation(line: 1000002, column: 1, scope: !1)
!5 = !DILocation(line: 1000000, column: 1, scope: !1, inlinedAt: !2)
!6 = !DILocation(line: 40, column: 1, scope: !1)
"""
    assert gate.barriers_of_conversions(llir) == [2, 0]


def test_share_counts_instructions_behind_locations_of_conversions():
    ptx = """
\t.reg .b32 \t%r<9>;
\t.loc\t1 12 3
\tadd.s32 \t%r1, %r2, %r3;
\t.loc\t1 1000000 1
\tst.shared.b32 \t[%r1], %r2;
\t@%p1 bra \t$L__BB0_1;
\t.loc\t1 14 3
$L__BB0_1:
\tret;
"""
    assert gate.share_of_conversions(ptx) == 0.5


@pytest.mark.parametrize(
    ("ours", "reasons"),
    [
        (counts(), []),
        (counts(registers=200, instructions=900, shared_bytes=99), []),
        (counts(spills=9), ["spill instructions 8 -> 9"]),
        (counts(spills=9, stack_bytes=4), []),
        (counts(stack_bytes=16), ["spill bytes 8 -> 16"]),
        (counts(warps=4), ["resident warps 8 -> 4"]),
        ("Error: no", ["does not compile: Error: no"]),
        (None, []),
    ],
)
def test_worse_kernels_are_named_with_the_reason(ours, reasons):
    assert gate.worse(gate.Comparison("kernel", "family", "cuda:90", counts(), ours)) == reasons


@pytest.mark.parametrize(
    ("target", "warps", "registers", "shared", "resident"),
    [
        # 65,536 registers for 128 threads of 168; for 256 of 255; 227 KiB of shared memory in two programs.
        ("cuda:90", 4, 168, 0, 12),
        ("cuda:90", 8, 255, 0, 8),
        ("cuda:90", 4, 32, 100 * 1024, 8),
        ("cuda:80", 4, 32, 100 * 1024, 4),
        ("cuda:90", 1, 16, 0, 32),
        ("hip:gfx942", 4, 128, 0, 16),
        ("hip:gfx942", 4, 128, 40 * 1024, 4),
        ("hip:gfx950", 4, 128, 40 * 1024, 16),
    ],
)
def test_resident_warps_follow_from_registers_and_shared_memory(target, warps, registers, shared, resident):
    assert gate.resident_warps(target, warps, registers, shared) == resident


def test_times_are_compared_by_kernel_and_in_all():
    [found] = times.measure_times(["heads_first"], "cuda:90", 1)
    for spent in (found.stock, found.ours):
        assert 0 < spent.elapsed < 600
        assert 0 < spent.processor < 60
    slow = times.Times("slow", "cuda:90", times.Spent(1.0, 2.0), times.Spent(3.0, 5.0), True)
    fast = times.Times("fast", "cuda:90", times.Spent(3.0, 3.0), times.Spent(3.0, 3.0), False)
    first, _, last = times.report([fast, slow]).splitlines()
    assert first == "slow, cuda:90: 1.000 s -> 3.000 s, 3.00 times, 2.50 times the processor time, compared with stock"
    assert last == (
        "2 kernels, 1 of them compiled twice: 1.50 times the time of stock, 2.00 times for the kernel in the middle,"
        " 3.00 times for the slowest; 1.60 times the processor time"
    )


def test_totals_leave_out_what_does_not_compile():
    found = [
        gate.Comparison("a", "f", "cuda:90", counts(), counts(conversions=2, ttgir="other")),
        gate.Comparison("b", "f", "cuda:90", "Error", None),
        gate.Comparison("c", "f", "cuda:90", counts(), "Error"),
    ]
    totals = gate.Totals.of(found)
    assert (totals.kernels, totals.changed, totals.failed) == (1, 1, 1)
    assert totals.counts["conversions"] == (8, 2)
