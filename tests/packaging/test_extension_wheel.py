"""The wheel of an extension: tag, contents, size, symbols, reproducibility, and that it works where it is installed."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

from tritonext import manifest, registry, versions
from tritonext._triton import wheel as triton_wheel
from tritonext.abi import TABLE_NAME
from tritonext.build import symbols
from tritonext.elf import Elf

from .conftest import ROOT, Environment, make_environment


@pytest.fixture(scope="module")
def archive(probe_wheel):
    with zipfile.ZipFile(probe_wheel) as opened:
        yield opened


@pytest.fixture(scope="module")
def library(archive, tmp_path_factory) -> pathlib.Path:
    return pathlib.Path(archive.extract("tritonext_probe/libtritonext_probe.so", tmp_path_factory.mktemp("unpacked")))


def test_tag_is_manylinux_2_28_or_lower(probe_wheel):
    platform = probe_wheel.stem.split("-", 2)[2].removeprefix("py3-none-")
    system, major, minor, machine = platform.split("_", 3)
    assert (system, machine) == ("manylinux", "x86_64")
    assert (int(major), int(minor)) <= (2, 28)


def test_auditwheel_agrees_with_the_tag(probe_wheel):
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", probe_wheel], capture_output=True, text=True, check=True
    )
    report = json.loads(done.stdout)
    assert report["sym_tag"] in probe_wheel.name
    assert set(report["external_libs"]) == {"libtriton.so"}
    assert not report["unsupported_isa"]


def test_metadata_tag_is_the_name_tag(archive, probe_wheel):
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
    tag = "-".join(probe_wheel.stem.split("-")[2:])
    assert f"Tag: {tag}" in archive.read(name).decode().splitlines()
    assert archive.read(name).decode().count("Tag:") == 1


def test_contents(archive):
    names = {name for name in archive.namelist() if ".dist-info/" not in name}
    native = {"libtritonext_probe.so", registry.MANIFEST_FILE, registry.STAMP_FILE, TABLE_NAME}
    assert names == {f"tritonext_probe/{name}" for name in native | {"__init__.py"}}


def test_hashes_of_the_record(archive, probe_wheel):
    from wheel.wheelfile import WheelFile

    with WheelFile(probe_wheel) as checked:
        for name in checked.namelist():
            checked.read(name)
    assert sorted(archive.namelist()) == sorted(set(archive.namelist()))


def test_size(probe_wheel):
    assert probe_wheel.stat().st_size < versions.load()["wheel"]["size-limit"]


def test_requires_the_exact_triton(archive):
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    assert "Requires-Dist: triton==3.9.0" in archive.read(name).decode().splitlines()


def test_manifest_is_that_of_the_source(archive, probe):
    shipped = manifest.Manifest.from_json(archive.read(f"tritonext_probe/{registry.MANIFEST_FILE}"))
    assert shipped == manifest.load(probe.directory)


def test_stamp_describes_the_library(archive, library, tools):
    stamp = registry.Stamp.from_json(archive.read(f"tritonext_probe/{registry.STAMP_FILE}"))
    host = triton_wheel.installed()
    assert stamp.library_sha256 == hashlib.sha256(library.read_bytes()).hexdigest()
    assert (stamp.triton, stamp.plugin_api) == (host.version, host.plugin_api)
    assert (stamp.llvm_commit, stamp.headers) == (tools.llvm_commit, tools.headers_version)
    assert stamp.compiler == f"clang {tools.cxx_version}"
    counts = dict(stamp.abi)
    assert counts["mismatches"] == 0
    assert counts["compared"] > 1000


def test_exports_the_two_entry_points_alone(library):
    with Elf(library) as elf:
        assert {symbol.name for symbol in elf.symbols if symbol.defined} == symbols.EXPORTS


def test_needs_nothing_that_triton_does_not_bring(library):
    with Elf(library) as elf, Elf(triton_wheel.installed().library) as host:
        missing = [
            symbol.name
            for symbol in elf.symbols
            if not (symbol.defined or symbol.weak or symbol.versioned or host.exports(symbol.name))
        ]
    assert missing == []


def test_is_stripped(library):
    with open(library, "rb") as file:
        content = file.read()
    assert b".symtab" not in content
    assert b".debug_info" not in content


def test_names_no_path_of_the_build(library, tools, probe):
    content = library.read_bytes()
    for path in (probe.directory.parent, tools.include_dirs[-1], triton_wheel.installed().root, pathlib.Path.home()):
        assert os.fsencode(path) not in content


def test_two_builds_are_identical(probe_wheel, second_build):
    _, other = second_build
    assert other.name == probe_wheel.name
    assert other.read_bytes() == probe_wheel.read_bytes()


LOAD = """
import json, tritonext_probe, tritonext
loaded = tritonext.loaded()["probe"]
print(json.dumps({"path": str(loaded.path), "test": loaded.native.self_test(), "about": loaded.native.description}))
"""


def load(environment: Environment) -> dict:
    return json.loads(environment.check("-c", LOAD).splitlines()[-1])


def test_loads_from_a_fresh_environment(sdk_wheel, probe_wheel, probe, tmp_path):
    found = load(make_environment(tmp_path / "fresh", sys.executable, [sdk_wheel, probe_wheel]))
    assert found["path"].startswith(str(tmp_path / "fresh"))
    test = found["test"]
    assert test["wrong"] == []
    for name in ("terminators", "traits", "interfaces"):
        assert test[name] == test[f"{name}_expected"] > 0
    passes = {entry["flag"]: entry["options"] for entry in found["about"]["passes"]}
    assert list(passes) == [entry.flag for entry in manifest.load(probe.directory / "pyproject.toml").passes]
    assert passes["probe-lower-twice"].startswith("probe-lower-twice{count=2")


@pytest.mark.slow
@pytest.mark.network
def test_loads_on_other_interpreters(sdk_wheel, probe_wheel, tmp_path):
    """One library serves every CPython; TRITONEXT_TEST_PYTHONS lists interpreters, separated by colons."""
    interpreters = [path for path in os.environ.get("TRITONEXT_TEST_PYTHONS", "").split(":") if path]
    if not interpreters:
        pytest.skip("TRITONEXT_TEST_PYTHONS names no other interpreters; each needs its own 290 MB wheel of triton")
    for number, python in enumerate(interpreters):
        directory = tmp_path / str(number)
        subprocess.run([python, "-m", "venv", directory], check=True)
        environment = Environment(directory / "bin" / "python")
        environment.check("-m", "pip", "install", "-q", sdk_wheel, probe_wheel)
        assert load(environment)["test"]["wrong"] == []
        shutil.rmtree(directory)


@pytest.mark.slow
@pytest.mark.network
def test_pip_builds_in_isolation(sdk_wheel, tools, tmp_path):
    """Build isolation, pip's default, works where the SDK is among the links; the README builds without it."""
    command = ["-m", "pip", "wheel", "-q", "--no-deps", "--find-links", sdk_wheel.parent, "-w", tmp_path]
    done = subprocess.run(
        [sys.executable, *command, ROOT / "extensions" / "layout"],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "Could not find a version that satisfies the requirement" in done.stderr:
        pytest.skip("the package index does not answer")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("tritonext_layout-*.whl")
    assert "-py3-none-manylinux_2_" in wheel.name
    assert wheel.stat().st_size < versions.load()["wheel"]["size-limit"]


def test_editable_install_uses_the_sources(changed, tmp_path):
    code = "import sys, tritonext.build as b; print(b.build_editable(sys.argv[1], {'build-dir': 'build'}))"
    done = changed.environment.run("-c", code, tmp_path, cwd=changed.directory)
    assert done.returncode == 0, done.stdout
    wheel = tmp_path / done.stdout.splitlines()[-1]
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert names == ["_tritonext_probe.pth"]
        assert archive.read(names[0]).decode().strip() == str(changed.directory / "python")
    package = changed.directory / "python" / "tritonext_probe"
    stamp = registry.Stamp.from_json((package / registry.STAMP_FILE).read_bytes())
    assert stamp.library_sha256 == hashlib.sha256((package / stamp.library).read_bytes()).hexdigest()


def test_source_distribution_holds_the_sources(probe, tmp_path):
    code = "import sys, tritonext.build as b; print(b.build_sdist(sys.argv[1]))"
    name = probe.environment.check("-c", code, tmp_path, cwd=probe.directory).splitlines()[-1]
    unpacked = tmp_path / "unpacked"
    shutil.unpack_archive(tmp_path / name, unpacked)
    (root,) = unpacked.iterdir()
    for path in ("CMakeLists.txt", "pyproject.toml", "lib/IR/Dialect.cpp", "include/tritonext_probe/IR/Ops.td"):
        assert (root / path).is_file()
    assert not [path for path in root.rglob("*") if path.name == "build" or path.suffix in (".so", ".whl", ".pch")]
