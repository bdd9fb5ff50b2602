"""``python -m tritonext.opt`` and what it is made of: splitting, pass syntax, diagnostics, exit codes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

from tritonext import opt
from tritonext._triton import ir, recording
from tritonext.errors import DiagnosticError, OptionError, UnknownPassError, UserError
from tritonext.opt import Chunk, PassCall
from tritonext.testing import Finished, run_python

GOOD = """\
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @kernel(%a: i32) -> i32 {
    %unused = arith.addi %a, %a : i32
    tt.return %a : i32
  }
}
"""
BAD = """\
module {
  tt.func @kernel() {
    // expected-error @below {{Dialect `nothing' not found}}
    nothing.here
    tt.return
  }
}
"""


def run(*arguments: object, text: str | None = None) -> Finished:
    return run_python("-m", "tritonext.opt", *map(str, arguments), text=text)


@pytest.fixture
def write(tmp_path):
    def write(text: str):
        path = tmp_path / "input.mlir"
        path.write_text(text)
        return path

    return write


# --- passes and input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["common.canonicalizer", "passes.common.add_canonicalizer", "canonicalize"], ids=["anchor", "path", "flag"]
)
def test_runs_a_stock_pass(write, name):
    done = run(write(GOOD), "--pass", name)
    assert done.returncode == 0, done
    assert "tt.func public @kernel" in done.stdout
    assert "arith.addi" not in done.stdout
    assert "loc(" not in done.stdout


def test_runs_stock_passes_with_arguments(write):
    text = "tt.func @kernel(%a: tensor<64xf32>) -> tensor<64xf32> {\n  tt.return %a : tensor<64xf32>\n}\n"
    done = run(write(text), "--pass", "ttir.convert_to_ttgpuir{cuda:90 8 32 1}")
    assert done.returncode == 0, done
    assert 'ttg.target = "cuda:90"' in done.stdout
    assert "warpsPerCTA = [8]" in done.stdout


def test_runs_passes_in_the_order_given(write, probe):
    done = run(
        write("module {}"), "--pass", "probe-mark-module{mark=one}", "--pipeline", "cse,probe_mark_module{mark=two}"
    )
    assert (done.returncode, done.stdout.strip()) == (0, 'module attributes {probe.mark = "two"} {\n}'), done


def test_prints_the_input_without_passes(write):
    done = run(write(GOOD))
    assert done.returncode == 0, done
    assert "arith.addi" in done.stdout


def test_keeps_locations_on_request(write):
    path = write(GOOD)
    assert "loc(" in run(path, "--print-locations").stdout
    assert "loc(" not in run(path).stdout


def test_reads_standard_input_and_writes_a_file(tmp_path):
    done = run("-", "-o", tmp_path / "out.mlir", text=GOOD)
    assert (done.returncode, done.stdout) == (0, ""), done
    assert "@kernel" in (tmp_path / "out.mlir").read_text()


def test_processes_the_parts_of_a_file_one_by_one(write):
    done = run(write(f"{GOOD}// -----\n{BAD}// ----- again\n{GOOD}"))
    assert done.returncode == 1, done
    assert done.stdout.count("@kernel") == 2
    assert done.stdout.count("// -----") == 1
    assert "input.mlir:11:5: error: Dialect `nothing' not found" in done.stderr


def test_does_not_split_when_told_so(write):
    done = run(write(f"{GOOD}// -----\n{GOOD}"), "--no-split-input-file")
    assert done.returncode == 0, done
    assert "// -----" not in done.stdout


def test_loads_what_has_the_pass(write, probe):
    done = run(write("module {}"), "--pass", "probe-mark-module")
    assert (done.returncode, done.stdout.strip()) == (0, 'module attributes {probe.mark = "seen"} {\n}'), done


def test_dialects_need_their_extension_loaded(write, probe):
    path = write("tt.func @kernel(%a: tensor<4xf32>) {\n  %0 = probe.twice %a : tensor<4xf32>\n  tt.return\n}\n")
    assert "probe.twice" in run(path, "--load", "probe").stdout
    assert "probe.twice" in run(path, "--load-library", probe.library).stdout
    refused = run(path)
    assert refused.returncode == 1
    assert "Dialect `probe' not found" in refused.stderr


def test_prints_remarks(write, probe):
    path = write("tt.func @kernel(%a: tensor<4xf32>) {\n  %0 = probe.twice %a : tensor<4xf32>\n  tt.return\n}\n")
    done = run(path, "--pass", "probe-lower-twice", "--remarks")
    assert done.returncode == 0, done
    assert done.stderr.startswith("input.mlir:2:8: %0 = probe.twice %a : tensor<4xf32>\n  applied: ")
    assert run(path, "--pass", "probe-lower-twice").stderr == ""


def test_lists_stock_and_extension_passes(probe):
    done = run("--list-passes")
    assert done.returncode == 0, done
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert {"ttgpuir.coalesce", "ttgpuir.pipeline{int bool}", "probe-lower-twice"} <= set(lines)


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "near"),
    [("coalesce", "ttgpuir.coalesce"), ("ttgpuir.coalesse", "ttgpuir.coalesce"), ("canonicalise", "canonicalize")],
)
def test_unknown_pass_names_the_nearest(write, name, near):
    done = run(write(GOOD), "--pass", name)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith(f"error: no pass is called '{name}'")
    assert f"near: {near}\n" in done.stderr
    assert "--list-passes" in done.stderr


def test_unknown_pass_names_near_ones_of_extensions_not_loaded(write, probe):
    done = run(write(GOOD), "--pass", "probe-mark-modul")
    assert "near: probe-mark-module\n" in done.stderr, done


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("ttgpuir.pipeline", "takes 2 arguments"),
        ("ttgpuir.pipeline{3 maybe}", "expected: ttgpuir.pipeline{int bool}"),
        ("common.cse{1}", "takes no arguments"),
        ("common.cse{", "a closing brace"),
        ("common.cse,", "expected: the name of a pass"),
        ("common.cse}", "found: '}'"),
    ],
)
def test_wrong_arguments_are_one_error(write, call, text):
    done = run(write(f"{GOOD}// -----\n{GOOD}"), "--pass", call)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert text in done.stderr
    assert done.stderr.count("error: ") == 1


def test_wrong_options_of_an_extension_pass(write, probe):
    done = run(write("module {}"), "--pass", "probe-mark-module{color=red}")
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "no such option color" in done.stderr


def test_a_failing_pass_says_which_and_why_without_dumps(write):
    text = "tt.func @kernel(%a: tensor<64xf32>) -> tensor<64xf32> {\n  tt.return %a : tensor<64xf32>\n}\n"
    done = run(write(text), "--pass", "amd.ttgpuir.to_llvmir{gfx1 true}")
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("error: the pass ConvertTritonAMDGPUToLLVM failed\n")
    assert "error: unsupported target: 'gfx1'" in done.stderr
    assert "reproducer" not in done.stderr
    assert "tt.func" not in done.stderr


CRASHING = "tt.func @kernel(%a: tensor<64xf32>) -> tensor<64xf32> {\n  tt.return %a : tensor<64xf32>\n}\n"


def test_a_crash_ends_its_own_module_only(write):
    # An encoding with three warps breaks an assertion of the stock conversion.
    done = run(write(f"{CRASHING}// -----\nmodule {{}}\n"), "--pass", "ttir.convert_to_ttgpuir{cuda:90 3 32 1}")
    assert done.returncode == 1, done
    assert "module attributes" in done.stdout
    assert done.stderr.startswith("error: the pass ConvertTritonToTritonGPU crashed\n")
    assert "tt.func" not in done.stderr


def test_a_crash_is_never_an_expected_diagnostic(write):
    text = CRASHING.replace("\n", " // expected-error @unknown {{power of two}}\n", 1)
    done = run(write(text), "--pass", "ttir.convert_to_ttgpuir{cuda:90 3 32 1}", "--verify-diagnostics")
    assert done.returncode == 1, done
    assert "crashed" in done.stderr


def test_a_child_that_dies_is_reported(monkeypatch, write, capfd):
    def die(*arguments: object) -> None:
        os.write(2, b"last words\n")
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(opt, "_process", die)
    assert opt.main([str(write("module {}"))]) == 1
    output = capfd.readouterr().err
    assert "error: the process crashed in a pass" in output
    assert "found: SIGKILL" in output
    assert "last words" in output


def test_unreadable_input_and_output(write, tmp_path):
    assert "No such file" in run(tmp_path / "absent.mlir").stderr
    (tmp_path / "binary.mlir").write_bytes(b"\xff\xfe")
    done = run(tmp_path / "binary.mlir")
    assert done.returncode == 1
    assert "not UTF-8" in done.stderr
    done = run(write("module {}"), "-o", tmp_path / "absent" / "out.mlir")
    assert done.returncode == 1
    assert "the output cannot be written" in done.stderr


# --- expected diagnostics --------------------------------------------------------------------------------------------


def verify(write, text: str, *arguments: str) -> Finished:
    return run(write(text), "--verify-diagnostics", *arguments)


def test_expected_errors_pass(write):
    done = verify(write, f"{GOOD}// -----\n{BAD}")
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.parametrize("comment", ["@below {{Dialect}}", "@+1 {{not found for}}", "-re@+1{{ialect `{{n.*g}}' not}}"])
def test_places_and_patterns(write, comment):
    spaced = comment if comment.startswith("-re") else f" {comment}"
    done = verify(write, f"module {{\n  // expected-error{spaced}\n  nothing.here\n}}\n")
    assert (done.returncode, done.stderr) == (0, ""), done


def test_above_and_same_line_and_minus(write):
    for text in (
        "module {\n  nothing.here // expected-error {{Dialect}}\n}\n",
        "module {\n  nothing.here\n  // expected-error @above {{Dialect}}\n}\n",
        "module {\n  nothing.here\n\n  // expected-error @-2 {{Dialect}}\n}\n",
    ):
        done = verify(write, text)
        assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BAD.replace("below", "+2"), "input.mlir:3: expected error at line 5 was not produced"),
        (BAD.replace("nothing' not", "nothing' is not"), "input.mlir:4:5: unexpected error: Dialect `nothing'"),
        (BAD.replace("expected-error", "expected-warning"), "input.mlir:3: expected warning at line 4"),
        (
            BAD.replace("    // expected-error @below {{Dialect `nothing' not found}}\n", ""),
            "unexpected error: Dialect",
        ),
        (BAD.replace("    nothing.here\n", ""), "was not produced: Dialect `nothing' not found"),
        (BAD.replace("{{", "{"), "an expectation is malformed"),
    ],
    ids=["line", "text", "severity", "unexpected", "absent", "malformed"],
)
def test_wrong_expectations_fail(write, text, problem):
    done = verify(write, text)
    assert done.returncode == 1, done
    assert problem in done.stderr


def test_lines_count_from_the_start_of_the_file(write):
    done = verify(write, f"{GOOD}// -----\n{BAD.replace('@below', '@+2')}")
    assert "input.mlir:10: expected error at line 12 was not produced" in done.stderr, done
    assert "input.mlir:11:5: unexpected error" in done.stderr


def test_expectations_of_a_pass(write, probe):
    text = (
        "tt.func @kernel(%a: tensor<4x!tt.ptr<f32>>) {\n"
        "  // expected-error @below {{expected elements that are integers or floats}}\n"
        "  %0 = probe.twice %a : tensor<4x!tt.ptr<f32>>\n  tt.return\n}\n"
    )
    done = verify(write, text, "--load", "probe", "--pass", "probe-lower-twice")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", ""), done
    done = verify(write, text, "--load", "probe")
    assert done.returncode == 1, done


def test_stacked_expectations_skip_each_other():
    chunk = Chunk(
        "x\n// expected-error @above {{a}}\n// expected-note @above {{b}}\n// expected-note @below {{c}}\ny", 10
    )
    assert [(e.severity, e.line) for e in opt.expectations(chunk)] == [("error", 10), ("note", 10), ("note", 14)]


def test_an_expectation_covers_repetitions_and_each_one_must_be_met():
    text = "a // expected-error {{x}}"
    twice = [ir.Diagnostic("error", "x", "f", 1, 1)] * 2
    [wanted] = opt.expectations(Chunk(text, 1))
    assert opt.mismatches([wanted], twice, "f") == []
    assert opt.mismatches([wanted, wanted], twice, "f") == []
    assert len(opt.mismatches([wanted, wanted], twice[:1], "f")) == 1
    assert opt.mismatches([wanted], [ir.Diagnostic("error", "y", "f", 1, 1)], "f")[0] == "f:1:1: unexpected error: y"


def test_remarks_and_notes_of_a_stock_pass(write):
    text = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
!a = tensor<32x32xf16, #ttg.dot_op<{opIdx = 0, parent = #blocked}>>
!b = tensor<32x32xf16, #ttg.dot_op<{opIdx = 1, parent = #blocked}>>
!c = tensor<32x32xf32, #blocked>
module attributes {
  "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32
} {
  tt.func public @dot(%a: !a, %b: !b, %c: !c) -> !c {
    // expected-remark @+2 {{MMA version 3 acceleration not applied}}
    // expected-note @below {{supports MMA v3}}
    %0 = tt.dot %a, %b, %c : !a * !b -> !c
    tt.return %0 : !c
  }
}
"""
    done = verify(write, text, "--pass", "ttgpuir.accelerate_matmul")
    assert (done.returncode, done.stderr) == (0, ""), done
    done = verify(write, text.replace("expected-note", "note"), "--pass", "ttgpuir.accelerate_matmul")
    assert done.returncode == 1
    assert "unexpected note: Target compute capability (90) supports MMA v3" in done.stderr
    done = run(write(text), "--pass", "ttgpuir.accelerate_matmul")
    assert done.returncode == 0
    assert "input.mlir:11:10: remark: MMA version 3" in done.stderr


