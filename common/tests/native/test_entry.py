"""The native half of every extension: option parsing, remarks, op callbacks. Asked through the fixture extension."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tritonext

MODULE = """
module {{
  tt.func public @kernel(%x: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = probe.twice %x : tensor<8xf32> loc({loc})
    tt.return %0 : tensor<8xf32>
  }}
}}
"""


@pytest.fixture
def native(probe):
    return tritonext.load("probe").native


@pytest.fixture
def lower(native, tmp_path):
    """Run the lowering pass on an op at a location, and return the module that comes out."""
    from triton._C.libtriton import ir, passes

    def run(loc: str = '"user.py":7:3', *options: str) -> str:
        context = ir.context()
        ir.load_dialects(context)
        path = tmp_path / "in.mlir"
        path.write_text(MODULE.format(loc=loc))
        module = ir.parse_mlir_module(str(path), context)
        manager = ir.pass_manager(context)
        passes.plugin.add_probe_lower_twice(manager, list(options))
        manager.run(module, "test")
        return str(module)

    return run


def in_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["probe-lower-twice", "probe_lower_twice"])
def test_options_are_checked_by_flag_and_by_name(native, name):
    native.check_pass_options(name, "mode=mul count=3")
    with pytest.raises(
        tritonext.errors.OptionError, match=r"like probe-lower-twice\{count=2 late=false mode=add\}.*no such option"
    ):
        native.check_pass_options(name, "colour=red")


@pytest.mark.parametrize("options", ["count=many", "mode=square", "count"])
def test_unusable_values_are_refused(native, options):
    with pytest.raises(tritonext.errors.OptionError):
        native.check_pass_options("probe-lower-twice", options)


def test_unknown_pass_is_named(native):
    with pytest.raises(tritonext.errors.OptionError, match="the library has no pass 'probe-sleep'"):
        native.check_pass_options("probe-sleep", "")


def test_options_reach_the_pass(lower):
    assert lower('"user.py":7:3', "count=4").count("arith.addf") == 3
    assert lower('"user.py":7:3', "mode=mul").count("arith.mulf") == 1


def test_pass_on_functions_is_nested_in_a_module_pipeline(lower):
    assert "probe.twice" not in lower()


def test_bad_options_are_a_located_error_when_the_pipeline_runs(probe, tmp_path):
    path = tmp_path / "in.mlir"
    path.write_text(MODULE.format(loc='"user.py":7:3'))
    done = in_process(f"""
import tritonext; tritonext.load("probe")
from triton._C.libtriton import ir, passes
context = ir.context(); ir.load_dialects(context)
module = ir.parse_mlir_module({str(path)!r}, context)
manager = ir.pass_manager(context)
passes.plugin.add_probe_lower_twice(manager, ["colour=red"])
try:
    manager.run(module, "test")
except RuntimeError:
    print("refused")
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "refused"
    assert "in.mlir:2:1: error: pass 'probe_lower_twice': expected options like" in done.stderr
    assert "got 'colour=red'" in done.stderr


def test_failed_op_builder_is_an_error_and_no_crash(probe):
    done = in_process("""
import tritonext; tritonext.load("probe")
from triton._C.libtriton import ir
context = ir.context(); ir.load_dialects(context)
builder = ir.builder(context)
module = builder.create_module()
kind = builder.get_function_ty([builder.get_int32_ty()], [])
function = builder.get_or_insert_function(module, "kernel", kind, "public", False)
module.push_back(function)
builder.set_insertion_point_to_start(function.add_entry_block())
value = builder.create_probe_twice([function.args(0)])
print(value.get_type())
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "i32"
    assert "error: op builder 'probe_twice' returned no value for 1 operand(s)" in done.stderr


def test_no_remark_outside_a_collection(native, lower):
    lower()
    native.begin_remarks()
    assert native.end_remarks() == []


def test_end_without_begin_is_empty(native):
    assert native.end_remarks() == []


def test_remark_content(native, lower):
    native.begin_remarks()
    lower()
    assert native.end_remarks() == [
        {
            "kind": "applied",
            "pass": "probe-lower-twice",
            "function": "kernel",
            "loc": "user.py:7:3",
            "message": "replaced by additions",
        }
    ]


def test_outer_collection_contains_the_inner(native, lower):
    native.begin_remarks()
    lower()
    native.begin_remarks()
    lower('"other.py":1:1')
    inner, outer = native.end_remarks(), native.end_remarks()
    assert [remark["loc"] for remark in inner] == ["other.py:1:1"]
    assert [remark["loc"] for remark in outer] == ["user.py:7:3", "other.py:1:1"]


@pytest.mark.parametrize(
    ("loc", "expected"),
    [
        ('"x"("user.py":7:3)', "user.py:7:3"),
        ('callsite("helper.py":2:1 at "user.py":7:3)', "helper.py:2:1"),
        ('callsite("/env/triton/language/standard.py":2:1 at "user.py":7:3)', "user.py:7:3"),
        ('callsite("/env/triton/language/standard.py":2:1 at unknown)', "/env/triton/language/standard.py:2:1"),
        ('fused["user.py":7:3, "user.py":8:3]', "user.py:7:3"),
        ('fused[unknown, "user.py":8:3]', "user.py:8:3"),
        ("unknown", ""),
    ],
)
def test_remark_points_at_the_line_of_the_user(native, lower, loc, expected):
    native.begin_remarks()
    lower(loc)
    (remark,) = native.end_remarks()
    assert remark["loc"] == expected


def test_remarks_stay_on_their_thread(native, lower):
    import threading

    native.begin_remarks()
    thread = threading.Thread(target=lower)
    thread.start()
    thread.join()
    assert native.end_remarks() == []


def test_identities_agree_with_libtriton(native):
    counts = native.self_test()
    assert counts["wrong"] == []
    for name in ("terminators", "traits", "interfaces"):
        assert counts[name] == counts[f"{name}_expected"] > 0
