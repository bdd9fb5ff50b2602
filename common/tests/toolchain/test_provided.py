"""The real toolchain: fetched once into the user's cache, then used as an extension's build uses it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from tritonext import toolchain
from tritonext._triton import wheel
from tritonext.errors import ToolchainError
from tritonext.toolchain import libtriton

pytestmark = pytest.mark.network

DIALECT = """
include "mlir/IR/OpBase.td"
def Sample_Dialect : Dialect { let name = "sample"; let cppNamespace = "::sample"; }
def Sample_TwiceOp : Op<Sample_Dialect, "twice", []> { let arguments = (ins I32:$value); let results = (outs I32); }
"""
PLUGIN = """
#include "mlir/IR/Operation.h"
#if LLVM_ENABLE_ABI_BREAKING_CHECKS != 1
#error "abi-breaking.h is the packaged one"
#endif
extern "C" bool isNamed(mlir::Operation *op) { op->dump(); return op->getName().getStringRef() == "sample.twice"; }
"""


def includes(tools: toolchain.Toolchain) -> list[str]:
    return [f"-I{directory}" for directory in tools.include_dirs]


def test_tblgen_generates_from_a_dialect(provided, tmp_path):
    (tmp_path / "Sample.td").write_text(DIALECT)
    result = subprocess.run(
        [provided.mlir_tblgen, "-gen-op-decls", *includes(provided), tmp_path / "Sample.td"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "class TwiceOp" in result.stdout


def test_tblgen_passes_its_exit_status_on(provided, tmp_path):
    (tmp_path / "Bad.td").write_text("def {")
    result = subprocess.run([provided.mlir_tblgen, tmp_path / "Bad.td"], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "Bad.td" in result.stderr


def test_a_library_links_against_libtriton(provided, tmp_path):
    (tmp_path / "plugin.cpp").write_text(PLUGIN)
    library = wheel.installed().library
    command = [provided.cxx, *provided.cxx_flags, *provided.link_flags, "-std=c++20", "-fno-rtti", "-fPIC", "-shared"]
    command += ["-Werror", *includes(provided), tmp_path / "plugin.cpp", "-o", tmp_path / "plugin.so"]
    command += [f"-L{library.parent}", f"-l:{library.name}", "-Wl,--no-undefined"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_flags_for_linking_do_not_disturb_compiling(provided, tmp_path):
    (tmp_path / "a.cpp").write_text("int f();\n")
    command = [provided.cxx, *provided.cxx_flags, *provided.cxx_flags, "-Wall", "-Werror", "-c", tmp_path / "a.cpp"]
    result = subprocess.run([*command, "-o", tmp_path / "a.o"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_it_is_found_again_without_network_or_package_tools(provided, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("strip", "clang++", *(path for path in [provided.cxx.name] if path != "clang++")):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    dead = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    code = "from tritonext import toolchain; import json; print(json.dumps(toolchain.find().to_json()))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **dead, "PATH": str(tools), "PIP_NO_INDEX": "1"},
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["mlir_tblgen"] == str(provided.mlir_tblgen)
    assert found["cxx_version"] == provided.cxx_version
    assert found["sources"]["headers"] == provided.sources["headers"]


def test_finding_it_again_takes_no_time(provided):
    times = []
    for _ in range(5):
        started = time.perf_counter()
        toolchain.find()
        times.append(time.perf_counter() - started)
    assert min(times) < 0.3


def test_the_cache_holds_no_more_than_it_must(provided):
    root = provided.mlir_tblgen.parents[1]
    if not (root / "piece.json").is_file():
        pytest.skip("the headers are not from the cache: TRITONEXT_LLVM_PREFIX or MLIR_DIR is set")
    assert not list(root.rglob("*.a"))
    assert sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) < 250e6


def test_the_commit_is_the_one_libtriton_names(provided):
    assert provided.llvm_commit == wheel.installed().llvm_commit
    assert len(provided.llvm_commit) == 40


def test_abi_breaking_checks_are_read_from_either_marker(provided, tmp_path):
    for name, number, expected in (("Enable", 23, True), ("Disable", 24, False)):
        source, library = tmp_path / f"{name}.cpp", tmp_path / f"{name}.so"
        source.write_text(f"namespace llvm {{ int {name}ABIBreakingChecks; }}\n")
        subprocess.run([provided.cxx, *provided.cxx_flags, "-shared", "-fPIC", source, "-o", library], check=True)
        assert f"_ZN4llvm{number}{name}ABIBreakingChecksE".encode() in library.read_bytes()
        assert libtriton.abi_breaking_checks(library) is expected


def test_a_library_without_a_marker_is_refused(provided, tmp_path):
    source, library = tmp_path / "a.cpp", tmp_path / "a.so"
    source.write_text("extern int llvm_marker; int *f() { return &llvm_marker; }\n")
    subprocess.run([provided.cxx, *provided.cxx_flags, "-shared", "-fPIC", source, "-o", library], check=True)
    with pytest.raises(ToolchainError, match="does not say whether LLVM's ABI-breaking checks are on") as caught:
        libtriton.abi_breaking_checks(library)
    assert caught.value.found == "neither"


def test_a_file_that_is_no_library_is_refused(tmp_path):
    (tmp_path / "a.so").write_text("text")
    with pytest.raises(ToolchainError, match="cannot be read as a shared library"):
        libtriton.abi_breaking_checks(tmp_path / "a.so")