# --- parts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("a", [PassCall("a")]),
        ("a{x=1 y=2},b.c{3 false}", [PassCall("a", ("x=1", "y=2")), PassCall("b.c", ("3", "false"))]),
        ("a{x={1 2},3 y=z}", [PassCall("a", ("x={1 2},3", "y=z"))]),
        ("a{},b", [PassCall("a"), PassCall("b")]),
    ],
)
def test_pipeline_syntax(text, calls):
    assert opt.parse_pipeline(text) == calls


@pytest.mark.parametrize("text", ["", "a,,b", "a{x", "a}b", "{x}", "a b"])
def test_malformed_pipelines(text):
    with pytest.raises(OptionError, match="the pass pipeline is malformed"):
        opt.parse_pipeline(text)


def test_split_keeps_line_numbers():
    assert opt.split_input("a\n// -----\n\n// -----\nb\nc") == [Chunk("a\n", 1), Chunk("\nb\nc", 4)]


def test_malformed_expectation_is_a_user_error():
    with pytest.raises(UserError, match="where: line 5"):
        opt.expectations(Chunk("// expected-error @sideways {{x}}", 5))


# --- tritonext._triton.ir --------------------------------------------------------------------------------------------


def test_every_stock_pass_can_be_added():
    samples = {"int": "1", "bool": "true", "str": "gfx942"}
    passes = ir.stock_passes()
    assert len(passes) > 100
    manager = ir.pass_manager(ir.context())
    added = 0
    for stock in passes.values():
        if all(kind in samples for kind in stock.parameters):
            ir.add_pass(manager, stock.name, [samples[kind] for kind in stock.parameters])
            added += 1
    assert added >= len(passes) - 1
    assert manager.get_pipeline_str().count(",") >= added - 1


