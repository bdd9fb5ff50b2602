"""``tritonext explain``: arguments from every source, passes and diffs, remarks, resources, sections."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys

import pytest

from tritonext import explain
from tritonext._triton import recording
from tritonext.errors import ExtensionError, OptionError, UserError
from tritonext.explain import Section
from tritonext.offline import Argument
from tritonext.testing import kernels, run_python

KERNELS = """\
from __future__ import annotations

import triton
import triton.language as tl
from neighbour import FACTOR

tritonext_explain = {
    "mapped": {"signature": "x=*fp32:16, n=i32", "constexprs": {"BLOCK": 512}, "options": {"num_warps": 2}},
    "odd": {"signatures": ""},
}


@triton.autotune(configs=[triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def annotated(x: "*fp32:16", n: "i32", BLOCK: tl.constexpr = 1024):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * FACTOR, mask=at < n)


@triton.jit
def mapped(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


odd = mapped
plain = mapped
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "neighbour.py").write_text("import triton.language as tl\n\nFACTOR = tl.constexpr(2)\n")
    path = tmp_path / "kernels_of_a_user.py"
    path.write_text(KERNELS)
    yield str(path)
    for name in ("neighbour", "kernels_of_a_user"):
        sys.modules.pop(name, None)


def run(*arguments: str) -> None:
    """Run the command in this process."""
    assert explain.main(arguments) == 0


# --- arguments --------------------------------------------------------------------------------------------------------


def test_annotations_and_defaults_describe_a_kernel(file):
    kernel = explain.find_kernel(f"{file}::annotated")
    assert kernel.fn.__name__ == "annotated"
    assert kernel.signature == {"x": Argument("*fp32", 16), "n": Argument("i32")}
    assert kernel.missing() == []


def test_a_mapping_in_the_module_describes_a_kernel(file):
    kernel = explain.find_kernel(f"{file}::mapped")
    assert (kernel.constexprs, kernel.options) == ({"BLOCK": 512}, {"num_warps": 2})


def test_the_command_line_overrides_the_source(file, capsys):
    run(f"{file}::mapped", "--constexpr", "BLOCK=64", "--option", "num_warps=1", "--signature", "x=*i8", "--json")
    data = json.loads(capsys.readouterr().out)
    assert (data["kernel"], data["target"], data["extended"]) == ("mapped", "cuda:90", None)
    assert data["baseline"]["global_stores"] == {"8": 2}


def test_a_corpus_kernel_is_found_by_its_name():
    assert explain.find_kernel("tritonext.testing.kernels::gemm_bias") is kernels.CORPUS["gemm_bias"]


def test_what_is_missing_is_listed_with_its_option(file):
    with pytest.raises(UserError, match="3 of 3 arguments are not described") as error:
        explain.main([f"{file}::plain"])
    assert error.value.details == (
        "x needs a type: --signature 'x=*fp16:16' or 'x=i32'",
        "n needs a type: --signature 'n=*fp16:16' or 'n=i32'",
        "BLOCK needs a value: --constexpr BLOCK=128",
    )


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("{file}", "the kernel is not named"),
        ("{file}::", "the kernel is not named"),
        ("{file}.gone.py::mapped", "the kernel's file does not exist"),
        ("tritonext.no_such_module::mapped", "the module cannot be imported"),
        ("{file}::maped", "no kernel named 'maped'"),
        ("{file}::FACTOR", "no kernel named 'FACTOR'"),
        ("{file}::odd", "the mapping tritonext_explain has an unknown key"),
    ],
)
def test_unusable_places(file, place, message):
    with pytest.raises(UserError, match=message):
        explain.find_kernel(place.format(file=file))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x = (", "SyntaxError: '(' was never closed"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f():\n    raise KeyError('here')\n\nf()", "KeyError: 'here'"),
        ("raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_module_that_cannot_be_imported(tmp_path, monkeypatch, code, found):
    (tmp_path / "broken_module.py").write_text(f"{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    for place in (str(tmp_path / "broken_module.py"), "broken_module"):
        with pytest.raises(UserError, match="the module cannot be imported") as error:
            explain.find_kernel(f"{place}::kernel")
        assert error.value.found.startswith(found)
        if "KeyError" in found:
            lines = [line.rpartition("broken_module.py:")[2] for line in error.value.details]
            assert lines == ["4: f()", "2: raise KeyError('here')"]
        sys.modules.pop("broken_module", None)
    with pytest.raises(UserError, match="the module cannot be imported"):
        explain.find_kernel("..broken_module::kernel")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("5", "tritonext_explain"),
        ("{'kernel': 5}", "tritonext_explain['kernel']"),
        ("{'kernel': ''}", "tritonext_explain['kernel']"),
        ("{'kernel': {'signature': 7}}", "tritonext_explain['kernel']['signature']"),
        ("{'kernel': {'constexprs': 7}}", "tritonext_explain['kernel']['constexprs']"),
        ("{'kernel': {'options': [1]}}", "tritonext_explain['kernel']['options']"),
    ],
)
def test_unusable_mapping_in_the_module(tmp_path, value, name):
    file = tmp_path / "unusable_mapping.py"
    file.write_text(f"import triton\n\n\n@triton.jit\ndef kernel(x):\n    pass\n\n\ntritonext_explain = {value}\n")
    with pytest.raises(UserError) as error:
        explain.find_kernel(f"{file}::kernel")
    assert error.value.message == f"{name} is unusable"
    assert error.value.expected == "a mapping"


