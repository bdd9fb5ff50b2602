"""Which compilers are refused, and with what words."""

from __future__ import annotations

import shutil

import pytest

from tritonext import toolchain
from tritonext.errors import ToolchainError


@pytest.fixture(autouse=True)
def _headers(prefix, isolated, monkeypatch):
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(prefix()))


def refusal(monkeypatch, compiler) -> str:
    monkeypatch.setenv("TRITONEXT_CXX", str(compiler))
    with pytest.raises(ToolchainError, match="the compiler that TRITONEXT_CXX names cannot be used") as caught:
        toolchain.find()
    assert caught.value.expected == "a clang++ of version 20 or later"
    assert "unset TRITONEXT_CXX" in caught.value.hint
    return str(caught.value.found)


def test_gcc_is_refused_with_the_reason(script, monkeypatch):
    gcc = script("g++", 'echo "g++ (Debian 12.2.0-14) 12.2.0"')
    reason = refusal(monkeypatch, gcc)
    assert f"{gcc} is not clang but `g++ (Debian 12.2.0-14) 12.2.0`" in reason
    assert "answers trait queries wrongly" in reason


def test_the_gcc_of_the_machine_is_refused(monkeypatch):
    gcc = shutil.which("g++", path="/usr/local/bin:/usr/bin:/bin")
    if gcc is None:
        pytest.skip("there is no g++ on this machine")
    assert f"{gcc} is not clang" in refusal(monkeypatch, gcc)


def test_an_old_clang_is_refused(script, monkeypatch):
    assert refusal(monkeypatch, script("old", 'echo "Debian clang version 14.0.6"')).endswith(
        "is clang 14.0.6, older than 20"
    )


def test_a_compiler_that_is_not_there_is_named(monkeypatch):
    assert refusal(monkeypatch, "/nowhere/clang++") == "no such executable"


def test_a_file_that_cannot_be_started_is_named(isolated, monkeypatch):
    broken = isolated / "broken"
    broken.write_text("#!/nowhere/interpreter\n")
    broken.chmod(0o755)
    assert refusal(monkeypatch, broken) == f"{broken} cannot be started: No such file or directory"


def test_a_compiler_that_stops_is_named(script, monkeypatch):
    broken = script("broken", "echo 'libLLVM.so: cannot open' >&2; exit 127")
    assert refusal(monkeypatch, broken) == f"{broken} does not run: libLLVM.so: cannot open"


def test_a_clang_on_the_path_that_cannot_be_used_is_listed(script):
    script("clang++", 'echo "clang version 14.0.6"')
    with pytest.raises(ToolchainError) as caught:
        toolchain.find()
    assert any("is clang 14.0.6, older than 20" in line for line in caught.value.details)


@pytest.mark.parametrize("options", ["-nostdinc++", "-nostdinc"])
def test_a_machine_without_libstdcxx_is_told_to_install_gxx(provided, script, monkeypatch, options):
    bare = script("bare", f'exec {provided.cxx} {options} "$@"')
    reason = refusal(monkeypatch, bare)
    assert "file not found" in reason
    assert reason.endswith("install `g++`")


def test_another_standard_library_is_refused(provided, script, monkeypatch, tmp_path):
    for header in ("concepts", "stdexcept", "string", "version"):
        (tmp_path / header).touch()
    assert "not libstdc++" in refusal(
        monkeypatch, script("other", f'exec {provided.cxx} -nostdinc++ -I{tmp_path} "$@"')
    )
