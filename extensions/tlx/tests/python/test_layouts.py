"""Layouts of registers that a kernel requires, and what is refused."""

import re

import pytest
import triton
import triton.language as tl
from triton.experimental.gluon.language import AutoLayout, BlockedLayout, SliceLayout

from tritonext.errors import KernelError
from tritonext.offline import TARGETS

tlx = pytest.importorskip("tritonext_tlx", reason="the extension tlx is not installed")

SIGNATURE = "x=*fp32:16, y=*fp32:16, n=i32"


def columns(target, warps=4):
    """A layout that no pass would choose for rows."""
    lanes = 32 if target.startswith("cuda") else 64
    return BlockedLayout([4, 1], [lanes, 1], [1, warps], [0, 1])


@triton.jit
def offsets(ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]


@triton.jit
def required(x, y, n, LAYOUT: tl.constexpr, HOW: tl.constexpr):
    o = offsets(64, 64)
    value = tl.load(x + o)
    if HOW == "tensor":
        value = tlx.require_layout(value * 2, LAYOUT)
    if HOW == "load":
        slot = tlx.local_alloc((64, 64), tl.float32)[0]
        tlx.local_store(slot, value)
        value = tlx.local_load(slot, layout=LAYOUT)
    if HOW == "zeros":
        value += tlx.zeros((64, 64), tl.float32, LAYOUT)
    tl.store(y + o, tlx.release_layout(value))


@pytest.mark.parametrize("target", TARGETS)
def test_a_tensor_is_in_the_layout(compiled, target):
    text = compiled(required, SIGNATURE, target, LAYOUT=columns(target), HOW="tensor").asm["ttgir"]
    assert "tlx." not in text
    (name,) = re.findall(r"(#\w+) = #ttg.blocked<\{sizePerThread = \[4, 1\]", text)
    assert re.search(rf"ttg.convert_layout .* -> tensor<64x64xf32, {name}>", text)
    assert re.search(rf"ttg.convert_layout .*tensor<64x64xf32, {name}> -> ", text)


@pytest.mark.parametrize("target", TARGETS)
def test_a_load_is_in_the_layout(compiled, target):
    text = compiled(required, SIGNATURE, target, LAYOUT=columns(target), HOW="load").asm["ttgir"]
    (name,) = re.findall(r"(#\w+) = #ttg.blocked<\{sizePerThread = \[4, 1\]", text)
    assert re.search(rf"ttg.local_load .* -> tensor<64x64xf32, {name}>", text)


def test_zeros_are_in_the_layout(compiled):
    text = compiled(required, SIGNATURE, LAYOUT=columns("cuda:90"), HOW="zeros").asm["ttgir"]
    assert "sizePerThread = [4, 1]" in text


def test_a_kernel_without_requirements_has_none(compiled):
    text = compiled(required, SIGNATURE, LAYOUT=columns("cuda:90"), HOW="none").asm["ttgir"]
    assert "convert_layout" not in text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("argument", ["rematerialize_coordinates"])
def test_hints_that_no_target_has(refused, target, argument):
    @triton.jit
    def kernel(x, WHICH: tl.constexpr):
        slot = tlx.local_alloc((64,), tl.float32)[0]
        tlx.local_load(slot, rematerialize_coordinates=True)

    text = refused(kernel, "x=*fp32:16", target, WHICH=argument)
    assert f"the target lacks this argument\n  where: tlx.local_load, argument {argument}" in text
    assert f"expected: no target has it\n  found: True for {target}" in text
    assert argument in tlx.supported_ops(target)["local_load"]


@triton.jit
def waited_for(x, y, RELAXED: tl.constexpr):
    slot = tlx.local_alloc((64, 64), tl.float32)[0]
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    token = tlx.async_load(x + at, slot)
    tlx.async_load_commit_group([token])
    tlx.async_load_wait_group(0)
    tl.store(y + at, tlx.local_load(slot, relaxed=RELAXED))


@pytest.mark.parametrize("target", TARGETS)
def test_no_load_waits_by_itself(compiled, refused, target):
    """So one that says that a wait of the kernel covers it is like any other."""
    signature = "x=*fp32:16, y=*fp32:16"
    texts = [compiled(waited_for, signature, target, RELAXED=relaxed).asm["ttgir"] for relaxed in (False, True)]
    assert texts[0] == texts[1]
    assert "argument relaxed" in refused(waited_for, signature, target, RELAXED=2)


