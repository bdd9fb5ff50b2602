"""Facts read from the installed Triton wheel, against the pins and against Triton itself."""

from __future__ import annotations

import os
import subprocess

import pytest

from tritonext import versions
from tritonext._triton import wheel
from tritonext.errors import ExtensionError


def test_facts_are_those_of_the_pins():
    found, pins = wheel.installed(), versions.load()
    assert found.version == pins["triton"]["version"]
    assert found.plugin_api == pins["triton"]["plugin-api"]
    assert found.llvm_commit == pins["llvm"]["commit"]


def test_version_is_that_of_the_package():
    import triton

    assert wheel.installed().version == triton.__version__


def test_ships_headers_and_filecheck():
    found = wheel.installed()
    assert (found.include / "triton" / "Tools" / "PluginUtils.h").is_file()
    assert os.access(found.filecheck, os.X_OK)
    done = subprocess.run([found.filecheck, "--version"], capture_output=True, text=True, check=False)
    assert "LLVM" in done.stdout


def test_a_wheel_that_says_nothing_has_no_facts(tmp_path):
    silent = wheel.Wheel(tmp_path, "3.9.0")
    silent.library.parent.mkdir()
    silent.library.write_bytes(b"LLVM version 24.0git\0llvm-project unknown)" * 10)
    assert silent.llvm_commit is None
    assert silent.plugin_api is None


def test_missing_triton_is_an_error_with_a_remedy(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ExtensionError, match="pip install triton"):
        wheel.installed()