def test_types_in_a_mapping_are_read_as_text_or_arguments(tmp_path):
    file = tmp_path / "typed_mapping.py"
    file.write_text(
        "import triton\nfrom tritonext.offline import Argument\n\n\n@triton.jit\ndef kernel(x, n):\n    pass\n\n\n"
        "tritonext_explain = {'kernel': {'signature': {'x': '*fp16:16', 'n': Argument('i32')}}}\n"
    )
    assert explain.find_kernel(f"{file}::kernel").signature == {"x": Argument("*fp16", 16), "n": Argument("i32")}


def test_the_nearest_kernel_is_proposed(file):
    with pytest.raises(UserError) as error:
        explain.find_kernel(f"{file}::maped")
    assert error.value.hint.endswith("::mapped")
    assert error.value.expected == "annotated, mapped, odd, plain"


@pytest.mark.parametrize("option", ["--constexpr", "--option"])
def test_settings_are_pairs(file, option):
    with pytest.raises(OptionError, match="a setting is malformed"):
        explain.main([f"{file}::mapped", option, "BLOCK"])


# --- passes -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stock():
    return explain.explain(kernels.get("gemm_fp16"), "cuda:90")


def test_every_stage_is_recorded_in_order(stock):
    flags = [run.flag for run in stock.baseline.passes]
    assert list(dict.fromkeys(run.stage for run in stock.baseline.passes)) == ["ttir", "ttgir", "llir"]
    assert flags[0] == "inline"
    assert flags.count("tritongpu-remove-layout-conversions") == 4
    assert flags.index("tritongpu-coalesce") < flags.index("tritongpu-pipeline") < flags.index("convert-scf-to-cf")


def test_one_pass_begins_where_the_one_before_ended(stock):
    for stage in ("ttir", "ttgir", "llir"):
        runs = [run for run in stock.baseline.passes if run.stage == stage]
        assert len(runs) > 1
        assert all(first.after == second.before for first, second in itertools.pairwise(runs))


def test_passes_that_change_nothing_are_told_from_those_that_do(stock):
    changed = {run.flag: run.changed for run in stock.baseline.passes}
    assert changed["tritongpu-accelerate-matmul"]
    assert not changed["triton-nvidia-tma-lowering"]
    assert not any("loc(" in run.before for run in stock.baseline.passes)


def test_recording_changes_no_code(stock):
    with recording.uncached():
        assert kernels.compile("gemm_fp16", "cuda:90").asm["cubin"] == stock.baseline.kernel.asm["cubin"]


def test_recording_leaves_the_cache_and_the_environment_alone(cache_directory, stock):
    before = sorted(cache_directory.rglob("*"))
    explain.explain(kernels.get("softmax"), "cuda:90", stages=("ttir",))
    assert sorted(cache_directory.rglob("*")) == before
    assert "MLIR_ENABLE_DUMP" not in os.environ
    assert "TRITON_ALWAYS_COMPILE" not in os.environ


def test_amd_passes_are_recorded(capsys):
    run("tritonext.testing.kernels::softmax", "--target", "hip:gfx950", "--stage", "ttgir", "--json")
    passes = json.loads(capsys.readouterr().out)["passes"]
    assert {entry["stage"] for entry in passes} == {"ttgir"}
    assert "tritonamdgpu-optimize-epilogue" in {entry["flag"] for entry in passes}


