"""An extension of every kind, with a pass and an op added, from the template to a wheel whose tests pass."""

from __future__ import annotations

import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tritonext.scaffold import KINDS

from .conftest import ROOT, Environment, make_environment

pytest.importorskip("cookiecutter", reason="there is no cookiecutter in this environment; `nox -s tests` installs it")


@pytest.fixture(scope="module")
def fresh(sdk_wheel, tmp_path_factory) -> Environment:
    """An environment of its own: the extension is installed there."""
    return make_environment(tmp_path_factory.mktemp("template") / "environment", sys.executable, [sdk_wheel])


@pytest.fixture(scope="module")
def made(fresh, tools, tmp_path_factory) -> pathlib.Path:
    """The repository of the extension, its wheel built and installed with the commands that `tritonext new` prints."""
    work = tmp_path_factory.mktemp("a place")
    printed = fresh.check("-m", "tritonext", "new", "demo", "--kind", ",".join(KINDS), cwd=work)
    directory = work / "tritonext-demo"
    fresh.check("-m", "tritonext", "new-pass", "CountLoads", cwd=directory)
    fresh.check("-m", "tritonext", "new-op", "row_gate", cwd=directory)
    _, build, install, test = (line.split() for line in printed.partition("next:\n")[2].splitlines())
    assert (build[0], install[0], test[0]) == ("pip", "pip", "pytest")
    fresh.check("-m", *build, "-q", cwd=directory)
    (wheel,) = directory.glob(install.pop())
    fresh.check("-m", *install, "-q", "--no-index", wheel, cwd=directory)
    return directory


def run_tests(fresh: Environment, directory: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return fresh.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, cwd=directory)


def test_its_own_tests_and_conformance_pass(fresh, made):
    # Kernels of stock Triton are compiled for minutes; the coexistence tests do that with all extensions.
    done = run_tests(fresh, made, "--tritonext-conformance", "-k", "not test_kernels")
    assert done.returncode == 0, done.stdout
    passed, _, _ = done.stdout.splitlines()[-1].partition(" passed")
    assert int(passed) > 100


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*.md")), ids=lambda page: page.stem)
def test_snippets_of_the_tutorials_run(fresh, made, page, tmp_path):
    """Python by page, and the commands that look at an extension; those that make and build it ran for the fixture."""
    text = page.read_text()
    program = tmp_path / "snippets.py"
    program.write_text("\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)))
    fresh.check(program, cwd=tmp_path)
    commands = re.findall(r"^\$ (tritonext|python -m tritonext\.opt) (.*)$", text, re.MULTILINE)
    for name, arguments in commands:
        if arguments.split()[0] not in ("new", "toolchain"):
            module = "tritonext" if name == "tritonext" else "tritonext.opt"
            fresh.check("-m", module, *shlex.split(arguments), cwd=made)


def test_conformance_sees_what_breaks_a_rule(fresh, made, tmp_path):
    """Passes without a refusal test, and messages that no test has: the suite names them, and nothing else fails."""
    broken = shutil.copytree(made, tmp_path / "broken")
    (broken / "tests" / "lit" / "raise_relu_invalid.mlir").unlink()
    for stem, snake in (("StreamStores", "stream_stores"), ("CountLoads", "count_loads")):
        test = broken / "tests" / "lit" / f"{snake}_invalid.mlir"
        test.write_text(re.sub(r"(?m)^// RUN: not .*$", "// Nothing is refused.", test.read_text()))
        if stem == "StreamStores":
            source = broken / "lib" / "Transforms" / f"{stem}.cpp"
            source.write_text(source.read_text().replace("the store says itself", "nobody reads that the store says"))
        if stem == "CountLoads":
            # One that refuses nothing needs no such test.
            source = broken / "lib" / "Transforms" / f"{stem}.cpp"
            source.write_text(source.read_text().replace("emitError", "say").replace("signalPassFailure", "leave"))
    (metadata,) = fresh.python.parents[1].glob("lib/python*/site-packages/tritonext_demo-*.dist-info/METADATA")
    sound = metadata.read_text()
    metadata.write_text(sound.replace("License-Expression", "X-License"))
    done = run_tests(fresh, broken, "--tritonext-conformance", "-k", "test_sources or test_wheel")
    metadata.write_text(sound)
    assert done.returncode == 1, done.stdout
    failed = [line.split("::")[-1].split(" ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED ")]
    assert failed == [
        "test_pass_has_its_lit_tests[demo-stream-stores-invalid]",
        "test_pass_has_its_lit_tests[demo-raise-relu-invalid]",
        "test_every_message_is_matched_by_a_test[demo]",
        "test_brings_its_license[demo]",
    ]
    assert "expected tests/lit/raise_relu_invalid.mlir" in done.stdout
    assert "the comparison treats NaN or zero differently" in done.stdout
    assert "nobody reads that the store says" in done.stdout


def test_conformance_of_nothing_is_an_error(environment, made):
    """In an environment without the extension the suite does not pass for want of anything to test."""
    done = run_tests(environment, made, "--tritonext-conformance", "-k", "test_sources")
    assert done.returncode == 4, done.stdout
    assert "the extension demo is not soundly installed" in done.stdout
