"""The priced conversions against what stock Triton makes of them."""

from __future__ import annotations

import json
import pathlib
import re
from collections import Counter

import pytest

from tritonext.inspect_code import stats
from tritonext.testing import kernels
from tritonext_layout import conversions
from tritonext_layout.testing import AMD_CONVERSIONS, CONVERSIONS, Conversion

RECORD = pathlib.Path(__file__).parents[4] / "benchmarks" / "results" / "nvidia-h200" / "layout-conversions.json"

# Accesses of PTX to shared memory, by what the prices call them.
_INSTRUCTIONS = {
    "stores": r"\bst\.shared\.",
    "store matrices": r"\bstmatrix\.",
    "loads": r"\bld\.shared\.",
    "load matrices": r"\bldmatrix\.",
    "shuffles": r"\bshfl\.sync\.",
    "block_barriers": r"\bbar\.sync\b",
    "warp_barriers": r"\bbar\.warp\.sync\b",
}
_VECTOR = re.compile(r"\b(?:ld|st)\.shared\.(?:v(\d)\.)?b(\d+)")


def counted(ptx: str) -> Counter[str]:
    """Return the instructions of a kernel by name, and its widest accesses."""
    return Counter({name: len(re.findall(pattern, ptx)) for name, pattern in _INSTRUCTIONS.items()})


def predicted(price) -> Counter[str]:
    """Return the same as the price says."""
    counts = Counter({name: price.counts[name] for name in ("shuffles", "block_barriers", "warp_barriers")})
    for name in ("stores", "loads"):
        access = price.counts[name]
        counts[f"{name[:-1]} matrices" if access["matrix"] else name] += access["instructions"]
    return +counts


def widths(price) -> set[int]:
    return {
        access["bits"]
        for access in (price.counts["stores"], price.counts["loads"])
        if access["instructions"] and not access["matrix"]
    }


def check(conversion: Conversion, target: str, directory, *, forced: bool = False) -> None:
    [price] = conversions(conversion.module(target, forced=forced))
    kernel = conversion.compile(directory, target, forced=forced)
    ptx = kernel.asm["ptx"]
    assert kernel.metadata.shared == price.counts["scratch_bytes"]
    assert +counted(ptx) == predicted(price)
    assert {int(count or 1) * int(bits) for count, bits in _VECTOR.findall(ptx)} == widths(price)
    # Besides those of the pairs and bytes that go into a register together, which the price estimates.
    if conversion.element == "f32":
        assert len(re.findall(r"\bselp\.|\bprmt\.", ptx)) == price.counts["selects"]


@pytest.mark.parametrize("conversion", CONVERSIONS, ids=str)
def test_price_is_what_hopper_gets(conversion, tmp_path):
    check(conversion, "cuda:90", tmp_path)


# Each path once where stock would not take it.
_FORCED = ("mma-local-f16", "mma2-local-f32", "swap-4-f32", "swap-8-i8", "swap-16-f16", "lanes-swap-4-f32")


@pytest.mark.parametrize("conversion", [entry for entry in CONVERSIONS if str(entry) in _FORCED], ids=str)
def test_price_of_forced_shuffles_is_what_hopper_gets(conversion, tmp_path):
    [price] = conversions(conversion.module("cuda:90"), shuffles=True)
    assert price == conversions(conversion.module("cuda:90", forced=True))[0]
    assert price.path == "shuffles"
    check(conversion, "cuda:90", tmp_path, forced=True)


# Without stmatrix other vectors and rounds are best.
_AMPERE = ("mma2-rows-f32", "mma2-rows-f16", "mma2-rows-i8", "swap-8-f16", "transpose-f16", "mma2-local-f16")


@pytest.mark.parametrize("conversion", [entry for entry in CONVERSIONS if str(entry) in _AMPERE], ids=str)
def test_price_is_what_ampere_gets(conversion, tmp_path):
    check(conversion, "cuda:80", tmp_path)


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
@pytest.mark.parametrize("conversion", AMD_CONVERSIONS, ids=str)
def test_price_is_what_amd_gets(conversion, target, tmp_path):
    [price] = conversions(conversion.module(target))
    kernel = conversion.compile(tmp_path, target)
    assert kernel.metadata.shared == price.counts["scratch_bytes"]
    assert stats(kernel).barriers == price.barriers
    # The back end of LLVM pairs accesses to shared memory, so they are counted in front of it.
    for name, pattern in (("stores", r"^\s+store .*addrspace\(3\)"), ("loads", r"= load .*addrspace\(3\)")):
        found = re.findall(pattern, kernel.asm["llir"], re.MULTILINE)
        assert len(found) == price.counts[name]["instructions"], name


def test_machine_code_has_the_shared_accesses_that_the_price_counts(tmp_path):
    [conversion] = [entry for entry in CONVERSIONS if str(entry) == "mma-rows-f16"]
    [price] = conversions(conversion.module("cuda:90"))
    code = stats(conversion.compile(tmp_path, "cuda:90"))
    assert code.shared_accesses == price.counts["stores"]["instructions"] + price.counts["loads"]["instructions"]
    assert code.barriers == price.barriers


def test_prices_choose_the_lowering_that_the_record_of_a_gpu_shows_to_be_faster():
    times = {entry["case"]: entry["baselines"] for entry in json.loads(RECORD.read_text())}
    choices = 0
    for conversion in CONVERSIONS:
        alone, busy = (times[f"{conversion}-{load}"] for load in ("alone", "busy"))
        if "shuffles" not in alone:
            continue
        [shared], [shuffled] = (conversions(conversion.module("cuda:90"), shuffles=way) for way in (False, True))
        chosen = "shuffles" if shuffled.cheaper(shared) else "stock"
        for measured in (alone, busy):
            assert measured[chosen] <= 1.02 * min(measured.values()), conversion
        choices += 1
    assert choices >= 20


def test_conversions_of_a_cluster_wait_for_the_cluster():
    kernel = kernels.compile("gemm_residual", "cuda:90", num_ctas=2)
    priced = conversions(kernel.asm["ttgir"])
    assert {entry.path for entry in priced} == {"shared memory of a cluster"}
    waits = kernel.asm["ptx"].count("barrier.cluster.wait")
    inside = sum(entry.counts["cluster_barriers"] for entry in priced)
    # One more stands in front of each, and one at the start and at the end of the kernel.
    assert inside < waits <= inside + len(priced) + 2
    assert kernel.metadata.shared >= max(entry.counts["scratch_bytes"] for entry in priced)
