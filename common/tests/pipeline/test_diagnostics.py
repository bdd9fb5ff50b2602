"""An error of a pass is an exception with the line of the kernel, and the standard error stream has nothing of it."""

import concurrent.futures
import pickle

import pytest
import triton
import triton.language as tl

import tritonext
from tritonext import PassRef, Pipeline, insert_after
from tritonext._triton import diagnostics
from tritonext.errors import DiagnosticError, KernelError

tritonext_probe = pytest.importorskip("tritonext_probe", reason="the fixture extension is not installed")


@triton.jit
def wrong(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(tritonext_probe.twice(x + at), 1.0)  # no arithmetic
    tl.store(tritonext_probe.twice(x + at + n), 1.0)  # the second mistake


@triton.jit
def right(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tritonext_probe.twice(tl.load(x + at)))  # nothing to lower it


def line_of(text):
    return next(number for number, line in enumerate(open(__file__), 1) if line.rstrip().endswith(f"# {text}"))


def test_error_of_an_extension_shows_the_lines_of_the_kernel(compiled, capfd):
    with pytest.raises(KernelError) as caught:
        compiled(wrong)
    error = caught.value
    assert error.message.startswith("expected elements that are integers or floats, got '!tt.ptr<f32>'")
    assert error.where == f"{__file__}:{line_of('no arithmetic')}:14"
    text = str(error)
    assert "\n      tl.store(tritonext_probe.twice(x + at), 1.0)  # no arithmetic\n" in text
    assert f"also: {__file__}:{line_of('the second mistake')}:" in text
    assert text.endswith("pass: probe-lower-twice")
    assert [found.line for found in error.diagnostics] == [line_of("no arithmetic"), line_of("the second mistake")]
    assert isinstance(error, DiagnosticError)
    assert capfd.readouterr().err == ""
    # A kernel that is right compiles as ever behind it.
    assert "probe.mark" in compiled(right).asm["ttgir"]


def test_the_mark_stands_below_the_place(compiled):
    with pytest.raises(KernelError) as caught:
        compiled(wrong)
    source, mark = str(caught.value).splitlines()[2:4]
    assert source[mark.index("^") :].startswith("tritonext_probe.twice")


def test_error_without_a_line(compiled, capfd):
    with tritonext.use("probe:count=0"), pytest.raises(KernelError, match="expected a count of at least 1, got 0"):
        compiled(right)
    assert capfd.readouterr().err == ""


def test_error_in_a_thread(device, x, capfd):
    with concurrent.futures.ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
        bad = triton.jit(wrong.fn).warmup(x, 100, grid=(1,), BLOCK=256)
        good = triton.jit(right.fn).warmup(x, 100, grid=(1,), BLOCK=256)
        with pytest.raises(KernelError, match="expected elements that are integers or floats"):
            bad.result()
        assert "probe.mark" in good.result().asm["ttgir"]
    assert "error" not in capfd.readouterr().err


def test_error_survives_a_process_boundary(compiled):
    with pytest.raises(KernelError) as caught:
        compiled(wrong)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.diagnostics) == (str(caught.value), caught.value.diagnostics)


def test_stock_error_keeps_its_class_and_gains_the_line(compiled, capfd):
    only_mark = Pipeline(
        [insert_after("ttgir", "ttgpuir.coalesce", PassRef("probe_mark_module"))], extension="probe", name="only mark"
    )
    with tritonext.use(only_mark), pytest.raises(RuntimeError, match=r"^PassManager::run failed") as caught:
        compiled(right)
    assert type(caught.value) is RuntimeError
    assert str(caught.value) == "PassManager::run failed"
    notes = caught.value.__notes__
    assert notes[0].startswith(f"{__file__}:{line_of('nothing to lower it')}:")
    assert notes[1].strip().startswith("tl.store(x + at, tritonext_probe.twice")
    assert notes[-1] == "pass: convert-triton-to-tritongpu"
    assert capfd.readouterr().err == ""


def test_reproducers_are_still_written_for_who_asks(compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_REPRODUCER_PATH", str(tmp_path / "reproducer"))
    with pytest.raises(KernelError):
        compiled(wrong)
    written = "".join(path.read_text() for path in tmp_path.glob("reproducer*"))
    assert "mlir_reproducer" in written


def test_error_shows_the_calls_that_led_to_it():
    shown = failure()
    frames = shown["errors"][0]["frames"]
    frames.append({"file": __file__, "line": line_of("no arithmetic"), "column": 5})
    text = str(diagnostics._kernel_error(shown))
    source = "      tl.store(tritonext_probe.twice(x + at), 1.0)  # no arithmetic\n      ^\n"
    assert f"  called from: {__file__}:{line_of('no arithmetic')}:5\n{source}" in text


def failure(resource=None):
    frame = {"file": "kernel.py", "line": 3, "column": 5}
    error = {"message": "expected less, got more", "frames": [frame], "notes": []}
    return {"passes": ["sample-check"], "errors": [error | ({"resource": resource} if resource else {})]}


def test_exhausted_resource_is_an_error_of_triton_too():
    error = diagnostics._kernel_error(failure({"name": "shared memory", "required": 300, "limit": 200}))
    assert isinstance(error, triton.runtime.errors.OutOfResources)
    assert isinstance(error, KernelError)
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.name, copy.required, copy.limit) == ("shared memory", 300, 200)
    assert str(copy) == "expected less, got more\n  where: kernel.py:3:5\n  pass: sample-check"


def test_note_at_the_same_place_is_the_remedy():
    shown = failure()
    error = shown["errors"][0]
    elsewhere = [{"file": "kernel.py", "line": 9, "column": 1}]
    error["notes"] = [
        {"message": "made here", "frames": elsewhere},
        {"message": "pass less", "frames": error["frames"]},
    ]
    text = str(diagnostics._kernel_error(shown))
    assert "\n  note: made here (kernel.py:9:1)\n" in text
    assert text.endswith("\n  hint: pass less")


def test_a_remedy_of_several_errors_is_given_once():
    shown = failure()
    error = shown["errors"][0]
    error["notes"] = [{"message": "pass less", "frames": error["frames"]}]
    other = {**error, "notes": [*error["notes"], {"message": "or wait", "frames": error["frames"]}]}
    shown["errors"] = [error, error, other]
    text = str(diagnostics._kernel_error(shown))
    assert text.count("also: ") == 2
    assert text.count("hint: pass less") == 1
    assert text.count("hint: or wait") == 1


def test_other_errors_pass_through():
    with pytest.raises(RuntimeError, match="mine") as caught, diagnostics.raising():
        raise RuntimeError("mine")
    assert not hasattr(caught.value, "__notes__")