@triton.jit
def wrong(x, y, n, LAYOUT: tl.constexpr, PIN: tl.constexpr, DTYPE: tl.constexpr):
    tlx.require_layout(tlx.zeros((64, 64), DTYPE), LAYOUT, PIN)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"LAYOUT": "rows"}, "an argument is not a layout of registers\n  where: tlx.require_layout, argument layout"),
        ({"LAYOUT": AutoLayout()}, "an argument is not a layout of registers"),
        (
            {"LAYOUT": SliceLayout(0, columns("cuda:90"))},
            (
                "the layout has another rank than the tensor\n  where: tlx.require_layout, argument layout\n"
                "  expected: 2\n  found: 1"
            ),
        ),
        (
            {"LAYOUT": columns("cuda:90", 8)},
            (
                "the layout is for another number of warps\n  where: tlx.require_layout, argument layout\n"
                "  expected: 4\n  found: 8"
            ),
        ),
        ({"LAYOUT": columns("hip:gfx942")}, "the layout is for another number of lanes"),
        ({"PIN": False}, "a layout that the compiler may replace is not required"),
        ({"DTYPE": 3}, "an argument is no type\n  where: tlx.zeros, argument dtype"),
    ],
)
def test_what_is_refused(refused, values, text):
    fine = {"LAYOUT": columns("cuda:90"), "PIN": True, "DTYPE": tl.float32}
    assert text in refused(wrong, SIGNATURE, **fine | values)


@triton.jit
def inspected(x, y, n, LAYOUT: tl.constexpr, WHAT: tl.constexpr):
    o = offsets(64, 64)
    value = tlx.require_layout(tl.load(x + o), LAYOUT)
    slot = tlx.local_alloc((64, 64), tl.float32)[0]
    other = tlx.local_alloc((64, 64), tl.float32, 2)
    tlx.local_store(slot, value)
    tlx.local_store(other[1], value)
    if WHAT == "dump":
        tlx.dump_layout(value)
        tlx.dump_layout(slot)
    if WHAT == "same":
        tlx.assert_same_layout(value, LAYOUT)
        tlx.assert_same_layout(slot, other[1])
    if WHAT == "others":
        tlx.assert_same_layout(value, tl.load(y + o))
    if WHAT == "buffers":
        tlx.assert_same_layout(slot, tlx.local_trans(other[0]))
    if WHAT == "layout":
        tlx.assert_same_layout(value, "rows")
    if WHAT == "shape":
        tlx.assert_same_layout(value, tl.load(y + offsets(64, 32)))
    if WHAT == "kind":
        tlx.assert_same_layout(value, slot)
    if WHAT == "slots":
        tlx.dump_layout(other)
    if WHAT == "scalar":
        tlx.dump_layout(n)
    tl.store(y + o, tlx.local_load(slot) + tlx.local_load(other[1]))


@pytest.mark.parametrize("target", TARGETS)
def test_layouts_are_printed(compiled, capfd, target):
    result = compiled(inspected, SIGNATURE, target, LAYOUT=columns(target), WHAT="dump")
    assert "tlx." not in result.asm["ttgir"]
    text = capfd.readouterr().err
    lanes = "32, 1" if target.startswith("cuda") else "64, 1"
    assert re.search(
        r"test_layouts\.py:\d+:\d+: the layout of tensor<64x64xf32, .*> is #ttg.blocked<\{sizePerThread = \[4, 1\], "
        rf"threadsPerWarp = \[{lanes}\].*, which is\n - register=1 -> \(1, 0\)",
        text,
    )
    shared = "#ttg.nvmma_shared" if target.startswith("cuda") else "#ttg.swizzled_shared"
    assert re.search(
        rf"the layout of !ttg.memdesc<64x64xf32, .*> is {shared}.*, which is\n - offset=1 -> \(0, 1\)", text
    )


@pytest.mark.parametrize("target", TARGETS)
def test_layouts_that_are_the_same(compiled, target):
    assert compiled(inspected, SIGNATURE, target, LAYOUT=columns(target), WHAT="same").asm["llir"]


@pytest.mark.parametrize("what", ["others", "buffers"])
def test_layouts_that_differ(compiled, what):
    with pytest.raises(KernelError) as caught:
        compiled(inspected, SIGNATURE, LAYOUT=columns("cuda:90"), WHAT=what)
    message = str(caught.value)
    assert re.search(r"expected the layout #ttg\.\w+<.*>, got #ttg\.\w+<", message)
    assert "tlx.assert_same_layout(" in message


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("layout", "an argument is not a layout of registers\n  where: tlx.assert_same_layout, argument b"),
        ("shape", "the two are unlike each other\n  where: tlx.assert_same_layout, argument b"),
        ("kind", "the two are unlike each other\n  where: tlx.assert_same_layout, argument b"),
        ("slots", "the buffer has slots\n  where: tlx.dump_layout, argument x"),
        ("scalar", "an argument is not a tensor\n  where: tlx.dump_layout, argument x"),
    ],
)
def test_what_has_no_layout(refused, what, text):
    assert text in refused(inspected, SIGNATURE, LAYOUT=columns("cuda:90"), WHAT=what)
