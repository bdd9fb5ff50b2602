"""Scopes and marks of the user: what they become in each mode, and that they are nothing without a profile."""

from __future__ import annotations

import re

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

import tritonext
import tritonext_profiler.language as tpl
from tritonext.errors import KernelError, UserError
from tritonext.inspect_code import disassemble
from tritonext.offline import Specialization, parse_signature
from tritonext_profiler import decode, format, integrity
from tritonext_profiler.model import Kernel, Region
from tritonext_profiler.testing import table


class nothing:
    """A context manager of the same form that is none of ours."""

    def __init__(self, name, _semantic=None):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        pass


setattr(nothing, tl.core.TRITON_BUILTIN, True)


@triton.jit
def doubled(x, block: tl.constexpr):
    with block("double"):
        x *= 2.0
    return x


@triton.jit
def product(a, b, c, K, N: tl.constexpr, BLOCK: tl.constexpr, block: tl.constexpr, MARKS: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    left = a + row[:, None] * K + tl.arange(0, 64)[None, :]
    right = b + tl.arange(0, 64)[:, None] * N + column[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, 64):
        with block("step"):
            with block("load"):
                x, y = tl.load(left), tl.load(right)
            with block("dot"):
                total = tl.dot(x, y, total)
        if MARKS:
            tpl.mark("k", k)
        left += 64
        right += 64 * N
    if MARKS:
        tpl.mark("half", 0.5)
    tl.store(c + row[:, None] * N + column[None, :], doubled(total, block).to(tl.float16))


PRODUCT = "a=*fp16:16, b=*fp16:16, c=*fp16:16, K=i32:16"


def compiled(function, target="cuda:90", mode=None, signature="x=*i32:16", **constants):
    kernel = Specialization(function, parse_signature(signature), constants, {"num_warps": 4})
    if mode is None:
        return kernel.compile(target)
    with tritonext.use(f"profiler:mode={mode}"):
        return kernel.compile(target)


def with_scopes(target="cuda:90", mode=None, block=tpl.scope, marks=True):
    return compiled(product, target, mode, PRODUCT, N=4096, BLOCK=64, block=block, MARKS=marks)


def code_of(kernel):
    """Machine code and PTX, but for lines of the source."""
    ptx = re.sub(
        r"^\s*(\.loc|\.file|//|\$L__tmp).*\n", "", kernel.asm["ptx"].partition(".section")[0], flags=re.MULTILINE
    )
    return disassemble(kernel), ptx


@pytest.mark.parametrize("mode", [None, "header"])
def test_they_are_nothing_where_they_are_not_recorded(mode, monkeypatch):
    # The table names the source, which a kernel in the cache may have had elsewhere.
    monkeypatch.setattr(triton.knobs.compilation, "always_compile", True)
    scoped, plain = with_scopes(mode=mode), with_scopes(mode=mode, block=nothing, marks=False)
    assert code_of(scoped) == code_of(plain)
    assert getattr(scoped.metadata, "tritonext", None) == getattr(plain.metadata, "tritonext", None)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942"])
def test_scopes_nest_and_survive_the_pipeliner(target):
    kernel = with_scopes(target, "scopes")
    entry = kernel.metadata.tritonext_profiler
    regions = entry["regions"]
    assert {region["name"] for region in regions if region["enters"]} == {"step", "step/load", "step/dot", "double"}
    assert all((region["category"] == "scope") == bool(region["name"]) for region in regions[1:])
    assert {(region["mark"], region["value"]) for region in regions if region["mark"]} == {
        ("k", "int"),
        ("half", "float"),
    }
    looped = [region for region in regions if region["loop"] == 0]
    assert {"step/load", "step/dot"} <= {region["name"] for region in looped}
    assert regions[entry["loops"][0]["pace"]]["loop"] == 0
    if target.startswith("cuda"):
        assert set(integrity.markers(disassemble(kernel)).values()) == set(range(1, len(regions)))
    else:
        assert len(re.findall("s_memtime", kernel.asm["amdgcn"])) >= len(regions) - 1
        assert len(re.findall(r"global_store_dwordx4", kernel.asm["amdgcn"])) >= 5


def test_categories_know_the_scope_that_they_are_in():
    regions = with_scopes(mode="auto").metadata.tritonext_profiler["regions"]
    found = {(region["category"], region["name"]) for region in regions}
    assert {
        ("copy_wait", "step/load"),
        ("mma_issue", "step/dot"),
        ("epilogue", "double"),
        ("global_store", ""),
    } <= found


@triton.jit
def many(x, COUNT: tl.constexpr):
    for _ in tl.static_range(COUNT):
        with tpl.scope("one of many"):
            tl.store(x, tl.load(x) + 1)


@gluon.jit
def of_gluon(x):
    at = gl.arange(0, 128, layout=gl.BlockedLayout([1], [32], [4], [0]))
    with tpl.scope("load"):
        value = gl.load(x + at)
    tpl.mark("row", gl.program_id(0))
    gl.store(x + at, value)


def test_kernels_of_gluon_are_recorded_too():
    kernel = compiled(of_gluon, mode="auto")
    regions = kernel.metadata.tritonext_profiler["regions"]
    assert {("global_load", "load", ""), ("global_store", "", "row")} <= {
        (region["category"], region["name"], region["mark"]) for region in regions
    }
    assert integrity.check(kernel) == []
    assert "tritonext_profiler" not in dir(compiled(of_gluon).metadata)


def test_there_may_be_more_than_other_profilers_take():
    entry = compiled(many, mode="scopes", COUNT=300).metadata.tritonext_profiler
    assert sum(region["enters"] for region in entry["regions"]) == 300
    assert entry["records"] == 600


@triton.jit
def unbalanced(x, KIND: tl.constexpr):
    if KIND == "left open":
        tpl.enter_scope("outer")
    elif KIND == "not entered":
        tpl.exit_scope("outer")
    elif KIND == "crossed":
        tpl.enter_scope("outer")
        tpl.enter_scope("inner")
        tpl.exit_scope("outer")
    elif KIND == "in a branch":
        if tl.load(x) > 0:
            tpl.enter_scope("outer")
        tl.store(x, 1)
        tpl.exit_scope("outer")
    elif KIND == "both":
        wanted = tl.load(x) > 0
        if wanted:
            tpl.enter_scope("outer")
        tl.store(x, 1)
        if wanted:
            tpl.exit_scope("outer")
    elif KIND == "by itself":
        alone(x)


@triton.jit(noinline=True)
def alone(x):
    with tpl.scope("outer"):
        tl.store(x, 1)


INLINED = "expected scopes and marks in the kernel itself, or in functions that are inlined"


@pytest.mark.parametrize(
    ("kind", "message", "line"),
    [
        ("left open", 'expected scope "outer" to be left on every way from here', 'tpl.enter_scope("outer")'),
        ("not entered", 'expected the innermost scope to be left, got "outer"', 'tpl.exit_scope("outer")'),
        ("crossed", 'expected the innermost scope to be left, got "outer"', 'tpl.exit_scope("outer")'),
        ("in a branch", 'expected the innermost scope to be left, got "outer"', 'tpl.exit_scope("outer")'),
        ("by itself", INLINED, 'with tpl.scope("outer"):'),
    ],
)
def test_a_scope_that_is_not_left_is_an_error_at_its_line(kind, message, line):
    with pytest.raises(KernelError, match=re.escape(message)) as caught:
        compiled(unbalanced, mode="scopes", KIND=kind)
    assert line in str(caught.value)
    assert ("no scope is entered there" in str(caught.value)) == (kind in ("not entered", "in a branch"))
    # Without a profile nobody asks.
    compiled(unbalanced, KIND=kind)


def test_a_scope_may_depend_on_one_condition():
    entry = compiled(unbalanced, mode="scopes", KIND="both").metadata.tritonext_profiler
    assert [region["name"] for region in entry["regions"]] == ["", "outer", ""]


@triton.jit
def named(x, NAME: tl.constexpr, VALUE: tl.constexpr):
    if VALUE:
        tpl.mark("value", tl.load(x + tl.arange(0, 16)))
    with tpl.scope(NAME):
        tl.store(x, 1)


@pytest.mark.parametrize(("name", "value"), [("", False), ("a/b", False), (3, False), ("fine", True)])
def test_names_and_values_that_cannot_be_are_refused(name, value):
    with pytest.raises(triton.CompilationError) as caught:
        compiled(named, mode="scopes", NAME=name, VALUE=value)
    assert ("the value is no number" if value else "the name is unusable") in str(
        caught.value.__cause__ or caught.value
    )


def test_outside_of_kernels_they_are_refused_and_in_the_interpreter_they_are_nothing(monkeypatch):
    with pytest.raises(UserError, match="scopes and marks are of kernels"):
        tpl.enter_scope("outer")
    monkeypatch.setattr(tpl, "interpreting", lambda: True)
    with tpl.scope("outer"):
        tpl.mark("value", 3)


def test_marks_come_back_with_their_values():
    regions = (
        Region(0, "entry"),
        Region(1, "other", mark="k", value="int"),
        Region(2, "other", mark="x", value="float"),
    )
    regions += (Region(3, "other"), Region(4, "other", mark="plain"))
    kernel = Kernel("marked", "5eed", regions=regions, num_warps=1)
    entry = table(kernel, capacity=8)
    units = np.zeros(4, format.UNIT)
    units["region"] = [1, 3, 2, 4]
    units["clocks"][:, 0] = [110, 120, 130, 140]
    units["clocks"][0, 1:] = np.array([-5], "<i8").view("<u4")
    units["clocks"][2, 1] = np.array([0.25], "<f4").view("<u4")[0]
    head = np.zeros(1, format.SEGMENT)
    head["sequence"], head["attempted"], head["clock_start"], head["clock_end"] = 1, 4, 100, 150
    data = np.concatenate([head.view(np.uint8), units.view(np.uint8)])[None]
    chunk = decode.Chunk(0, 0, 0, 0, False, (1, 1, 1), 1, data)
    marks = decode.decode([chunk], [kernel], [entry]).profile([kernel]).marks
    assert marks["region"].tolist() == [1, 2, 4]
    assert marks["start"].tolist() == [10, 30, 40]
    assert marks["value"][:2].tolist() == [-5, 0.25]
    assert np.isnan(marks["value"][2])
