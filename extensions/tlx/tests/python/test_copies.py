"""Asynchronous copies and their groups: code for every target that has them, and what is refused."""

import re

import pytest
import triton
import triton.language as tl

from tritonext.offline import TARGETS

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

NVIDIA = ("cuda:80", "cuda:90", "cuda:100")
SIGNATURE = "x=*fp16:16, y=*fp16:16, n=i32:16"


@triton.jit
def ring(x, y, n, STAGES: tl.constexpr):
    """Sum tiles of x that are copied STAGES - 1 steps ahead."""
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    slots = tlx.local_alloc((64, 64), tl.float16, STAGES)
    for i in tl.static_range(STAGES - 1):
        token = tlx.async_load(x + i * 4096 + o, slots[i], mask=o < n)
        tlx.async_load_commit_group([token])
    total = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        token = tlx.async_load_wait_group(STAGES - 2)
        total += tlx.local_load(slots[i % STAGES], token)
        ahead = i + STAGES - 1
        tlx.async_load(x + ahead * 4096 + o, slots[ahead % STAGES], mask=(o < n) & (ahead < n))
        tlx.async_load_commit_group()
    tl.store(y + o, total.to(tl.float16))


@pytest.mark.parametrize("target", NVIDIA)
def test_groups_are_waited_for_as_written(compiled, target):
    """The stock pipeliner counts groups by tokens, and would make every wait one for all groups."""
    result = compiled(ring, SIGNATURE, target, STAGES=4)
    assert re.findall(r"ttg.async_wait \{num = (\d+)", result.asm["ttgir"]) == ["2"]
    ptx = result.asm["ptx"]
    assert re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx) == ["2"]
    assert ptx.count("cp.async.commit_group") == 4
    # The mask is the number of bytes to copy, and the rest of 16 becomes zeros.
    assert len(re.findall(r"cp\.async\.cg\.shared\.global \[[^]]+\], \[[^]]+\], 0x10, %r\d+;", ptx)) == 16
    # What one thread waited for, others read.
    assert re.search(r"cp\.async\.wait_group[^;]*;\s*(//.*\s*)*bar\.sync", ptx)


def test_copies_to_lds_on_cdna4(compiled):
    result = compiled(ring, SIGNATURE, "hip:gfx950", STAGES=4)
    # The pass for ping-pong schedules recomputes waits too.
    assert re.findall(r"ttg.async_wait \{num = (\d+)", result.asm["ttgir"]) == ["2"]
    assert set(re.findall(r"wait\.asyncmark\(i16 (\d+)\)", result.asm["llir"])) == {"2"}
    assert re.search(r"buffer_load_dwordx4 .* lds", result.asm["amdgcn"])


def test_the_loop_is_not_pipelined_twice(compiled):
    text = compiled(ring, SIGNATURE, options={"num_stages": 3}, STAGES=4).asm["ttgir"]
    assert text.count("ttg.async_copy_global_to_local") == 4
    assert text.count("ttg.local_alloc") == 1


@triton.jit
def beside(x, y, n, STAGES: tl.constexpr):
    """A loop without TLX in a kernel with it."""
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    slot = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.async_load(x + o, slot)
    tlx.async_load_commit_group()
    total = tl.zeros((64, 64), tl.float32)
    for i in range(n):
        total = tl.dot(tl.load(x + i * 4096 + o), tl.load(y + i * 4096 + o), total)
    tlx.async_load_wait_group(0)
    tl.store(y + o, total.to(tl.float16) + tlx.local_load(slot))


def test_other_loops_are_pipelined_as_ever(compiled):
    text = compiled(beside, SIGNATURE, options={"num_stages": 3}, STAGES=1).asm["ttgir"]
    assert len(re.findall(r"ttg.local_alloc : \(\) -> !ttg.memdesc<3x64x64xf16", text)) == 2


@triton.jit
def hints(x, y, n, MODIFIER: tl.constexpr, POLICY: tl.constexpr, OTHER: tl.constexpr, VOLATILE: tl.constexpr):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    slot = tlx.local_alloc((64, 64), tl.float16)[0]
    tlx.async_load(x + o, slot, o < n, OTHER, cache_modifier=MODIFIER, eviction_policy=POLICY, is_volatile=VOLATILE)
    tlx.async_load_commit_group()
    tlx.async_load_wait_group(0)
    tl.store(y + o, tlx.local_load(slot))


NO_HINTS = {"MODIFIER": "", "POLICY": "", "OTHER": None, "VOLATILE": False}


@pytest.mark.parametrize("target", ["cuda:90", "cuda:100"])
@pytest.mark.parametrize("policy", ["evict_first", "evict_last"])
def test_eviction_policy_reaches_the_copy(compiled, target, policy):
    ptx = compiled(hints, SIGNATURE, target, **NO_HINTS | {"POLICY": policy}).asm["ptx"]
    assert f"createpolicy.fractional.L2::{policy}.b64" in ptx
    assert len(re.findall(r"cp\.async\.cg\.shared\.global\.L2::cache_hint", ptx)) == 4


