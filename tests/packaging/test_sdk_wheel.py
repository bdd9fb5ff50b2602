"""The wheel of the SDK: what it carries, and that nothing in it acts unasked."""

from __future__ import annotations

import zipfile

import pytest
from packaging.requirements import Requirement

from tritonext import versions

from .conftest import ROOT


@pytest.fixture(scope="module")
def archive(sdk_wheel):
    with zipfile.ZipFile(sdk_wheel) as opened:
        yield opened


def test_is_pure(sdk_wheel):
    assert sdk_wheel.name == f"tritonext-{versions.load()['tritonext']['version']}-py3-none-any.whl"


@pytest.mark.parametrize("part", ["cmake", "include", "lib"])
def test_carries_the_native_sources(archive, part):
    shipped = {name.removeprefix("tritonext/") for name in archive.namelist()}
    sources = {path.relative_to(ROOT / "common").as_posix() for path in (ROOT / "common" / part).rglob("*.*")}
    assert sources
    assert sources <= shipped


def test_carries_the_pins_as_a_file(archive):
    assert archive.read("tritonext/versions.toml") == (ROOT / "versions.toml").read_bytes()


def test_is_typed(archive):
    assert "tritonext/py.typed" in archive.namelist()


def test_build_extra_copies_the_pins(archive):
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    lines = archive.read(name).decode().splitlines()
    requirements = [
        Requirement(line.removeprefix("Requires-Dist: ")) for line in lines if line.startswith("Requires-D")
    ]
    extra = {r.name: str(r.specifier) for r in requirements if r.marker and r.marker.evaluate({"extra": "build"})}
    assert extra == versions.load()["requirements"]["build"]


def test_start_file_is_inert_unless_asked(environment):
    code = "import sys; print([name for name in sys.modules if name.partition('.')[0] in ('tritonext', 'triton')])"
    assert environment.check("-c", code).strip() == "[]"
    done = environment.run("-c", code, env={"TRITONEXT_ENABLE": "probe"})
    assert done.returncode == 0, done.stdout
    assert "tritonext._autoload" in done.stdout


def test_tells_cmake_where_it_is(environment):
    root = environment.check("-m", "tritonext.build", "root").strip()
    assert root.startswith(str(environment.python.parents[1]))
    code = "from importlib.metadata import entry_points as e; print(*(p.value for p in e(group='cmake.root')))"
    assert "tritonext" in environment.check("-c", code).split()


def test_installs_the_command(environment):
    assert (environment.python.parent / "tritonext").is_file()