def test_a_diff_ignores_renumbered_values():
    before = "%0 = a\n%1 = b %0\n%2 = c %1\n%x_3 = d %2"
    after = "%0 = a\n%1 = new\n%2 = b %0\n%3 = c %2\n%x_4 = d %3"
    changes = [line for line in explain.unified_diff(before, after) if line[0] in "+-"]
    assert changes == ["+%1 = new"]


def test_a_diff_shows_changed_operands_when_nothing_else_changed():
    changes = list(explain.unified_diff("%0 = a\n%1 = b %0", "%0 = a\n%1 = b %1"))
    assert changes == ["@@ -1,2 +1,2 @@", " %0 = a", "-%1 = b %0", "+%1 = b %1"]


def test_one_pass_can_be_shown(capsys):
    run("tritonext.testing.kernels::softmax", "--stage", "ttgir", "--pass", "tritongpu-coalesce")
    text = capsys.readouterr().out
    assert "ttgir: tritongpu-coalesce" in text
    assert "+" in text
    assert "sizePerThread = [8]" in text


def test_an_unknown_pass_names_near_ones():
    with pytest.raises(UserError, match="runs no pass 'tritongpu-coalesc'") as error:
        explain.main(["tritonext.testing.kernels::softmax", "--stage", "ttgir", "--pass", "tritongpu-coalesc"])
    assert "tritongpu-coalesce" in error.value.hint


def test_without_extension_no_diff_unless_asked(capsys):
    run("tritonext.testing.kernels::softmax", "--stage", "ttir")
    assert "@@" not in capsys.readouterr().out
    run("tritonext.testing.kernels::softmax", "--stage", "ttir", "--diff")
    assert "@@" in capsys.readouterr().out


BROKEN = """\
import triton
import triton.language as tl


@triton.jit
def broken(x: "*fp32"):
    tl.store(x, missing)
"""


def test_a_kernel_that_does_not_compile_is_a_user_error(tmp_path):
    path = tmp_path / "broken_kernel.py"
    path.write_text(BROKEN)
    with pytest.raises(UserError, match="the kernel does not compile") as error:
        explain.main([f"{path}::broken"])
    assert error.value.where == "kernel broken, cuda:90"
    assert error.value.found == "CompilationError"
    assert any("NameError('missing is not defined')" in line for line in error.value.details)


GLUON = """\
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

tritonext_explain = {"increment": {"signature": "x=*fp32:16", "constexprs": {"BLOCK": 256}}}


@gluon.jit
def increment(x, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.arange(0, BLOCK, layout=layout)
    gl.store(x + at, gl.load(x + at) + 1)
"""


def test_a_gluon_kernel_starts_at_ttgir(tmp_path, capsys):
    path = tmp_path / "gluon_kernel.py"
    path.write_text(GLUON)
    run(f"{path}::increment", "--json")
    data = json.loads(capsys.readouterr().out)
    assert [entry["stage"] for entry in data["passes"]].index("llir") > 0
    assert data["passes"][0]["stage"] == "ttgir"
    assert data["baseline"]["global_stores"] == {"32": 2}


# --- extensions -------------------------------------------------------------------------------------------------------

PROBED = """\
import triton
import triton.language as tl
import tritonext_probe

tritonext_explain = {"doubled": {"signature": "x=*fp32:16", "constexprs": {"BLOCK": 128}}}


@triton.jit
def doubled(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tritonext_probe.twice(tl.load(x + at)))
"""


@pytest.fixture
def probed(probe, tmp_path):
    path = tmp_path / "probed_kernel.py"
    path.write_text(PROBED)
    yield f"{path}::doubled"
    sys.modules.pop("probed_kernel", None)


def test_an_extension_s_pass_is_shown_with_its_diff(probe, capsys):
    run("tritonext.testing.kernels::softmax", "--stage", "ttgir", "--enable", "probe:mark=here")
    text = capsys.readouterr().out
    assert "softmax for cuda:90 with probe" in text
    assert "ttgir: probe-mark-module{mark=here}" in text
    assert '+module attributes {probe.mark = "here"' in text
    assert "ttgir: tritongpu-coalesce" not in text