def test_enumerations_are_arguments_by_name():
    stock = ir.stock_passes()["proton.convert_proton_to_protongpu"]
    arguments = ["CYCLE", "NONE", "", "WARP", "CIRCULAR", "SHARED", "1", "1", "1", "1", "false"]
    manager = ir.pass_manager(ir.context())
    ir.add_pass(manager, stock.name, arguments)
    assert manager.get_pipeline_str() != "any()"
    with pytest.raises(OptionError, match="found: 'HOURS'"):
        ir.add_pass(manager, stock.name, ["HOURS", *arguments[1:]])


def test_parse_errors_carry_their_diagnostics():
    with pytest.raises(DiagnosticError) as raised:
        ir.parse_text(BAD, ir.context(), "kernel.mlir", first_line=100)
    [found] = raised.value.diagnostics
    assert (found.severity, found.file, found.line, found.column) == ("error", "kernel.mlir", 103, 5)


def test_standard_error_is_restored(capfd):
    with pytest.raises(UnknownPassError):
        ir.add_pass(ir.pass_manager(ir.context()), "nothing")
    with pytest.raises(DiagnosticError):
        ir.parse_text("nonsense", ir.context())
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_what_another_thread_writes_while_a_module_is_parsed_is_not_lost(monkeypatch, capfd):
    real = ir.libtriton.ir.parse_mlir_module

    def parse(*arguments):
        thread = threading.Thread(target=os.write, args=(2, b"of another kernel\n"))
        thread.start()
        thread.join()
        return real(*arguments)

    monkeypatch.setattr(ir.libtriton.ir, "parse_mlir_module", parse)
    ir.parse_text(GOOD, ir.context())
    assert capfd.readouterr().err == "of another kernel\n"