@pytest.mark.parametrize("target", NVIDIA)
@pytest.mark.parametrize("modifier", [".ca", ".cg"])
def test_cache_modifier_reaches_the_copy(compiled, target, modifier):
    ptx = compiled(hints, SIGNATURE, target, **NO_HINTS | {"MODIFIER": modifier}).asm["ptx"]
    assert ptx.count(f"cp.async{modifier}.shared.global") == 4


def test_fill_value_on_amd(compiled):
    zeros, ones = (compiled(hints, SIGNATURE, "hip:gfx950", **NO_HINTS | {"OTHER": other}).asm for other in (None, 1.0))
    # Lanes that copy nothing get the value by a store.
    assert "other" in zeros["ttir"]
    assert "dense<1.000000e+00>" in ones["ttir"]
    assert "ds_write" in ones["amdgcn"]


@triton.jit
def warms(x, y, n, LEVEL: tl.constexpr):
    o = tl.arange(0, 128)
    tlx.prefetch(x + o * 64, LEVEL, mask=o < n)
    tlx.prefetch(x + o * 64)


@pytest.mark.parametrize("target", NVIDIA)
@pytest.mark.parametrize("level", ["L1", "L2"])
def test_prefetch(compiled, target, level):
    ptx = compiled(warms, SIGNATURE, target, LEVEL=level).asm["ptx"]
    assert len(re.findall(rf"@%p\w* prefetch\.global\.{level} \[%rd\d+\];", ptx)) == (2 if level == "L2" else 1)
    assert "prefetch.global.L2" in ptx


@pytest.mark.parametrize("target", TARGETS[3:])
def test_targets_without_prefetch(refused, target):
    assert "the target lacks this operation\n  where: tlx.prefetch" in refused(warms, SIGNATURE, target, LEVEL="L2")


@pytest.mark.parametrize(
    ("target", "values", "text"),
    [
        ("cuda:90", {"OTHER": 1.0}, "the hardware fills with zeros only\n  where: tlx.async_load, argument other"),
        ("cuda:90", {"VOLATILE": True}, "no target has a volatile asynchronous copy"),
        (
            "cuda:90",
            {"MODIFIER": ".cs"},
            "an argument has an unknown value\n  where: tlx.async_load, argument cache_mod",
        ),
        ("cuda:90", {"POLICY": "last"}, "an argument has an unknown value\n  where: tlx.async_load, argument eviction"),
        ("cuda:80", {"POLICY": "evict_last"}, "the copies of this target have no eviction policy"),
        ("hip:gfx950", {"POLICY": "evict_last"}, "the copies of this target have no eviction policy"),
    ],
)
def test_hints_that_a_target_lacks(refused, target, values, text):
    assert text in refused(hints, SIGNATURE, target, **NO_HINTS | values)


def test_what_is_known_of_hints_that_a_target_lacks():
    lacks = {target: tlx.supported_ops(target)["async_load"] for target in (*NVIDIA, "hip:gfx950")}
    assert [target for target, values in lacks.items() if "other: other than 0" in values] == list(NVIDIA)
    assert [target for target, values in lacks.items() if "eviction_policy: other than evict_normal" in values] == [
        "cuda:80",
        "hip:gfx950",
    ]


@triton.jit
def wrong(x, y, n, WHAT: tl.constexpr):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    slots = tlx.local_alloc((64, 64), tl.float16, 2)
    if WHAT == "slots":
        tlx.async_load(x + o, slots)
    if WHAT == "pointers":
        tlx.async_load(o, slots[0])
    if WHAT == "scalar":
        tlx.async_load(x, slots[0])
    if WHAT == "type":
        tlx.async_load((x + o).to(tl.pointer_type(tl.int16)), slots[0])
    if WHAT == "shape":
        tlx.async_load(x + tl.arange(0, 64), slots[0])
    if WHAT == "mask":
        tlx.async_load(x + o, slots[0], mask=o)
    if WHAT == "other":
        tlx.async_load(x + o, slots[0], other=0)
    if WHAT == "tokens":
        tlx.async_load_commit_group([n])
    if WHAT == "pendings":
        tlx.async_load_wait_group(n)
    if WHAT == "negative":
        tlx.async_load_wait_group(-1)
    if WHAT == "prefetch":
        tlx.prefetch(o)
    if WHAT == "level":
        tlx.prefetch(x + o, "L3")


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("slots", "the buffer has slots\n  where: tlx.async_load, argument result"),
        ("pointers", "an argument is not a tensor of pointers\n  where: tlx.async_load, argument src"),
        ("scalar", "an argument is not a tensor\n  where: tlx.async_load, argument src"),
        ("type", "the types of the elements differ\n  where: tlx.async_load, argument src\n  expected: fp16"),
        ("shape", "the shapes differ\n  where: tlx.async_load, argument src\n  expected: (64, 64)\n  found: (64,)"),
        ("mask", "the mask is no tensor of booleans\n  where: tlx.async_load, argument mask"),
        ("other", "there is no mask that leaves anything out\n  where: tlx.async_load, argument other"),
        ("tokens", "an argument is not a list of tokens\n  where: tlx.async_load_commit_group, argument tokens"),
        ("pendings", "an argument is not a constant integer\n  where: tlx.async_load_wait_group, argument pendings"),
        ("negative", "an argument is too small\n  where: tlx.async_load_wait_group, argument pendings"),
        ("prefetch", "an argument is not a tensor of pointers\n  where: tlx.prefetch, argument pointer"),
        ("level", "an argument has an unknown value\n  where: tlx.prefetch, argument level"),
    ],
)
def test_what_is_refused(refused, what, text):
    assert text in refused(wrong, SIGNATURE, WHAT=what)