def test_no_diff_on_request(probe, capsys):
    run("tritonext.testing.kernels::softmax", "--stage", "ttgir", "--enable", "probe", "--no-diff")
    text = capsys.readouterr().out
    assert "probe-mark-module" in text
    assert "@@" not in text


@pytest.mark.parametrize("enable", [(), ("--enable", "probe")])
def test_remarks_come_with_the_source_line(probed, capsys, enable):
    run(probed, "--stage", "ttir", *enable, "--json")
    (remark,) = json.loads(capsys.readouterr().out)["remarks"]
    assert remark["kind"] == "applied"
    assert remark["pass"] == "probe-lower-twice"
    assert remark["function"] == "doubled"
    assert remark["line"] == 11
    assert remark["source"] == "tl.store(x + at, tritonext_probe.twice(tl.load(x + at)))"


def test_the_first_column_says_what_it_is(probed, capsys):
    """A kernel that uses ops of an extension is compiled with it in any case."""
    run(probed)
    text = capsys.readouterr().out
    assert "resources of a kernel that uses ops of probe" in text
    assert re.search(r"resource +┃ with probe +┃\n", text)
    assert "stock" not in text
    run(probed, "--json")
    data = json.loads(capsys.readouterr().out)
    assert (data["used"], data["extensions"], data["extended"]) == (["probe"], [], None)
    run(probed, "--enable", "layout")
    assert re.search(r"resource +┃ with probe +┃ with probe, layout +┃\n", capsys.readouterr().out)
    run(probed, "--enable", "probe:mark=here")
    assert re.search(r"resource +┃ with probe +┃ with probe, as enabled +┃\n", capsys.readouterr().out)
    run("tritonext.testing.kernels::softmax")
    assert re.search(r"resource +┃ stock +┃\n", capsys.readouterr().out)
    run("tritonext.testing.kernels::softmax", "--json")
    assert json.loads(capsys.readouterr().out)["used"] == []


def test_an_extension_adds_sections(probe, capsys, monkeypatch):
    import tritonext_probe

    def sections(before, after, found):
        assert found == ()
        marks = [str("probe.mark" in kernel.asm["ttgir"]) for kernel in (before, after)]
        return [Section("marks", ("stock", "extended"), (marks,), "said by the extension")]

    monkeypatch.setattr(tritonext_probe, "explain_sections", sections, raising=False)
    run("tritonext.testing.kernels::softmax", "--stage", "ttgir", "--enable", "probe", "--json")
    assert json.loads(capsys.readouterr().out)["sections"] == [
        {
            "title": "marks",
            "columns": ["stock", "extended"],
            "rows": [["False", "True"]],
            "text": "said by the extension",
        }
    ]
    run("tritonext.testing.kernels::softmax", "--stage", "ttgir", "--enable", "probe")
    assert "said by the extension" in capsys.readouterr().out


def test_unusable_sections_are_the_extension_s_error(probe, monkeypatch):
    import tritonext_probe

    broken = [Section("marks", ("one",), (("one", "two"),))]
    monkeypatch.setattr(tritonext_probe, "explain_sections", lambda before, after, found: broken, raising=False)
    with pytest.raises(ExtensionError, match=r"tritonext_probe\.explain_sections returned something unusable"):
        explain.main(["tritonext.testing.kernels::softmax", "--stage", "ttgir", "--enable", "probe"])


def test_the_command_line_of_a_fresh_process(file):
    command = [sys.executable, "-m", "tritonext", "explain", f"{file}::annotated", "--stage", "ttir"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "annotated for cuda:90" in done.stdout
    assert "IR Dump" not in done.stdout + done.stderr
    done = subprocess.run([*command[:4], f"{file}::plain"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "BLOCK needs a value: --constexpr BLOCK=128" in done.stderr


def test_interpreted_kernels_are_refused():
    done = run_python(
        "-m", "tritonext", "explain", "tritonext.testing.kernels::softmax", environment={"TRITON_INTERPRET": "1"}
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: interpreted kernels are not compiled\n  where: TRITON_INTERPRET\n")


def test_the_variable_enables_what_the_command_line_leaves_open(probe, monkeypatch, capsys):
    monkeypatch.setenv("TRITONEXT_ENABLE", "probe:mark=x")
    run("tritonext.testing.kernels::softmax", "--stage", "ttir", "--json")
    assert json.loads(capsys.readouterr().out)["extensions"] == ["probe"]
