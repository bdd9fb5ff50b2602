"""Every pass of every extension runs on its own, leaves valid IR, and is idempotent when it says so."""

from __future__ import annotations

import json
import re

import pytest

from tritonext.testing import Finished, run_python
from tritonext.testing.conformance.subjects import source, sources  # noqa: F401


def run(flag: str, extension: str, text: str) -> Finished:
    return run_python("-m", "tritonext.opt", "-", "--load", extension, "--pass", flag, text=text)


def test_accepts_an_empty_module(extension, entry):
    done = run(entry.flag, extension.id, "module {\n}\n")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.startswith("module"), done


def test_does_the_same_in_each_process_and_by_each_of_its_names(extension, entry, request):
    """The order of sets of pointers, for one, differs from process to process."""
    found = sources(request.config.rootpath).get(extension.id)
    golden = found.lit(entry) if found else None
    text = golden.read_text() if golden and golden.is_file() else "module {\n}\n"
    by_flag, by_name = (run(name, extension.id, text) for name in (entry.flag, entry.name))
    assert by_flag.returncode == by_name.returncode
    # The text is parsed from a file with a name of its own, which locations have.
    flag, name = (re.sub(r"/[^\s\"]*/tritonext-\w+/", "", done.stdout + done.stderr) for done in (by_flag, by_name))
    assert flag == name


def test_refuses_unknown_options_without_a_crash(extension, entry):
    done = run(f"{entry.flag}{{no-such-option=1}}", extension.id, "module {\n}\n")
    assert done.returncode == 1, done
    assert "does not accept its options" in done.stderr, done


def test_leaves_valid_ir_and_is_idempotent_as_declared(extension, entry, source):  # noqa: F811
    path = source.lit(entry)
    if not path.is_file():
        pytest.skip("the pass has no golden; test_sources.py reports it")
    once = run(entry.flag, extension.id, path.read_text())
    assert once.returncode == 0, once
    again = run_python("-m", "tritonext.opt", "-", "--load", extension.id, text=once.stdout)
    assert again.returncode == 0, again
    if entry.idempotent:
        twice = run(entry.flag, extension.id, once.stdout)
        assert twice.returncode == 0, twice
        assert twice.stdout == again.stdout


def test_default_places_exist_on_every_target(extension):
    """An anchor of the manifest that stock Triton lacks would fail the first kernel of a user."""
    from_manifest = not callable(getattr(extension.module(), "pipeline", None))
    for target in extension.manifest.targets:
        backend = target.partition(":")[0]
        command = ["-m", "tritonext", "pipeline", "--target", target, "--enable", extension.id, "--json"]
        done = run_python(*command)
        assert done.returncode == 0, done
        stages = json.loads(done.stdout)["stages"]
        placed = {(stage["stage"], line["text"]) for stage in stages for line in stage["passes"] if line["mark"] == "+"}
        expected = {(entry.stage, entry.name) for entry in extension.manifest.passes if entry.anchor(backend)}
        # A package's own function may place fewer, and stock passes among them.
        assert placed == expected or not from_manifest
