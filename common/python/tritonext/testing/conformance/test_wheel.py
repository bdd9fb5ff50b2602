"""What a wheel of an extension installs: its tag, size, contents and requirements."""

from __future__ import annotations

import importlib.metadata
import re
import zlib

import pytest

from tritonext import registry, versions
from tritonext._triton import wheel


@pytest.fixture
def distribution(extension) -> importlib.metadata.Distribution:
    found = importlib.metadata.distribution(extension.distribution)
    if found.read_text("WHEEL") is None:
        pytest.skip("the extension was not installed from a wheel")
    return found


def test_tag_serves_every_python_on_a_glibc_old_enough(distribution):
    limit = re.fullmatch(r"manylinux_2_(\d+)_(\w+)", versions.load()["wheel"]["platform"])
    tags = re.findall(r"^Tag: (\S+)$", distribution.read_text("WHEEL"), re.MULTILINE)
    assert tags
    for tag in tags:
        python, abi, platform = tag.split("-")
        match = re.fullmatch(r"manylinux_2_(\d+)_(\w+)", platform)
        assert (python, abi) == ("py3", "none")
        assert match
        assert match[2] == limit[2]
        assert int(match[1]) <= int(limit[1])


def test_asks_for_no_newer_glibc_than_its_tag(extension, distribution):
    symbols = pytest.importorskip("tritonext.build.symbols", reason="install the SDK with `tritonext[build]`")
    oldest = min(int(minor) for minor in re.findall(r"manylinux_2_(\d+)_", distribution.read_text("WHEEL")))
    asked = [re.fullmatch(r"GLIBC_2\.(\d+)(?:\.\d+)?", name) for name in symbols.imported_versions(extension.library)]
    assert max(int(match[1]) for match in asked if match) <= oldest


def test_brings_its_license(distribution):
    """Nearly every license asks that its text goes along with the program."""
    assert distribution.metadata["License-Expression"] or distribution.metadata["License"]
    kept = [file for file in distribution.files if file.parts[0].endswith(".dist-info")]
    assert [file for file in kept if "licenses" in file.parts or re.match("LICEN[CS]E|COPYING", file.name)]


def test_is_small(extension):
    files = (path for path in extension.root.rglob("*") if path.suffix != ".pyc" and path.is_file())
    # The limit is one of wheels, which are compressed file by file.
    size = sum(len(zlib.compress(path.read_bytes())) for path in files)
    assert size < versions.load()["wheel"]["size-limit"]


def test_contains_the_package_and_nothing_else(extension, distribution):
    package = extension.manifest.package
    for file in distribution.files:
        top = file.parts[0]
        assert top == package or top.endswith(".dist-info"), file
    names = {"/".join(file.parts[1:]) for file in distribution.files if file.parts[0] == package}
    assert {"__init__.py", registry.MANIFEST_FILE, registry.STAMP_FILE, extension.library.name} <= names
    assert [name for name in names if name.endswith(".so")] == [extension.library.name]
    assert not [name for name in names if name.endswith((".cpp", ".h", ".td", ".o", ".inc"))]


def test_requires_the_exact_triton_it_was_built_for(extension, distribution):
    requires = [requirement.replace(" ", "") for requirement in distribution.requires or ()]
    assert f"triton=={wheel.installed().version}" in requires
    assert any(re.match(r"tritonext\b(?!-)", requirement) for requirement in requires)
    assert distribution.version == extension.version