@triton.jit
def staged_twice(x, y, n):
    o = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    slot = tlx.local_alloc((64, 64), tl.float16)[0]
    for i in tl.range(0, n, num_stages=3):
        tlx.async_load(x + i * 4096 + o, slot)
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(0)
        tl.store(y + i * 4096 + o, tlx.local_load(slot))


def test_stages_of_the_compiler_and_by_hand_conflict(refused_by_pass):
    error = refused_by_pass(staged_twice, SIGNATURE)
    assert error.startswith("expected at most one stage of a loop that is pipelined by hand, got 3\n")


def test_copies_that_are_too_narrow(refused_by_pass):
    unknown = "x=*fp16, y=*fp16:16, n=i32:16"
    for values, signature, text in (
        ({}, unknown, "expected pointers that let a thread copy at least 4 bytes at once, got 2"),
        ({}, SIGNATURE.replace("n=i32:16", "n=i32"), "expected a mask that is constant over at least 4 bytes, got 2"),
        ({"MODIFIER": ".cg"}, "x=*fp16:8, y=*fp16:16, n=i32:16", "for the cache modifier .cg, got 8"),
    ):
        error = refused_by_pass(hints, signature, **NO_HINTS | values)
        assert text in error
        # The line of the kernel.
        assert "tlx.async_load(" in error


@triton.jit
def masks(x, n, CASE: tl.constexpr):
    at = tl.arange(0, 128)
    slot = tlx.local_alloc((128,), tl.float16)[0]
    if CASE == "load":
        tlx.async_load(x + at, slot, mask=tl.arange(0, 64) < n)
    if CASE == "load, rank":
        tlx.async_load(x + at, slot, mask=(tl.arange(0, 64) < n)[:, None])
    if CASE == "prefetch":
        tlx.prefetch(x + at, mask=tl.arange(0, 64) < n)
    if CASE == "prefetch, type":
        tlx.prefetch(x + at, mask=at)
    if CASE == "buffer":
        tlx.buffer_load_to_local(slot, x, at, mask=tl.arange(0, 64) < n)
    if CASE == "other":
        tlx.buffer_load_to_local(slot, x, at, mask=at < n, other=tl.zeros((64,), tl.float16))


@pytest.mark.parametrize(
    ("case", "target", "message", "where", "expected", "found"),
    [
        ("load", "cuda:90", "the shapes differ", "async_load, argument mask", "(128,), or 1", "(64,)"),
        ("load, rank", "cuda:90", "the shapes differ", "async_load, argument src", "(128,)", "(64, 128)"),
        ("prefetch", "cuda:90", "the shapes differ", "prefetch, argument mask", "(128,), or 1", "(64,)"),
        ("prefetch, type", "cuda:90", "no tensor of booleans", "prefetch, argument mask", "int1", "int32"),
        ("buffer", "hip:gfx950", "the shapes differ", "buffer_load_to_local, argument mask", "(128,), or 1", "(64,)"),
        ("other", "hip:gfx950", "the shapes differ", "buffer_load_to_local, argument other", "(128,), or 1", "(64,)"),
    ],
)
def test_masks_that_do_not_fit(refused, case, target, message, where, expected, found):
    text = refused(masks, "x=*fp16:16, n=i32", target, CASE=case)
    assert message in text
    assert f"where: tlx.{where}" in text
    assert f"expected: {expected}" in text
    assert f"found: {found}" in text


@triton.jit
def fills_with_a_variable(x, n):
    o = tl.arange(0, 1024)
    slot = tlx.local_alloc((1024,), tl.float32)[0]
    other = 0.0
    tlx.async_load(x + o, slot, o < n, other)


def test_a_variable_is_no_constant_to_fill_with(refused):
    text = refused(fills_with_a_variable, "x=*fp32:16, n=i32")
    assert "expected: 0 or none, known at compile time\n  found: a value of type fp32\n" in text
    assert "hint: declare a variable that is zero a constant, as in other: tl.constexpr = 0.0" in text
