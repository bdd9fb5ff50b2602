"""The testing helpers: lit suites under pytest and alone, the ``gpu`` marker, fresh processes, copied installations."""

from __future__ import annotations

import pathlib

import pytest

from tritonext import manifest, testing
from tritonext.testing import install_copy, run_python
from tritonext.testing.conformance import test_kernels as kernels

CONFIG = """\
from tritonext.testing import lit_config as configure
configure(config, lit_config, extension="{extension}")
"""
GOOD = """\
// RUN: %opt %s --pass probe-mark-module | FileCheck %s
// CHECK: probe.mark = "seen"
module {
}
"""


@pytest.fixture
def suite(tmp_path) -> pathlib.Path:
    root = tmp_path / "a place"
    directory = root / "tests" / "lit"
    directory.mkdir(parents=True)
    (root / "conftest.py").write_text('pytest_plugins = ["tritonext.testing.pytest_plugin"]\n')
    (root / "pytest.ini").write_text("[pytest]\n")
    (directory / "lit.cfg.py").write_text(CONFIG.format(extension="probe"))
    (directory / "good.mlir").write_text(GOOD)
    return directory


def run_pytest(suite: pathlib.Path, *arguments: str):
    root = suite.parents[1]
    return run_python("-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", f"--rootdir={root}", *arguments, str(root))


def outcomes(done) -> dict[str, str]:
    lines = [line for line in done.stdout.splitlines() if line.startswith(("PASSED ", "FAILED ", "SKIPPED "))]
    parts = (line.partition("::")[0].partition(" ") for line in lines)
    return {pathlib.Path(path).name: outcome for outcome, _, path in parts}


def test_every_file_of_a_suite_is_a_test(suite, probe):
    (suite / "bad.mlir").write_text(GOOD.replace('"seen"', '"unseen"'))
    (suite / "kernel.py").write_text("# RUN: %python %s | FileCheck %s\nprint('hel' + 'lo')\n# CHECK: hello\n")
    (suite / "no_run_line.mlir").write_text("module {\n}\n")
    done = run_pytest(suite)
    assert done.returncode == 1, done
    assert outcomes(done) == {
        "bad.mlir": "FAILED",
        "good.mlir": "PASSED",
        "kernel.py": "PASSED",
        "no_run_line.mlir": "FAILED",
    }
    assert "expected string not found in input" in done.stdout
    assert "Traceback" not in done.stdout


def test_unused_check_prefixes_fail(suite, probe):
    (suite / "good.mlir").write_text(GOOD.replace("FileCheck %s", "FileCheck %s --check-prefixes=CHECK,TYPO"))
    assert outcomes(run_pytest(suite)) == {"good.mlir": "FAILED"}


def test_only_selected_files_run(suite, probe):
    (suite / "bad.mlir").write_text(GOOD.replace('"seen"', '"unseen"'))
    done = run_pytest(suite, "-k", "good")
    assert (done.returncode, outcomes(done)) == (0, {"good.mlir": "PASSED"}), done


def test_suites_of_extensions_not_installed_are_skipped(suite):
    (suite / "lit.cfg.py").write_text(CONFIG.format(extension="nobody"))
    done = run_pytest(suite)
    assert done.returncode == 0, done
    assert "1 skipped" in done.stdout
    assert "the extension is not installed" in done.stdout


def test_suites_run_with_lit_alone_and_leave_the_source_alone(suite, probe):
    (suite / "good.mlir").write_text(GOOD.replace("| FileCheck %s", "-o %t && FileCheck %s < %t"))
    before = sorted(suite.rglob("*"))
    done = run_python("-c", "from lit.main import main; main()", "-v", str(suite))
    assert done.returncode == 0, done
    assert "PASS: tritonext-probe :: good.mlir" in done.stdout
    assert sorted(path for path in suite.rglob("*") if "__pycache__" not in path.parts) == before


def test_gpu_tests_are_skipped_with_a_reason_where_there_is_none(suite):
    reason = testing.gpu_missing()
    if reason is None:
        pytest.skip("this machine has a GPU")
    (suite.parent / "test_gpu.py").write_text(
        "import pytest\n@pytest.mark.gpu\ndef test_needs_one():\n    raise AssertionError\n"
    )
    done = run_pytest(suite, "-k", "needs_one")
    assert done.returncode == 0, done
    assert "1 skipped" in done.stdout
    assert reason in done.stdout


def test_fresh_processes_report_exits_and_signals():
    assert run_python("-c", "import sys; print(sys.stdin.read()); sys.exit(5)", text="in").stdout == "in\n"
    assert run_python("-c", "import sys; sys.exit(5)").returncode == 5
    assert run_python("-c", "import os; os.kill(os.getpid(), 9)").returncode == -9
    done = run_python("-c", "import os; print(os.environ['NAME'])", environment={"NAME": "value"})
    assert done.stdout == "value\n"


def test_copies_are_whole_installations(probe, tmp_path):
    package = install_copy(probe, tmp_path, manifest={"id": "other", "passes": [], "dialects": [], "ops": []})
    found = manifest.Manifest.from_json((package / "_manifest.json").read_text())
    assert (found.id, package.name) == ("other", "tritonext_other")
    assert (package / "libtritonext_other.so").read_bytes() == probe.library.read_bytes()
    assert (tmp_path / f"tritonext_other-{probe.version}.dist-info" / "entry_points.txt").is_file()


def test_the_corpus_is_compiled_in_the_environment_that_pytest_was_started_in(tmp_path, monkeypatch):
    """What a test that imports an extension lets it do to this process changes the kernels of stock Triton as well."""
    script = tmp_path / "corpus.py"
    script.write_text(
        "import os, sys\nopen(sys.argv[1], 'w').write(str(len(os.environ.get('TRITON_DISABLE_LINE_INFO', ''))))"
    )
    monkeypatch.setattr(kernels, "SCRIPT", script)
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")
    assert kernels.finish(kernels.start(tmp_path), tmp_path) == 0
