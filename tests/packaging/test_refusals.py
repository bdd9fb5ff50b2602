"""Builds that must fail, and that what they print says what to correct."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sysconfig

import pytest

from tritonext import versions
from tritonext.build import paths

from .conftest import Project, copy_probe


def refused(project: Project, **env: str) -> str:
    done = project.build(env=env)
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stdout
    assert not list(project.directory.glob("dist/*.whl"))
    return done.stdout


@pytest.fixture(autouse=True)
def empty_dist(request):
    """Start without the wheel of an earlier build of the shared project."""
    if "changed" in request.fixturenames:
        shutil.rmtree(request.getfixturevalue("changed").directory / "dist", ignore_errors=True)


def test_symbol_of_its_own(changed):
    changed.add_source("Extra.cpp", 'extern "C" __attribute__((visibility("default"))) void probeExtra() {}\n')
    text = refused(changed)
    assert "the library exports symbols of its own" in text
    assert "probeExtra in Extra.cpp.o" in text
    assert "hint:" in text


def test_undefined_symbol(changed):
    changed.add_source(
        "Missing.cpp",
        "void probeMissing();\nnamespace tritonext { void callMissing() { probeMissing(); } }\n"
        "__attribute__((used, retain)) static void (*keep)() = tritonext::callMissing;\n",
    )
    text = refused(changed)
    assert "probeMissing()" in text
    assert "undefined symbol" in text or "undefined reference" in text


def test_pass_without_definition(changed):
    pyproject = changed.directory / "pyproject.toml"
    text = pyproject.read_text()
    entry = '\n[[tool.tritonext.passes]]\ndef = "DropEverythingPass"\nstage = "ttir"\n'
    pyproject.write_text(text + entry)
    line = pyproject.read_text().splitlines().index('def = "DropEverythingPass"') + 1
    output = refused(changed)
    assert f"pyproject.toml:{line}:" in output
    assert "createDropEverythingPass" in output


def need_glibc(major: int, minor: int, reason: str) -> None:
    release = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    if tuple(map(int, release.split("."))) < (major, minor):
        pytest.skip(f"glibc {release} {reason}")


def test_symbol_newer_than_the_platform(changed):
    need_glibc(2, 34, "has no symbol that manylinux_2_28 lacks")
    changed.add_source(
        "Newer.cpp",
        "#include <dlfcn.h>\n"
        "static bool find(void *address) { Dl_info info; return dladdr(address, &info) != 0; }\n"
        "__attribute__((used, retain)) static bool (*keep)(void *) = find;\n",
    )
    text = refused(changed)
    assert "GLIBC_2.34: dladdr in Newer.cpp.o" in text
    assert "expected: manylinux_2_28_x86_64 or older" in text


def test_number_parsing_is_not_newer_than_the_platform(changed):
    need_glibc(2, 38, "has one version of strtol")
    changed.add_source(
        "Parse.cpp",
        "#include <string>\n"
        "static int parse(const std::string &text) { return std::stoi(text); }\n"
        "__attribute__((used, retain)) static int (*keep)(const std::string &) = parse;\n",
    )
    assert "manylinux" in changed.built().name


def test_wheel_over_the_size_limit(changed):
    # Bytes that do not compress, in a section that the linker keeps.
    blob = changed.directory / "lib" / "blob.bin"
    blob.write_bytes(os.urandom(versions.load()["wheel"]["size-limit"]))
    changed.add_source(
        "Large.cpp",
        f'__asm__(".section .rodata.probe,\\"aR\\"\\n.incbin \\"{blob}\\"\\n.text\\n");\n',
    )
    text = refused(changed)
    assert "the wheel is larger than an extension may be" in text
    assert "size-limit" in text


def test_build_without_a_library(changed):
    (changed.directory / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.26)\nproject(tritonext_probe LANGUAGES NONE)\n"
    )
    text = refused(changed)
    assert "the build installed no library" in text
    assert "call tritonext_add_extension()" in text


def test_no_toolchain(probe, tmp_path):
    cache = tmp_path / "cache"
    hidden = {"TRITONEXT_CACHE_DIR": str(cache), "PATH": str(tmp_path), "MLIR_DIR": "", "TRITONEXT_LLVM_PREFIX": ""}
    done = probe.environment.run(
        "-c", "import tritonext.build as b; b.build_wheel('never')", cwd=probe.directory, env=hidden
    )
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stdout
    assert "run `tritonext toolchain`" in done.stdout
    assert not (probe.directory / "never").exists()
    # Facts about libtriton may be remembered; a toolchain would be thousands of files.
    assert len([path for path in cache.rglob("*") if path.is_file()]) < 10


@pytest.fixture
def configure(environment, tools, tmp_path):
    """Run CMake alone on a project whose CMakeLists.txt holds the given lines."""
    cmake = pathlib.Path(environment.check("-c", "import cmake; print(cmake.CMAKE_BIN_DIR)").strip(), "cmake")
    # Ninja comes with the environment too; a machine need not have make, CMake's default.
    ninja = shutil.which("ninja", path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))
    root = environment.check("-m", "tritonext.build", "root").strip()

    def run(directory: pathlib.Path, *options: str) -> subprocess.CompletedProcess[str]:
        command = [cmake, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
        command += ["-S", directory, "-B", tmp_path / "build", f"-DTritonext_ROOT={root}"]
        command += [f"-DPython_EXECUTABLE={environment.python}", *options]
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )

    return run


def test_gcc(configure, probe):
    gcc = shutil.which("g++")
    if gcc is None:
        pytest.skip("there is no g++ on this machine")
    done = configure(probe.directory, f"-DCMAKE_CXX_COMPILER={gcc}")
    assert done.returncode != 0
    assert "the C++ compiler cannot build Triton extensions" in done.stdout
    assert f"expected: clang >= {versions.load()['clang']['minimum']}" in done.stdout
    assert "found: GNU" in done.stdout
    assert "leave CMAKE_CXX_COMPILER unset" in " ".join(done.stdout.split())


def test_package_found_after_project(configure, tmp_path):
    project = tmp_path / "late"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.26)\nproject(late LANGUAGES NONE)\nfind_package(Tritonext REQUIRED)\n"
    )
    done = configure(project)
    assert done.returncode != 0
    assert "must come before project()" in " ".join(done.stdout.split())


def test_tablegen_file_of_unknown_kind(configure, tmp_path):
    project = copy_probe(tmp_path / "probe")
    (project / "include" / "tritonext_probe" / "IR" / "Things.td").write_text("")
    done = configure(project)
    assert done.returncode != 0
    assert "does not say what to generate" in done.stdout
    assert "Things.td" in done.stdout


def test_malformed_manifest(configure, tmp_path):
    project = copy_probe(tmp_path / "probe")
    pyproject = project / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace('stage = "ttir"', 'stage = "ttxr"'))
    done = configure(project)
    assert done.returncode != 0
    assert "a key has an unknown value" in done.stdout
    assert "Traceback" not in done.stdout


def test_source_tree_and_wheel_have_the_same_layout(environment):
    installed = pathlib.Path(environment.check("-m", "tritonext.build", "root").strip())
    for name in ("cmake/TritonextConfig.cmake", "include/tritonext/Extension.h", "lib/PluginEntry.cpp"):
        assert (installed / name).is_file()
        assert (paths.sdk_root() / name).is_file()