def test_captured_output_is_not_lost_to_an_exception(capfd):
    def interrupted() -> None:
        with ir.capture_stderr():
            os.write(2, b"before\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capfd.readouterr().err == "before\n"


def test_recording_and_capturing_take_turns(capfd):
    order = []

    def capture() -> None:
        with ir.capture_stderr():
            order.append("captured")

    thread = threading.Thread(target=capture)
    with recording._printed_ir():
        thread.start()
        thread.join(0.2)
        order.append("recorded")
    thread.join()
    os.write(2, b"after\n")
    assert order == ["recorded", "captured"]
    assert capfd.readouterr().err == "after\n"


def test_dumps_are_dropped_and_messages_kept():
    dump = (
        "#a = #ttg.b\nmodule attributes {x = 1} {\n  tt.func @f() {\n  }\n}\n\n{-#\n  external_resources: {\n  }\n#-}\n"
    )
    output = f"f.mlir:1:2: error: one\n{dump}f.mlir:3:4: error: two\nmore\n{dump}f.mlir:5:6: note: three\n"
    found = ir.parse_diagnostics(ir._without_reproducers(output))
    assert [(d.line, d.severity, d.message) for d in found] == [
        (1, "error", "one"),
        (3, "error", "two\nmore"),
        (5, "note", "three"),
    ]


def test_modules_outlive_the_name_of_their_context():
    module = ir.parse_text(GOOD, ir.context())
    gc.collect()
    assert "@kernel" in ir.text(module)


def test_standard_input_is_utf8_in_every_locale():
    code = "import sys; from tritonext.cli import guarded; from tritonext.opt import main; sys.exit(guarded(main))"
    for environment in (
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    ):
        done = run_python("-c", code, "-", environment=environment, text="// \u00fc\nmodule {}\n")
        assert (done.returncode, done.stdout, done.stderr) == (0, "module {\n}\n", "")


@pytest.mark.parametrize("redirection", ["<&-", "< bad"])
def test_standard_input_that_cannot_be_read(tmp_path, redirection):
    (tmp_path / "bad").write_bytes(b"\xff\xfe\x00")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LC_ALL": "C"}
    command = f'exec "{sys.executable}" -m tritonext.opt - {redirection}'
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the input ")
    assert "where: <stdin>" in done.stderr
    assert "Traceback" not in done.stderr
