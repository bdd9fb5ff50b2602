"""Conformance: what holds for every installed extension, whoever wrote it. No extension opts in."""

from __future__ import annotations

import functools
import pathlib
from dataclasses import dataclass

import pytest

from tritonext import manifest, registry
from tritonext.manifest import Manifest, PassEntry
from tritonext.registry import InstalledExtension

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """The source tree of an extension in this repository."""

    directory: pathlib.Path
    manifest: Manifest

    def files(self, *patterns: str) -> list[pathlib.Path]:
        """Return the files below the tree that match, without those that a build made."""
        found = {path for pattern in patterns for path in self.directory.glob(pattern)}
        return sorted(path for path in found if "build" not in path.relative_to(self.directory).parts)

    def lit(self, entry: PassEntry, suffix: str = "") -> pathlib.Path:
        """Return where the lit test of a pass belongs."""
        return self.directory / "tests" / "lit" / f"{entry.snake}{suffix}.mlir"


@functools.cache
def sources() -> dict[str, Source]:
    """Return the source tree of every extension of this repository, by id."""
    found = {}
    for path in [*ROOT.glob("extensions/*/pyproject.toml"), *ROOT.glob("tests/extensions/*/pyproject.toml")]:
        loaded = manifest.load(path)
        found[loaded.id] = Source(path.parent, loaded)
    return found


@functools.cache
def scan() -> registry.Scan:
    return registry.scan()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    nothing = pytest.param(None, id="none", marks=pytest.mark.skip(reason="no extension is installed"))
    extensions = list(scan().extensions.values())
    if "entry" in metafunc.fixturenames:
        pairs = [
            pytest.param(extension, entry, id=entry.flag)
            for extension in extensions
            for entry in extension.manifest.passes
        ]
        nothing = pytest.param(None, None, id="none", marks=pytest.mark.skip(reason="no extension with a pass"))
        metafunc.parametrize(("extension", "entry"), pairs or [nothing])
    elif "extension" in metafunc.fixturenames:
        metafunc.parametrize("extension", [pytest.param(e, id=e.id) for e in extensions] or [nothing])


@pytest.fixture
def source(extension: InstalledExtension) -> Source:
    """The source tree of the extension under test."""
    if extension.id not in sources():
        pytest.skip("the source of this extension is not in the repository")
    return sources()[extension.id]
